"""The layout: every number of a fabric, before there is a device.

All counts are per plane unless a name says otherwise; indexes count from 0 within the plane.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from math import gcd
from operator import attrgetter
from typing import NamedTuple

from railweave.design.leaf_class import LeafClass
from railweave.design.split import NO_PORTS, NO_UPLINKS, Breakout, TierPorts
from railweave.fabric.devices import Tier
from railweave.intent.model import Nodes, Shape


class NodeGroup(NamedTuple):
    """An entry of nodes with its place in the fabric.

    ``ports_per_plane`` of a node are spread over rails, ``ports_per_leaf`` on each leaf. ``stripe_nodes`` nodes share
    a set of leaves; the group has ``stripes`` stripes from ``first_stripe`` on. ``path`` is its intent path, ``leaf``
    the index of its leaf class.
    """

    entry: Nodes
    path: str
    ports_per_plane: int
    ports_per_leaf: int
    stripe_nodes: int
    first_stripe: int
    stripes: int
    leaf: int
    # The breakout of its ports, the first of them on a leaf, and the place of its first node among those of a stripe.
    breakout: Breakout
    first_port: int = 0
    first_place: int = 0

    @property
    def end_stripe(self) -> int:
        """Return the first stripe after the group."""
        return self.first_stripe + self.stripes


@dataclass(frozen=True, slots=True)
class TierLayout:
    """A tier in numbers: ``places`` are the indexes of its switches within the plane, ascending, ``ports`` those of one
    switch with the breakout of each direction, and ``links_per_pair`` its links to each switch above.

    ``fixed_pair`` tells that ``links_per_pair`` was given, which fixes where the cables of an upper switch go whatever
    their number; ``uplinks`` are those that are connected; ``cages_together`` wires them cage by cage. ``reserve``
    counts indexes, from 0.

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
    cages_together: bool = False
    stride: int = 0
    rails: int = 0
    group_size: int = 0
    groups: int = 1
    group_reserve: int = 0

    def group_of(self, place: int) -> tuple[int, int]:
        """Return the group of the switch at ``place`` and its index there."""
        if self.rails:
            return place % self.rails, place // self.rails
        if self.stride:
            return divmod(place, self.stride)
        return 0, place

    def place(self, group: int, index: int) -> int:
        """Return the place of the switch of ``group`` with that index there."""
        if self.rails:
            return index * self.rails + group
        return group * self.stride + index

    def joins(self, place: int) -> tuple[int, int]:
        """Return the group above that the switch at ``place`` is cabled to, and its index among the switches below
        that group: leaves join the spines of their pod or rail, spine s of every pod joins group s (RFC 7938 section
        3.2)."""
        group, index = self.group_of(place)
        if self.level:
            return index, group
        return group, index

    @property
    def stride_above(self) -> int:
        """Return the numbers that a group of the tier above has: the ports of a switch that are no downlinks."""
        return self.ports.total - self.ports.down - self.ports.blocks

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
        if not self.up_gbps:
            return Fraction(0)
        return Fraction(self.down_gbps, self.up_gbps)

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
    indexes of the stripes that have some, each of one of the leaf ``classes``. ``ratio`` is the oversubscription asked
    for, ``pod`` the stripes of a pod, 0 where neither pods nor a reserve of them are laid out, ``most_pods`` what
    super-spines have ports for.
    """

    fabric: str
    shape: Shape
    planes: int
    rails: int
    stripe_leaves: int
    groups: tuple[NodeGroup, ...]
    classes: tuple[LeafClass, ...]
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
        if len(self.tiers) == 1:
            return NO_TIER
        return self.tiers[1]

    @property
    def super_spines(self) -> TierLayout | None:
        """Return the tier that joins pods, None in two tiers."""
        if len(self.tiers) < 3:
            return None
        return self.tiers[2]

    @property
    def pods(self) -> tuple[int, ...]:
        """Return the indexes of the pods that have switches, or of the rails that nothing joins; one where all leaves
        reach all spines."""
        if self.lowest.rails:
            return tuple(range(self.lowest.rails))
        if not self.lowest.stride:
            return (0,)
        return tuple(sorted({stripe // self.pod for stripe in self.stripes}))

    @property
    def pod_leaves(self) -> int:
        """Return the leaves that a pod has places for, 0 without pods."""
        return self.pod * self.stripe_leaves

    @property
    def networks(self) -> int:
        """Return the fabrics of a plane that no cable joins: one a rail in a rail-only fabric."""
        return self.lowest.rails or 1

    def leaf_class(self, stripe: int) -> LeafClass:
        """Return the class of the leaves that a stripe has, or would have."""
        return self.classes[self.owner(stripe).leaf]

    @property
    def joined_leaves(self) -> int:
        """Return the leaf indexes of a pod, rail or plane that meet the ports of a spine which no class has alone."""
        return self.pod_leaves or self._sharing_leaves(self.stripes)

    def reserved_leaves(self) -> int:
        """Return the leaf indexes of the reserve that meet the ports of a spine which no class has alone."""
        if not self.spines.ports.blocks:
            return self.lowest.reserve // self.networks
        return self._sharing_leaves(range(self.lowest.reserve // self.stripe_leaves))

    def _sharing_leaves(self, stripes: Sequence[int]) -> int:
        last = next((stripe for stripe in reversed(stripes) if self.leaf_class(stripe).block is None), -1)
        return (last + 1) * self.stripe_leaves // self.networks

    def has_spine_ports(self, stripe: int) -> bool:
        """Tell whether spines that keep ports for a class have some for the leaves of a stripe; others always do."""
        if not self.spines.ports.blocks:
            return True
        block = self.leaf_class(stripe).block
        end = (stripe + 1) * self.stripe_leaves // self.networks
        if block is not None:
            return end <= block.base + block.leaves
        return end * self.lowest.links_per_pair <= self.spines.ports.down

    def leaves_of(self, leaf: LeafClass) -> int:
        """Return the leaves of a class in one plane, with those of stripes that wait for nodes."""
        if len(self.classes) == 1:
            return self.lowest.count
        return sum(self.leaf_class(stripe) is leaf for stripe in self.stripes) * self.stripe_leaves

    @property
    def worst_ratio(self) -> Fraction:
        """Return the highest oversubscription of a leaf, 0 where none has uplinks."""
        return max(leaf.ratio for leaf in self.classes)

    def connected_ratio(self, group: NodeGroup) -> Fraction:
        """Return the oversubscription of a leaf of a full stripe by the ports that nodes are connected to."""
        leaf = self.classes[group.leaf]
        if not leaf.uplinks:
            return Fraction(0)
        return Fraction(self.connected_gbps(group), leaf.up_gbps)

    def connected_gbps(self, group: NodeGroup) -> int:
        """Return the bandwidth of the nodes of a stripe on one leaf, of all where they do not fill a stripe."""
        nodes = min(group.stripe_nodes, group.entry.count)
        return nodes * group.ports_per_leaf * self.classes[group.leaf].hardware.down.speed_gbps

    @property
    def shared_uplinks(self) -> int:
        """Return the greatest common divisor of the uplinks of all classes, which a number of spines divides."""
        return gcd(*(leaf.uplinks for leaf in self.classes))

    @property
    def leaf_spine_links(self) -> int:
        """Return the links between leaves and spines of one plane."""
        return sum(self.leaves_of(leaf) * leaf.uplinks for leaf in self.classes)

    @property
    def of_spines(self) -> str:
        """Return what has spines of its own, for a message: pods, rails or planes, empty where all are one group."""
        if self.super_spines:
            return " of a pod"
        if self.lowest.rails:
            return " of a rail"
        if self.planes > 1:
            return " of a plane"
        return ""

    @property
    def spine_room(self) -> int:
        """Return the spines that every leaf has uplink ports for."""
        return min(leaf.ports.room // leaf.pair for leaf in self.classes)

    @property
    def nodes(self) -> int:
        """Return the GPU nodes of the fabric."""
        return sum(group.entry.count for group in self.groups)

    @property
    def node_ports(self) -> int:
        """Return the fabric ports of all GPU nodes, over all planes."""
        return sum(group.entry.count * group.ports_per_plane for group in self.groups) * self.planes

    @property
    def sharing(self) -> tuple[NodeGroup, ...]:
        """Return the entries of nodes on the leaves of another."""
        return tuple(group for group in self.groups if group.entry.share_leaves)

    def owner(self, stripe: int) -> NodeGroup:
        """Return the group whose leaves ``stripe`` has, or would have: the last one to begin at or before it, and after
        all of them the last one with GPUs, which a fabric grows by."""
        return owner(self.groups, stripe)


def owner(groups: Sequence[NodeGroup], stripe: int) -> NodeGroup:
    """Return the one of ``groups`` whose leaves ``stripe`` has, or would have."""
    owners = [group for group in groups if not group.entry.share_leaves]
    if stripe >= max(group.end_stripe for group in owners):
        possible = [group for group in owners if group.entry.gpus]
    else:
        possible = [group for group in owners if group.first_stripe <= stripe]
    return max(possible or owners, key=attrgetter("first_stripe"))
