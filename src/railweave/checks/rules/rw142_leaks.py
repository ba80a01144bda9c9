"""The ACL of a leaf lets nodes of a tenant reach that tenant and those in its `reaches`. Rows that overrides or people
add to it can open a path to others, let nodes send in the name of another tenant, or leave a port without a filter."""

from railweave.checks.registry import Breach, Breaches, SwitchRead, rule
from railweave.wording import first_few

RULE = rule(
    "RW142",
    "no switch joins tenants that do not reach each other",
    __doc__,
    "{sonic: {acl_rules: 512}, tenants: [{name: a, nodes: gpu1-16}, {name: b, nodes: gpu17-32}],"
    " overrides: {leaf: {ACL_RULE: {'RAILWEAVE_TENANTS|open': {PRIORITY: '99', PACKET_ACTION: FORWARD}}}}}",
)


@RULE.on_switch
def apart(switch: SwitchRead) -> Breaches:
    """Look for paths between tenants at the node ports of a switch."""
    fabric = switch.fabric
    if not fabric.policies.tenants or not fabric.nodes_on(switch.name):
        return
    # Late: most intents have no tenants.
    from railweave.sonic.isolation import isolation_of

    isolation = isolation_of(fabric)
    if isolation is None:
        return
    ports: dict[str, dict[str, str]] = {}
    for leak in isolation.leaks(fabric.switch_of[switch.name], switch.tables):
        ports.setdefault(leak.path, {}).setdefault(leak.port, leak.cause)
    for path, causes in ports.items():
        message = f"on {switch.name} {path} at {first_few(list(causes))}: {next(iter(causes.values()))}"
        yield Breach("tenants", message, "take the row out, or deploy the intent", devices=(switch.name,))
