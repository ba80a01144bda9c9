"""The worst pair of leaves after a failure; of pairs that are alike one is asked.

Sets of leaves are bits of an integer. A failure touches the leaves whose ways up lead over it. Leaves of one color that
the same failures touch, in pods that are alike, have the same bandwidth: two of each such group represent it.
"""

from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from itertools import chain, permutations
from typing import NamedTuple

from railweave.fabric.links import Link
from railweave.fabric.model import Fabric
from railweave.failures.bandwidth import Paths, Wiring


class WorstPair(NamedTuple):
    """What the worst pair of leaves in service has left, in percent of its bandwidth in the intact fabric: of the
    greatest flow, and of what equal-cost routing carries of it."""

    flow_percent: float
    spread_percent: float


_WHOLE = WorstPair(100, 100)


class LeafPairs:
    """The pairs of leaves of a fabric that no failure separates by design: those of one network."""

    def __init__(self, fabric: Fabric, color_of: Mapping[str, int]) -> None:
        """Prepare ``fabric``; ``color_of`` has the color of each switch by its name."""
        self._color_of = color_of
        self.lowest = fabric.tier_switches[0]
        self.bit_of = {leaf.name: 1 << place for place, leaf in enumerate(self.lowest)}
        """Each leaf as a bit, by its name."""
        self.networks = list(_sets((fabric.network_of(leaf), self.bit_of[leaf.name]) for leaf in self.lowest))
        self.colors = list(_sets((color_of[leaf.name], self.bit_of[leaf.name]) for leaf in self.lowest))
        self.pods = list(_sets((leaf.pod, self.bit_of[leaf.name]) for leaf in self.lowest))
        self._wiring = Wiring(fabric)
        self._intact = Paths(self._wiring)
        self._usual: dict[tuple[str, str], float] = {}
        self._users = self._used_by()

    def after(self, out: Collection[str], down: Collection[Link]) -> "PairsLeft":
        """Return what the pairs have left without the switches ``out`` and the fabric links ``down``."""
        lost = sum(self.bit_of.get(name, 0) for name in set(out))
        failed = {self._users[name] for name in out} | set(self._users_of_links(down))
        touched = [leaves & ~lost for leaves in failed if leaves & ~lost]
        return PairsLeft(self, Paths(self._wiring, out, down, intact=self._intact), lost, touched)

    def _users_of_links(self, down: Collection[Link]) -> Iterator[int]:
        """Yield the leaves that failed links touch, those together that they touch alike.

        A line card takes the same links from many leaves: from switches of one color as many links of the same speed to
        the same switches above.
        """
        lost_by: dict[str, list[tuple[str, int]]] = {}
        for link in down:
            lost_by.setdefault(link.lower, []).append((link.upper, link.speed_gbps))
        alike = ((self._color_of[name], *sorted(links)) for name, links in lost_by.items())
        yield from _sets(zip(alike, map(self._users.__getitem__, lost_by), strict=True))

    def usual_gbps(self, leaf: str, other: str) -> float:
        """Return the greatest flow from a leaf to another in the intact fabric, 0 where no path joins them."""
        usual = self._usual.get((leaf, other))
        if usual is None:
            usual = self._usual[leaf, other] = self._intact.between(leaf, other).flow_gbps
        return usual

    def _used_by(self) -> Mapping[str, int]:
        """Return the leaves whose ways up lead over each switch; a leaf's own are its own."""
        users: dict[str, int] = dict.fromkeys(self._wiring.uplinks, 0) | self.bit_of
        # Switches of a fabric are in the order of tiers, so a lower switch has all its leaves by then.
        for lower, above in self._wiring.uplinks.items():
            for upper in above:
                users[upper] |= users[lower]
        return users


class PairsLeft:
    """What the pairs of leaves have left after one failure, which takes the leaves ``lost`` out of service and touches
    those of ``touched``; sets of leaves are bits."""

    def __init__(self, pairs: LeafPairs, paths: Paths, lost: int, touched: Sequence[int]) -> None:
        self._pairs = pairs
        self._paths = paths
        self._lost = lost
        self._touched = touched
        self._reached = any_of(touched)
        self._left: dict[tuple[object, object], WorstPair] = {}
        """Of a pair of cells and of a pair of leaves: most leaves are asked for once a node."""
        self._cells: dict[str, tuple[object, ...]] = {}

    @property
    def in_service(self) -> int:
        """Return the leaves in service."""
        return any_of(self._pairs.networks) & ~self._lost

    def names(self, leaves: int) -> Iterator[str]:
        """Yield the names of a set of leaves."""
        return (leaf.name for leaf in self._pairs.lowest if self._pairs.bit_of[leaf.name] & leaves)

    def worst(self) -> WorstPair | None:
        """Return the worst pair of leaves in service, None where no network has two."""
        pairs = []
        for network in self._pairs.networks:
            leaves = network & ~self._lost
            if leaves.bit_count() > 1:
                # Pairs that the failure does not touch have all of their bandwidth.
                pairs.append(_WHOLE)
                pairs += (self.between(leaf, other) for leaf, other in self._asked(leaves))
        if not pairs:
            return None
        return WorstPair(min(pair.flow_percent for pair in pairs), min(pair.spread_percent for pair in pairs))

    def between(self, leaf: str, other: str) -> WorstPair:
        """Return what is left from a leaf to another, both in service."""
        pair = self._left.get((leaf, other))
        if pair is None:
            pair = self._left[leaf, other] = self._of_cells(leaf, other)
        return pair

    def _of_cells(self, leaf: str, other: str) -> WorstPair:
        bits = self._pairs.bit_of
        if leaf == other or not (bits[leaf] | bits[other]) & self._reached:
            return _WHOLE
        alike = (self._cell(leaf), self._cell(other))
        if alike not in self._left:
            self._left[alike] = self._walked(leaf, other)
        return self._left[alike]

    def _cell(self, leaf: str) -> tuple[object, ...]:
        """Return what a leaf has in common with those of its pod that the failure touches alike."""
        if leaf not in self._cells:
            bit = self._pairs.bit_of[leaf]
            pod = next(number for number, leaves in enumerate(self._pairs.pods) if leaves & bit)
            self._cells[leaf] = (pod, self.kind_of(leaf))
        return self._cells[leaf]

    def kind_of(self, leaf: str) -> tuple[int, ...]:
        """Return what a leaf has in common with those that the failure touches alike: its color and the failed parts
        that its ways up lead over; empty of one out of service."""
        bit = self._pairs.bit_of[leaf]
        if bit & self._lost:
            return ()
        color = next(number for number, leaves in enumerate(self._pairs.colors) if leaves & bit)
        return (color, *(number for number, mask in enumerate(self._touched) if mask & bit))

    def near_pods(self, leaves: int) -> list[int]:
        """Return the pods of some leaves of which a failure touches leaves, where it touches not those of every pod."""
        pods = [pod for pod in self._pairs.pods if pod & leaves]
        near: dict[int, None] = {}
        for mask in self._touched:
            reached = [pod for pod in pods if pod & mask]
            if len(reached) < len(pods):
                near |= dict.fromkeys(reached)
        return list(near)

    def _walked(self, leaf: str, other: str) -> WorstPair:
        usual = self._pairs.usual_gbps(leaf, other)
        if not usual:
            return _WHOLE
        left = self._paths.between(leaf, other)
        return WorstPair(100 * left.flow_gbps / usual, 100 * left.spread_gbps / usual)

    def _asked(self, leaves: int) -> Iterator[tuple[str, str]]:
        """Yield the ordered pairs to ask, of which at least one leaf is touched."""
        if not leaves & self._reached:
            return
        names = [name for cell in self._cells_of(leaves) for name in self._two(cell)]
        touched = {name for name in names if self._pairs.bit_of[name] & self._reached}
        for leaf, other in permutations(names, 2):
            if leaf in touched or other in touched:
                yield leaf, other

    def _cells_of(self, leaves: int) -> list[int]:
        """Return the sets of leaves that are alike: of one color and pod, and touched by the same failures."""
        cells = [leaves & color for color in self._pairs.colors]
        for mask in self._touched:
            parts = chain.from_iterable((cell & mask, cell & ~mask) for cell in cells)
            cells = [part for part in parts if part]
        near = self.near_pods(leaves)
        others = [pod for pod in self._pairs.pods if pod & leaves and pod not in near]
        # Pods that no failure touches are alike: two of them represent all pairs within one and between two.
        return [cell & pod for cell in cells for pod in (*near, *others[:2])]

    def _two(self, cell: int) -> Iterator[str]:
        """Yield the first two leaves of a set."""
        for _ in range(2):
            if cell:
                lowest = cell & -cell
                yield self._pairs.lowest[lowest.bit_length() - 1].name
                cell ^= lowest


def any_of(sets: Iterable[int]) -> int:
    """Return the union of sets that are bits."""
    union = 0
    for leaves in sets:
        union |= leaves
    return union


def _sets(members: Iterable[tuple[object, int]]) -> Iterable[int]:
    """Return the union of the bits of each key."""
    union: dict[object, int] = {}
    for key, bit in members:
        union[key] = union.get(key, 0) | bit
    return union.values()
