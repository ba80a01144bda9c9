"""Pods: whether a fabric has two tiers or three, and how three divide its leaves, spines and super-spines.

A pod is a fabric of two tiers against the down ports of its spines. Spine s of every pod joins group s of super-spines
(RFC 7938 section 3.2), so that a plane has as many groups as a pod has spines.
"""

from collections.abc import Sequence
from fractions import Fraction
from typing import NamedTuple

from railweave.design.hardware import TierHardware
from railweave.design.layout import owner
from railweave.design.leaves import Faults, Leaves
from railweave.design.rails import rails_exceed_spines
from railweave.design.ratios import asked_ratio, ratio_text
from railweave.design.spines import fitting_counts
from railweave.design.split import Split, TierPorts, all_down, automatic_split, place_ports, whole_cages
from railweave.diagnostics import Diagnostic, error
from railweave.intent.model import Intent, Shape
from railweave.wording import counted, either


class Pods(NamedTuple):
    """The pods of a plane: each of ``size`` stripes, 0 where two tiers keep no ports for a third; ``indexes`` are
    those that have switches. ``ports`` are those of a spine, with ``uplinks`` to super-spines, today or later.
    In a rail-only fabric the indexes are rails: so many are ``apart``, 0 elsewhere."""

    tiers: int
    size: int
    indexes: tuple[int, ...]
    ports: TierPorts
    uplinks: int
    apart: int = 0

    @property
    def rails(self) -> int:
        """Return the fabrics of two tiers that nothing joins, 1 where spines join all rails."""
        return self.apart or 1

    @property
    def each(self) -> str:
        """Return what has spines of its own, for a message; empty where all leaves reach all spines."""
        if self.apart:
            return "rail"
        if self.tiers > 2:
            return "pod"
        return ""

    @property
    def end(self) -> int:
        """Return the highest index + 1: pods left out cost ports of super-spines too."""
        return self.indexes[-1] + 1


def spine_ratio(intent: Intent) -> Fraction:
    """Return the oversubscription of a spine that is asked for."""
    top = intent.topology.super_spine
    if top is None or top.oversubscription is None:
        return asked_ratio(intent)
    return top.oversubscription


def divide_into_pods(intent: Intent, leaves: Leaves, hardware: Sequence[TierHardware]) -> tuple[Pods | None, Faults]:
    """Return the pods of a plane, one where two tiers are enough, or why there are none."""
    topology = intent.topology
    spine = hardware[1]
    if topology.shape is Shape.RAIL_ONLY:
        return _rails_apart(intent, leaves, spine)
    if topology.tiers == 3 or topology.reserve.pods is not None:
        return _split_spines(intent, leaves, hardware)
    if leaves.indexes <= spine.ports and (topology.tiers == 2 or _holds_growth(intent, leaves, spine.ports)):
        return Pods(2, 0, (0,), all_down(spine.cages, spine.down), 0), ()
    if leaves.indexes > spine.ports >= len(leaves.stripes) * leaves.per_stripe:
        return None, (_gap_exceeds_spine(intent, leaves, spine.ports),)
    if topology.tiers == 2:
        return None, (_two_are_too_few(intent, leaves, spine.ports),)
    return _split_spines(intent, leaves, hardware)


def _rails_apart(intent: Intent, leaves: Leaves, spine: TierHardware) -> tuple[Pods | None, Faults]:
    """Return a fabric of two tiers for each rail."""
    faults = rails_exceed_spines(intent, leaves, spine)
    if faults:
        return None, faults
    rails = tuple(range(leaves.rails))
    return Pods(2, 0, rails, all_down(spine.cages, spine.down), 0, leaves.rails), ()


def _split_spines(intent: Intent, leaves: Leaves, hardware: Sequence[TierHardware]) -> tuple[Pods | None, Faults]:
    """Return the pods that the down ports of spines hold, where the others are for super-spines, today or later."""
    topology = intent.topology
    spine = hardware[1]
    split = automatic_split(spine.cages, spine.down, spine.up, spine_ratio(intent))
    if split is None:
        return None, (_no_pod(intent, leaves, spine, None),)
    whole = whole_cages(topology.wiring, spine.up, split.up)
    ports = place_ports(spine.cages, spine.down, spine.up, split.down, None, whole)
    if ports is None:
        return None, (_no_pod(intent, leaves, spine, None),)
    largest = split.down // (leaves.per_stripe * (topology.links_per_pair or 1))
    if largest == 0:
        return None, (_no_pod(intent, leaves, spine, split),)
    if topology.pod is not None and topology.pod > largest:
        return None, (_pod_too_large(intent, leaves, split, largest),)
    size = topology.pod or _automatic_size(intent, leaves, split, largest)
    pods = Pods(_tiers(intent, leaves, size), size, _pods_of(leaves, size), ports, split.up)
    faults = _exceeding(intent, leaves, pods, hardware[2])
    if faults:
        return None, faults
    return pods, ()


def _exceeding(intent: Intent, leaves: Leaves, pods: Pods, top: TierHardware) -> Faults:
    """Return why pods are more than two tiers hold that are asked for, or than super-spines have ports for."""
    if intent.topology.tiers == 2 and pods.tiers == 3:
        return (_two_are_too_few(intent, leaves, pods.size * leaves.per_stripe),)
    if max(pods.end, intent.topology.reserve.pods or 0) > top.ports:
        return (_too_many_pods(intent, leaves, pods, top),)
    return ()


def _tiers(intent: Intent, leaves: Leaves, size: int) -> int:
    """Return 2 where pods are reserved and one of ``size`` stripes is enough today, and for the growth if automatic."""
    topology = intent.topology
    if topology.tiers == 3 or topology.reserve.pods is None or _pods_of(leaves, size) != (0,):
        return 3
    if topology.tiers == 2 or _holds_growth(intent, leaves, size * leaves.per_stripe):
        return 2
    return 3


def _pods_of(leaves: Leaves, size: int) -> tuple[int, ...]:
    return tuple(sorted({stripe // size for stripe in leaves.stripes}))


def _automatic_size(intent: Intent, leaves: Leaves, split: Split, largest: int) -> int:
    """Return the largest pod that the spines' down ports hold, with the number of spines where it is given."""
    given = intent.topology.spine.count
    if given is None or leaves.uplinks is None:
        return largest
    for size in range(largest, 0, -1):
        spines, rest = divmod(given, len(_pods_of(leaves, size)))
        counts = fitting_counts(leaves.uplinks, leaves.shared_uplinks, size * leaves.per_stripe, split.down)
        if rest == 0 and spines in counts:
            return size
    return largest


def _holds_growth(intent: Intent, leaves: Leaves, most: int) -> bool:
    """Tell whether two tiers with at ``most`` so many leaves hold the growth that is stated, whatever cables move."""
    growth = intent.workload.growth
    owners = [owner(leaves.groups, stripe) for stripe in range(most // leaves.per_stripe)]
    return growth is None or growth.gpus <= sum(group.stripe_nodes * group.entry.gpus for group in owners)


class GroupTier(NamedTuple):
    """Super-spines of one group and the links of a spine to each."""

    members: int
    links_per_pair: int


def join_pods(intent: Intent, pods: Pods, spines: int, top: TierHardware) -> tuple[GroupTier | None, Faults]:
    """Return the super-spines of a group, where every pod has ``spines``."""
    most = max(pods.end, intent.topology.reserve.pods or 0)
    even = [count for count in range(1, pods.uplinks + 1) if pods.uplinks % count == 0]
    fitting = [count for count in even if most * (pods.uplinks // count) <= top.ports]
    super_spine = intent.topology.super_spine
    if super_spine is None or super_spine.count is None:
        return GroupTier(fitting[0], pods.uplinks // fitting[0]), ()
    given = super_spine.count
    possible = f"use {either([count * spines for count in fitting])} super-spines"
    fault = _uneven_group(given, spines, pods) or _full_super_spine(given // spines, most, pods, top)
    if fault is None:
        members = given // spines
        return GroupTier(members, pods.uplinks // members), ()
    fix = possible
    if fault.ports:
        fix = f"{possible}, or super-spines with {fault.ports} ports"
    where = intent.where("topology.super_spine.count")
    return None, (error(fault.code, fault.message, where, fix=fix),)


class _GroupFault(NamedTuple):
    """Why super-spines cannot join pods: ``ports`` are those one would need, 0 for other reasons."""

    code: str
    message: str
    ports: int = 0


def _uneven_group(given: int, spines: int, pods: Pods) -> _GroupFault | None:
    """Return why super-spines share the groups or the uplinks of a spine unevenly, None where they do not."""
    members, rest = divmod(given, spines)
    if rest or members == 0:
        return _GroupFault(
            "RW211",
            f"{counted(given, 'super-spine')} cannot be shared out over {spines} groups: one for each spine of a pod",
        )
    if pods.uplinks % members:
        return _GroupFault(
            "T-2",
            f"{counted(members, 'super-spine')} of a group cannot share the {pods.uplinks} uplinks of a spine evenly:"
            f" {pods.uplinks} ÷ {members} is not whole",
        )
    return None


def _full_super_spine(members: int, most: int, pods: Pods, top: TierHardware) -> _GroupFault | None:
    """Return why a super-spine has too few ports for ``most`` pods, None where it has enough."""
    pair = pods.uplinks // members
    ports = most * pair
    if ports <= top.ports:
        return None
    message = (
        f"{counted(most, 'pod')} × {counted(pair, 'link')} need {ports} ports on every super-spine; one has {top.ports}"
    )
    return _GroupFault("T-3", message, ports)


def share_out(intent: Intent, what: str, given: int | None, pods: int, each: str) -> tuple[int | None, Faults]:
    """Return the spines of each pod or rail where those of a plane are given by the intent path ``what``, else None."""
    if given is None:
        return None, ()
    share, rest = divmod(given, pods)
    if rest == 0:
        return share, ()
    counts = [count for count in (share * pods, (share + 1) * pods) if count]
    return None, (
        error(
            "RW211",
            f"{counted(given, 'spine')} cannot be shared out over {counted(pods, each or 'pod')}: every"
            f" {each or 'pod'} has as many",
            intent.where(f"topology.{what}"),
            fix=f"use {either(counts)} spines",
        ),
    )


def _two_are_too_few(intent: Intent, leaves: Leaves, ports: int) -> Diagnostic:
    has, held = _held(intent, leaves, ports // leaves.per_stripe, "two tiers", ", one link a leaf-spine pair")
    if intent.topology.reserve.pods is not None:
        fix = "use tiers: auto for a third tier, whose ports reserve.pods keeps free"
    else:
        ways = f"spines with at least {leaves.indexes} ports, larger leaves, or more planes"
        fix = f"use tiers: auto for a third tier, {ways}"
    return error("T-1", f"{has}; {held}", intent.where("topology.tiers"), fix=fix)


def _held(intent: Intent, leaves: Leaves, stripes: int, tiers: str, how: str) -> tuple[str, str]:
    """Return what the nodes have, and what ``tiers`` with so many stripes hold, as clauses."""
    planes = intent.topology.planes
    group = leaves.groups[-1]
    nodes = sum(each.entry.count for each in leaves.groups)
    endpoints = sum(each.entry.count * each.ports_per_plane for each in leaves.groups) * planes
    most = stripes * group.stripe_nodes
    ceiling = most * group.ports_per_plane * planes
    return (
        f"{counted(nodes, 'node')} have {endpoints:,} endpoints",
        f"{tiers} of these switches hold at most {ceiling:,} endpoints ({most:,} nodes{how})",
    )


def _gap_exceeds_spine(intent: Intent, leaves: Leaves, ports: int) -> Diagnostic:
    *before, last = sorted(leaves.groups, key=lambda group: group.first_stripe)
    fix = f"begin {last.entry.name!r} in a lower stripe: every stripe left out costs spine ports"
    if last.entry.first_stripe is None:
        fix = f"state {last.path}.first_stripe: {before[-1].end_stripe}, or use spines with {leaves.indexes} ports"
    return error(
        "T-3",
        f"stripes up to {leaves.stripes[-1]} have {leaves.indexes} leaf indexes; a spine has {ports} ports",
        intent.where(f"{last.path}.first_stripe"),
        fix=fix,
    )


def _no_pod(intent: Intent, leaves: Leaves, spine: TierHardware, split: Split | None) -> Diagnostic:
    ratio = ratio_text(spine_ratio(intent))
    needed = leaves.per_stripe * (intent.topology.links_per_pair or 1)
    if split is None:
        message = f"{counted(spine.cages, 'cage')} of a spine cannot be split into ports down and up at {ratio}"
    else:
        message = (
            f"a spine with {split.down} ports down and {split.up} up ({ratio}) has no room for one stripe, which needs"
            f" {needed} down"
        )
    fix = f"use spines with more ports, or super_spine.oversubscription higher than {ratio}"
    return error("RW212", message, intent.where("topology.spine"), fix=fix)


def _pod_too_large(intent: Intent, leaves: Leaves, split: Split, largest: int) -> Diagnostic:
    pair = intent.topology.links_per_pair or 1
    size = intent.topology.pod or 0
    count = size * leaves.per_stripe
    return error(
        "T-3",
        f"a pod of {counted(size, 'stripe')} has {counted(count, 'leaf')} × {counted(pair, 'link')};"
        f" a spine has {split.down} ports down",
        intent.where("topology.pod"),
        fix=f"use pod: {largest} or less, or spines with more ports",
    )


def _too_many_pods(intent: Intent, leaves: Leaves, pods: Pods, top: TierHardware) -> Diagnostic:
    reserved = intent.topology.reserve.pods
    if reserved is not None and reserved > pods.end:
        return error(
            "T-3",
            f"the reserve of {reserved} pods needs {reserved} ports on every super-spine; one has {top.ports}",
            intent.where("topology.reserve.pods"),
            fix=f"reserve at most {top.ports} pods, or use super-spines with more ports",
        )
    has, held = _held(intent, leaves, top.ports * pods.size, "three tiers", f", {top.ports} pods")
    path = "nodes"
    if intent.topology.super_spine:
        path = "topology.super_spine"
    return error(
        "T-1",
        f"{has}; {held}",
        intent.where(path),
        fix=f"use super-spines with at least {pods.end} ports, larger pods, larger leaves, or more planes",
    )
