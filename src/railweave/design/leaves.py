"""The leaves: the split of their ports, and the stripes that have some. They are counted from the nodes."""

from collections.abc import Iterator
from fractions import Fraction
from itertools import count as numbers
from itertools import islice
from typing import NamedTuple

from railweave.design.hardware import TierHardware
from railweave.design.layout import NodeGroup, OwnLeaf, SpineBlock, TierLayout, owner
from railweave.design.nodes import NodePorts, place_groups, rail_count
from railweave.design.ratios import AUTOMATIC_RATIO, ratio_text
from railweave.design.split import Split, TierPorts, automatic_split, downlink_room, place_ports
from railweave.diagnostics import Diagnostic, error
from railweave.intent.model import Intent, Nodes
from railweave.units import format_speed
from railweave.wording import counted

Faults = tuple[Diagnostic, ...]


class Leaves(NamedTuple):
    """The leaves of a plane: their downlinks, the groups of nodes and the stripes that have leaves.

    ``uplinks`` are those of the automatic split, all of them connected, or None with ``links_per_pair`` given.
    """

    down: int
    uplinks: int | None
    groups: tuple[NodeGroup, ...]
    stripes: tuple[int, ...]
    rails: int
    per_stripe: int

    @property
    def places(self) -> tuple[int, ...]:
        """Return the indexes of the leaves within a plane."""
        return tuple(stripe * self.per_stripe + rail for stripe in self.stripes for rail in range(self.per_stripe))

    @property
    def blocks(self) -> Iterator[tuple[NodeGroup, SpineBlock]]:
        """Return the groups for whose leaves spines keep ports apart, with these."""
        return ((one, one.spine_block) for one in self.groups if one.spine_block)

    @property
    def indexes(self) -> int:
        """Return the highest index + 1 of the leaves that meet ports of spines which are for all leaves."""
        common = (one for one in reversed(self.stripes) if not _states_reserve(owner(self.groups, one)))
        return (next(common, -1) + 1) * self.per_stripe


def _states_reserve(group: NodeGroup) -> bool:
    return group.entry.leaf is not None and group.entry.leaf.reserve is not None


def pair_of(intent: Intent, entry: Nodes) -> int:
    """Return the links between a leaf of an entry of nodes and a spine, where these are given."""
    own = entry.leaf.links_per_pair if entry.leaf else None
    return own or intent.topology.links_per_pair or 1


def asked_ratio(intent: Intent) -> Fraction:
    """Return the oversubscription asked for, by the workload where it is automatic."""
    given = intent.topology.oversubscription
    return AUTOMATIC_RATIO[intent.workload.kind] if given is None else given


def count_leaves(
    intent: Intent, node_ports: tuple[NodePorts, ...], hardware: TierHardware
) -> tuple[Leaves | None, Faults]:
    """Return the leaves that the nodes need, or why there are none."""
    split = automatic_split(hardware.cages, hardware.down, hardware.up, asked_ratio(intent))
    down = split.down if split else 0
    uplinks = split.up if split and intent.topology.links_per_pair is None else None
    if intent.topology.links_per_pair is not None and intent.topology.stripe is not None:
        down = intent.topology.stripe * max(node.per_leaf for node in node_ports if node.leaf is None)
    if down == 0:
        return None, (_no_split(intent, hardware),)
    downlinks = [_own_downlinks(intent, node, down, hardware, split) for node in node_ports]
    groups, diagnostics = place_groups(intent, node_ports, downlinks)
    if diagnostics:
        return None, diagnostics
    rails = rail_count(intent)
    per_stripe = (rails if intent.topology.shape.has_rails else 1) * intent.topology.leaves_per_nic
    stripes, diagnostics = _place_leaves(intent, groups, per_stripe)
    return (None if diagnostics else Leaves(down, uplinks, groups, stripes, rails, per_stripe)), diagnostics


def _own_downlinks(intent: Intent, node: NodePorts, down: int, common: TierHardware, split: Split | None) -> int:
    """Return the downlinks of a leaf of an entry: ``down`` of the common leaves, or on its own as many as carry the
    same bandwidth at another speed, where all leaves have the same uplinks, and no more than a leaf has addresses for.
    Uplinks of its own divide it by themselves.
    """
    own, topology = node.leaf, intent.topology
    if own is None:
        return down
    if topology.links_per_pair is not None and topology.stripe is not None:
        return topology.stripe * node.per_leaf
    up = split.up if split else 0
    if node.entry.leaf is not None and node.entry.leaf.reserve is not None:
        alone = automatic_split(own.cages, own.down, own.up, asked_ratio(intent))
        return min(alone.down if alone else 0, down + up)
    most = down * common.down.speed_gbps // own.down.speed_gbps
    return min(most, downlink_room(own.cages, own.down, own.up, up), down + up)


def place_own_leaves(
    intent: Intent, groups: tuple[NodeGroup, ...], low: TierLayout
) -> tuple[tuple[NodeGroup, ...], Faults]:
    """Return the groups with the ports of the leaves that they have for themselves, beside ``low``, those of all."""
    spines = low.ports.room // low.links_per_pair
    reserved = low.fixed_pair and intent.topology.reserve.spines is not None
    found: list[NodeGroup] = []
    faults: list[Diagnostic] = []
    for group in groups:
        own = group.leaf
        if own is None:
            found.append(group)
            continue
        one, uplinks, room = own.hardware, low.uplinks, low.ports.room
        if own.block is not None:
            uplinks, room = low.uplinks // low.links_per_pair * own.block.pair, spines * own.block.pair
        ports = place_ports(one.cages, one.down, one.up, own.downlinks, room if reserved else None)
        if ports is None or ports.room < uplinks:
            faults.append(_own_leaf_full(intent, group, own, room if reserved else uplinks))
        elif own.block is not None and uplinks > low.ports.total:
            faults.append(_uplinks_exceed_addresses(intent, group, uplinks, low))
        elif own.downlinks > low.ports.total:
            faults.append(_own_leaf_exceeds_block(intent, group, own, low))
        else:
            found.append(group._replace(leaf=own._replace(ports=ports)))
    return tuple(found), tuple(faults)


def _own_leaf_full(intent: Intent, group: NodeGroup, own: OwnLeaf, uplinks: int) -> Diagnostic:
    one = own.hardware
    return error(
        "RW207",
        f"{counted(own.downlinks, 'downlink')} of {format_speed(one.down.speed_gbps)} and {counted(uplinks, 'uplink')}"
        f" of {format_speed(one.up.speed_gbps)} do not fit into the {counted(one.cages, 'cage')} of a leaf of"
        f" {group.entry.name!r}",
        intent.where(f"{group.path}.leaf"),
        fix="use a leaf with more ports for these nodes, fewer spines or links_per_pair, or a smaller stripe",
    )


def _own_leaf_exceeds_block(intent: Intent, group: NodeGroup, own: OwnLeaf, low: TierLayout) -> Diagnostic:
    return error(
        "RW213",
        f"a leaf of {group.entry.name!r} has {counted(own.downlinks, 'downlink')}; a leaf has addresses for nodes on"
        f" {low.ports.total}, the ports of topology.leaf",
        intent.where(f"{group.path}.leaf"),
        fix=f"use a stripe of at most {low.ports.total // group.ports_per_leaf} nodes, or a topology.leaf with at least"
        f" {counted(own.downlinks, 'port')}",
    )


def _uplinks_exceed_addresses(intent: Intent, group: NodeGroup, uplinks: int, low: TierLayout) -> Diagnostic:
    return error(
        "RW213",
        f"a leaf of {group.entry.name!r} has {counted(uplinks, 'uplink')}; a leaf has addresses for {low.ports.total},"
        " the ports of topology.leaf",
        intent.where(f"{group.path}.leaf"),
        fix="use fewer links_per_pair of a higher speed, fewer spines, or a topology.leaf with at least"
        f" {counted(uplinks, 'port')}",
    )


def place_leaf_ports(
    intent: Intent, hardware: TierHardware, leaves: Leaves, spines: int | None
) -> TierPorts | Diagnostic:
    """Return where the ports of a leaf lie; with given ``links_per_pair`` its uplinks have room for ``spines``."""
    cages, down, up = hardware.cages, hardware.down, hardware.up
    pair = intent.topology.links_per_pair
    block = None if spines is None or pair is None else pair * spines
    ports = place_ports(cages, down, up, leaves.down, block)
    return _no_room(intent, hardware, leaves.down, block) if ports is None else ports


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


def _place_leaves(
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


def _not_whole_stripes(intent: Intent, count: int, better: int, per_stripe: int) -> Diagnostic:
    per_nic = intent.topology.leaves_per_nic
    if not intent.topology.shape.has_rails:
        over = f"racks: every rack has {per_nic} leaves"
    elif per_nic > 1:
        over = f"{per_stripe // per_nic} rails: every stripe has {per_nic} leaves a rail"
    else:
        over = f"{per_stripe} rails: every stripe has one leaf a rail"
    return error(
        "RW206",
        f"{counted(count, 'leaf')} cannot be shared out over {over}",
        intent.where("topology.leaf.count"),
        fix=f"use a multiple of {per_stripe}, such as {better}",
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
