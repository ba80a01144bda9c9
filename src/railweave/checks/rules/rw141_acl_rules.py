"""Tenants are kept apart by the rules of one ACL table on every leaf. Where the ASIC has no room for a rule, its nodes
reach nothing; so the rules are counted, after prefixes are aggregated, against what the ASIC holds."""

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping

from railweave.checks.registry import Breach, Breaches, rule
from railweave.fabric.devices import Host, Switch
from railweave.fabric.model import Fabric
from railweave.fabric.tenants import Tenancy, tenancy_of
from railweave.qos.mapping import notification_dscp
from railweave.wording import compact

RULE = rule(
    "RW141",
    "the ASIC of every leaf holds the rules of its tenants",
    __doc__,
    "{sonic: {acl_rules: 16}, tenants: [{name: odd, nodes: [gpu1, gpu3, gpu5, gpu7]}, {name: even, nodes: gpu2}]}",
)


@RULE.on_fabric
def fits(fabric: Fabric) -> Breaches:
    """Count the rules of every leaf."""
    tenancy = tenancy_of(fabric)
    if not tenancy:
        return
    counts = _counts(fabric, tenancy)
    yield from _without_limit(fabric, counts)
    over = {leaf: count for leaf, count in counts.items() if count > (_limit(fabric, leaf) or count)}
    if over:
        yield _too_many(fabric, tenancy, over)


def _counts(fabric: Fabric, tenancy: Tenancy) -> Mapping[Switch, int]:
    """Return the rules of every leaf with nodes."""
    # Late: most intents have no tenants.
    from railweave.sonic.render.tenant_filters import rule_count

    guarded: tuple[int, ...] = ()
    if fabric.policies.edge_guard:
        guarded = notification_dscp(fabric.policies.classes)
    has_ipv6 = fabric.policies.addressing.hosts_ipv6 is not None
    return {
        leaf: rule_count(tenancy, leaf, guarded, has_ipv6=has_ipv6)
        for leaf in fabric.tier_switches[0]
        if leaf.panel.is_model and fabric.nodes_on(leaf.name)
    }


def _limit(fabric: Fabric, leaf: Switch) -> int | None:
    return fabric.policies.sonic.acl_rules or leaf.panel.acl_rules


def _without_limit(fabric: Fabric, counts: Mapping[Switch, int]) -> Iterator[Breach]:
    unknown = [leaf for leaf in counts if _limit(fabric, leaf) is None]
    if not unknown:
        return
    asics = ", ".join(sorted({leaf.panel.asic for leaf in unknown}))
    most = max(counts[leaf] for leaf in unknown)
    message = (
        f"nothing states how many rules an ACL table of {asics} holds; a leaf needs up to {most:,} for its tenants"
    )
    fix = "state it as sonic.acl_rules: `crm show resources acl table` prints it for the tables of a switch"
    yield Breach("tenants", message, fix)


def _too_many(fabric: Fabric, tenancy: Tenancy, over: Mapping[Switch, int]) -> Breach:
    leaf = max(over, key=lambda switch: over[switch])
    names = [switch.name for switch in over]
    limit = _limit(fabric, leaf)
    message = (
        f"the tenants need {over[leaf]:,} rules on {leaf.name}, of {limit:,} that an ACL table holds"
        f" ({leaf.tier.counted(len(names))} over it: {compact(names)})"
    )
    return Breach("tenants", message, _advice(fabric, tenancy), devices=tuple(names))


def _advice(fabric: Fabric, tenancy: Tenancy) -> str:
    """Return which nodes would aggregate better, for the tenant that would save the most prefixes."""
    saved: dict[str, tuple[int, str]] = {}
    for name, prefixes in tenancy.prefixes.items():
        nodes = [host for host in fabric.hosts if tenancy.tenant_of.get(host.name) == name]
        better, fewer = _aligned(fabric, tenancy, nodes)
        if better and fewer < len(prefixes):
            advice = (
                f"tenant `{name}` has {len(prefixes)} prefixes; with {compact(better)} for its nodes it has {fewer}"
            )
            saved[name] = (len(prefixes) - fewer, advice)
    if not saved:
        return "use fewer tenants a leaf, or reach fewer of them"
    return max(saved.values())[1]


def _aligned(fabric: Fabric, tenancy: Tenancy, nodes: Iterable[Host]) -> tuple[list[str], int]:
    """Return as many nodes of the same kinds that follow each other from a power of two on, and their prefixes."""
    better: list[str] = []
    for kind, count in Counter(host.kind for host in nodes).items():
        step = 1 << (count - 1).bit_length()
        alike = [host for host in fabric.hosts if host.kind == kind]
        start = next((first for first in range(0, len(alike), step) if len(alike) >= first + count), None)
        if start is None:
            return [], 0
        better += [host.name for host in alike[start : start + count]]
    return better, len(tenancy.prefixes_of(frozenset(better)))
