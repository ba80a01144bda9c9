"""From intent, node ports and hardware to the layout, tier by tier: split the ports, then count the switches.

The lowest tier is counted from the nodes, each tier above from the uplinks of the one below.
"""

from collections.abc import Sequence
from fractions import Fraction
from itertools import count as numbers
from itertools import islice
from typing import NamedTuple

from railweave.design.hardware import TierHardware
from railweave.design.layout import Layout, NodeGroup, TierLayout
from railweave.design.nodes import NodePorts, place_groups, rail_count
from railweave.design.ratios import AUTOMATIC_RATIO, ratio_text
from railweave.design.reserve import reserve_diagnostics
from railweave.design.spines import SpineTier, UplinkDemand, divide_uplinks, multiply_pairs
from railweave.design.split import TierPorts, all_down, automatic_split, place_ports
from railweave.diagnostics import Diagnostic, error
from railweave.intent.model import Intent, Shape
from railweave.units import format_speed
from railweave.wording import counted

Faults = tuple[Diagnostic, ...]


class _Attaching(NamedTuple):
    """The tier that attaches the nodes: the ports of a switch, the groups of nodes and the stripes that have switches.

    ``uplinks`` are those of the automatic split, all of them connected, or None with ``links_per_pair`` given.
    """

    ports: TierPorts
    uplinks: int | None
    groups: tuple[NodeGroup, ...]
    stripes: tuple[int, ...]
    rails: int
    per_stripe: int

    @property
    def places(self) -> tuple[int, ...]:
        """Return the indexes of its switches within a plane."""
        return tuple(stripe * self.per_stripe + rail for stripe in self.stripes for rail in range(self.per_stripe))

    @property
    def indexes(self) -> int:
        """Return the highest index + 1."""
        return (self.stripes[-1] + 1) * self.per_stripe


def asked_ratio(intent: Intent) -> Fraction:
    """Return the oversubscription asked for, by the workload where it is automatic."""
    given = intent.topology.oversubscription
    return AUTOMATIC_RATIO[intent.workload.kind] if given is None else given


def lay_out(
    intent: Intent, node_ports: tuple[NodePorts, ...], hardware: Sequence[TierHardware]
) -> tuple[Layout | None, Faults]:
    """Return the layout of a fabric of two tiers, or every reason why there is none."""
    low, top = hardware
    ports, uplinks, diagnostics = split_ports(intent, node_ports, low)
    if ports is None:
        return None, diagnostics
    groups, diagnostics = place_groups(intent, node_ports, ports.down)
    if diagnostics:
        return None, diagnostics
    rails = rail_count(intent)
    per_stripe = stripe_leaves(intent, rails)
    stripes, diagnostics = place_leaves(intent, groups, per_stripe)
    if diagnostics:
        return None, diagnostics
    lowest = _Attaching(ports, uplinks, groups, stripes, rails, per_stripe)
    above = two_tier_faults(intent, lowest, top)
    if above:
        return None, above
    spines, diagnostics = count_above(intent, lowest, low, top)
    if spines is None:
        return None, diagnostics
    layout = Layout(
        fabric=intent.fabric,
        shape=intent.topology.shape,
        planes=intent.topology.planes,
        rails=rails,
        stripe_leaves=per_stripe,
        groups=groups,
        stripes=stripes,
        ratio=asked_ratio(intent),
        tiers=_tiers(intent, lowest, spines, hardware),
    )
    return layout, reserve_diagnostics(intent, layout)


def _tiers(
    intent: Intent, lowest: _Attaching, spines: SpineTier, hardware: Sequence[TierHardware]
) -> tuple[TierLayout, ...]:
    (low, top), reserve, pair = hardware, intent.topology.reserve, spines.links_per_pair
    fixed = lowest.uplinks is None
    return (
        TierLayout(
            name=low.name,
            level=0,
            places=lowest.places,
            ports=lowest.ports,
            down=low.down,
            reserve=reserve.leaves or top.ports // pair,
            up=low.up,
            uplinks=spines.spines * pair,
            links_per_pair=pair,
            fixed_pair=fixed,
        ),
        TierLayout(
            name=top.name,
            level=1,
            places=tuple(range(spines.spines)),
            ports=all_down(top.cages, top.down),
            down=top.down,
            reserve=reserve.spines or (lowest.ports.room // pair if fixed else spines.spines),
        ),
    )


def split_ports(
    intent: Intent, node_ports: tuple[NodePorts, ...], hardware: TierHardware
) -> tuple[TierPorts | None, int | None, Faults]:
    """Return the ports of a switch that attaches nodes, and the uplinks of the automatic split where all of them are
    connected."""
    topology, cages, down, up = intent.topology, hardware.cages, hardware.down, hardware.up
    split = automatic_split(cages, down, up, asked_ratio(intent))
    pair, stripe = topology.links_per_pair, topology.stripe
    if pair is None:
        if split is None:
            return None, None, (_no_split(intent, hardware),)
        return place_ports(cages, down, up, split.down, None), split.up, ()
    downlinks = split.down if split else 0
    if stripe is not None:
        downlinks = stripe * max(node.per_leaf for node in node_ports)
    if downlinks == 0:
        return None, None, (_no_split(intent, hardware),)
    reserved = topology.reserve.spines
    block = None if reserved is None else pair * reserved
    ports = place_ports(cages, down, up, downlinks, block)
    if ports is not None:
        return ports, None, ()
    return None, None, (_no_room(intent, hardware, downlinks, block),)


def _no_split(intent: Intent, hardware: TierHardware) -> Diagnostic:
    return error(
        "RW203",
        f"{counted(hardware.cages, 'cage')} of a leaf cannot be split into downlinks and uplinks at"
        f" {ratio_text(asked_ratio(intent))}",
        intent.where("topology.leaf"),
        fix="use a leaf with more ports or another oversubscription",
    )


def _no_room(intent: Intent, hardware: TierHardware, down: int, block: int | None) -> Diagnostic:
    ports = hardware.cages * hardware.up.per_cage
    if block is None:
        return error(
            "RW204",
            f"a stripe needs {counted(down, 'downlink')} of {format_speed(hardware.down.speed_gbps)} on a leaf,"
            f" which has {counted(hardware.cages * hardware.down.per_cage, 'port')} in all",
            intent.where("topology.stripe"),
            fix="use a smaller stripe or a leaf with more ports",
        )
    return error(
        "RW207",
        f"{counted(down, 'downlink')} and {counted(block, 'reserved uplink')} do not fit on a leaf with"
        f" {counted(ports, 'port')} of {format_speed(hardware.up.speed_gbps)}",
        intent.where("topology.reserve.spines"),
        fix="reserve fewer spines, use fewer links_per_pair or a smaller stripe",
    )


def two_tier_faults(intent: Intent, lower: _Attaching, above: TierHardware) -> Faults:
    """Return why two tiers are not what is asked for, or not enough: the ceiling and the endpoints are named."""
    if intent.topology.shape is Shape.RAIL_ONLY:
        diagnostic = error(
            "RW202",
            "rail-only fabrics are not designed in this version",
            intent.where("topology.shape"),
            fix="use rail-optimized: its spines join the rails",
        )
        return (diagnostic,)
    asked = intent.topology.tiers == 3
    if not asked and lower.indexes <= above.ports:
        return ()
    if not asked and len(lower.stripes) * lower.per_stripe <= above.ports:
        return (_gap_exceeds_spine(intent, lower, above),)
    group = lower.groups[-1]
    nodes = sum(each.entry.count for each in lower.groups)
    endpoints = sum(each.entry.count * each.ports_per_plane for each in lower.groups) * intent.topology.planes
    most = above.ports // lower.per_stripe * group.stripe_nodes
    ceiling = most * group.ports_per_plane * intent.topology.planes
    held = (
        f"two tiers of these switches hold at most {ceiling:,} endpoints ({most:,} nodes, one link a leaf-spine pair)"
    )
    has = f"{counted(nodes, 'node')} have {endpoints:,} endpoints"
    if lower.indexes <= above.ports:
        ways = "use tiers: auto, two are enough"
    else:
        ways = f"use spines with at least {lower.indexes} ports, larger leaves, or more planes"
    if intent.topology.tiers == 2:
        return (error("T-1", f"{has}; {held}", intent.where("topology.tiers"), fix=ways),)
    return (
        error(
            "RW201",
            f"three tiers are not designed in this version: {has}; {held}",
            intent.where("topology.tiers" if asked else "nodes"),
            fix=ways,
        ),
    )


def _gap_exceeds_spine(intent: Intent, lower: _Attaching, above: TierHardware) -> Diagnostic:
    last = max(lower.groups, key=lambda group: group.first_stripe)
    return error(
        "T-3",
        f"stripes up to {lower.stripes[-1]} have {lower.indexes} leaf indexes; a spine has {above.ports} ports",
        intent.where(f"{last.path}.first_stripe"),
        fix=f"begin {last.entry.name!r} in a lower stripe: every stripe left out costs spine ports",
    )


def count_above(
    intent: Intent, lowest: _Attaching, low: TierHardware, above: TierHardware
) -> tuple[SpineTier | None, Faults]:
    """Return the switches that the uplinks of the lowest tier reach, and the links to each."""
    if lowest.uplinks is not None:
        return divide_uplinks(intent, lowest.uplinks, lowest.indexes, above.ports)
    demand = UplinkDemand(lowest.ports.down * low.down.speed_gbps, low.up.speed_gbps, asked_ratio(intent))
    return multiply_pairs(intent, lowest.ports, demand, lowest.indexes, above.ports)


def stripe_leaves(intent: Intent, rails: int) -> int:
    """Return the leaves of one stripe: one a rail, or one where racks are aligned."""
    return rails if intent.topology.shape is Shape.RAIL_OPTIMIZED else 1


def place_leaves(
    intent: Intent, groups: tuple[NodeGroup, ...], per_stripe: int
) -> tuple[tuple[int, ...], tuple[Diagnostic, ...]]:
    """Return the indexes of the stripes that have leaves.

    A given count beyond what the nodes need adds stripes without nodes, from the lowest free index on.
    """
    used = sorted(stripe for group in groups for stripe in range(group.first_stripe, group.end_stripe))
    count = intent.topology.leaf.count
    if count is None:
        return tuple(used), ()
    if count % per_stripe:
        better = max(len(used), count // per_stripe + 1) * per_stripe
        return (), (_not_whole_stripes(intent, count, better, per_stripe),)
    if count < len(used) * per_stripe:
        return (), (_too_few(intent, groups, count, len(used), per_stripe),)
    taken = set(used)
    free = count // per_stripe - len(used)
    extra = islice((stripe for stripe in numbers() if stripe not in taken), free)
    return tuple(sorted((*used, *extra))), ()


def _not_whole_stripes(intent: Intent, count: int, better: int, rails: int) -> Diagnostic:
    return error(
        "RW206",
        f"{counted(count, 'leaf')} cannot be shared out over {rails} rails: every stripe has one leaf a rail",
        intent.where("topology.leaf.count"),
        fix=f"use a multiple of {rails}, such as {better}",
    )


def _too_few(intent: Intent, groups: tuple[NodeGroup, ...], count: int, stripes: int, per_stripe: int) -> Diagnostic:
    nodes = sum(group.entry.count for group in groups)
    needed = stripes * per_stripe
    if len(groups) > 1:
        return error(
            "T-1",
            f"{nodes} nodes in {stripes} stripes need {needed} leaves; {counted(count, 'leaf')} cannot hold them",
            intent.where("topology.leaf.count"),
            fix=f"use {needed} leaves, or leave the count to auto",
        )
    (group,) = groups
    room = count // per_stripe * group.stripe_nodes
    return error(
        "T-1",
        f"{nodes} nodes need {needed} leaves: {counted(count, 'leaf')} have ports for {room}"
        f" nodes, {group.stripe_nodes} in a stripe of {counted(per_stripe, 'leaf')}",
        intent.where("topology.leaf.count"),
        fix=f"use {needed} leaves, or at most {room} nodes",
    )
