"""From intent, node ports and hardware to the layout: the rules of the design in their order."""

from dataclasses import dataclass
from fractions import Fraction

from railweave.design.hardware import Hardware
from railweave.design.layout import Layout, NodeGroup
from railweave.design.leaves import place_leaves, stripe_leaves
from railweave.design.nodes import NodePorts, place_groups, rail_count
from railweave.design.ratios import AUTOMATIC_RATIO, count_text, ratio_text
from railweave.design.reserve import reserve_faults
from railweave.design.spines import SpineTier, UplinkDemand, divide_uplinks, multiply_pairs
from railweave.design.split import LeafPorts, automatic_split, place_ports
from railweave.diagnostics import Diagnostic, error
from railweave.intent.model import Intent, Shape
from railweave.units import format_speed

Faults = tuple[Diagnostic, ...]


@dataclass(frozen=True, slots=True)
class Lower:
    """Everything below the spines: the ports of a leaf, the groups of nodes and the stripes that have leaves.

    ``uplinks`` are those of the automatic split, all of them connected, or None with ``links_per_pair`` given.
    """

    ports: LeafPorts
    uplinks: int | None
    groups: tuple[NodeGroup, ...]
    stripes: tuple[int, ...]
    rails: int
    per_stripe: int

    @property
    def leaf_indexes(self) -> int:
        """Return the highest leaf index + 1."""
        return (self.stripes[-1] + 1) * self.per_stripe


def asked_ratio(intent: Intent) -> Fraction:
    """Return the oversubscription asked for, by the workload where it is automatic."""
    given = intent.topology.oversubscription
    return AUTOMATIC_RATIO[intent.workload.kind] if given is None else given


def arrange(intent: Intent, spread: tuple[NodePorts, ...], hardware: Hardware) -> tuple[Layout | None, Faults]:
    """Return the layout of a two-tier fabric, or every reason why there is none."""
    ports, uplinks, faults = leaf_ports(intent, spread, hardware)
    if ports is None:
        return None, faults
    groups, faults = place_groups(intent, spread, ports.down)
    if faults:
        return None, faults
    rails = rail_count(intent)
    per_stripe = stripe_leaves(intent, rails)
    stripes, faults = place_leaves(intent, groups, per_stripe)
    if faults:
        return None, faults
    lower = Lower(ports, uplinks, groups, stripes, rails, per_stripe)
    above = two_tier_faults(intent, lower, hardware)
    if above:
        return None, above
    tier, faults = _spine_tier(intent, lower, hardware)
    if tier is None:
        return None, faults
    layout = _layout(intent, lower, tier, hardware)
    return layout, reserve_faults(intent, layout)


def leaf_ports(
    intent: Intent, spread: tuple[NodePorts, ...], hardware: Hardware
) -> tuple[LeafPorts | None, int | None, Faults]:
    """Return the ports of a leaf, and the uplinks of the automatic split where all of them are connected."""
    topology = intent.topology
    split = automatic_split(hardware.leaf_cages, hardware.down, hardware.up, asked_ratio(intent))
    pair, stripe = topology.links_per_pair, topology.stripe
    if pair is None:
        if split is None:
            return None, None, (_no_split(intent, hardware),)
        ports = place_ports(hardware.leaf_cages, hardware.down, hardware.up, split.down, None)
        return ports, split.up, ()
    down = split.down if split else 0
    if stripe is not None:
        down = stripe * max(node.per_leaf for node in spread)
    if down == 0:
        return None, None, (_no_split(intent, hardware),)
    reserved = topology.reserve.spines
    block = None if reserved is None else pair * reserved
    ports = place_ports(hardware.leaf_cages, hardware.down, hardware.up, down, block)
    if ports is not None:
        return ports, None, ()
    return None, None, (_no_room(intent, hardware, down, block),)


def _no_split(intent: Intent, hardware: Hardware) -> Diagnostic:
    return error(
        "RW203",
        f"{count_text(hardware.leaf_cages, 'cage')} of a leaf cannot be split into downlinks and uplinks at"
        f" {ratio_text(asked_ratio(intent))}",
        intent.where("topology.leaf"),
        fix="use a leaf with more ports or another oversubscription",
    )


def _no_room(intent: Intent, hardware: Hardware, down: int, block: int | None) -> Diagnostic:
    ports = hardware.leaf_cages * hardware.up.per_cage
    if block is None:
        return error(
            "RW204",
            f"a stripe needs {count_text(down, 'downlink')} of {format_speed(hardware.down.speed_gbps)} on a leaf,"
            f" which has {count_text(hardware.leaf_cages * hardware.down.per_cage, 'port')} in all",
            intent.where("topology.stripe"),
            fix="use a smaller stripe or a leaf with more ports",
        )
    return error(
        "RW207",
        f"{count_text(down, 'downlink')} and {count_text(block, 'reserved uplink')} do not fit on a leaf with"
        f" {count_text(ports, 'port')} of {format_speed(hardware.up.speed_gbps)}",
        intent.where("topology.reserve.spines"),
        fix="reserve fewer spines, use fewer links_per_pair or a smaller stripe",
    )


def two_tier_faults(intent: Intent, lower: Lower, hardware: Hardware) -> Faults:
    """Return why two tiers are not what is asked for, or not enough: the ceiling and the endpoints are named."""
    if intent.topology.shape is Shape.RAIL_ONLY:
        fault = error(
            "RW202",
            "rail-only fabrics are not designed in this version",
            intent.where("topology.shape"),
            fix="use rail-optimized: its spines join the rails",
        )
        return (fault,)
    asked = intent.topology.tiers == 3
    if not asked and lower.leaf_indexes <= hardware.spine_ports:
        return ()
    if not asked and len(lower.stripes) * lower.per_stripe <= hardware.spine_ports:
        return (_gap_exceeds_spine(intent, lower, hardware),)
    group = lower.groups[-1]
    nodes = sum(each.entry.count for each in lower.groups)
    endpoints = sum(each.entry.count * each.ports_per_plane for each in lower.groups) * intent.topology.planes
    most = hardware.spine_ports // lower.per_stripe * group.stripe_nodes
    ceiling = most * group.ports_per_plane * intent.topology.planes
    held = f"two tiers of these switches hold at most {ceiling} endpoints ({most} nodes, one link a leaf-spine pair)"
    has = f"{count_text(nodes, 'node')} have {endpoints} endpoints"
    if lower.leaf_indexes <= hardware.spine_ports:
        ways = "use tiers: auto, two are enough"
    else:
        ways = f"use spines with at least {lower.leaf_indexes} ports, larger leaves, or more planes"
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


def _gap_exceeds_spine(intent: Intent, lower: Lower, hardware: Hardware) -> Diagnostic:
    last = max(lower.groups, key=lambda group: group.first_stripe)
    return error(
        "T-3",
        f"stripes up to {lower.stripes[-1]} have {lower.leaf_indexes} leaf indexes; a spine has"
        f" {hardware.spine_ports} ports",
        intent.where(f"{last.path}.first_stripe"),
        fix=f"begin {last.entry.name!r} in a lower stripe: every stripe left out costs spine ports",
    )


def _spine_tier(intent: Intent, lower: Lower, hardware: Hardware) -> tuple[SpineTier | None, Faults]:
    if lower.uplinks is not None:
        return divide_uplinks(intent, lower.uplinks, lower.leaf_indexes, hardware.spine_ports)
    down_gbps = lower.ports.down * hardware.down.speed_gbps
    demand = UplinkDemand(down_gbps, hardware.up.speed_gbps, asked_ratio(intent))
    return multiply_pairs(intent, lower.ports, demand, lower.leaf_indexes, hardware.spine_ports)


def _layout(intent: Intent, lower: Lower, tier: SpineTier, hardware: Hardware) -> Layout:
    reserve = intent.topology.reserve
    fixed = lower.uplinks is None
    possible = lower.ports.room // tier.links_per_pair if fixed else tier.spines
    return Layout(
        fabric=intent.fabric,
        shape=intent.topology.shape,
        planes=intent.topology.planes,
        rails=lower.rails,
        stripe_leaves=lower.per_stripe,
        groups=lower.groups,
        stripes=lower.stripes,
        ratio=asked_ratio(intent),
        leaf_ports=lower.ports,
        down=hardware.down,
        up=hardware.up,
        spine_ports=hardware.spine_ports,
        spines=tier.spines,
        links_per_pair=tier.links_per_pair,
        fixed_pair=fixed,
        reserve_leaves=reserve.leaves or hardware.spine_ports // tier.links_per_pair,
        reserve_spines=reserve.spines or possible,
    )
