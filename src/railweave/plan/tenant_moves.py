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
    """Return the blockers of changes of tenants by switch; a switch without any is left out.

    ``differences`` are those of all switches that were read.
    """
    changed_pairs: dict[str, frozenset[Pair]] = {}
    for name, difference in differences.items():
        # A switch that is provisioned gets the rules of all its tenants.
        if not difference.unprovisioned:
            changed_pairs[name] = frozenset(_pairs_of_rules(difference.delta))
    if not any(changed_pairs.values()):
        return {}
    tenancy = Tenancy(fabric)
    moving_tenants = _moving_tenants(fabric, tenancy, changed_pairs)
    blockers: dict[str, tuple[Blocker, ...]] = {}
    for name, pairs in changed_pairs.items():
        unrelated = _unrelated_rule_blockers(pairs, moving_tenants)
        removed = _removed_tenant_blockers(fabric, tenancy, name, differences[name].delta)
        blockers_of_switch = (*unrelated, *removed)
        if blockers_of_switch:
            blockers[name] = blockers_of_switch
    return blockers


def are_tenant_rules(deltas: Mapping[str, Delta]) -> bool:
    """Tell whether all changes are rules between tenants, as those of a move are."""
    return all(rule_tenants(change.table, change.key) for delta in deltas.values() for change in delta)


def _pairs_of_rules(delta: Delta) -> Iterator[Pair]:
    """Yield the tenants between which ``delta`` changes a rule, once for each rule."""
    for change in delta:
        pair = rule_tenants(change.table, change.key)
        if pair is not None:
            yield pair


def _moving_tenants(fabric: Fabric, tenancy: Tenancy, changed_pairs: Mapping[str, frozenset[Pair]]) -> frozenset[str]:
    """Return the tenants that get or lose nodes.

    The rules within such a tenant change on every switch that has nodes of it.
    """
    moving: set[str] = set()
    for pairs in changed_pairs.values():
        moving.update(source for source, reached in pairs if source == reached)
    for name, pairs in changed_pairs.items():
        tenants_on_switch = {tenancy.tenant_of.get(node, "") for node in fabric.nodes_on(name)}
        unchanged_here = {tenant for tenant in tenants_on_switch if (tenant, tenant) not in pairs}
        moving -= unchanged_here
    return frozenset(moving)


def _unrelated_rule_blockers(changed_pairs: frozenset[Pair], moving_tenants: frozenset[str]) -> Iterator[Blocker]:
    """Yield a blocker if nodes move and rules change that concern none of the tenants that get or lose nodes."""
    unrelated = {pair for pair in changed_pairs if moving_tenants.isdisjoint(pair)}
    if moving_tenants and unrelated:
        names = sorted({name for pair in unrelated for name in pair})
        yield Blocker(
            f"nodes of {listed(sorted(moving_tenants))} move, and rules of {listed(names)} would change too",
            "deploy the intent without the move first, so that the plan of the move has its own rules alone",
            FOREIGN,
        )


def _removed_tenant_blockers(fabric: Fabric, tenancy: Tenancy, name: str, delta: Delta) -> Iterator[Blocker]:
    """Yield a blocker for each tenant that leaves the intent while nodes of it stay on the switch ``name``.

    These nodes would be cut off.
    """
    if not tenancy:
        return
    nodes_of_removed: dict[str, set[str]] = {}
    for change in delta:
        pair = rule_tenants(change.table, change.key)
        if change.op is not Op.REMOVE or pair is None:
            continue
        source, _ = pair
        if source not in tenancy.reach:
            nodes = _nodes_without_tenant(fabric, tenancy, name, _ports_of_rule(change.before))
            nodes_of_removed.setdefault(source, set()).update(nodes)
    for tenant, nodes_left in nodes_of_removed.items():
        if nodes_left:
            yield Blocker(
                f"tenant `{tenant}` is removed while {compact(sorted(nodes_left))} stay, which would be cut off",
                f"add its nodes to other tenants first, or to one that reaches nobody, and remove `{tenant}` with them",
                REMOVED,
            )


def _nodes_without_tenant(fabric: Fabric, tenancy: Tenancy, name: str, ports: Collection[str]) -> Iterator[str]:
    """Yield the nodes at ``ports`` of the switch ``name`` that are in no tenant."""
    panel = fabric.switch_of[name].panel
    for link in fabric.downlinks_of[name]:
        is_at_port = link.is_access and panel.ports[link.upper_port].name in ports
        if is_at_port and link.lower not in tenancy.tenant_of:
            yield link.lower


def _ports_of_rule(row: object) -> tuple[str, ...]:
    """Return the ports that the ACL rule of a row applies to; empty if there is no row."""
    if not isinstance(row, Mapping):
        return ()
    return tuple(str(row.get("IN_PORTS", "")).split(","))
