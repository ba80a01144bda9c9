"""One tier: a single switch, or in a rail-only fabric one for each rail while its nodes fit.

In a rail-only fabric every rail is a fabric of its own. No cable joins two rails: traffic between them takes the links
between the GPUs of a node (arXiv 2307.12169).
"""

from collections.abc import Iterator, Sequence
from typing import NamedTuple

from railweave.design.hardware import TierHardware
from railweave.design.layout import Layout, NodeGroup, TierLayout
from railweave.design.leaf_class import LeafClass, NodePorts
from railweave.design.leaves import Faults, Leaves
from railweave.design.nodes import place_groups, rail_count
from railweave.design.ratios import asked_ratio
from railweave.design.sharing import parts_of_first, with_speeds
from railweave.design.split import TierPorts, all_down
from railweave.diagnostics import Diagnostic, error
from railweave.intent.model import Intent, Shape, Topology
from railweave.wording import counted


class OneTier(NamedTuple):
    """The outcome of a design with one tier.

    ``layout`` is None if there are ``faults``, and if the fabric needs two tiers.
    """

    layout: Layout | None
    faults: Faults


def lay_out_one_tier(intent: Intent, node_ports: Sequence[NodePorts], classes: Sequence[LeafClass]) -> OneTier:
    """Return the layout of one switch in each plane, or of one for each rail; else the faults of the intent.

    There is neither if the fabric has more than one tier.
    """
    tiers = intent.topology.tiers
    shape_faults = tuple(_shape_faults(intent))
    if shape_faults or not _may_have_one_tier(intent):
        return OneTier(None, shape_faults)
    switches = 1
    if intent.topology.shape is Shape.RAIL_ONLY:
        switches = rail_count(intent)
    hardware = classes[0].hardware
    ports = all_down(hardware.cages, hardware.down)
    classes_without_uplinks = tuple(leaf._replace(down=ports.total, ports=ports) for leaf in classes)
    groups, faults = place_groups(intent, node_ports, classes_without_uplinks)
    if not faults:
        faults = (
            *_spine_faults(intent),
            *_count_faults(intent, switches),
            *_stripe_faults(intent, groups, ports.total),
        )
    if faults and tiers == 1:
        return OneTier(None, faults)
    # With automatic tiers, the fabric may have two tiers without these faults.
    if faults:
        return OneTier(None, ())
    # With automatic tiers, growth that one tier does not hold gets a second one.
    if tiers is None and not _holds_growth(intent, groups):
        return OneTier(None, ())
    first, *others = classes_without_uplinks
    first = first._replace(ports=with_speeds(ports, parts_of_first(groups)))
    return OneTier(_layout(intent, groups, (first, *others), ports, switches), ())


def _shape_faults(intent: Intent) -> Iterator[Diagnostic]:
    """Yield an error for each key that asks for tiers which a fabric of this shape cannot have."""
    if _may_be_without_spine(intent.topology):
        yield from _third_tier_faults(intent)
    else:
        yield from _needs_spine(intent)


def _may_have_one_tier(intent: Intent) -> bool:
    topology = intent.topology
    if not _may_be_without_spine(topology):
        return False
    # Leaves that share a NIC need a spine that joins them (RW128 refuses tiers: 1).
    return topology.tiers in (None, 1) and topology.leaves_per_nic == 1


def _may_be_without_spine(topology: Topology) -> bool:
    """Tell whether the fabric may have no spine: each rail can be one switch, or one switch for all nodes is stated."""
    if topology.shape is Shape.RAIL_ONLY:
        return True
    return topology.shape is Shape.RACK_ALIGNED and topology.tiers == 1


def _layout(
    intent: Intent, groups: tuple[NodeGroup, ...], classes: tuple[LeafClass, ...], ports: TierPorts, switches: int
) -> Layout:
    """Return the layout of one tier of ``switches`` in each plane, in a rail-only fabric one a rail."""
    hardware = classes[0].hardware
    rails = 0
    if intent.topology.shape is Shape.RAIL_ONLY:
        rails = switches
    lowest = TierLayout(
        name=hardware.name,
        level=0,
        places=tuple(range(switches)),
        ports=ports,
        down=hardware.down,
        reserve=switches,
        rails=rails,
        group_size=1,
        groups=switches,
        group_reserve=1,
    )
    return Layout(
        fabric=intent.fabric,
        shape=intent.topology.shape,
        planes=intent.topology.planes,
        rails=rail_count(intent),
        stripe_leaves=switches,
        groups=groups,
        classes=classes,
        stripes=(0,),
        ratio=asked_ratio(intent),
        tiers=(lowest,),
    )


def rails_exceed_spines(intent: Intent, leaves: Leaves, spine: TierHardware) -> Faults:
    """Return the error of more leaves than the spines of a rail have ports for; empty if they have enough."""
    needed = leaves.indexes // leaves.rails
    if needed <= spine.ports:
        return ()
    nodes = sum(group.entry.count for group in leaves.groups)
    most_stripes = spine.ports // intent.topology.leaves_per_nic
    most_nodes = most_stripes * leaves.groups[-1].stripe_nodes
    return (
        error(
            "T-1",
            f"{counted(nodes, 'node')} need {needed} leaves of a rail; a spine of two tiers has {spine.ports} ports,"
            f" for at most {most_nodes:,} nodes",
            intent.where("nodes"),
            fix=f"use spines with at least {needed} ports, larger leaves, or more planes; rails that are apart have no"
            " third tier",
        ),
    )


def _holds_growth(intent: Intent, groups: Sequence[NodeGroup]) -> bool:
    """Tell whether one stripe of the first entry of nodes has room for the GPUs of the stated growth, if any."""
    growth = intent.workload.growth
    return growth is None or growth.gpus <= groups[0].stripe_nodes * groups[0].entry.gpus


def _needs_spine(intent: Intent) -> Iterator[Diagnostic]:
    """Yield an error if one tier is stated for several leaves, or a spine for the only leaf."""
    topology = intent.topology
    if topology.tiers == 1:
        yield error(
            "RW202",
            f"tiers: 1 has no spines, and in a {topology.shape} fabric nothing else joins the leaves",
            intent.where("topology.tiers"),
            fix="use tiers: 2 or auto, or shape: rail-only, where each rail is one switch",
        )
    elif topology.shape is Shape.RACK_ALIGNED and topology.leaf.count == 1:
        yield error(
            "RW202",
            "leaf.count: 1 is one switch, and topology.spine is stated beside it",
            intent.where("topology.spine"),
            fix="leave topology.spine out, or leave leaf.count to auto",
        )


def _one_tier_text(intent: Intent) -> str:
    """Return how the intent asks for one tier and what that builds, as a clause of a message."""
    if intent.topology.shape is Shape.RAIL_ONLY:
        return "tiers: 1 builds one switch a rail"
    return "leaf.count: 1 builds one switch"


def _two_tiers_text(intent: Intent) -> str:
    """Return how the intent would ask for two tiers, for a message."""
    if intent.topology.shape is Shape.RAIL_ONLY:
        return "tiers: 2"
    return "a spine with more leaves"


def _third_tier_faults(intent: Intent) -> Iterator[Diagnostic]:
    """Yield an error for each key that asks for a third tier, which a fabric of this shape cannot have."""
    topology = intent.topology
    rule = "a rail-only fabric has one tier or two"
    fix = "use tiers: auto, 1 or 2 without pods, or shape: rail-optimized"
    if topology.shape is not Shape.RAIL_ONLY:
        rule = "one switch is one tier"
        fix = "leave it out, or use a spine with more leaves"
    asks_for_third = {
        "tiers": topology.tiers == 3,
        "super_spine": topology.super_spine is not None,
        "pod": topology.pod is not None,
        "reserve.pods": topology.reserve.pods is not None,
    }
    for key, asks in asks_for_third.items():
        if asks:
            yield error(
                "RW202",
                f"{rule}, and topology.{key} asks for a third",
                intent.where(f"topology.{key}"),
                fix=fix,
            )


def _spine_faults(intent: Intent) -> Iterator[Diagnostic]:
    """Yield an error for each key that asks for spines, since one tier has none.

    With automatic tiers a spine without a number is a model for later.
    """
    topology = intent.topology
    asks_for_spines = {
        "spine": topology.tiers == 1 and "topology.spine" in intent.places,
        "spine.count": topology.tiers is None and topology.spine.count is not None,
        "links_per_pair": topology.links_per_pair is not None,
        "reserve.spines": topology.reserve.spines is not None,
    }
    for key, asks in asks_for_spines.items():
        if asks:
            yield error(
                "RW202",
                f"{_one_tier_text(intent)} and no spines, and topology.{key} is stated",
                intent.where(f"topology.{key}"),
                fix=f"leave topology.{key} out, or use {_two_tiers_text(intent)}",
            )


def _count_faults(intent: Intent, switches: int) -> Iterator[Diagnostic]:
    """Yield an error for each stated number of leaves that is not that of the ``switches`` of one tier."""
    topology = intent.topology
    what_is_built = _one_tier_text(intent)
    if switches > 1:
        what_is_built += f", {switches} in all"
    for key, count in (("leaf.count", topology.leaf.count), ("reserve.leaves", topology.reserve.leaves)):
        if count is not None and count != switches:
            yield error(
                "RW202",
                f"{what_is_built}; topology.{key} is {count}",
                intent.where(f"topology.{key}"),
                fix=f"use {switches}, or {_two_tiers_text(intent)}",
            )


def _stripe_faults(intent: Intent, groups: Sequence[NodeGroup], ports: int) -> Iterator[Diagnostic]:
    """Yield at most one error: an entry of nodes begins in another stripe, or one has more nodes than a switch holds.

    ``ports`` is the number of ports of a switch.
    """
    for group in groups:
        has_own_leaves = group is not groups[0] and not group.entry.share_leaves
        if group.first_stripe or has_own_leaves:
            yield error(
                "RW202",
                f"{_one_tier_text(intent)}, which is stripe 0; nodes {group.entry.name!r} begin in stripe"
                f" {group.first_stripe}",
                intent.where(f"{group.path}.first_stripe"),
                fix=f"use {_two_tiers_text(intent)}, one entry of nodes, or share_leaves: true for the others",
            )
            return
    for group in groups:
        if group.stripes > 1:
            yield _switch_full(intent, group, ports)
            return


def _switch_full(intent: Intent, group: NodeGroup, ports: int) -> Diagnostic:
    """Return the error of an entry with more nodes than a switch with ``ports`` holds."""
    nodes = counted(group.entry.count, "node")
    needed = group.entry.count * group.ports_per_leaf
    switch = "the one switch"
    if intent.topology.shape is Shape.RAIL_ONLY:
        switch += " of a rail"
    limit = f"a switch with {counted(ports, 'port')}"
    if group.entry.stripe or intent.topology.stripe:
        limit = "the stripe"
    most_nodes = counted(group.stripe_nodes, "node")
    return error(
        "T-1",
        f"{nodes} need {needed} ports on {switch}; {limit} holds {most_nodes}",
        intent.where(f"{group.path}.count"),
        fix=f"use at most {most_nodes}, switches with {needed} ports, or {_two_tiers_text(intent)}",
    )
