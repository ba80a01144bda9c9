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
    """The outcome of a design with one tier: ``layout`` is None where that is refused, or two tiers are meant."""

    layout: Layout | None
    faults: Faults


def lay_out_one_tier(intent: Intent, node_ports: Sequence[NodePorts], classes: Sequence[LeafClass]) -> OneTier:
    """Return the layout of one switch, or one for each rail, in each plane, or why it is refused; neither where the
    intent leaves the tiers open and asks for more than one switch holds."""
    tiers = intent.topology.tiers
    refused = tuple(_not_one_tier(intent))
    if refused or not _may_have_one_tier(intent):
        return OneTier(None, refused)
    switches = 1
    if intent.topology.shape is Shape.RAIL_ONLY:
        switches = rail_count(intent)
    hardware = classes[0].hardware
    ports = all_down(hardware.cages, hardware.down)
    one_switch = tuple(leaf._replace(down=ports.total, ports=ports) for leaf in classes)
    groups, faults = place_groups(intent, node_ports, one_switch)
    faults = faults or (*_spines(intent), *_counts(intent, switches), *_stripes(intent, groups, ports.total))
    if faults and tiers == 1:
        return OneTier(None, faults)
    # Automatic tiers are two where one does not do.
    if faults or (tiers is None and not _holds_growth(intent, groups)):
        return OneTier(None, ())
    first = one_switch[0]._replace(ports=with_speeds(ports, parts_of_first(groups)))
    return OneTier(_layout(intent, groups, (first, *one_switch[1:]), ports, switches), ())


def _not_one_tier(intent: Intent) -> Iterator[Diagnostic]:
    """Yield why a shape cannot have the tiers that the intent states."""
    if _may_be_one_switch(intent.topology):
        yield from _third_tier(intent)
    else:
        yield from _not_one_switch(intent)


def _may_have_one_tier(intent: Intent) -> bool:
    topology = intent.topology
    if not _may_be_one_switch(topology):
        return False
    # Nothing joins the leaves that share a NIC where there is no spine (RW128 refuses tiers: 1).
    return topology.tiers in (None, 1) and topology.leaves_per_nic == 1


def _may_be_one_switch(topology: Topology) -> bool:
    """Tell whether the shape has no spine, or can do without."""
    return topology.shape is Shape.RAIL_ONLY or (topology.shape is Shape.RACK_ALIGNED and topology.tiers == 1)


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
    """Return the refusal of more stripes than the spines of a rail have ports for."""
    per_nic = intent.topology.leaves_per_nic
    needed = leaves.indexes // leaves.rails
    if needed <= spine.ports:
        return ()
    nodes = sum(group.entry.count for group in leaves.groups)
    most = spine.ports // per_nic * leaves.groups[-1].stripe_nodes
    return (
        error(
            "T-1",
            f"{counted(nodes, 'node')} need {needed} leaves of a rail; a spine of two tiers has {spine.ports} ports,"
            f" for at most {most:,} nodes",
            intent.where("nodes"),
            fix=f"use spines with at least {needed} ports, larger leaves, or more planes; rails that are apart have no"
            " third tier",
        ),
    )


def _holds_growth(intent: Intent, groups: Sequence[NodeGroup]) -> bool:
    growth = intent.workload.growth
    return growth is None or growth.gpus <= groups[0].stripe_nodes * groups[0].entry.gpus


def _not_one_switch(intent: Intent) -> Iterator[Diagnostic]:
    """Yield why several leaves are no tier of their own, and a spine beside the only leaf."""
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


def _tier_of(intent: Intent) -> str:
    """Return what is built, for a message."""
    if intent.topology.shape is Shape.RAIL_ONLY:
        return "tiers: 1 builds one switch a rail"
    return "leaf.count: 1 builds one switch"


def _more_tiers(intent: Intent) -> str:
    """Return what builds two tiers, for a message."""
    if intent.topology.shape is Shape.RAIL_ONLY:
        return "tiers: 2"
    return "a spine with more leaves"


def _third_tier(intent: Intent) -> Iterator[Diagnostic]:
    """Yield what a fabric of one tier or two has no place for."""
    topology = intent.topology
    has = "a rail-only fabric has one tier or two"
    fix = "use tiers: auto, 1 or 2 without pods, or shape: rail-optimized"
    if topology.shape is not Shape.RAIL_ONLY:
        has = "one switch is one tier"
        fix = "leave it out, or use a spine with more leaves"
    asked = {
        "tiers": topology.tiers == 3,
        "super_spine": topology.super_spine is not None,
        "pod": topology.pod is not None,
        "reserve.pods": topology.reserve.pods is not None,
    }
    for key, stated in asked.items():
        if stated:
            yield error(
                "RW202",
                f"{has}, and topology.{key} asks for a third",
                intent.where(f"topology.{key}"),
                fix=fix,
            )


def _spines(intent: Intent) -> Iterator[Diagnostic]:
    """Yield what is stated of spines where none is built; without ``tiers`` a bare model is no wish for them."""
    topology = intent.topology
    asked = {
        "spine": topology.tiers == 1 and "topology.spine" in intent.places,
        "spine.count": topology.tiers is None and topology.spine.count is not None,
        "links_per_pair": topology.links_per_pair is not None,
        "reserve.spines": topology.reserve.spines is not None,
    }
    for key, stated in asked.items():
        if stated:
            yield error(
                "RW202",
                f"{_tier_of(intent)} and no spines, and topology.{key} is stated",
                intent.where(f"topology.{key}"),
                fix=f"leave topology.{key} out, or use {_more_tiers(intent)}",
            )


def _counts(intent: Intent, switches: int) -> Iterator[Diagnostic]:
    topology = intent.topology
    builds = f"{_tier_of(intent)}, {switches} in all"
    if switches == 1:
        builds = _tier_of(intent)
    for key, count in (("leaf.count", topology.leaf.count), ("reserve.leaves", topology.reserve.leaves)):
        if count is not None and count != switches:
            yield error(
                "RW202",
                f"{builds}; topology.{key} is {count}",
                intent.where(f"topology.{key}"),
                fix=f"use {switches}, or {_more_tiers(intent)}",
            )


def _stripes(intent: Intent, groups: Sequence[NodeGroup], ports: int) -> Iterator[Diagnostic]:
    """Yield where the nodes are more than one switch holds, or stand in other stripes than the first."""
    for group in groups:
        if group.first_stripe or (group is not groups[0] and not group.entry.share_leaves):
            yield error(
                "RW202",
                f"{_tier_of(intent)}, which is stripe 0; nodes {group.entry.name!r} begin in stripe"
                f" {group.first_stripe}",
                intent.where(f"{group.path}.first_stripe"),
                fix=f"use {_more_tiers(intent)}, one entry of nodes, or share_leaves: true for the others",
            )
            return
    for group in groups:
        if group.stripes > 1:
            yield _switch_full(intent, group, ports)
            return


def _switch_full(intent: Intent, group: NodeGroup, ports: int) -> Diagnostic:
    nodes = group.entry.count
    needed = group.entry.count * group.ports_per_leaf
    what = "the one switch"
    if intent.topology.shape is Shape.RAIL_ONLY:
        what += " of a rail"
    limit = f"a switch with {counted(ports, 'port')}"
    if group.entry.stripe or intent.topology.stripe:
        limit = "the stripe"
    ways = f"use at most {counted(group.stripe_nodes, 'node')}, switches with {needed} ports"
    return error(
        "T-1",
        f"{counted(nodes, 'node')} need {needed} ports on {what}; {limit} holds {counted(group.stripe_nodes, 'node')}",
        intent.where(f"{group.path}.count"),
        fix=f"{ways}, or {_more_tiers(intent)}",
    )
