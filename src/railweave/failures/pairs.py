"""The worst pair of leaves after a failure.

A set of leaves is an integer with a bit for each leaf. A failure touches the leaves whose paths up lead over it. Leaves
of one color that the same failed parts touch, in pods that are alike, have the same bandwidth, so two leaves of each
such cell stand for all of it.
"""

from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from itertools import permutations
from typing import NamedTuple

from railweave.fabric.links import Link
from railweave.fabric.model import Fabric
from railweave.failures.bandwidth import Paths, Wiring


class BandwidthLeft(NamedTuple):
    """What leaves have left of their bandwidth to each other, in percent of the greatest flow in the intact fabric: the
    greatest flow, and what equal-cost routing carries."""

    flow_percent: float
    spread_percent: float


_ALL_LEFT = BandwidthLeft(100, 100)


class LeafPairs:
    """The pairs of leaves of a fabric that no failure separates by design: those of one network."""

    def __init__(self, fabric: Fabric, color_of: Mapping[str, int]) -> None:
        """Index the leaves of ``fabric``; ``color_of`` has the color of each switch by its name."""
        self._color_of = color_of
        self.lowest = fabric.tier_switches[0]
        self.bit_of = {leaf.name: 1 << number for number, leaf in enumerate(self.lowest)}
        """Each leaf as a bit, by its name."""
        # The leaves of each network, of each color and of each pod.
        self.networks = list(_leaves_by_key((fabric.network_of(leaf), self.bit_of[leaf.name]) for leaf in self.lowest))
        self.colors = list(_leaves_by_key((color_of[leaf.name], self.bit_of[leaf.name]) for leaf in self.lowest))
        self.pods = list(_leaves_by_key((leaf.pod, self.bit_of[leaf.name]) for leaf in self.lowest))
        self._wiring = Wiring(fabric)
        self._intact = Paths(self._wiring)
        # From leaf to leaf, computed when it is asked for.
        self._intact_gbps: dict[tuple[str, str], float] = {}
        self._users_of = self._users()
        """The leaves whose paths up lead over a switch, by its name."""

    def after(self, out: Collection[str], down: Collection[Link]) -> "PairsLeft":
        """Return what the pairs have left without the switches ``out`` and the fabric links ``down``."""
        lost = sum(self.bit_of.get(name, 0) for name in set(out))
        users = {self._users_of[name] for name in out}
        users.update(self._users_of_links(down))
        touched = [leaves & ~lost for leaves in users if leaves & ~lost]
        return PairsLeft(self, Paths(self._wiring, out, down, intact=self._intact), lost, touched)

    def _users_of_links(self, down: Collection[Link]) -> Iterator[int]:
        """Yield the sets of leaves that failed links touch, one set of all leaves that they touch alike.

        A failed line card takes the same links from many leaves: switches of one color lose as many links of the same
        speed to the same switches above.
        """
        lost_links_of: dict[str, list[tuple[str, int]]] = {}
        for link in down:
            lost_links_of.setdefault(link.lower, []).append((link.upper, link.speed_gbps))
        users = []
        for switch, lost_links in lost_links_of.items():
            likeness = (self._color_of[switch], *sorted(lost_links))
            users.append((likeness, self._users_of[switch]))
        yield from _leaves_by_key(users)

    def intact_gbps(self, leaf: str, far_leaf: str) -> float:
        """Return the greatest flow from a leaf to another in the intact fabric, 0 where no path joins them."""
        pair = (leaf, far_leaf)
        if pair not in self._intact_gbps:
            self._intact_gbps[pair] = self._intact.between(leaf, far_leaf).flow_gbps
        return self._intact_gbps[pair]

    def _users(self) -> Mapping[str, int]:
        """Return the leaves whose paths up lead over each switch; a leaf is a user of itself."""
        users: dict[str, int] = dict.fromkeys(self._wiring.uplinks, 0) | self.bit_of
        # Switches of a fabric are in the order of tiers, so the users of a lower switch are complete here.
        for lower, bundles in self._wiring.uplinks.items():
            for upper in bundles:
                users[upper] |= users[lower]
        return users


class PairsLeft:
    """What the pairs of leaves have left after a failure: ``lost`` are the leaves that it takes out of service, each of
    ``touched`` the leaves that one of the failed parts touches."""

    def __init__(self, pairs: LeafPairs, paths: Paths, lost: int, touched: Sequence[int]) -> None:
        self._pairs = pairs
        self._paths = paths
        self._lost = lost
        self._touched = touched
        self._touched_by_any = _union(touched)
        # Callers ask for most pairs of leaves once for each node below.
        self._left_of_leaves: dict[tuple[str, str], BandwidthLeft] = {}
        self._left_of_cells: dict[tuple[object, object], BandwidthLeft] = {}
        self._cells: dict[str, tuple[object, ...]] = {}

    @property
    def in_service(self) -> int:
        """Return the leaves in service."""
        return _union(self._pairs.networks) & ~self._lost

    def names(self, leaves: int) -> Iterator[str]:
        """Yield the names of a set of leaves."""
        return (leaf.name for leaf in self._pairs.lowest if self._pairs.bit_of[leaf.name] & leaves)

    def worst(self) -> BandwidthLeft | None:
        """Return the worst pair of leaves in service, None where no network has two."""
        pairs = []
        for network in self._pairs.networks:
            leaves = network & ~self._lost
            if leaves.bit_count() > 1:
                # Pairs that the failure does not touch have all of their bandwidth.
                pairs.append(_ALL_LEFT)
                pairs += [self.between(leaf, far_leaf) for leaf, far_leaf in self._sample_pairs(leaves)]
        if not pairs:
            return None
        return BandwidthLeft(min(pair.flow_percent for pair in pairs), min(pair.spread_percent for pair in pairs))

    def between(self, leaf: str, far_leaf: str) -> BandwidthLeft:
        """Return what is left from a leaf to another, both in service."""
        pair = (leaf, far_leaf)
        if pair not in self._left_of_leaves:
            self._left_of_leaves[pair] = self._between_cells(leaf, far_leaf)
        return self._left_of_leaves[pair]

    def _between_cells(self, leaf: str, far_leaf: str) -> BandwidthLeft:
        """Return what is left from a leaf to another, computed once for all pairs of the same two cells."""
        leaves = self._pairs.bit_of[leaf] | self._pairs.bit_of[far_leaf]
        if leaf == far_leaf or not leaves & self._touched_by_any:
            return _ALL_LEFT
        cells = (self._cell(leaf), self._cell(far_leaf))
        if cells not in self._left_of_cells:
            self._left_of_cells[cells] = self._computed(leaf, far_leaf)
        return self._left_of_cells[cells]

    def _cell(self, leaf: str) -> tuple[object, ...]:
        """Return what a leaf has in common with those of its pod that the failure touches alike."""
        if leaf not in self._cells:
            bit = self._pairs.bit_of[leaf]
            pod = next(number for number, leaves in enumerate(self._pairs.pods) if leaves & bit)
            self._cells[leaf] = (pod, self.kind_of(leaf))
        return self._cells[leaf]

    def kind_of(self, leaf: str) -> tuple[int, ...]:
        """Return what a leaf has in common with those that the failure touches alike: its color and the numbers of the
        failed parts that its paths up lead over. Empty if the leaf is out of service."""
        bit = self._pairs.bit_of[leaf]
        if bit & self._lost:
            return ()
        color = next(number for number, leaves in enumerate(self._pairs.colors) if leaves & bit)
        return (color, *(number for number, mask in enumerate(self._touched) if mask & bit))

    def near_pods(self, leaves: int) -> list[int]:
        """Return the pods of ``leaves`` that a failed part touches while it leaves other pods of them untouched."""
        pods = [pod for pod in self._pairs.pods if pod & leaves]
        near: dict[int, None] = {}
        for touched in self._touched:
            touched_pods = [pod for pod in pods if pod & touched]
            if len(touched_pods) < len(pods):
                near |= dict.fromkeys(touched_pods)
        return list(near)

    def _computed(self, leaf: str, far_leaf: str) -> BandwidthLeft:
        intact_gbps = self._pairs.intact_gbps(leaf, far_leaf)
        if not intact_gbps:
            return _ALL_LEFT
        left = self._paths.between(leaf, far_leaf)
        return BandwidthLeft(100 * left.flow_gbps / intact_gbps, 100 * left.spread_gbps / intact_gbps)

    def _sample_pairs(self, leaves: int) -> Iterator[tuple[str, str]]:
        """Yield ordered pairs of ``leaves`` that stand for all pairs with a leaf that the failure touches."""
        if not leaves & self._touched_by_any:
            return
        names = [name for cell in self._split(leaves) for name in self._first_two(cell)]
        touched = {name for name in names if self._pairs.bit_of[name] & self._touched_by_any}
        for leaf, far_leaf in permutations(names, 2):
            if leaf in touched or far_leaf in touched:
                yield leaf, far_leaf

    def _split(self, leaves: int) -> list[int]:
        """Return the sets of leaves that are alike: of one color and pod, and touched by the same failed parts."""
        cells = [leaves & color for color in self._pairs.colors]
        for touched in self._touched:
            parts = []
            for cell in cells:
                parts += [cell & touched, cell & ~touched]
            cells = [part for part in parts if part]
        near_pods = self.near_pods(leaves)
        far_pods = [pod for pod in self._pairs.pods if pod & leaves and pod not in near_pods]
        # Pods that no failed part tells apart are alike: two of them stand for all pairs within one and between two.
        return [cell & pod for cell in cells for pod in (*near_pods, *far_pods[:2])]

    def _first_two(self, cell: int) -> Iterator[str]:
        """Yield the first two leaves of a set."""
        for _ in range(2):
            if cell:
                lowest_bit = cell & -cell
                yield self._pairs.lowest[lowest_bit.bit_length() - 1].name
                cell ^= lowest_bit


def _union(sets: Iterable[int]) -> int:
    """Return the leaves that are in any of the sets."""
    union = 0
    for leaves in sets:
        union |= leaves
    return union


def _leaves_by_key(members: Iterable[tuple[object, int]]) -> Iterable[int]:
    """Return a set for each key: all leaves that ``members`` has with that key."""
    leaves_of: dict[object, int] = {}
    for key, leaves in members:
        leaves_of[key] = leaves_of.get(key, 0) | leaves
    return leaves_of.values()
