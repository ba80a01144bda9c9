"""Tenants are kept apart by the rules of one ACL table on every leaf. Where the ASIC has no room for a rule, its nodes
reach nothing; so the rules are counted, after prefixes are aggregated, against what the ASIC holds."""

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping
from typing import NamedTuple

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
def count_rules(fabric: Fabric) -> Breaches:
    """Yield a breach if leaves need more rules than their ASICs hold, and one if nothing states how many they hold."""
    tenancy = tenancy_of(fabric)
    if not tenancy:
        return
    counts = _rule_counts(fabric, tenancy)
    yield from _without_limit(fabric, counts)
    excessive: dict[Switch, int] = {}
    for leaf, count in counts.items():
        limit = _limit(fabric, leaf)
        if limit and count > limit:
            excessive[leaf] = count
    if excessive:
        yield _too_many(fabric, tenancy, excessive)


def _rule_counts(fabric: Fabric, tenancy: Tenancy) -> Mapping[Switch, int]:
    """Return how many rules each leaf with nodes needs."""
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
    """Return how many rules an ACL table of a leaf holds, by the intent or the catalog; None if neither states it."""
    return fabric.policies.sonic.acl_rules or leaf.panel.acl_rules


def _without_limit(fabric: Fabric, counts: Mapping[Switch, int]) -> Iterator[Breach]:
    """Yield a breach if nothing states how many rules some leaves hold."""
    unknown = [leaf for leaf in counts if _limit(fabric, leaf) is None]
    if not unknown:
        return
    asics = ", ".join(sorted({leaf.panel.asic for leaf in unknown}))
    most_rules = max(counts[leaf] for leaf in unknown)
    message = (
        f"nothing states how many rules an ACL table of {asics} holds; a leaf needs up to {most_rules:,} for its"
        " tenants"
    )
    fix = "state it as sonic.acl_rules: `crm show resources acl table` prints it for the tables of a switch"
    yield Breach("tenants", message, fix)


def _too_many(fabric: Fabric, tenancy: Tenancy, excessive: Mapping[Switch, int]) -> Breach:
    """Return one breach for all leaves with too many rules, with the numbers of the one that has most."""
    leaf = max(excessive, key=lambda switch: excessive[switch])
    names = [switch.name for switch in excessive]
    limit = _limit(fabric, leaf)
    message = (
        f"the tenants need {excessive[leaf]:,} rules on {leaf.name}, of {limit:,} that an ACL table holds"
        f" ({leaf.tier.counted(len(names))} over it: {compact(names)})"
    )
    return Breach("tenants", message, _advice(fabric, tenancy), devices=tuple(names))


def _advice(fabric: Fabric, tenancy: Tenancy) -> str:
    """Return which nodes would aggregate better, for the tenant that would save the most prefixes."""
    candidates: list[_Alignment] = []
    for name, prefixes in tenancy.prefixes.items():
        nodes = [host for host in fabric.hosts if tenancy.tenant_of.get(host.name) == name]
        aligned = _aligned_nodes(fabric, nodes)
        count = len(tenancy.prefixes_of(frozenset(aligned)))
        if aligned and count < len(prefixes):
            advice = (
                f"tenant `{name}` has {len(prefixes)} prefixes; with {compact(aligned)} for its nodes it has {count}"
            )
            candidates.append(_Alignment(len(prefixes) - count, advice))
    if not candidates:
        return "use fewer tenants a leaf, or reach fewer of them"
    return max(candidates).advice


class _Alignment(NamedTuple):
    """Other nodes for a tenant: how many prefixes they save, and the advice to use them."""

    saved_prefixes: int
    advice: str


def _aligned_nodes(fabric: Fabric, nodes: Iterable[Host]) -> list[str]:
    """Return as many nodes of the same kinds whose addresses aggregate into the fewest prefixes.

    The nodes of a kind are consecutive, from a multiple of a power of two on. Empty if a kind has too few for that.
    """
    names: list[str] = []
    for kind, count in Counter(host.kind for host in nodes).items():
        # The smallest power of two that is not less than the count.
        block = 1 << (count - 1).bit_length()
        hosts = [host for host in fabric.hosts if host.kind == kind]
        # Some kinds have a last block that is shorter than the count.
        start = next((first for first in range(0, len(hosts), block) if len(hosts) >= first + count), None)
        if start is None:
            return []
        names += [host.name for host in hosts[start : start + count]]
    return names
