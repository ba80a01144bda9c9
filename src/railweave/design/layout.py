"""The layout: every number of a fabric, before there is a device.

All counts are per plane unless a name says otherwise; indexes count from 0 within the plane.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import NamedTuple

from railweave.design.hardware import TierHardware
from railweave.design.split import NO_PORTS, NO_UPLINKS, Breakout, TierPorts
from railweave.fabric.devices import Tier
from railweave.intent.model import Nodes, Shape


class SpineBlock(NamedTuple):
    """Ports that every spine keeps apart for the leaves of an entry of nodes: ``cages`` in one breakout, from the port
    ``first`` on, ``pair`` for each of ``leaves`` indexes. These count from ``base``, the first leaf of the entry among
    those that a spine joins, so that neither other leaves nor the count of today moves a port."""

    cages: int
    breakout: Breakout
    first: int
    pair: int
    base: int
    leaves: int

    @property
    def ports(self) -> int:
        """Return the logical ports of its cages."""
        return self.cages * self.breakout.per_cage


class OwnLeaf(NamedTuple):
    """The leaves that an entry of nodes has for itself, with ``downlinks`` to its nodes; ``ports`` says where their
    uplinks lie. These are like those of all leaves, as many, of one speed, in one order; or spines have a ``block`` of
    ports for them, and speed and number are the entry's."""

    hardware: TierHardware
    downlinks: int
    ports: TierPorts = NO_PORTS
    block: SpineBlock | None = None

    @property
    def down_gbps(self) -> int:
        """Return the bandwidth of the downlinks."""
        return self.downlinks * self.hardware.down.speed_gbps

    def pair_gbps(self, pair: int) -> int:
        """Return the bandwidth of a leaf to a spine, where all leaves have ``pair`` links; a block has its own."""
        return (self.block.pair if self.block else pair) * self.hardware.up.speed_gbps


class NodeGroup(NamedTuple):
    """An entry of nodes with its place in the fabric.

    ``ports_per_plane`` of a node are spread over rails, ``ports_per_leaf`` on each leaf. ``stripe_nodes`` nodes share
    a set of leaves; the group has ``stripes`` stripes from ``first_stripe`` on. ``path`` is its intent path, ``leaf``
    None where its leaves are those of all.
    """

    entry: Nodes
    path: str
    ports_per_plane: int
    ports_per_leaf: int
    stripe_nodes: int
    first_stripe: int
    stripes: int
    leaf: OwnLeaf | None = None

    @property
    def end_stripe(self) -> int:
        """Return the first stripe after the group."""
        return self.first_stripe + self.stripes

    @property
    def spine_block(self) -> SpineBlock | None:
        """Return the ports that spines keep apart for its leaves, None where they have those of all leaves."""
        return self.leaf.block if self.leaf else None


@dataclass(frozen=True, slots=True)
class TierLayout:
    """A tier in numbers: ``places`` are the indexes of its switches within the plane, ascending, ``ports`` those of one
    switch with the breakout of each direction, and ``links_per_pair`` its links to each switch above.

    ``fixed_pair`` tells that ``links_per_pair`` was given, which fixes where the cables of an upper switch go whatever
    their number; ``uplinks`` are those that are connected. ``reserve`` counts indexes, from 0.

    A tier is divided into groups: leaves and spines into pods, super-spines into those that the same spine of every pod
    joins. A place is group × ``stride`` + the index in the group, or just the index where ``stride`` is 0. In a
    rail-only fabric both leaves and spines are divided into ``rails``, which take turns: a place is index × ``rails`` +
    rail.
    ``group_size`` is the switches of a group, of leaves as many as fit; ``groups`` and ``group_reserve`` are what the
    reserve has of both.
    """

    name: str
    level: int
    places: tuple[int, ...]
    ports: TierPorts
    down: Breakout
    reserve: int
    up: Breakout = NO_UPLINKS
    uplinks: int = 0
    links_per_pair: int = 0
    fixed_pair: bool = False
    stride: int = 0
    rails: int = 0
    group_size: int = 0
    groups: int = 1
    group_reserve: int = 0

    def group_of(self, place: int) -> tuple[int, int]:
        """Return the group of the switch at ``place`` and its index there."""
        if self.rails:
            return place % self.rails, place // self.rails
        return divmod(place, self.stride) if self.stride else (0, place)

    def place(self, group: int, index: int) -> int:
        """Return the place of the switch of ``group`` with that index there."""
        return index * self.rails + group if self.rails else group * self.stride + index

    def joins(self, place: int) -> tuple[int, int]:
        """Return the group above that the switch at ``place`` is cabled to, and its index among the switches below
        that group: leaves join the spines of their pod or rail, spine s of every pod joins group s (RFC 7938 section
        3.2)."""
        group, index = self.group_of(place)
        return (index, group) if self.level else (group, index)

    @property
    def stride_above(self) -> int:
        """Return the numbers that a group of the tier above has: the ports of a switch that are no downlinks."""
        return self.ports.total - self.ports.down - self.ports.apart

    @property
    def count(self) -> int:
        """Return its switches in one plane."""
        return len(self.places)

    @property
    def indexes(self) -> int:
        """Return the highest index + 1: places left out cost ports above too."""
        return self.places[-1] + 1

    @property
    def down_gbps(self) -> int:
        """Return the bandwidth of a switch's downlinks."""
        return self.ports.down * self.down.speed_gbps

    @property
    def up_gbps(self) -> int:
        """Return the bandwidth of a switch's connected uplinks."""
        return self.uplinks * self.up.speed_gbps

    @property
    def ratio(self) -> Fraction:
        """Return the oversubscription of a switch, 0 where none is above."""
        return Fraction(self.down_gbps, self.up_gbps) if self.up_gbps else Fraction(0)

    @property
    def tier(self) -> Tier:
        """Return the tier as the fabric states it."""
        return Tier(
            name=self.name,
            level=self.level,
            count=self.count,
            reserve=self.reserve,
            ports_down=self.ports.down,
            down_gbps=self.down.speed_gbps,
            ports_up=self.uplinks,
            up_gbps=self.up.speed_gbps,
            links_per_pair=self.links_per_pair,
            groups=self.groups,
            group_reserve=self.group_reserve,
            ports_above=self.stride_above,
        )


NO_TIER = TierLayout(name="", level=1, places=(), ports=NO_PORTS, down=NO_UPLINKS, reserve=0, groups=0)
"""The tier above the only one."""


class Layout(NamedTuple):
    """A fabric in numbers: ``tiers`` from the one that attaches the nodes upwards.

    ``stripe_leaves`` is the lowest tier's switches of one stripe (rails, or 1 where racks are aligned, each times
    ``leaves_per_nic``, the leaves that share the ports of a NIC: one of every rail, then the next); ``stripes`` are the
    indexes of the stripes that have some. ``ratio`` is the oversubscription asked for, ``pod`` the stripes of a
    pod, 0 where neither pods nor a reserve of them are laid out, ``most_pods`` what super-spines have ports for.
    """

    fabric: str
    shape: Shape
    planes: int
    rails: int
    stripe_leaves: int
    groups: tuple[NodeGroup, ...]
    stripes: tuple[int, ...]
    ratio: Fraction
    tiers: tuple[TierLayout, ...]
    pod: int = 0
    most_pods: int = 0
    leaves_per_nic: int = 1

    @property
    def stripe_nics(self) -> int:
        """Return the groups of leaves of a stripe that share NICs: one a rail, or one where racks are aligned."""
        return self.stripe_leaves // self.leaves_per_nic

    def leaf_role(self, place: int) -> tuple[int, int]:
        """Return for the leaf at ``place`` which of those that share a NIC it is, and the group of these in its stripe:
        the rail, 0 where racks are aligned."""
        return divmod(place % self.stripe_leaves, self.stripe_nics)

    @property
    def lowest(self) -> TierLayout:
        """Return the tier that attaches the nodes."""
        return self.tiers[0]

    @property
    def spines(self) -> TierLayout:
        """Return the tier that joins the switches of the lowest, an empty one where nothing does."""
        return self.tiers[1] if len(self.tiers) > 1 else NO_TIER

    @property
    def super_spines(self) -> TierLayout | None:
        """Return the tier that joins pods, None in two tiers."""
        return self.tiers[2] if len(self.tiers) > 2 else None

    @property
    def pods(self) -> tuple[int, ...]:
        """Return the indexes of the pods that have switches; one where there are only two tiers."""
        return tuple(sorted({self.lowest.group_of(place)[0] for place in self.lowest.places}))

    @property
    def pod_leaves(self) -> int:
        """Return the leaves that a pod has places for, 0 without pods."""
        return self.pod * self.stripe_leaves

    @property
    def networks(self) -> int:
        """Return the fabrics of a plane that no cable joins: one a rail in a rail-only fabric."""
        return self.lowest.rails or 1

    @property
    def joined_leaves(self) -> int:
        """Return the leaf indexes that a spine has ports for: of its pod or rail, or of all. Leaves for which it keeps
        ports apart are none of them."""
        return self.pod_leaves or (self._common(self.stripes) + 1) * self.stripe_leaves // self.networks

    def reserved_leaves(self) -> int:
        """Return the leaf indexes of the reserve that meet ports of a spine which are for all leaves."""
        if not self.spines.ports.apart:
            return self.lowest.reserve // self.networks
        stripes = range(self.lowest.reserve // self.stripe_leaves)
        return (self._common(stripes) + 1) * self.stripe_leaves // self.networks

    def _common(self, stripes: Sequence[int]) -> int:
        """Return the last of ``stripes`` whose leaves meet ports of a spine that are for all leaves."""
        return next((one for one in reversed(stripes) if self.owner(one).spine_block is None), -1)

    def has_spine_ports(self, stripe: int) -> bool:
        """Tell whether spines have ports for the leaves of a stripe, where they keep some apart; else all have."""
        if not self.spines.ports.apart:
            return True
        block, each = self.owner(stripe).spine_block, self.stripe_leaves
        end = (stripe + 1) * each // self.networks
        if block is not None:
            return end <= block.base + block.leaves
        return end * self.lowest.links_per_pair <= self.spines.ports.down

    def uplinks_of(self, group: NodeGroup) -> int:
        """Return the uplinks of a leaf of an entry of nodes."""
        block = group.spine_block
        return block.pair * self.spines.group_size if block else self.lowest.uplinks

    def leaves_of(self, group: NodeGroup) -> int:
        """Return the leaves of one plane that an entry of nodes has, with those of stripes that wait for its nodes."""
        return sum(self.owner(stripe) is group for stripe in self.stripes) * self.stripe_leaves

    def ratio_of(self, group: NodeGroup) -> Fraction:
        """Return the oversubscription of a leaf for which spines keep ports apart, of others that of all."""
        own = group.leaf
        if own is None or own.block is None:
            return self.lowest.ratio
        return Fraction(own.down_gbps, self.spines.group_size * own.pair_gbps(0))

    @property
    def worst_ratio(self) -> Fraction:
        """Return the highest oversubscription of a leaf, 0 where none has uplinks."""
        return max(self.lowest.ratio, *map(self.ratio_of, self.groups))

    @property
    def leaf_spine_links(self) -> int:
        """Return the links between leaves and spines of one plane."""
        apart = [group for group in self.groups if group.spine_block]
        others = self.lowest.count - sum(map(self.leaves_of, apart))
        return others * self.lowest.uplinks + sum(self.leaves_of(one) * self.uplinks_of(one) for one in apart)

    @property
    def of_spines(self) -> str:
        """Return what has spines of its own, for a message: pods, rails or planes, empty where all are one group."""
        if self.super_spines:
            return " of a pod"
        return " of a rail" if self.lowest.rails else " of a plane" if self.planes > 1 else ""

    @property
    def spine_room(self) -> int:
        """Return the spines that every leaf has uplink ports for."""
        pair = self.lowest.links_per_pair
        own = [one.leaf for one in self.groups if one.leaf]
        rooms = [one.ports.room // (one.block.pair if one.block else pair) for one in own]
        return min(self.lowest.ports.room // pair, *rooms, 1 << 16)

    @property
    def nodes(self) -> int:
        """Return the GPU nodes of the fabric."""
        return sum(group.entry.count for group in self.groups)

    @property
    def node_ports(self) -> int:
        """Return the fabric ports of all GPU nodes, over all planes."""
        return sum(group.entry.count * group.ports_per_plane for group in self.groups) * self.planes

    def owner(self, stripe: int) -> NodeGroup:
        """Return the group whose nodes stand, or would stand, in ``stripe``: the last one to begin at or before it, and
        after all of them the last one with GPUs, which a fabric grows by."""
        return owner(self.groups, stripe)


def owner(groups: Sequence[NodeGroup], stripe: int) -> NodeGroup:
    """Return the one of ``groups`` whose nodes stand, or would stand, in ``stripe``."""
    before = [group for group in groups if group.first_stripe <= stripe]
    if stripe >= max(group.end_stripe for group in groups):
        before = [group for group in groups if group.entry.gpus]
    return max(before or groups, key=lambda group: group.first_stripe)
