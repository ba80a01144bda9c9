"""Tenants are apart only if every node is in one of them at most, and every name in them exists: a node in two would
join what has to be kept apart."""

from collections.abc import Iterable, Iterator, Mapping

from railweave.checks.registry import Breach, Breaches, rule
from railweave.diagnostics import Severity
from railweave.fabric.policy import Tenant
from railweave.fabric.ranges import expanded
from railweave.fabric.tenants import tenants_in
from railweave.intent.model import Intent
from railweave.wording import compact, either, suggestion

RULE = rule(
    "RW140",
    "tenants name nodes and tenants of the intent, and a node is in one of them",
    __doc__,
    "tenants: [{name: research, nodes: gpu1-16}, {name: product, nodes: gpu16-32, reaches: [stroage]}]",
)


@RULE.on_intent
def check_names(intent: Intent) -> Breaches:
    """Yield a breach for each name in a tenant that does not exist, and for each second tenant of a name."""
    tenants = intent.policies.tenants
    nodes = _node_names((intent, *intent.others))
    names = [tenant.name for tenant in tenants]
    for index, tenant in enumerate(tenants):
        path = f"tenants[{index}]"
        if tenant.name in names[:index]:
            yield Breach(f"{path}.name", f"two tenants are named `{tenant.name}`", "give each a name of its own")
        yield from _unknown_nodes(tenant, path, nodes)
        yield from _unknown_tenants(tenant, path, names)
        yield from _unknown_fabrics(intent, tenant, path)


@RULE.on_intent
def check_membership(intent: Intent) -> Breaches:
    """Yield a breach for each tenant with nodes of an earlier tenant, and a warning for nodes in no tenant."""
    part = ""
    if intent.part is not None:
        part = intent.part.name
    tenants = tenants_in(intent.policies.tenants, part)
    if not tenants:
        return
    nodes = _node_names([intent])
    owner_of: dict[str, str] = {}
    for tenant in tenants:
        path = f"tenants[{intent.policies.tenants.index(tenant)}].nodes"
        for other, names in _shared_nodes(tenant, nodes, owner_of).items():
            message = f"{_are(names)} in tenant `{other}` and in `{tenant.name}`"
            yield Breach(path, message, f"leave {compact(names)} in one of them; `reaches` lets tenants meet")
    without_tenant = [node for node in nodes if node not in owner_of]
    if without_tenant:
        message = f"{_are(without_tenant)} in no tenant, and cut off from all other nodes"
        yield Breach("tenants", message, "add them to a tenant, unless they wait for one", Severity.WARNING)


def _shared_nodes(tenant: Tenant, nodes: Mapping[str, None], owner_of: dict[str, str]) -> dict[str, list[str]]:
    """Return the nodes of a tenant that earlier tenants have too, by the name of the earlier tenant.

    ``owner_of`` has the tenant of each node so far. The tenant is added for its other nodes.
    """
    shared: dict[str, list[str]] = {}
    for text in tenant.nodes:
        for node in expanded(text, nodes):
            owner = owner_of.setdefault(node, tenant.name)
            if owner != tenant.name:
                shared.setdefault(owner, []).append(node)
    return shared


def _node_names(intents: Iterable[Intent]) -> Mapping[str, None]:
    """Return the names of all nodes of some fabrics as keys, in the order of the intent."""
    names: dict[str, None] = {}
    for intent in intents:
        for entry in intent.nodes:
            names.update(dict.fromkeys(f"{entry.name}{number}" for number in range(1, entry.count + 1)))
    return names


def _unknown_nodes(tenant: Tenant, path: str, nodes: Mapping[str, None]) -> Iterator[Breach]:
    """Yield a breach for each entry of a tenant with nodes that the intent does not have."""
    for index, text in enumerate(tenant.nodes):
        unknown = [name for name in expanded(text, nodes) if name not in nodes]
        if not unknown:
            continue
        message = f"tenant `{tenant.name}`: {_are(unknown)} not among the nodes of the intent"
        fix = f"{suggestion(unknown[0], list(nodes))}the intent has {compact(nodes)}"
        place = f"{path}.nodes[{index}]"
        yield Breach(place, message, fix)


def _unknown_tenants(tenant: Tenant, path: str, names: list[str]) -> Iterator[Breach]:
    """Yield a breach for each tenant that another one ``reaches`` and that does not exist or is itself."""
    for index, other in enumerate(tenant.reaches):
        place = f"{path}.reaches[{index}]"
        if other == tenant.name:
            yield Breach(place, f"tenant `{other}` reaches itself", "leave it out: its nodes reach each other anyway")
        elif other not in names:
            choices = either([f"`{name}`" for name in dict.fromkeys(names) if name != tenant.name])
            fix = f"{suggestion(other, names)}write {choices or 'the name of another tenant'}"
            yield Breach(place, f"tenant `{tenant.name}` reaches `{other}`, which is no tenant", fix)


def _unknown_fabrics(intent: Intent, tenant: Tenant, path: str) -> Iterator[Breach]:
    """Yield a breach for each fabric of a tenant that the intent does not have."""
    # An intent without `fabrics` has no parts to name.
    if intent.part is None:
        if tenant.fabrics:
            message = f"tenant `{tenant.name}` names fabrics, and the intent has one"
            yield Breach(f"{path}.fabrics", message, "leave out `fabrics`")
        return
    parts = [fabric.part.name for fabric in (intent, *intent.others) if fabric.part is not None]
    for index, name in enumerate(tenant.fabrics):
        if name not in parts:
            fix = f"{suggestion(name, parts)}write {either([f'`{part}`' for part in sorted(parts)])}"
            message = f"tenant `{tenant.name}` is in `{name}`, which is no fabric of the intent"
            yield Breach(f"{path}.fabrics[{index}]", message, fix)


def _are(names: list[str]) -> str:
    """Return names with their verb: ``gpu1 is``, ``gpu1 to gpu4 are``."""
    verb = "are"
    if len(names) == 1:
        verb = "is"
    return f"{compact(names)} {verb}"
