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
    """An entry of nodes with its place in the fabric."""

    entry: Nodes
    # The intent path of the entry.
    path: str
    # Ports of a node.
    ports_per_plane: int
    ports_per_leaf: int
    # Nodes that share a set of leaves.
    stripe_nodes: int
    first_stripe: int
    # How many stripes its nodes take.
    stripes: int
    # The index of its leaf class.
    leaf: int
    # Of its ports on a leaf.
    breakout: Breakout
    # The first of its ports on a leaf.
    first_port: int = 0
    # The place of its first node among all nodes of a stripe.
    first_place: int = 0

    @property
    def end_stripe(self) -> int:
        """Return the first stripe after the group."""
        return self.first_stripe + self.stripes


@dataclass(frozen=True, slots=True)
class TierLayout:
    """A tier in numbers.

    A tier is divided into groups: leaves and spines into pods, and super-spines by the spine that they join in every
    pod. The place of a switch is group × ``stride`` + its index in the group; without a stride there is one group. In a
    rail-only fabric the groups of leaves and spines are rails, and a place is index × ``rails`` + rail.
    """

    name: str
    level: int
    # Of its switches within the plane, ascending.
    places: tuple[int, ...]
    # Of one switch.
    ports: TierPorts
    down: Breakout
    # The number of places to keep room for.
    reserve: int
    up: Breakout = NO_UPLINKS
    # Connected uplinks of a switch.
    uplinks: int = 0
    # Links of a switch to each switch above.
    links_per_pair: int = 0
    # The intent states `links_per_pair`: cables stay where they are when switches are added above.
    fixed_pair: bool = False
    # Uplinks are wired cage by cage.
    cages_together: bool = False
    # 0 without pods.
    stride: int = 0
    # 0 if the tier is not divided into rails.
    rails: int = 0
    # Switches of a group; of leaves as many as fit.
    group_size: int = 0
    # Groups and switches of a group in the reserve.
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
        """Return (group, index): the group above that the switch at ``place`` is cabled to, and the index of the switch
        among those that join the group.

        Leaves join the spines of their pod or rail, spine s of every pod joins group s (RFC 7938 section 3.2).
        """
        group, index = self.group_of(place)
        if self.level:
            return index, group
        return group, index

    @property
    def stride_above(self) -> int:
        """Return how many numbers a group of the tier above has: one for each port of a switch that is not a
        downlink."""
        return self.ports.total - self.ports.down - self.ports.blocks

    @property
    def count(self) -> int:
        """Return its switches in one plane."""
        return len(self.places)

    @property
    def indexes(self) -> int:
        """Return the highest index + 1: places without a switch take ports of the tier above too."""
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
    """A fabric in numbers."""

    # The name of the fabric.
    fabric: str
    shape: Shape
    planes: int
    rails: int
    # Leaves of one stripe: `leaves_per_nic` for each rail, or for the rack in a rack-aligned fabric.
    stripe_leaves: int
    groups: tuple[NodeGroup, ...]
    # All leaves of a stripe are of one class.
    classes: tuple[LeafClass, ...]
    # The indexes of the stripes that have leaves, ascending.
    stripes: tuple[int, ...]
    # The oversubscription that is asked for.
    ratio: Fraction
    # From the leaves upwards.
    tiers: tuple[TierLayout, ...]
    # Stripes of a pod; 0 if the fabric neither has nor reserves pods.
    pod: int = 0
    # The pods that super-spines have ports for.
    most_pods: int = 0
    # The leaves of a plane that share the ports of a NIC.
    leaves_per_nic: int = 1

    @property
    def stripe_nics(self) -> int:
        """Return the groups of leaves in a stripe that share NICs: one a rail, or one in a rack-aligned fabric."""
        return self.stripe_leaves // self.leaves_per_nic

    def leaf_role(self, place: int) -> tuple[int, int]:
        """Return (number, group) of the leaf at ``place``.

        The group is that of the leaves in the stripe that share NICs: the rail, or 0 in a rack-aligned fabric. The
        number is that of the leaf in its group. A stripe has first leaf 0 of each group, then leaf 1 of each.
        """
        return divmod(place % self.stripe_leaves, self.stripe_nics)

    @property
    def lowest(self) -> TierLayout:
        """Return the tier that attaches the nodes."""
        return self.tiers[0]

    @property
    def spines(self) -> TierLayout:
        """Return the tier that joins the switches of the lowest, an empty one in a fabric of one tier."""
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
        """Return the indexes of the pods that have switches, or of the rails in a rail-only fabric.

        There is one index, 0, if all leaves reach all spines.
        """
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
        """Return how many separate networks a plane has: one a rail in a rail-only fabric, else one."""
        return self.lowest.rails or 1

    def leaf_class(self, stripe: int) -> LeafClass:
        """Return the class of the leaves that a stripe has, or would have."""
        return self.classes[self.owner(stripe).leaf]

    @property
    def joined_leaves(self) -> int:
        """Return how many leaf indexes of a pod, or without pods of a rail or plane, need common ports of a spine.

        Common ports are those that are not kept for one leaf class.
        """
        return self.pod_leaves or self._leaves_on_common_ports(self.stripes)

    def reserved_leaves(self) -> int:
        """Return how many leaf indexes of a rail or plane need common ports of a spine with the whole reserve."""
        if not self.spines.ports.blocks:
            return self.lowest.reserve // self.networks
        return self._leaves_on_common_ports(range(self.lowest.reserve // self.stripe_leaves))

    def _leaves_on_common_ports(self, stripes: Sequence[int]) -> int:
        """Return the leaf indexes up to the last of ``stripes`` whose class has no block of spine ports; 0 if there is
        none."""
        for stripe in reversed(stripes):
            if self.leaf_class(stripe).block is None:
                return self._end_index(stripe)
        return 0

    def _end_index(self, stripe: int) -> int:
        """Return the highest index of a leaf of a stripe within its rail or plane, + 1."""
        return (stripe + 1) * self.stripe_leaves // self.networks

    def has_spine_ports(self, stripe: int) -> bool:
        """Tell whether spines with blocks of ports for leaf classes have ports for the leaves of a stripe.

        Always true without such blocks.
        """
        if not self.spines.ports.blocks:
            return True
        end = self._end_index(stripe)
        block = self.leaf_class(stripe).block
        if block is not None:
            return end <= block.base + block.leaves
        return end * self.lowest.links_per_pair <= self.spines.ports.down

    def leaves_of(self, leaf: LeafClass) -> int:
        """Return the leaves of a class in one plane, also those of stripes without nodes yet."""
        if len(self.classes) == 1:
            return self.lowest.count
        stripes = sum(self.leaf_class(stripe) is leaf for stripe in self.stripes)
        return stripes * self.stripe_leaves

    @property
    def worst_ratio(self) -> Fraction:
        """Return the highest oversubscription of a leaf, 0 where none has uplinks."""
        return max(leaf.ratio for leaf in self.classes)

    def connected_ratio(self, group: NodeGroup) -> Fraction:
        """Return the oversubscription of a leaf by the ports that nodes are connected to, in a full stripe of a
        group."""
        leaf = self.classes[group.leaf]
        if not leaf.uplinks:
            return Fraction(0)
        return Fraction(self.connected_gbps(group), leaf.up_gbps)

    def connected_gbps(self, group: NodeGroup) -> int:
        """Return the bandwidth of the nodes of a group on one leaf, in its fullest stripe."""
        nodes = min(group.stripe_nodes, group.entry.count)
        return nodes * group.ports_per_leaf * self.classes[group.leaf].hardware.down.speed_gbps

    @property
    def shared_uplinks(self) -> int:
        """Return the greatest common divisor of the uplinks of all classes, which the number of spines has to
        divide."""
        return gcd(*(leaf.uplinks for leaf in self.classes))

    @property
    def leaf_spine_links(self) -> int:
        """Return the links between leaves and spines of one plane."""
        return sum(self.leaves_of(leaf) * leaf.uplinks for leaf in self.classes)

    @property
    def of_spines(self) -> str:
        """Return what has spines of its own, a pod, rail or plane, for a message; empty if all spines are one group."""
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
        """Return the groups of nodes that share the leaves of another group."""
        return tuple(group for group in self.groups if group.entry.share_leaves)

    def owner(self, stripe: int) -> NodeGroup:
        """Return the group whose leaves ``stripe`` has, or would have."""
        return owner(self.groups, stripe)


def owner(groups: Sequence[NodeGroup], stripe: int) -> NodeGroup:
    """Return the group whose leaves ``stripe`` has, or would have.

    It is the last of those that begin at or before the stripe. Stripes behind all groups belong to the last one with
    GPUs, since that is how a fabric grows.
    """
    owners = [group for group in groups if not group.entry.share_leaves]
    is_behind_all = stripe >= max(group.end_stripe for group in owners)
    if is_behind_all:
        candidates = [group for group in owners if group.entry.gpus]
    else:
        candidates = [group for group in owners if group.first_stripe <= stripe]
    return max(candidates or owners, key=attrgetter("first_stripe"))
