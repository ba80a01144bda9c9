"""The layout: every number of a fabric, before there is a device.

All counts are per plane unless a name says otherwise; indexes count from 0 within the plane.
"""

from dataclasses import dataclass
from fractions import Fraction
from typing import NamedTuple

from railweave.design.split import NO_UPLINKS, Breakout, TierPorts
from railweave.fabric.model import Tier
from railweave.intent.model import Nodes, Shape


class NodeGroup(NamedTuple):
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
class TierLayout:
    """A tier in numbers: ``places`` are the indexes of its switches within the plane, ascending, ``ports`` those of one
    switch with the breakout of each direction, and ``links_per_pair`` its links to each switch above.

    ``fixed_pair`` tells that ``links_per_pair`` was given, which fixes where the cables of an upper switch go whatever
    their number; ``uplinks`` are those that are connected. ``reserve`` counts indexes, from 0.
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
        """Return the oversubscription of a switch."""
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
        )


class Layout(NamedTuple):
    """A fabric in numbers: ``tiers`` from the one that attaches the nodes upwards.

    ``stripe_leaves`` is the lowest tier's switches of one stripe (rails, or 1 where racks are aligned); ``stripes`` are
    the indexes of the stripes that have some. ``ratio`` is the oversubscription asked for.
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

    @property
    def lowest(self) -> TierLayout:
        """Return the tier that attaches the nodes."""
        return self.tiers[0]

    @property
    def top(self) -> TierLayout:
        """Return the tier that has none above."""
        return self.tiers[-1]

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
