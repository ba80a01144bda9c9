"""Which port of an upper tier every uplink meets, and how many cables end on another one in a layout that grew."""

from collections import Counter
from collections.abc import Sequence
from itertools import pairwise
from math import gcd
from typing import NamedTuple

from railweave.design.layout import Layout, TierLayout
from railweave.design.leaf_class import LeafClass


class Uplink(NamedTuple):
    """An uplink of every switch of a tier: its port, and the index of its upper switch in the group that it joins.

    It meets that switch's slot ``base`` + ``step`` × the lower switch's index below that group; ``ports`` has the port
    of every slot."""

    port: int
    upper: int
    base: int
    step: int
    ports: Sequence[int]

    def upper_port(self, index: int) -> int:
        """Return the upper port that this uplink of the switch with ``index`` below the group meets."""
        return self.ports[self.base + self.step * index]


def wire(lower: TierLayout, upper: TierLayout, leaf: LeafClass | None = None) -> tuple[Uplink, ...]:
    """Return the uplinks of a switch of ``lower`` to ``upper`` by its ports; those of a ``leaf`` class that may have
    fewer, or other cages.

    Where all uplinks are divided among the upper switches, they are counted by ``_cage_order``, and so are the slots of
    an upper switch. Twice as many upper switches then keep half of the cables, and as long as the links of a pair are a
    multiple of the ports of a cage, these lead to one upper cage.
    """
    block = lower.ports.block
    count = lower.links_per_pair
    uppers = upper.group_size
    if lower.fixed_pair:
        ports: Sequence[int] = range(upper.ports.total)
        return tuple(
            Uplink(block + spine * count + link, spine, link, count, ports)
            for spine in range(uppers)
            for link in range(count)
        )
    width = upper.ports.down // count
    of_cage = _shared_cage(lower, upper)
    ports = _cage_order(width * count, of_cage)
    own = lower.uplinks
    own_cage = of_cage
    if leaf is not None and (leaf.uplinks, leaf.hardware.up) != (lower.uplinks, lower.up):
        own = leaf.uplinks
        own_cage = _cage_of_class(leaf, lower, upper)
    slots = _slots_of_pair(count, of_cage, own // uppers, own_cage)
    wires = []
    for place, port in enumerate(_cage_order(own, own_cage)):
        wires.append(Uplink(block + port, place % uppers, slots[place // uppers] * width, 1, ports))
    return tuple(sorted(wires, key=lambda uplink: uplink.port))


def _shared_cage(lower: TierLayout, upper: TierLayout) -> int:
    """Return how many uplinks in a row are wired as one cage: the ports of the larger cage of both ends.

    It divides the uplinks and the slots of an upper switch. Neither changes with the number of upper switches.
    """
    if not lower.cages_together:
        return 1
    largest = max(lower.up.per_cage, upper.down.per_cage)
    slots = upper.ports.down // lower.links_per_pair * lower.links_per_pair
    return gcd(largest, lower.uplinks, slots)


def _cage_of_class(leaf: LeafClass, lower: TierLayout, upper: TierLayout) -> int:
    """Return how many uplinks in a row of a leaf of a class are wired as one cage."""
    if not lower.cages_together:
        return 1
    return gcd(max(leaf.hardware.up.per_cage, upper.down.per_cage), leaf.uplinks)


def _slots_of_pair(count: int, of_cage: int, own: int, own_cage: int) -> Sequence[int]:
    """Return which of the ``count`` links of a pair, as an upper switch has ports for them, each of a leaf's ``own``
    takes: links of one cage below those of one cage above. Of a leaf with all of them they are the same."""
    slots = [0] * own
    for link, slot in zip(_cage_by_cage(own, own_cage), _cage_by_cage(count, of_cage), strict=False):
        slots[link] = slot
    return slots


def _cage_by_cage(links: int, of_cage: int) -> list[int]:
    """Return the links of a pair in the order of their cages; in ``_cage_order`` one of every cage comes first."""
    together = gcd(of_cage, links)
    cages = links // together
    return [cage + turn * cages for cage in range(cages) for turn in range(together)]


def _cage_order(ports: int, of_cage: int) -> Sequence[int]:
    """Return ports in the order in which they are wired: first one of every cage, then another one of each.

    The ports of a cage come in bit-reversed order, so that halves and quarters of a cage stay together as well.
    """
    if of_cage == 1:
        return range(ports)
    bits = of_cage.bit_length() - 1
    turns = [int(f"{turn:0{bits}b}"[::-1], 2) for turn in range(of_cage)]
    return tuple(cage * of_cage + port for port in turns for cage in range(ports // of_cage))


def wire_class(leaf: LeafClass, lower: TierLayout, upper: TierLayout) -> tuple[Uplink, ...]:
    """Return the uplinks of a leaf of a class, with the ports by which they have their addresses.

    These are the ports of the same uplinks of the first class, ``lower``; where spines keep a block for the class, the
    first ports that a leaf has addresses for.
    """
    if leaf.block is None:
        return wire(lower, upper, leaf)
    base = leaf.block.first - leaf.block.base * leaf.pair
    ports = range(leaf.block.first + leaf.block.ports)
    return tuple(
        Uplink(spine * leaf.pair + link, spine, base + link, leaf.pair, ports)
        for spine in range(upper.group_size)
        for link in range(leaf.pair)
    )


def count_moves(old: Layout, new: Layout) -> int:
    """Return how many cables between tiers of ``old`` end on another upper port in ``new``, over all planes."""
    return old.planes * sum(
        _moves((old, before), (new, after))
        for before, after in zip(pairwise(old.tiers), pairwise(new.tiers), strict=False)
    )


_Between = tuple[Layout, tuple[TierLayout, TierLayout]]
"""A layout and two of its tiers that cables join."""


class _Join(NamedTuple):
    """What decides which cables of a switch move: its index below the group that it joins, as it was and as it is, and
    how far the first switch of that group has moved. Switches of different pods often agree in it."""

    was: int
    now: int
    shift: int


def _moves(old: _Between, new: _Between) -> int:
    moves = 0
    for leaf, places in _by_class(old).items():
        wires = wire(*old[1]), wire(*new[1])
        if leaf is not None:
            now = new[0].leaf_class(places[0] // new[0].stripe_leaves)
            wires = wire_class(leaf, *old[1]), wire_class(now, *new[1])
        after = {uplink.port: uplink for uplink in wires[1]}
        kept = [(uplink, after[uplink.port]) for uplink in wires[0] if uplink.port in after]
        moves += (len(wires[0]) - len(kept)) * len(places)
        apart = [new[1][1].place(0, now.upper) - old[1][1].place(0, was.upper) for was, now in kept]
        for join, switches in Counter(_join(old[1], new[1], place) for place in places).items():
            moves += switches * _moved(kept, apart, join)
    return moves


def _by_class(between: _Between) -> dict[LeafClass | None, list[int]]:
    """Return the places of the lower tier by their leaf class, None where there is one."""
    layout, (lower, _) = between
    if lower.level or len(layout.classes) == 1:
        return {None: [*lower.places]}
    places: dict[LeafClass | None, list[int]] = {}
    for place in lower.places:
        places.setdefault(layout.leaf_class(place // layout.stripe_leaves), []).append(place)
    return places


_Tiers = tuple[TierLayout, TierLayout]


def _join(old: _Tiers, new: _Tiers, place: int) -> _Join:
    old_group, was = old[0].joins(place)
    new_group, now = new[0].joins(place)
    return _Join(was, now, new[1].place(new_group, 0) - old[1].place(old_group, 0))


def _moved(uplinks: Sequence[tuple[Uplink, Uplink]], apart: Sequence[int], join: _Join) -> int:
    """Return how many uplinks of a switch, each as it was and as it is, end on another upper switch or port.

    ``apart`` is how far the upper switch of each has moved within the group that it joins.
    """
    moved = 0
    for (before, after), distance in zip(uplinks, apart, strict=True):
        if distance + join.shift or before.upper_port(join.was) != after.upper_port(join.now):
            moved += 1
    return moved
