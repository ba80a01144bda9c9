"""Pods: whether a fabric has two tiers or three, and how three tiers divide its leaves, spines and super-spines.

A pod is a fabric of two tiers on the down ports of its spines. Spine s of every pod joins group s of super-spines
(RFC 7938 section 3.2), so a plane has as many groups as a pod has spines.
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
    """The pods of a plane, or its rails in a rail-only fabric."""

    # 2 or 3.
    tiers: int
    # Stripes of a pod; 0 if two tiers keep no ports for a third.
    size: int
    # Of the pods that have switches, or of the rails.
    indexes: tuple[int, ...]
    # Of a spine.
    ports: TierPorts
    # Of a spine to super-spines, today or later.
    uplinks: int
    # The number of rails in a rail-only fabric, else 0.
    apart: int = 0

    @property
    def rails(self) -> int:
        """Return the number of separate networks of a plane: its rails in a rail-only fabric, else 1."""
        return self.apart or 1

    @property
    def each(self) -> str:
        """Return what has spines of its own, for a message; empty if all leaves reach all spines."""
        if self.apart:
            return "rail"
        if self.tiers > 2:
            return "pod"
        return ""

    @property
    def end(self) -> int:
        """Return the highest index + 1: pods without switches take ports of super-spines too."""
        return self.indexes[-1] + 1


def spine_ratio(intent: Intent) -> Fraction:
    """Return the oversubscription of a spine that is asked for."""
    top = intent.topology.super_spine
    if top is None or top.oversubscription is None:
        return asked_ratio(intent)
    return top.oversubscription


def divide_into_pods(intent: Intent, leaves: Leaves, hardware: Sequence[TierHardware]) -> tuple[Pods | None, Faults]:
    """Return the pods of a plane, one if two tiers are enough, or None and the errors."""
    topology = intent.topology
    spine = hardware[1]
    if topology.shape is Shape.RAIL_ONLY:
        return _rails_apart(intent, leaves, spine)
    if topology.tiers == 3 or topology.reserve.pods is not None:
        return _split_spines(intent, leaves, hardware)
    fits_today = leaves.indexes <= spine.ports
    # Automatic tiers have to hold the stated growth too.
    fits_later = topology.tiers == 2 or _holds_growth(intent, leaves, spine.ports)
    if fits_today and fits_later:
        return Pods(tiers=2, size=0, indexes=(0,), ports=all_down(spine.cages, spine.down), uplinks=0), ()
    fits_without_gaps = len(leaves.stripes) * leaves.per_stripe <= spine.ports
    if not fits_today and fits_without_gaps:
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
    return Pods(
        tiers=2, size=0, indexes=rails, ports=all_down(spine.cages, spine.down), uplinks=0, apart=leaves.rails
    ), ()


def _split_spines(intent: Intent, leaves: Leaves, hardware: Sequence[TierHardware]) -> tuple[Pods | None, Faults]:
    """Return the pods whose leaves fit on the down ports of spines; the other ports are for super-spines, today or
    later."""
    topology = intent.topology
    spine = hardware[1]
    split = automatic_split(spine.cages, spine.down, spine.up, spine_ratio(intent))
    if split is None:
        return None, (_no_pod(intent, leaves, spine, None),)
    uplink_multiple = whole_cages(topology.wiring, spine.up, split.up)
    ports = place_ports(spine.cages, spine.down, spine.up, split.down, None, uplink_multiple)
    if ports is None:
        return None, (_no_pod(intent, leaves, spine, None),)
    ports_per_stripe = leaves.per_stripe * (topology.links_per_pair or 1)
    largest = split.down // ports_per_stripe
    if largest == 0:
        return None, (_no_pod(intent, leaves, spine, split),)
    if topology.pod is not None and topology.pod > largest:
        return None, (_pod_too_large(intent, leaves, split, largest),)
    size = topology.pod or _automatic_size(intent, leaves, split, largest)
    tiers = _tiers(intent, leaves, size)
    pods = Pods(tiers=tiers, size=size, indexes=_pods_of(leaves, size), ports=ports, uplinks=split.up)
    faults = _pod_faults(intent, leaves, pods, hardware[2])
    if faults:
        return None, faults
    return pods, ()


def _pod_faults(intent: Intent, leaves: Leaves, pods: Pods, top: TierHardware) -> Faults:
    """Return the error of too many pods: two tiers are stated, or super-spines have too few ports. Else empty."""
    if intent.topology.tiers == 2 and pods.tiers == 3:
        return (_two_are_too_few(intent, leaves, pods.size * leaves.per_stripe),)
    if max(pods.end, intent.topology.reserve.pods or 0) > top.ports:
        return (_too_many_pods(intent, leaves, pods, top),)
    return ()


def _tiers(intent: Intent, leaves: Leaves, size: int) -> int:
    """Return the number of tiers with pods of ``size`` stripes.

    It is 2 if pods are reserved and one is enough today. With automatic tiers one must hold the stated growth too.
    """
    topology = intent.topology
    if topology.tiers == 3 or topology.reserve.pods is None:
        return 3
    if _pods_of(leaves, size) != (0,):
        return 3
    if topology.tiers == 2 or _holds_growth(intent, leaves, size * leaves.per_stripe):
        return 2
    return 3


def _pods_of(leaves: Leaves, size: int) -> tuple[int, ...]:
    """Return the indexes of the pods of ``size`` stripes that have leaves."""
    return tuple(sorted({stripe // size for stripe in leaves.stripes}))


def _automatic_size(intent: Intent, leaves: Leaves, split: Split, largest: int) -> int:
    """Return the size of pods in stripes: the ``largest``, or with a stated number of spines a size that suits them.

    It is then the largest size for which the spines divide evenly and have ports. If there is none, the ``largest`` is
    returned, and a later step reports the number of spines.
    """
    stated_spines = intent.topology.spine.count
    if stated_spines is None or leaves.uplinks is None:
        return largest
    for size in range(largest, 0, -1):
        spines_of_pod, rest = divmod(stated_spines, len(_pods_of(leaves, size)))
        counts = fitting_counts(leaves.uplinks, leaves.shared_uplinks, size * leaves.per_stripe, split.down)
        if rest == 0 and spines_of_pod in counts:
            return size
    return largest


def _holds_growth(intent: Intent, leaves: Leaves, most_leaves: int) -> bool:
    """Tell whether ``most_leaves`` have room for the GPUs of the stated growth, even if cables have to move.

    True if the intent states no growth.
    """
    growth = intent.workload.growth
    if growth is None:
        return True
    gpus = 0
    for stripe in range(most_leaves // leaves.per_stripe):
        group = owner(leaves.groups, stripe)
        gpus += group.stripe_nodes * group.entry.gpus
    return growth.gpus <= gpus


class GroupTier(NamedTuple):
    """The number of super-spines of one group, and the links of a spine to each."""

    members: int
    links_per_pair: int


def join_pods(intent: Intent, pods: Pods, spines: int, top: TierHardware) -> tuple[GroupTier | None, Faults]:
    """Return the super-spines of a group, or None and why the stated number is wrong.

    Every pod has ``spines`` spines, so there are as many groups.
    """
    most_pods = max(pods.end, intent.topology.reserve.pods or 0)
    even_counts = [count for count in range(1, pods.uplinks + 1) if pods.uplinks % count == 0]
    fitting_members = [count for count in even_counts if most_pods * (pods.uplinks // count) <= top.ports]
    super_spine = intent.topology.super_spine
    if super_spine is None or super_spine.count is None:
        members = fitting_members[0]
        return GroupTier(members, pods.uplinks // members), ()
    members = super_spine.count // spines
    fault = _uneven_group(super_spine.count, spines, pods) or _full_super_spine(members, most_pods, pods, top)
    if fault is None:
        return GroupTier(members, pods.uplinks // members), ()
    fix = f"use {either([count * spines for count in fitting_members])} super-spines"
    if fault.ports:
        fix += f", or super-spines with {fault.ports} ports"
    where = intent.where("topology.super_spine.count")
    return None, (error(fault.code, fault.message, where, fix=fix),)


class _GroupFault(NamedTuple):
    """Why a number of super-spines cannot join the pods."""

    code: str
    message: str
    # The ports that a super-spine would need, 0 if that is not the reason.
    ports: int = 0


def _uneven_group(super_spines: int, spines: int, pods: Pods) -> _GroupFault | None:
    """Return why super-spines do not divide evenly over the groups or over the uplinks of a spine, None if they do."""
    members, rest = divmod(super_spines, spines)
    if rest or members == 0:
        return _GroupFault(
            "RW211",
            f"{counted(super_spines, 'super-spine')} cannot be shared out over {spines} groups: one for each spine of a"
            " pod",
        )
    if pods.uplinks % members:
        return _GroupFault(
            "T-2",
            f"{counted(members, 'super-spine')} of a group cannot share the {pods.uplinks} uplinks of a spine evenly:"
            f" {pods.uplinks} ÷ {members} is not whole",
        )
    return None


def _full_super_spine(members: int, most_pods: int, pods: Pods, top: TierHardware) -> _GroupFault | None:
    """Return why a super-spine has too few ports for ``most_pods``, None if it has enough."""
    pair = pods.uplinks // members
    ports = most_pods * pair
    if ports <= top.ports:
        return None
    message = (
        f"{counted(most_pods, 'pod')} × {counted(pair, 'link')} need {ports} ports on every super-spine; one has"
        f" {top.ports}"
    )
    return _GroupFault("T-3", message, ports)


def share_out(intent: Intent, key: str, spines: int | None, pods: int, each: str) -> tuple[int | None, Faults]:
    """Return the spines of each pod or rail; None, and an error, if they cannot be shared out evenly.

    ``spines`` is what the intent states at ``key`` for a plane; None if it states no number, and so is the result.
    ``each`` is "pod" or "rail", or empty if all spines are one group.
    """
    if spines is None:
        return None, ()
    share, rest = divmod(spines, pods)
    if rest == 0:
        return share, ()
    part = each or "pod"
    possible = [(share + 1) * pods]
    if share:
        possible.insert(0, share * pods)
    return None, (
        error(
            "RW211",
            f"{counted(spines, 'spine')} cannot be shared out over {counted(pods, part)}: every {part} has as many",
            intent.where(f"topology.{key}"),
            fix=f"use {either(possible)} spines",
        ),
    )


def _two_are_too_few(intent: Intent, leaves: Leaves, ports: int) -> Diagnostic:
    """Return the error of more nodes than two tiers hold if a spine has ``ports`` for leaves."""
    stripes = ports // leaves.per_stripe
    message = _too_many_nodes(intent, leaves, stripes, "two tiers", ", one link a leaf-spine pair")
    if intent.topology.reserve.pods is not None:
        fix = "use tiers: auto for a third tier, whose ports reserve.pods keeps free"
    else:
        other_fixes = f"spines with at least {leaves.indexes} ports, larger leaves, or more planes"
        fix = f"use tiers: auto for a third tier, {other_fixes}"
    return error("T-1", message, intent.where("topology.tiers"), fix=fix)


def _too_many_nodes(intent: Intent, leaves: Leaves, stripes: int, tiers: str, condition: str) -> str:
    """Return a message about the endpoints of all nodes and the most that can be held.

    ``tiers`` says which tiers hold them, in that number of ``stripes``, and ``condition`` what this number rests on.
    """
    planes = intent.topology.planes
    nodes = 0
    endpoints = 0
    for group in leaves.groups:
        nodes += group.entry.count
        endpoints += group.entry.count * group.ports_per_plane * planes
    # As if all stripes were of the last entry.
    last_group = leaves.groups[-1]
    most_nodes = stripes * last_group.stripe_nodes
    most_endpoints = most_nodes * last_group.ports_per_plane * planes
    return (
        f"{counted(nodes, 'node')} have {endpoints:,} endpoints; {tiers} of these switches hold at most"
        f" {most_endpoints:,} endpoints ({most_nodes:,} nodes{condition})"
    )


def _gap_exceeds_spine(intent: Intent, leaves: Leaves, ports: int) -> Diagnostic:
    """Return the error of stripes left out, because of which a spine has too few ports for leaf indexes."""
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
    """Return the error of a spine without a ``split``, or with one that has too few ports down for a stripe."""
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
    """Return the error of a stated size of pods that is more than the ``largest`` that fits on a spine."""
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
    """Return the error of more pods than super-spines have ports for: the reserved ones, or those of today."""
    reserved = intent.topology.reserve.pods
    if reserved is not None and reserved > pods.end:
        return error(
            "T-3",
            f"the reserve of {reserved} pods needs {reserved} ports on every super-spine; one has {top.ports}",
            intent.where("topology.reserve.pods"),
            fix=f"reserve at most {top.ports} pods, or use super-spines with more ports",
        )
    path = "nodes"
    if intent.topology.super_spine:
        path = "topology.super_spine"
    return error(
        "T-1",
        _too_many_nodes(intent, leaves, top.ports * pods.size, "three tiers", f", {top.ports} pods"),
        intent.where(path),
        fix=f"use super-spines with at least {pods.end} ports, larger pods, larger leaves, or more planes",
    )
