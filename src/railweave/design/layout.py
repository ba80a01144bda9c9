"""The layout: every number of a fabric, before there is a device.

All counts are per plane unless a name says otherwise; indexes count from 0 within the plane.
"""

from dataclasses import dataclass
from fractions import Fraction

from railweave.design.split import Breakout, LeafPorts
from railweave.intent.model import Nodes, Shape


@dataclass(frozen=True, slots=True)
class NodeGroup:
    """An entry of nodes with its place in the fabric.

    ``ports_per_plane`` of a node are spread over rails, ``ports_per_leaf`` on each leaf. ``stripe_nodes`` nodes share
    a set of leaves; the group has ``stripes`` stripes from ``first_stripe`` on. ``path`` is its intent path.
    """

    entry: Nodes
    path: str
    ports_per_plane: int
    ports_per_leaf: int
    stripe_nodes: int
    first_stripe: int
    stripes: int

    @property
    def end_stripe(self) -> int:
        """Return the first stripe after the group."""
        return self.first_stripe + self.stripes


@dataclass(frozen=True, slots=True)
class Layout:
    """A two-tier fabric in numbers.

    ``stripe_leaves`` is the leaves of one stripe (rails, or 1 where racks are aligned); ``stripes`` are the indexes of
    the stripes that have leaves. ``fixed_pair`` tells that ``links_per_pair`` was given, which fixes where the cables
    of a spine go whatever the number of spines. ``reserve_leaves`` counts leaf indexes.
    """

    fabric: str
    shape: Shape
    planes: int
    rails: int
    stripe_leaves: int
    groups: tuple[NodeGroup, ...]
    stripes: tuple[int, ...]
    ratio: Fraction
    leaf_ports: LeafPorts
    down: Breakout
    up: Breakout
    spine_ports: int
    spines: int
    links_per_pair: int
    fixed_pair: bool
    reserve_leaves: int
    reserve_spines: int

    @property
    def leaves(self) -> int:
        """Return the leaves of one plane."""
        return len(self.stripes) * self.stripe_leaves

    @property
    def leaf_indexes(self) -> int:
        """Return the highest leaf index + 1: gaps between stripes cost spine ports too."""
        return (self.stripes[-1] + 1) * self.stripe_leaves

    @property
    def uplinks(self) -> int:
        """Return the connected uplinks of a leaf."""
        return self.spines * self.links_per_pair

    @property
    def down_gbps(self) -> int:
        """Return the bandwidth of a leaf's downlinks."""
        return self.leaf_ports.down * self.down.speed_gbps

    @property
    def up_gbps(self) -> int:
        """Return the bandwidth of a leaf's connected uplinks."""
        return self.uplinks * self.up.speed_gbps

    @property
    def leaf_ratio(self) -> Fraction:
        """Return the oversubscription of a leaf."""
        return Fraction(self.down_gbps, self.up_gbps)

    @property
    def nodes(self) -> int:
        """Return the GPU nodes of the fabric."""
        return sum(group.entry.count for group in self.groups)

    @property
    def node_ports(self) -> int:
        """Return the fabric ports of all GPU nodes, over all planes."""
        return sum(group.entry.count * group.ports_per_plane for group in self.groups) * self.planes

    def owner(self, stripe: int) -> NodeGroup:
        """Return the group whose nodes stand, or would stand, in ``stripe``: the last one to begin at or before it."""
        before = [group for group in self.groups if group.first_stripe <= stripe]
        return max(before or self.groups, key=lambda group: group.first_stripe)
