"""The port of the upper tier at which every uplink ends, and how many cables a changed layout moves."""

from collections import Counter, defaultdict
from collections.abc import Sequence
from itertools import pairwise
from math import gcd
from typing import NamedTuple

from railweave.design.layout import Layout, TierLayout
from railweave.design.leaf_class import LeafClass


class Uplink(NamedTuple):
    """An uplink that every switch of a tier has.

    It ends at slot ``base`` + ``step`` × i of the upper switch, where i is the index of the lower switch among those
    that join its group.
    """

    # Of the lower switch.
    port: int
    # The index of the upper switch in its group.
    upper: int
    base: int
    step: int
    # The port of the upper switch in each slot.
    ports: Sequence[int]

    def upper_port(self, index: int) -> int:
        """Return the upper port of this uplink of the switch with ``index`` among those that join the group."""
        return self.ports[self.base + self.step * index]


def wire(lower: TierLayout, upper: TierLayout, leaf: LeafClass | None = None) -> tuple[Uplink, ...]:
    """Return the uplinks of a switch of ``lower`` to ``upper``, in the order of its ports.

    With ``leaf`` they are those of a leaf of that class, which may have fewer uplinks or other cages.

    If the links of a pair are automatic, uplinks are divided among the upper switches in the order of ``_cage_order``,
    and so are the slots of an upper switch. Twice as many upper switches then keep half of the cables. The uplinks of a
    cage end at one upper cage as long as the links of a pair are a multiple of the ports of a cage.
    """
    block = lower.ports.block
    pair = lower.links_per_pair
    uppers = upper.group_size
    if lower.fixed_pair:
        return _wire_pairs(block, pair, uppers, 0, range(upper.ports.total))
    cage_size = _shared_cage(lower, upper)
    uplinks = lower.uplinks
    leaf_cage_size = cage_size
    if leaf is not None and (leaf.uplinks, leaf.hardware.up) != (lower.uplinks, lower.up):
        uplinks = leaf.uplinks
        leaf_cage_size = _cage_of_class(leaf, lower, upper)
    # An upper switch has a run of slots for each link of a pair, with one slot for each lower switch.
    run_length = upper.ports.down // pair
    ports = _cage_order(run_length * pair, cage_size)
    runs = _runs_of_links(pair, cage_size, uplinks // uppers, leaf_cage_size)
    wires = []
    for order, port in enumerate(_cage_order(uplinks, leaf_cage_size)):
        link, upper_index = divmod(order, uppers)
        base = runs[link] * run_length
        wires.append(Uplink(port=block + port, upper=upper_index, base=base, step=1, ports=ports))
    return tuple(sorted(wires, key=lambda uplink: uplink.port))


def _wire_pairs(first_port: int, pair: int, uppers: int, base: int, ports: Sequence[int]) -> tuple[Uplink, ...]:
    """Return the uplinks of a switch with ``pair`` neighboring links to each of ``uppers`` upper switches.

    ``first_port`` is the port of the first uplink. Slots of an upper switch are counted from ``base``, and ``ports``
    has its port in each slot.
    """
    wires: list[Uplink] = []
    for upper in range(uppers):
        port = first_port + upper * pair
        wires += (
            Uplink(port=port + link, upper=upper, base=base + link, step=pair, ports=ports) for link in range(pair)
        )
    return tuple(wires)


def _shared_cage(lower: TierLayout, upper: TierLayout) -> int:
    """Return how many neighboring uplinks are wired like those of one cage: the ports of the larger cage of both ends.

    The number divides the uplinks and the slots of an upper switch. Neither changes with the number of upper switches.
    """
    if not lower.cages_together:
        return 1
    largest = max(lower.up.per_cage, upper.down.per_cage)
    slots = upper.ports.down // lower.links_per_pair * lower.links_per_pair
    return gcd(largest, lower.uplinks, slots)


def _cage_of_class(leaf: LeafClass, lower: TierLayout, upper: TierLayout) -> int:
    """Return how many neighboring uplinks of a leaf of a class are wired like those of one cage."""
    if not lower.cages_together:
        return 1
    return gcd(max(leaf.hardware.up.per_cage, upper.down.per_cage), leaf.uplinks)


def _runs_of_links(pair: int, cage_size: int, leaf_pair: int, leaf_cage_size: int) -> Sequence[int]:
    """Return the run of slots of an upper switch for each of a leaf's links to it.

    An upper switch has ``pair`` runs, the leaf has ``leaf_pair`` links, and links of one cage get runs of one upper
    cage. If the numbers and cages are the same, link i has run i.
    """
    runs = [0] * leaf_pair
    ordered_links = _cage_by_cage(leaf_pair, leaf_cage_size)
    ordered_runs = _cage_by_cage(pair, cage_size)
    # The leaf may have fewer links than there are runs.
    for link, run in zip(ordered_links, ordered_runs, strict=False):
        runs[link] = run
    return runs


def _cage_by_cage(links: int, cage_size: int) -> list[int]:
    """Return the links of a pair cage by cage; ``_cage_order`` has numbered them with one of every cage first."""
    links_of_cage = gcd(cage_size, links)
    cages = links // links_of_cage
    ordered: list[int] = []
    for cage in range(cages):
        ordered += range(cage, links, cages)
    return ordered


def _cage_order(ports: int, cage_size: int) -> Sequence[int]:
    """Return ports in the order in which they are wired: first one of every cage, then another one of each.

    The ports of a cage come in bit-reversed order, so that halves and quarters of a cage stay together too.
    """
    if cage_size == 1:
        return range(ports)
    bits = cage_size.bit_length() - 1
    ordered: list[int] = []
    for turn in range(cage_size):
        port_of_cage = int(f"{turn:0{bits}b}"[::-1], 2)
        ordered += (cage * cage_size + port_of_cage for cage in range(ports // cage_size))
    return tuple(ordered)


def wire_class(leaf: LeafClass, lower: TierLayout, upper: TierLayout) -> tuple[Uplink, ...]:
    """Return the uplinks of a leaf of a class.

    Their port numbers decide on their addresses, and are not always those of the leaf: without a block of spine ports
    for the class they are those of the same uplinks of the first class, ``lower``. With a block they count from 0.
    """
    block = leaf.block
    if block is None:
        return wire(lower, upper, leaf)
    # The first leaf of the class, with index `block.base`, has the first port of the block.
    base = block.first - block.base * leaf.pair
    return _wire_pairs(0, leaf.pair, upper.group_size, base, range(block.first + block.ports))


def count_moves(old: Layout, new: Layout) -> int:
    """Return how many cables between tiers of ``old`` end at another upper port in ``new``, in all planes."""
    moves = 0
    for (old_lower, old_upper), (new_lower, new_upper) in zip(pairwise(old.tiers), pairwise(new.tiers), strict=False):
        moves += _moves(_Between(old, old_lower, old_upper), _Between(new, new_lower, new_upper))
    return old.planes * moves


class _Between(NamedTuple):
    """A layout and two of its tiers that cables join."""

    layout: Layout
    lower: TierLayout
    upper: TierLayout

    def wires_at(self, place: int) -> tuple[Uplink, ...]:
        """Return the uplinks of the lower switch at ``place``, which all switches of its leaf class have."""
        if self.lower.level:
            return wire(self.lower, self.upper)
        leaf = self.layout.leaf_class(place // self.layout.stripe_leaves)
        return wire_class(leaf, self.lower, self.upper)


class _Join(NamedTuple):
    """What decides which cables of a switch move. Switches of different pods often agree in it."""

    # The index of the switch among those that join its upper group.
    old_index: int
    new_index: int
    # How far the place of the first switch of the upper group has moved.
    shift: int


class _KeptUplink(NamedTuple):
    """An uplink at the same port of the lower switch in both layouts."""

    old: Uplink
    new: Uplink
    # How far the upper switch has moved within its group.
    shift: int


def _moves(old: _Between, new: _Between) -> int:
    """Return how many cables of one plane between two tiers end at another upper port, or at none, in ``new``."""
    moves = 0
    # Cables are compared once for switches that are wired alike: there are thousands of these.
    for places in _places_by_class(old):
        old_wires = old.wires_at(places[0])
        new_uplinks = {uplink.port: uplink for uplink in new.wires_at(places[0])}
        kept = []
        for uplink in old_wires:
            new_uplink = new_uplinks.get(uplink.port)
            if new_uplink is not None:
                shift = new.upper.place(0, new_uplink.upper) - old.upper.place(0, uplink.upper)
                kept.append(_KeptUplink(uplink, new_uplink, shift))
        removed = len(old_wires) - len(kept)
        moves += removed * len(places)
        switches_of_join = Counter(_join(old, new, place) for place in places)
        for join, switches in switches_of_join.items():
            moves += switches * _moved(kept, join)
    return moves


def _places_by_class(between: _Between) -> list[list[int]]:
    """Return the places of switches of the lower tier that are wired alike, a list for each leaf class."""
    layout = between.layout
    if between.lower.level or len(layout.classes) == 1:
        return [[*between.lower.places]]
    places: defaultdict[LeafClass, list[int]] = defaultdict(list)
    for place in between.lower.places:
        places[layout.leaf_class(place // layout.stripe_leaves)].append(place)
    return list(places.values())


def _join(old: _Between, new: _Between, place: int) -> _Join:
    """Return what decides which cables of the lower switch at ``place`` move."""
    old_group, old_index = old.lower.joins(place)
    new_group, new_index = new.lower.joins(place)
    shift = new.upper.place(new_group, 0) - old.upper.place(old_group, 0)
    return _Join(old_index, new_index, shift)


def _moved(uplinks: Sequence[_KeptUplink], join: _Join) -> int:
    """Return how many uplinks of a switch end at another upper switch or port."""
    moved = 0
    for uplink in uplinks:
        is_other_switch = uplink.shift + join.shift != 0
        if is_other_switch or uplink.old.upper_port(join.old_index) != uplink.new.upper_port(join.new_index):
            moved += 1
    return moved
