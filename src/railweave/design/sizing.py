"""The sizing of a layout: totals over planes, ratios, limits and what is worth knowing about them."""

from fractions import Fraction
from math import ceil, inf

from railweave.design.core_cost import core_diagnostics
from railweave.design.layout import Layout, NodeGroup
from railweave.design.ratios import RECOMMENDED_RATIO, bandwidth_text, exact_ratio_text, ratio_text
from railweave.design.room import CountedDesign, StripeGrowth, end_of_growth, find_growth, remaining_capacity
from railweave.design.steps import explain
from railweave.diagnostics import Diagnostic, error, info, warning
from railweave.fabric.sizing import LeafSplit, LinkCounts, Oversubscription, RoomLeft, Sizing
from railweave.intent.model import Intent, SplitRule
from railweave.wording import counted

ADVISED_SPINES = 4
"""The least number of spines with which the loss of one costs little bandwidth (Juniper's validated AI design)."""


def size(designed: CountedDesign, diagnostics: tuple[Diagnostic, ...]) -> Sizing:
    """Return the sizing of a layout; ``diagnostics`` are those found so far, which the result includes."""
    layout = designed.layout
    intent = designed.intent
    growth = find_growth(layout, intent.policies.addressing)
    room = remaining_capacity(designed, growth)
    lowest = layout.lowest
    spines = layout.spines
    super_spines = 0
    if layout.super_spines:
        super_spines = layout.super_spines.count
    worst_ratio = layout.worst_ratio
    # Without another spine the leaves are not joined.
    ratio_after_loss = inf
    if spines.group_size > 1:
        ratio_after_loss = float(worst_ratio * spines.group_size / (spines.group_size - 1))
    return Sizing(
        fabric=layout.fabric,
        tiers=len(layout.tiers),
        planes=layout.planes,
        rails=layout.rails,
        stripes=len(layout.stripes),
        nodes=layout.nodes,
        gpus=sum(group.entry.count * group.entry.gpus for group in layout.groups),
        leaves=lowest.count * layout.planes,
        spines=spines.count * layout.planes,
        super_spines=super_spines * layout.planes,
        leaf=LeafSplit(lowest.ports.down, lowest.uplinks, lowest.down_gbps, lowest.up_gbps),
        links=LinkCounts(
            host_leaf=layout.node_ports,
            leaf_spine=layout.leaf_spine_links * layout.planes,
            spine_super_spine=spines.count * spines.uplinks * layout.planes,
            per_leaf_spine_pair=lowest.links_per_pair,
        ),
        oversubscription=Oversubscription(
            target=float(layout.ratio), leaf=float(worst_ratio), after_spine_loss=ratio_after_loss
        ),
        limits=growth.limits,
        room=room,
        steps=explain(intent, layout, designed.hardware, growth),
        diagnostics=(*diagnostics, *judge(intent, layout, growth, room)),
    )


def judge(intent: Intent, layout: Layout, growth: StripeGrowth, room: RoomLeft) -> tuple[Diagnostic, ...]:
    """Return what an experienced reviewer would say about a layout without errors."""
    return (
        *_unused_tier(intent, layout),
        *_unused_pod(intent, layout),
        *_unused_uplink_speed(intent, layout),
        *_ratio_advice(intent, layout),
        *_idle_uplinks(intent, layout),
        *_unequal_leaves(intent, layout),
        *_spine_advice(intent, layout),
        *core_diagnostics(intent, layout),
        *_growth_faults(intent, layout, growth, room),
    )


def _unused_tier(intent: Intent, layout: Layout) -> list[Diagnostic]:
    """Return an info if the intent states switches of a tier that is not built."""
    key = "super_spine"
    message = "two tiers are enough: no super-spine is built"
    if not layout.spines.count:
        key = "spine"
        message = "one switch a rail is enough: no spine is built"
    if layout.pod or f"topology.{key}" not in intent.places:
        return []
    return [info("RW210", message, intent.where(f"topology.{key}"), fix=f"leave {key} out")]


def _unused_pod(intent: Intent, layout: Layout) -> list[Diagnostic]:
    """Return an error if the intent states the size of pods, but the fabric neither has nor reserves pods."""
    topology = intent.topology
    if topology.pod is None or layout.pod:
        return []
    if topology.tiers is not None:
        reason = f"topology.tiers is {topology.tiers}"
    elif layout.spines.count:
        reason = "two tiers are enough"
    else:
        reason = "one tier is enough"
    return [
        error(
            "RW210",
            f"topology.pod is {topology.pod}, but {reason}, and only three tiers have pods",
            intent.where("topology.pod"),
            fix="leave pod out; or state tiers: 3, or reserve.pods where the third tier comes later",
        )
    ]


def _unused_uplink_speed(intent: Intent, layout: Layout) -> list[Diagnostic]:
    """Return an info if the intent states a speed for uplinks of spines that have none.

    The ports that a reserve of pods keeps free do have that speed.
    """
    if layout.pod or not layout.spines.count or intent.topology.spine.uplink_gbps is None:
        return []
    message = "spines have no uplinks: no super-spine is above them"
    return [info("RW210", message, intent.where("topology.spine.uplink_speed"), fix="leave uplink_speed out")]


def _ratio_advice(intent: Intent, layout: Layout) -> list[Diagnostic]:
    """Return a warning if the oversubscription of a leaf is higher than is recommended for the workload."""
    kind = intent.workload.kind
    recommended: Fraction = RECOMMENDED_RATIO[kind]
    ratio = layout.worst_ratio
    if ratio <= recommended or not intent.carries_collectives:
        return []
    return [
        warning(
            "RW209",
            f"{ratio_text(ratio)} is more oversubscription than is recommended for {kind}: {ratio_text(recommended)} at"
            " most",
            intent.where("topology.oversubscription"),
            fix=f"ask for {ratio_text(recommended)} or less, or keep it knowingly",
        )
    ]


_FAR_MORE = 2
"""Uplinks of a leaf are reported if they are more than this many times the needed ones."""


def _idle_uplinks(intent: Intent, layout: Layout) -> list[Diagnostic]:
    """Return an info if leaves have far more uplinks than the ports that nodes are connected to need."""
    group = max(layout.groups, key=layout.connected_ratio)
    leaf = layout.classes[group.leaf]
    needed = leaf.least_uplinks(layout.connected_gbps(group), layout.ratio)
    # Uplinks for a stated growth are not idle later.
    if leaf.uplinks <= _FAR_MORE * needed or intent.workload.growth is not None:
        return []
    connected_ports = min(group.stripe_nodes, group.entry.count) * group.ports_per_leaf
    return [
        info(
            "RW216",
            f"a leaf has {counted(leaf.uplinks, 'uplink')} for {counted(connected_ports, 'connected port')},"
            f" {exact_ratio_text(layout.connected_ratio(group))}; {ratio_text(layout.ratio)} asks for {needed}",
            intent.where("topology.stripe"),
            fix=_fewer_uplinks(intent, group, layout),
        )
    ]


def _fewer_uplinks(intent: Intent, group: NodeGroup, layout: Layout) -> str:
    """Return how leaves get no more uplinks than their nodes need, as the fix of a diagnostic."""
    topology = intent.topology
    nodes = min(group.stripe_nodes, group.entry.count)
    keep = "keep it for nodes that come later"
    if topology.links_per_pair is not None:
        needed_spines = ceil(layout.spines.group_size * layout.connected_ratio(group) / layout.ratio)
        return f"use {counted(max(2, needed_spines), 'spine')}{layout.of_spines}, or {keep}"
    if topology.stripe is not None and topology.split is SplitRule.PANEL:
        return "leave `split: panel` out, which moves the cables of a running fabric, or keep it"
    return f"write topology.stripe: {nodes}, or the nodes that share a set of leaves later on; or {keep}"


def _unequal_leaves(intent: Intent, layout: Layout) -> list[Diagnostic]:
    """Return an info for each leaf class that has another bandwidth to a spine than leaves of topology.leaf.

    Paths between such leaves have equal cost, since every spine has the same links to a leaf. The slower leaf is the
    limit, and what the faster one sends beyond it is queued in the spines.
    """
    first = layout.classes[0]
    spines = layout.spines.group_size
    first_bandwidth = f"{bandwidth_text(first.pair_gbps * spines)} to a leaf of topology.leaf"
    diagnostics = []
    for leaf in layout.classes[1:]:
        if leaf.pair_gbps == first.pair_gbps:
            continue
        bandwidth = f"{bandwidth_text(leaf.pair_gbps * spines)} to a leaf of {leaf.name!r}"
        diagnostics.append(
            info(
                "RW215",
                f"spines have {first_bandwidth} and {bandwidth}: between the two the lesser is the limit on paths of"
                " equal cost, and what comes faster waits in spines or is paused",
                intent.where(leaf.path),
                fix="place a job's nodes on leaves of one kind, or give both the same bandwidth by links_per_pair",
            )
        )
    return diagnostics


def _spine_advice(intent: Intent, layout: Layout) -> list[Diagnostic]:
    """Return an info if there are so few spines that the loss of one costs much bandwidth."""
    spines = layout.spines.group_size
    if spines >= ADVISED_SPINES or not layout.spines.count:
        return []
    effect = "cuts every leaf off"
    if spines > 1:
        effect = f"takes {100 // spines} % of every leaf's uplinks"
    # "2 spines a pod" reads better than "2 spines of a pod".
    per_group = layout.of_spines.removeprefix(" of")
    return [
        info(
            "T-7",
            f"{counted(spines, 'spine')}{per_group}: losing one {effect}",
            intent.where("topology.spine"),
            fix=f"use {ADVISED_SPINES} spines or more where that matters",
        )
    ]


def _growth_faults(intent: Intent, layout: Layout, growth: StripeGrowth, room: RoomLeft) -> list[Diagnostic]:
    """Return an error if the stated growth does not fit without moving cables."""
    intended = intent.workload.growth
    if intended is None or intended.gpus <= growth.gpus:
        return []
    # Not even today's fabric fits: another diagnostic reports it.
    if growth.stripes <= layout.stripes[-1]:
        return []
    fix = _more_pods_fix(layout, intended.gpus) or _third_tier_fix(intent, layout, growth.first) or room.next_step
    return [
        error(
            "T-8",
            f"{intended.gpus} GPUs do not fit later: {end_of_growth(layout, growth.first)} at {growth.gpus} GPUs"
            f" ({growth.nodes} nodes) unless cables move",
            intent.where("workload.growth.gpus"),
            fix=fix,
        )
    ]


def _third_tier_fix(intent: Intent, layout: Layout, first: str) -> str:
    """Return the fix of growth that a stated number of two tiers limits; empty if something else limits it.

    ``first`` is the resource that limits growth first.
    """
    if intent.topology.tiers != 2 or first != "spine_ports":
        return ""
    # Ports for a third tier are reserved already, and rails that are apart cannot have one.
    if layout.pod or layout.lowest.rails:
        return ""
    return "use tiers: auto, which builds a third tier where two do not hold the growth, or spines with more ports"


def _more_pods_fix(layout: Layout, gpus: int) -> str:
    """Return the fix that reserves pods for a number of GPUs.

    Empty if there is no third tier, or if super-spines have too few ports for these pods.
    """
    if layout.super_spines is None:
        return ""
    gpus_so_far = 0
    for stripe in range(layout.super_spines.ports.total * layout.pod):
        group = layout.owner(stripe)
        gpus_so_far += group.stripe_nodes * group.entry.gpus
        if gpus_so_far >= gpus:
            pods = stripe // layout.pod + 1
            return f"state reserve.pods: {pods}, which super-spines, pools and AS numbers are then laid out for"
    return ""
