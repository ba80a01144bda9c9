"""Entries of nodes that share the leaves of the first entry: the nodes of a stripe, and where the ports of each begin.

The ports of an entry follow those of a full stripe of the entries before it, so that growth within the stripes moves no
port. A speed other than that of the ports before it begins in the next cage, and every cage is broken out for one
speed. The uplinks of a leaf keep the cages that they have without a second speed.
"""

from collections.abc import Iterable, Iterator, Sequence
from typing import NamedTuple

from railweave.design.layout import NodeGroup
from railweave.design.leaf_class import LeafClass, NodePorts
from railweave.design.split import Breakout, TierPorts, place_ports
from railweave.intent.model import Nodes


class Attached(NamedTuple):
    """An entry of nodes on the leaves of a stripe: its nodes of a stripe, the place of the first one among all nodes of
    the stripe, and the first of their ports on a leaf with their breakout."""

    nodes: int
    first_place: int
    first_port: int
    breakout: Breakout


class Sharer(NamedTuple):
    """An entry of nodes that is to attach to the first leaf class, with the ports of a node on a leaf."""

    entry: Nodes
    per_leaf: int
    breakout: Breakout


class _PortRun(NamedTuple):
    """Neighboring ports of one breakout, in cages of their own."""

    breakout: Breakout
    ports: int

    @property
    def cages(self) -> int:
        return -(-self.ports // self.breakout.per_cage)

    @property
    def end(self) -> int:
        """Return the logical ports of its cages."""
        return self.cages * self.breakout.per_cage


def sharers_of(node_ports: Sequence[NodePorts], leaf: LeafClass) -> tuple[Sharer, ...]:
    """Return the first entry and those that share its leaves, empty where none does."""
    attached = [node_ports[0], *(ports for ports in node_ports if ports.entry.share_leaves)]
    if len(attached) == 1:
        return ()
    return tuple(Sharer(ports.entry, ports.per_leaf, leaf.breakout_of(ports.entry.name)) for ports in attached)


def ports_needed(sharers: Sequence[Sharer], stripe: int, leaf: LeafClass) -> int:
    """Return the ports for nodes that a leaf needs for a stripe of so many nodes of the first entry, counted in ports
    of the first entry's speed."""
    first, *others = sharers
    stripes = -(-first.entry.count // stripe)
    needed = [stripe, *(sharer.entry.stripe or _share(sharer, stripes) for sharer in others)]
    runs = _runs_of(sharers, needed)
    if len(runs) == 1:
        return runs[0].ports
    return sum(run.cages for run in runs) * leaf.hardware.down.per_cage


def attach(sharers: Sequence[Sharer], stated: int | None, leaf: LeafClass) -> tuple[Attached, ...] | None:
    """Return the place of each entry on the leaves of the first class, None where they do not fit; the first is the
    entry whose leaves are shared, with a stripe of ``stated`` nodes.

    A stated stripe holds. Another entry than the first has all its nodes in one stripe where the fewest stripes that
    hold all entries allow it, else as many as it needs there, both rounded up to a power of two. The first entry has
    all ports that remain.
    """
    counts = [sharer.entry.count for sharer in sharers]
    least = 1
    if stated is not None:
        least = -(-counts[0] // stated)
    for stripes in range(least, max(counts) + 1):
        needed = [sharer.entry.stripe or -(-sharer.entry.count // stripes) for sharer in sharers]
        needed[0] = stated or needed[0]
        if _fits(sharers, needed, leaf):
            return _places(sharers, _with_room(sharers, needed, stated, leaf))
    return None


def _with_room(sharers: Sequence[Sharer], needed: Sequence[int], stated: int | None, leaf: LeafClass) -> list[int]:
    """Return the nodes of a stripe with room to grow, as far as ports allow it."""
    first, *others = needed
    # All nodes of an entry in one stripe are the most stable: more stripes of the first entry change nothing.
    whole = [sharer.entry.stripe or _rounded(sharer.entry.count) for sharer in sharers[1:]]
    rounded = [sharer.entry.stripe or _rounded(nodes) for sharer, nodes in zip(sharers[1:], others, strict=True)]
    for candidate in (whole, rounded):
        if _fits(sharers, [first, *candidate], leaf):
            others = candidate
            break
    while stated is None and _fits(sharers, [first + 1, *others], leaf):
        first += 1
    return [first, *others]


def _fits(sharers: Sequence[Sharer], nodes: Sequence[int], leaf: LeafClass) -> bool:
    """Tell whether so many nodes of each entry have ports, bandwidth and addresses on a leaf."""
    runs = _runs_of(sharers, nodes)
    down = leaf.hardware.down
    up = leaf.hardware.up
    if [run.breakout for run in runs] == [down]:
        return runs[0].ports <= leaf.down
    # Where uplinks have the breakout of the first entry's ports, the last of these may share a cage with an uplink.
    cages = -(-leaf.down // down.per_cage)
    if down == up:
        cages = leaf.down // down.per_cage
    gbps = sum(run.ports * run.breakout.speed_gbps for run in runs)
    # A leaf has addresses for nodes on as many ports as it has with one speed.
    addresses = 0
    one_speed = place_ports(leaf.hardware.cages, down, up, leaf.down, None)
    if one_speed:
        addresses = one_speed.total
    last = sum(run.end for run in runs[:-1]) + runs[-1].ports
    return sum(run.cages for run in runs) <= cages and gbps <= leaf.down_gbps and last <= addresses


def _share(sharer: Sharer, stripes: int) -> int:
    return _rounded(-(-sharer.entry.count // stripes))


def _rounded(nodes: int) -> int:
    return 1 << (nodes - 1).bit_length()


def _runs_of(sharers: Sequence[Sharer], nodes: Sequence[int]) -> list[_PortRun]:
    return _runs((sharer.breakout, sharer.per_leaf * count) for sharer, count in zip(sharers, nodes, strict=True))


def _runs(parts: Iterable[tuple[Breakout, int]]) -> list[_PortRun]:
    runs: list[_PortRun] = []
    for breakout, ports in parts:
        if runs and runs[-1].breakout == breakout:
            runs[-1] = _PortRun(breakout, runs[-1].ports + ports)
        else:
            runs.append(_PortRun(breakout, ports))
    return runs


def _places(sharers: Sequence[Sharer], nodes: Sequence[int]) -> tuple[Attached, ...]:
    places: list[Attached] = []
    runs: list[_PortRun] = []
    for sharer, count in zip(sharers, nodes, strict=True):
        before = _runs((run.breakout, run.ports) for run in runs)
        first_port = sum(run.end for run in before)
        if before and before[-1].breakout == sharer.breakout:
            first_port += before[-1].ports - before[-1].end
        places.append(Attached(count, sum(place.nodes for place in places), first_port, sharer.breakout))
        runs.append(_PortRun(sharer.breakout, sharer.per_leaf * count))
    return tuple(places)


def parts_of_first(groups: Sequence[NodeGroup]) -> Iterator[tuple[Breakout, int]]:
    """Yield the ports for nodes of a leaf of the first class, entry by entry from the front of the panel."""
    for group in groups:
        if group is groups[0] or group.entry.share_leaves:
            yield group.breakout, group.stripe_nodes * group.ports_per_leaf


def with_speeds(ports: TierPorts, parts: Iterable[tuple[Breakout, int]]) -> TierPorts:
    """Return the ports of a leaf where those for nodes are of several breakouts, ``parts`` from the front of the panel;
    ``ports`` are those of a leaf whose ports for nodes have one. The uplinks stay in their cages."""
    runs = _runs(parts)
    if len(runs) < 2:
        return ports
    taken = sum(run.cages for run in runs)
    groups = [(run.cages, run.breakout) for run in runs]
    for cages, breakout in ports.groups:
        kept = cages - taken
        taken = max(0, -kept)
        if kept > 0:
            groups.append((kept, breakout))
    total = sum(cages * breakout.per_cage for cages, breakout in groups)
    moved = total - ports.total
    down = sum(run.end for run in runs[:-1]) + runs[-1].ports
    return ports._replace(total=total, down=down, block=ports.block + moved, groups=tuple(groups))
