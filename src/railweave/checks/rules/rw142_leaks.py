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
def check_isolation(switch: SwitchRead) -> Breaches:
    """Yield a breach for each path between tenants at the node ports of a switch."""
    fabric = switch.fabric
    if not fabric.policies.tenants or not fabric.nodes_on(switch.name):
        return
    # Late: most intents have no tenants.
    from railweave.sonic.isolation import Leak, isolation_of

    isolation = isolation_of(fabric)
    if isolation is None:
        return
    # One diagnostic a path, with all of its ports and the first cause.
    leaks_of: dict[str, list[Leak]] = {}
    for leak in isolation.leaks(fabric.switch_of[switch.name], switch.tables):
        leaks_of.setdefault(leak.path, []).append(leak)
    for path, leaks in leaks_of.items():
        ports = list(dict.fromkeys(leak.port for leak in leaks))
        message = f"on {switch.name} {path} at {first_few(ports)}: {leaks[0].cause}"
        yield Breach("tenants", message, "take the row out, or deploy the intent", devices=(switch.name,))
