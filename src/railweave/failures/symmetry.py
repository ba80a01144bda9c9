"""Classes of components that the symmetry of a fabric makes equal, and of pairs of components.

A fabric of 45,000 components has a thousand million pairs, but few that differ. Components get colors: first by their
kind, then again and again by the colors of what they belong to (their blocks), and blocks by the colors of what they
hold, until no color divides any more (the Weisfeiler–Leman refinement of dimension one). Components of a color form a
class. Two pairs form a class where their components do, and where both share blocks of the same colors, such as a leaf
or a plane, by as many links each. One pair of each class stands for all of it.
"""

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import NamedTuple

from railweave.failures.components import Component, SharedPart

Colors = tuple[int, ...]
"""The color of each component, by its place in the sequence of components."""


Relation = tuple[tuple[str, int, int, int], ...]
"""What two components share: the kind and the color of each block, and by how many links each of them belongs to it."""


@dataclass(frozen=True, slots=True)
class Singles:
    """A class of single components: how many there are, and the first of them."""

    count: int
    example: Component


@dataclass(frozen=True, slots=True)
class PairClass:
    """A class of pairs: how many there are, the first of them, and the kinds of the blocks that its two share."""

    count: int
    example: tuple[Component, Component]
    shared: tuple[str, ...]


class Partners(NamedTuple):
    """Components that form equal pairs with one component."""

    count_of_each: int
    # The place of the first of them.
    first: int
    # The kinds of the blocks that both share.
    shared: tuple[str, ...]


class Symmetry:
    """The colors of components and of the blocks that they belong to."""

    def __init__(self, components: Sequence[Component]) -> None:
        self._components = components
        self.colors, self.block_colors = _refine(components)

    @cached_property
    def color_of_switch(self) -> Mapping[str, int]:
        """Return the colors of the switches by name."""
        colored = zip(self.colors, self._components, strict=True)
        # Planes and pods take several switches out.
        return {component.out[0]: color for color, component in colored if len(component.out) == 1}

    @cached_property
    def _place_of(self) -> Mapping[tuple[str, str], int]:
        return {(component.kind, component.name): place for place, component in enumerate(self._components)}

    def pair_kind(self, first: Component, second: Component) -> tuple[object, ...]:
        """Return what tells the class of a pair from other classes; the pair may come from a finer symmetry."""
        first_place = self._place_of[first.kind, first.name]
        second_place = self._place_of[second.kind, second.name]
        relation = self._relation(self._components[first_place], self._components[second_place])
        return (*sorted((self.colors[first_place], self.colors[second_place])), relation)

    def singles(self) -> list[Singles]:
        """Return the classes of components in the order of their first ones."""
        counts = Counter(self.colors)
        return [Singles(counts[self.colors[place]], self._components[place]) for place in self._first()]

    def pairs(self) -> Iterator[PairClass]:
        """Yield the classes of unordered pairs. The first component of each class is paired with all others.

        Every component of a class has the same number of equal partners. That number times the size of the class is the
        number of pairs, or twice it where both ends are of one class.
        """
        counts = Counter(self.colors)
        for place in self._first():
            color = self.colors[place]
            for partners in self._partners(place):
                pairs = counts[color] * partners.count_of_each
                if self.colors[partners.first] == color:
                    # Both ends are of this class, so each pair was counted twice.
                    pairs //= 2
                yield PairClass(pairs, (self._components[place], self._components[partners.first]), partners.shared)

    def _first(self) -> list[int]:
        """Return the place of the first component of each color."""
        first: dict[int, int] = {}
        for place, color in enumerate(self.colors):
            first.setdefault(color, place)
        return list(first.values())

    def _partners(self, place: int) -> Iterator[Partners]:
        """Yield the classes of partners of a component, without those of earlier colors: they were paired before."""
        component = self._components[place]
        counts: Counter[tuple[int, Relation]] = Counter()
        first: dict[tuple[int, Relation], int] = {}
        for partner, color in enumerate(self.colors):
            if color < self.colors[place] or partner == place:
                continue
            kind = (color, self._relation(component, self._components[partner]))
            counts[kind] += 1
            first.setdefault(kind, partner)
        for kind, count in counts.items():
            _, relation = kind
            shared_kinds = {block_kind for block_kind, *_ in relation}
            yield Partners(count, first[kind], tuple(sorted(shared_kinds)))

    def _relation(self, component: Component, other: Component) -> Relation:
        """Return what two components have in common, the same from either of them."""
        shared = component.blocks & other.blocks
        if not shared:
            return ()
        if not component.counts and not other.counts:
            return tuple(sorted((block.kind, self.block_colors[block], 1, 1) for block in shared))
        from_component = [
            (block.kind, self.block_colors[block], component.counts.get(block, 1), other.counts.get(block, 1))
            for block in shared
        ]
        from_other = [(kind, color, other_links, links) for kind, color, links, other_links in from_component]
        return min(tuple(sorted(from_component)), tuple(sorted(from_other)))


def _refine(components: Sequence[Component]) -> tuple[Colors, Mapping[SharedPart, int]]:
    """Return the colors of components, numbered in the order of their first ones, and of blocks."""
    members_of: dict[SharedPart, list[int]] = {}
    for place, component in enumerate(components):
        for block in component.blocks:
            members_of.setdefault(block, []).append(place)
    weights = _weights(components, members_of)
    colors = _numbered([(component.kind, component.speed_gbps) for component in components])
    block_colors = _colored({block: block.kind for block in members_of})
    while True:
        new_block_colors = _colored(
            {
                block: (block_colors[block], _members_of(members, colors, weights.get(block)))
                for block, members in members_of.items()
            }
        )
        new_colors = _numbered(
            [
                (color, _blocks_of(component, new_block_colors))
                for color, component in zip(colors, components, strict=True)
            ]
        )
        # Colors only ever divide, so as many as before means that none divided.
        components_are_stable = len(set(new_colors)) == len(set(colors))
        blocks_are_stable = len(set(new_block_colors.values())) == len(set(block_colors.values()))
        if components_are_stable and blocks_are_stable:
            return tuple(new_colors), new_block_colors
        colors = new_colors
        block_colors = new_block_colors


def _weights(
    components: Sequence[Component], members_of: Mapping[SharedPart, Sequence[int]]
) -> dict[SharedPart, list[int]]:
    """Return by how many links each member belongs to a block, for the blocks that have line cards among them."""
    weights = {}
    for block in {block for component in components for block in component.counts}:
        weights[block] = [components[place].counts.get(block, 1) for place in members_of[block]]
    return weights


def _members_of(members: Sequence[int], colors: Sequence[int], weights: Sequence[int] | None) -> tuple[object, ...]:
    """Return how many members of each color a block has. With ``weights``, members of a color count apart where they
    belong to the block by different numbers of links."""
    member_colors = [colors[place] for place in members]
    if weights is None:
        return tuple(sorted(Counter(member_colors).items()))
    return tuple(sorted(Counter(zip(member_colors, weights, strict=True)).items()))


def _blocks_of(component: Component, colors: Mapping[SharedPart, int]) -> tuple[object, ...]:
    """Return the colors of the blocks of a component, for a line card with the number of its links to each."""
    if component.counts:
        return tuple(sorted((colors[block], count) for block, count in component.counts.items()))
    return tuple(sorted(colors[block] for block in component.blocks))


def _colored(keys: Mapping[SharedPart, object]) -> dict[SharedPart, int]:
    """Return the color of each block: blocks with equal keys have the same."""
    return dict(zip(keys, _numbered(keys.values()), strict=True))


def _numbered(keys: Iterable[object]) -> list[int]:
    """Return a number for each key, the same for equal keys, counted from 0 in the order of their first ones."""
    numbers: dict[object, int] = {}
    return [numbers.setdefault(key, len(numbers)) for key in keys]
