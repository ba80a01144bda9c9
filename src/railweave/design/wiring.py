"""Which port of an upper tier every uplink meets, and how many cables end on another one in a layout that grew."""

from itertools import pairwise
from typing import NamedTuple

from railweave.design.layout import Layout, TierLayout
from railweave.design.leaf_class import LeafClass, SpineBlock


class Uplink(NamedTuple):
    """An uplink of every switch of a tier: its port, the index of its upper switch in the group that it joins, and that
    one's port as ``base`` + ``step`` × the lower switch's index below that group."""

    port: int
    upper: int
    base: int
    step: int

    def upper_port(self, index: int) -> int:
        """Return the upper port that this uplink of the switch with ``index`` below the group meets."""
        return self.base + self.step * index


def wire_block(block: SpineBlock, pair: int, spines: int) -> tuple[Uplink, ...]:
    """Return the uplinks of a leaf for whose class spines keep a block, with their ports counted from 0."""
    base = block.first - block.base * pair
    return tuple(
        Uplink(spine * pair + link, spine, base + link, pair) for spine in range(spines) for link in range(pair)
    )


def wire(lower: TierLayout, upper: TierLayout) -> tuple[Uplink, ...]:
    """Return the uplinks of a switch of ``lower`` to ``upper`` in the order of its ports."""
    block, count, uppers = lower.ports.block, lower.links_per_pair, upper.group_size
    if lower.fixed_pair:
        return tuple(
            Uplink(block + one * count + link, one, link, count) for one in range(uppers) for link in range(count)
        )
    width = upper.ports.down // count
    return tuple(Uplink(block + port, port % uppers, port // uppers * width, 1) for port in range(count * uppers))


def count_moves(old: Layout, new: Layout) -> int:
    """Return how many cables between tiers of ``old`` end on another upper port in ``new``, over all planes."""
    return old.planes * sum(
        _moves((old, before), (new, after))
        for before, after in zip(pairwise(old.tiers), pairwise(new.tiers), strict=False)
    )


_Between = tuple[Layout, tuple[TierLayout, TierLayout]]
"""A layout and two of its tiers that cables join."""


def _moves(old: _Between, new: _Between) -> int:
    moves = 0
    for leaf, places in _by_class(old).items():
        wires = wire(*old[1]), wire(*new[1])
        if leaf is not None and leaf.block is not None:
            now = new[0].leaf_class(places[0] // new[0].stripe_leaves)
            wires = _block_wires(old, leaf, leaf.block), _block_wires(new, now, now.block or leaf.block)
        after = {uplink.port: uplink for uplink in wires[1]}
        kept = [(uplink, after[uplink.port]) for uplink in wires[0] if uplink.port in after]
        moves += (len(wires[0]) - len(kept)) * len(places)
        moves += sum(_moved(old[1], new[1], kept, place) for place in places)
    return moves


def _block_wires(between: _Between, leaf: LeafClass, block: SpineBlock) -> tuple[Uplink, ...]:
    return wire_block(block, leaf.pair, between[1][1].group_size)


def _by_class(between: _Between) -> dict[LeafClass | None, list[int]]:
    """Return the places of the lower tier by their leaf class, None where all have the same uplinks."""
    layout, (lower, _) = between
    if lower.level or not layout.spines.ports.blocks:
        return {None: [*lower.places]}
    places: dict[LeafClass | None, list[int]] = {}
    for place in lower.places:
        places.setdefault(layout.leaf_class(place // layout.stripe_leaves), []).append(place)
    return places


def _moved(
    old: tuple[TierLayout, TierLayout],
    new: tuple[TierLayout, TierLayout],
    uplinks: list[tuple[Uplink, Uplink]],
    place: int,
) -> int:
    """Return how many uplinks of the switch at ``place``, each as it was and as it is, end on another upper port."""
    (was_in, was), (group, index) = old[0].joins(place), new[0].joins(place)
    was_place, now_place = old[1].place, new[1].place
    # `upper_port` written out: the sizing of a fabric comes here for every cable, several times.
    return sum(
        base + step * was != now_base + now_step * index or was_place(was_in, upper) != now_place(group, now_upper)
        for (_, upper, base, step), (_, now_upper, now_base, now_step) in uplinks
    )
