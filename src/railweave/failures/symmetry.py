"""Classes of components that the symmetry of a fabric makes equal, and of pairs of components.

A fabric of 45,000 components has a thousand million pairs, but few that differ. Components get colors: first by their
kind, then again and again by the colors of what they belong to (their blocks), and blocks by the colors of what they
hold, until no color divides any more (the Weisfeiler–Leman refinement of dimension one). Components of a color form a
class. Two pairs are of a class where their components are and where they have blocks of the same colors in common, such
as a leaf or a plane, by as many links each. One pair of each class stands for all of it.
"""

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property

from railweave.failures.components import Block, Component

Colors = tuple[int, ...]
"""The color of each component, by its place in the sequence of components."""


Relation = tuple[tuple[str, int, int, int], ...]
"""What two components share: kind and color of each block, and by how many links each of the two belongs to it."""


@dataclass(frozen=True, slots=True)
class Singles:
    """A class of single components: how many there are, and the first of them."""

    count: int
    example: Component


@dataclass(frozen=True, slots=True)
class Pairs:
    """A class of pairs: how many there are, the first of them, and the kinds of the blocks that its two share."""

    count: int
    example: tuple[Component, Component]
    shared: tuple[str, ...]


class Symmetry:
    """The colors of components and of the blocks that they belong to."""

    def __init__(self, components: Sequence[Component]) -> None:
        self._components = components
        self.colors, self.block_colors = _refine(components)

    @cached_property
    def color_of_switch(self) -> Mapping[str, int]:
        """Return the colors of the switches by name."""
        alone = zip(self.colors, self._components, strict=True)
        return {one.out[0]: color for color, one in alone if len(one.out) == 1}

    def singles(self) -> list[Singles]:
        """Return the classes of components in the order of their first ones."""
        counts = Counter(self.colors)
        return [Singles(counts[self.colors[place]], self._components[place]) for place in self._first()]

    def pairs(self) -> Iterator[Pairs]:
        """Yield the classes of unordered pairs; one component of each class is held against all others.

        Every component of a class has as many partners of a kind as any other: their number times that of the class
        is the number of pairs, each of which is met from both ends where both are of one class.
        """
        counts = Counter(self.colors)
        for place in self._first():
            own = self.colors[place]
            for partners, first, shared in self._partners(place):
                alike = self.colors[first] == own
                pair = self._components[place], self._components[first]
                yield Pairs(counts[own] * partners // (2 if alike else 1), pair, shared)

    def _first(self) -> list[int]:
        """Return the place of the first component of each color."""
        first: dict[int, int] = {}
        for place, color in enumerate(self.colors):
            first.setdefault(color, place)
        return list(first.values())

    def _partners(self, place: int) -> Iterator[tuple[int, int, tuple[str, ...]]]:
        """Yield number, first and shared kinds of the alike partners of a component, of its own or a later color."""
        own, component = self.colors[place], self._components[place]
        found: dict[tuple[int, Relation], list[int]] = {}
        for other, color in enumerate(self.colors):
            if color < own or other == place:
                continue
            entry = found.setdefault((color, self._relation(component, self._components[other])), [0, other])
            entry[0] += 1
        for (_, relation), (count, first) in found.items():
            yield count, first, tuple(sorted({kind for kind, *_ in relation}))

    def _relation(self, one: Component, other: Component) -> Relation:
        """Return what two components have in common, the same from either of them."""
        shared = one.blocks & other.blocks
        if not one.counts and not other.counts:
            return tuple(sorted((block.kind, self.block_colors[block], 1, 1) for block in shared))
        counted = [
            (block.kind, self.block_colors[block], one.counts.get(block, 1), other.counts.get(block, 1))
            for block in shared
        ]
        turned = ((kind, color, last, first) for kind, color, first, last in counted)
        return min(tuple(sorted(counted)), tuple(sorted(turned)))


def _refine(components: Sequence[Component]) -> tuple[Colors, Mapping[Block, int]]:
    """Return the colors of components, numbered in the order of their first ones, and of blocks."""
    members: dict[Block, list[int]] = {}
    # Of the blocks of line cards: by how many links each member belongs to them.
    weights: dict[Block, list[int]] = {}
    for place, one in enumerate(components):
        for block in one.blocks:
            members.setdefault(block, []).append(place)
    for block in {block for one in components for block in one.counts}:
        weights[block] = [components[place].counts.get(block, 1) for place in members[block]]
    colors = _numbered([(one.kind, one.speed_gbps) for one in components])
    of_block = dict(zip(members, _numbered([one.kind for one in members]), strict=True))
    while True:
        held = [_members_of(own, colors, weights.get(block)) for block, own in members.items()]
        finer_blocks = dict(zip(members, _numbered(list(zip(of_block.values(), held, strict=True))), strict=True))
        belongs = [(color, _blocks_of(one, finer_blocks)) for color, one in zip(colors, components, strict=True)]
        finer = _numbered(belongs)
        if max(finer, default=0) == max(colors, default=0) and len(set(finer_blocks.values())) == len(
            set(of_block.values())
        ):
            return tuple(finer), finer_blocks
        colors, of_block = finer, finer_blocks


def _members_of(own: Sequence[int], colors: Sequence[int], weights: Sequence[int] | None) -> tuple[object, ...]:
    """Return how many members of each color a block has; where line cards are among them, of each color and number of
    links by which they belong to it."""
    of_members = map(colors.__getitem__, own)
    if weights is None:
        return tuple(sorted(Counter(of_members).items()))
    return tuple(sorted(Counter(zip(of_members, weights, strict=True)).items()))


def _blocks_of(one: Component, colors: Mapping[Block, int]) -> tuple[object, ...]:
    """Return the colors of the blocks of a component; those of a line card with the number of its links to each."""
    if one.counts:
        return tuple(sorted((colors[block], count) for block, count in one.counts.items()))
    return tuple(sorted(map(colors.__getitem__, one.blocks)))


def _numbered(keys: Sequence[object]) -> list[int]:
    """Return a number for each key, equal keys the same, in the order in which they first come."""
    numbers: dict[object, int] = {}
    return [numbers.setdefault(key, len(numbers)) for key in keys]
