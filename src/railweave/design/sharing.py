"""Entries of nodes that share the leaves of the first entry: the nodes of a stripe, and where the ports of each begin.

The ports of an entry follow those of a full stripe of the entries before it, so growth within the stripes moves no
port. Every cage is broken out for one speed, so ports of another speed than those before them begin in the next cage.
The uplinks of a leaf have the same cages as without a second speed.
"""

from collections.abc import Iterable, Iterator, Sequence
from math import ceil
from typing import NamedTuple

from railweave.design.layout import NodeGroup
from railweave.design.leaf_class import LeafClass, NodePorts
from railweave.design.split import Breakout, TierPorts, place_ports
from railweave.intent.model import Nodes


class Attached(NamedTuple):
    """The place of an entry of nodes on the leaves of a stripe."""

    # Its nodes in a stripe.
    nodes: int
    # The place of the first one among all nodes of the stripe.
    first_place: int
    # The first of their ports on a leaf.
    first_port: int
    # Of their ports.
    breakout: Breakout


class Sharer(NamedTuple):
    """An entry of nodes that attaches to leaves of the first class."""

    entry: Nodes
    # The ports of a node on one leaf.
    per_leaf: int
    breakout: Breakout


class _PortRun(NamedTuple):
    """Neighboring ports of one breakout, in cages of their own."""

    breakout: Breakout
    ports: int

    @property
    def cages(self) -> int:
        return ceil(self.ports / self.breakout.per_cage)

    @property
    def end(self) -> int:
        """Return the logical ports of its cages."""
        return self.cages * self.breakout.per_cage


def sharers_of(node_ports: Sequence[NodePorts], leaf: LeafClass) -> tuple[Sharer, ...]:
    """Return the first entry and those that share its leaves; empty if none does."""
    attached = [node_ports[0], *(ports for ports in node_ports if ports.entry.share_leaves)]
    if len(attached) == 1:
        return ()
    return tuple(Sharer(ports.entry, ports.per_leaf, leaf.breakout_of(ports.entry.name)) for ports in attached)


def ports_needed(sharers: Sequence[Sharer], stripe: int, leaf: LeafClass) -> int:
    """Return the ports for nodes that a leaf needs, counted in ports of the first entry's speed.

    ``stripe`` is the number of nodes of the first entry in a stripe. The others have as many as they state, or else
    their share of all stripes, rounded up to a power of two.
    """
    first, *others = sharers
    stripes = ceil(first.entry.count / stripe)
    shares = [sharer.entry.stripe or _power_of_two(ceil(sharer.entry.count / stripes)) for sharer in others]
    runs = _runs_of(sharers, [stripe, *shares])
    # Only ports of several speeds take whole cages.
    if len(runs) == 1:
        return runs[0].ports
    return sum(run.cages for run in runs) * leaf.hardware.down.per_cage


def attach(sharers: Sequence[Sharer], stated: int | None, leaf: LeafClass) -> tuple[Attached, ...] | None:
    """Return the place of each entry on the leaves of the first class, None if they do not fit.

    The first entry is the one whose leaves are shared; ``stated`` is how many of its nodes a stripe has, None if
    automatic.

    Stated stripes are kept. Automatic ones follow from the fewest stripes that have room for all entries. An entry
    after the first has all its nodes in one stripe if possible, or else its share, both rounded up to a power of two if
    there is room. The first entry has the remaining ports.
    """
    counts = [sharer.entry.count for sharer in sharers]
    fewest_stripes = 1
    if stated is not None:
        fewest_stripes = ceil(counts[0] / stated)
    for stripes in range(fewest_stripes, max(counts) + 1):
        nodes = [sharer.entry.stripe or ceil(sharer.entry.count / stripes) for sharer in sharers]
        if stated:
            nodes[0] = stated
        if _fits(sharers, nodes, leaf):
            return _places(sharers, _with_room(sharers, nodes, stated, leaf))
    return None


def _with_room(sharers: Sequence[Sharer], nodes: Sequence[int], stated: int | None, leaf: LeafClass) -> list[int]:
    """Return the ``nodes`` of each entry in a stripe with room for more, as far as ports allow."""
    first, *others = nodes
    all_nodes = []
    shares = []
    for sharer, share in zip(sharers[1:], others, strict=True):
        all_nodes.append(sharer.entry.stripe or _power_of_two(sharer.entry.count))
        shares.append(sharer.entry.stripe or _power_of_two(share))
    # All nodes of an entry in one stripe come first: more stripes of the first entry then move none of them.
    for larger in (all_nodes, shares):
        if _fits(sharers, [first, *larger], leaf):
            others = larger
            break
    if stated is None:
        while _fits(sharers, [first + 1, *others], leaf):
            first += 1
    return [first, *others]


def _fits(sharers: Sequence[Sharer], nodes: Sequence[int], leaf: LeafClass) -> bool:
    """Tell whether a leaf has ports, bandwidth and addresses for the ``nodes`` of each entry in a stripe."""
    runs = _runs_of(sharers, nodes)
    down = leaf.hardware.down
    up = leaf.hardware.up
    has_one_speed = [run.breakout for run in runs] == [down]
    if has_one_speed:
        return runs[0].ports <= leaf.down
    cages = ceil(leaf.down / down.per_cage)
    if down == up:
        # The last cage may be shared with an uplink.
        cages = leaf.down // down.per_cage
    gbps = sum(run.ports * run.breakout.speed_gbps for run in runs)
    # A leaf has addresses for as many ports as it would have with one speed.
    addresses = 0
    ports_of_one_speed = place_ports(leaf.hardware.cages, down, up, leaf.down, None)
    if ports_of_one_speed:
        addresses = ports_of_one_speed.total
    has_cages = sum(run.cages for run in runs) <= cages
    return has_cages and gbps <= leaf.down_gbps and _end_of(runs) <= addresses


def _power_of_two(nodes: int) -> int:
    """Return a number of nodes rounded up to a power of two."""
    return 1 << (nodes - 1).bit_length()


def _runs_of(sharers: Sequence[Sharer], nodes: Sequence[int]) -> list[_PortRun]:
    """Return the ports of the ``nodes`` of each entry on a leaf."""
    return _joined_runs(
        _PortRun(sharer.breakout, sharer.per_leaf * count) for sharer, count in zip(sharers, nodes, strict=True)
    )


def _joined_runs(parts: Iterable[_PortRun]) -> list[_PortRun]:
    """Return runs with neighbors of one breakout joined."""
    runs: list[_PortRun] = []
    for part in parts:
        if runs and runs[-1].breakout == part.breakout:
            runs[-1] = _PortRun(part.breakout, runs[-1].ports + part.ports)
        else:
            runs.append(part)
    return runs


def _end_of(runs: Sequence[_PortRun]) -> int:
    """Return the logical ports up to the last one of the last run, with unused ports of the cages before."""
    return sum(run.end for run in runs[:-1]) + runs[-1].ports


def _places(sharers: Sequence[Sharer], nodes: Sequence[int]) -> tuple[Attached, ...]:
    """Return the place of each entry with its ``nodes`` in a stripe."""
    places: list[Attached] = []
    parts: list[_PortRun] = []
    first_place = 0
    for sharer, count in zip(sharers, nodes, strict=True):
        runs_before = _joined_runs(parts)
        first_port = sum(run.end for run in runs_before)
        if runs_before and runs_before[-1].breakout == sharer.breakout:
            # Ports of the same breakout follow in the same cage.
            first_port = _end_of(runs_before)
        places.append(Attached(count, first_place, first_port, sharer.breakout))
        parts.append(_PortRun(sharer.breakout, sharer.per_leaf * count))
        first_place += count
    return tuple(places)


def parts_of_first(groups: Sequence[NodeGroup]) -> Iterator[_PortRun]:
    """Yield the ports for nodes of a leaf of the first class, entry by entry from the front of the panel."""
    for group in groups:
        if group is groups[0] or group.entry.share_leaves:
            yield _PortRun(group.breakout, group.stripe_nodes * group.ports_per_leaf)


def with_speeds(ports: TierPorts, parts: Iterable[_PortRun]) -> TierPorts:
    """Return the ports of a leaf whose ports for nodes have several breakouts.

    ``parts`` are the ports for nodes from the front of the panel. ``ports`` are those of the same leaf with one
    breakout for all nodes. The uplinks keep their cages.
    """
    runs = _joined_runs(parts)
    if len(runs) < 2:
        return ports
    groups = [(run.cages, run.breakout) for run in runs]
    # The runs replace as many cages from the front of the panel.
    cages_to_replace = sum(run.cages for run in runs)
    for cages, breakout in ports.groups:
        replaced = min(cages, cages_to_replace)
        cages_to_replace -= replaced
        if cages > replaced:
            groups.append((cages - replaced, breakout))
    total = sum(cages * breakout.per_cage for cages, breakout in groups)
    more_ports = total - ports.total
    return ports._replace(total=total, down=_end_of(runs), block=ports.block + more_ports, groups=tuple(groups))
