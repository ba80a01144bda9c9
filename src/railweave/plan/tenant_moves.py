"""Moves of nodes between tenants: which rules a plan may change, and tenants that go while their nodes stay.

A node that changes its tenant changes the rules from and to its old and its new one, and no others. A plan that would
also change those of a third tenant undoes what somebody did to them, which is not what its reader agrees to.
"""

from collections.abc import Collection, Iterator, Mapping

from railweave.diagnostics import Blocker
from railweave.fabric.model import Fabric
from railweave.fabric.tenants import Tenancy
from railweave.sonic.delta.change import Delta, Op
from railweave.sonic.delta.diff import DeviceDiff
from railweave.sonic.render.tenant_filters import rule_tenants
from railweave.wording import compact, listed

FOREIGN = "RW545"
REMOVED = "RW546"

Pair = tuple[str, str]
"""The tenant whose nodes send, and the one that they reach."""


def tenant_blockers(fabric: Fabric, differences: Mapping[str, DeviceDiff]) -> dict[str, tuple[Blocker, ...]]:
    """Return what prevents changes of tenants, by switch; ``differences`` are of all switches that were read."""
    pairs = {
        name: frozenset(_pairs(difference.delta))
        for name, difference in differences.items()
        # A switch that is provisioned gets the rules of all its tenants.
        if not difference.unprovisioned
    }
    if not any(pairs.values()):
        return {}
    tenancy = Tenancy(fabric)
    blockers: dict[str, tuple[Blocker, ...]] = {}
    moved = _moved(fabric, tenancy, pairs)
    for name, changed in pairs.items():
        found = (*_foreign(changed, moved), *_removed(fabric, tenancy, name, differences[name].delta))
        if found:
            blockers[name] = found
    return blockers


def are_tenant_rules(deltas: Mapping[str, Delta]) -> bool:
    """Tell whether all changes are rules between tenants, as those of a move are."""
    return all(rule_tenants(change.table, change.key) for delta in deltas.values() for change in delta)


def _pairs(delta: Delta) -> Iterator[Pair]:
    for change in delta:
        pair = rule_tenants(change.table, change.key)
        if pair is not None:
            yield pair


def _moved(fabric: Fabric, tenancy: Tenancy, pairs: Mapping[str, frozenset[Pair]]) -> frozenset[str]:
    """Return the tenants that get or lose nodes: the rules within them change on every switch that has some."""
    moved = {source for changed in pairs.values() for source, reached in changed if source == reached}
    for name, changed in pairs.items():
        present = {tenancy.tenant_of.get(node, "") for node in fabric.nodes_on(name)}
        moved -= {tenant for tenant in present if (tenant, tenant) not in changed}
    return frozenset(moved)


def _foreign(changed: frozenset[Pair], moved: frozenset[str]) -> Iterator[Blocker]:
    """Yield that rules change that have nothing to do with the tenants that get or lose nodes."""
    foreign = sorted({pair for pair in changed if moved.isdisjoint(pair)})
    if moved and foreign:
        names = sorted({name for pair in foreign for name in pair})
        yield Blocker(
            f"nodes of {listed(sorted(moved))} move, and rules of {listed(names)} would change too",
            "deploy the intent without the move first, so that the plan of the move has its own rules alone",
            FOREIGN,
        )


def _removed(fabric: Fabric, tenancy: Tenancy, name: str, delta: Delta) -> Iterator[Blocker]:
    """Yield the tenants that the intent no longer has while their nodes stay, in no tenant and cut off."""
    if not tenancy:
        return
    nodes: dict[str, set[str]] = {}
    for change in delta:
        pair = rule_tenants(change.table, change.key)
        if change.op is Op.REMOVE and pair is not None and pair[0] not in tenancy.reach:
            nodes.setdefault(pair[0], set()).update(_alone(fabric, tenancy, name, _ports(change.before)))
    for tenant, alone in nodes.items():
        if alone:
            yield Blocker(
                f"tenant `{tenant}` is removed while {compact(sorted(alone))} stay, which would be cut off",
                f"add its nodes to other tenants first, or to one that reaches nobody, and remove `{tenant}` with them",
                REMOVED,
            )


def _alone(fabric: Fabric, tenancy: Tenancy, name: str, ports: Collection[str]) -> Iterator[str]:
    """Yield the nodes in no tenant at some ports of a switch."""
    panel = fabric.switch_of[name].panel
    for link in fabric.downlinks_of[name]:
        is_there = link.is_access and panel.ports[link.upper_port].name in ports
        if is_there and link.lower not in tenancy.tenant_of:
            yield link.lower


def _ports(row: object) -> tuple[str, ...]:
    if not isinstance(row, Mapping):
        return ()
    return tuple(str(row.get("IN_PORTS", "")).split(","))
