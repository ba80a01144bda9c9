"""The worst pair of leaves after a failure; of pairs that are alike one is asked.

Sets of leaves are bits of an integer. A failure touches the leaves whose ways up lead over it. Leaves of one color that
the same failures touch, in pods that are alike, have the same bandwidth: two of each such group represent it.
"""

from collections.abc import Collection, Iterable, Iterator, Mapping
from typing import NamedTuple

from railweave.fabric.model import Fabric, Link
from railweave.failures.bandwidth import Paths, Wiring


class WorstPair(NamedTuple):
    """What the worst pair of leaves in service has left, in percent of its bandwidth in the intact fabric: of the
    greatest flow, and of what equal-cost routing carries of it."""

    flow_percent: float
    spread_percent: float


class LeafPairs:
    """The pairs of leaves of a fabric that no failure separates by design: those of one network."""

    def __init__(self, fabric: Fabric, color_of: Mapping[str, int]) -> None:
        """Prepare ``fabric``; ``color_of`` has the color of each leaf by its name."""
        self._lowest = fabric.tier_switches[0]
        self._wiring = Wiring(fabric)
        self._intact = Paths(self._wiring)
        self._usual: dict[tuple[str, str], float] = {}
        self._own = {leaf.name: 1 << place for place, leaf in enumerate(self._lowest)}
        self._users = self._used_by()
        self._networks = list(_sets((fabric.network_of(leaf), self._own[leaf.name]) for leaf in self._lowest))
        self._colors = list(_sets((color_of[leaf.name], self._own[leaf.name]) for leaf in self._lowest))
        self._pods = list(_sets((leaf.pod, self._own[leaf.name]) for leaf in self._lowest))

    def worst(self, out: Collection[str], down: Collection[Link]) -> WorstPair | None:
        """Return the worst pair of leaves without the switches ``out`` and the fabric links ``down``.

        None where no network has two leaves left.
        """
        lost = sum(self._own.get(name, 0) for name in set(out))
        failed = {self._users[name] for name in out} | {self._users[link.lower] for link in down}
        touched = [leaves & ~lost for leaves in failed if leaves & ~lost]
        paths, found = Paths(self._wiring, out, down), []
        for network in self._networks:
            leaves = network & ~lost
            if leaves.bit_count() > 1:
                found.append(WorstPair(100, 100))
                found += (self._left(paths, *pair) for pair in self._asked(leaves, touched))
        if not found:
            return None
        return WorstPair(min(one.flow_percent for one in found), min(one.spread_percent for one in found))

    def _left(self, paths: Paths, one: str, other: str) -> WorstPair:
        usual = self._usual.get((one, other))
        if usual is None:
            usual = self._usual[one, other] = self._intact.between(one, other).flow_gbps
        if not usual:
            return WorstPair(100, 100)
        left = paths.between(one, other)
        return WorstPair(100 * left.flow_gbps / usual, 100 * left.spread_gbps / usual)

    def _asked(self, leaves: int, touched: Collection[int]) -> Iterator[tuple[str, str]]:
        """Yield the ordered pairs to ask, of which at least one leaf is touched."""
        cells = [leaves & color for color in self._colors]
        for mask in touched:
            cells = [part for cell in cells for part in (cell & mask, cell & ~mask) if part]
        if not any(map(leaves.__and__, touched)):
            return
        cells = [cell & pod for cell in cells for pod in self._representative_pods(leaves, touched)]
        reached = any_of(touched)
        names = [(name, bool(self._own[name] & reached)) for cell in cells for name in self._first_two(cell)]
        for one, is_touched in names:
            for other, other_is_touched in names:
                if one != other and (is_touched or other_is_touched):
                    yield one, other

    def _representative_pods(self, leaves: int, touched: Iterable[int]) -> list[int]:
        """Return the pods of which a failure touches some leaves and not those of every pod, and two of the others."""
        pods = [pod for pod in self._pods if pod & leaves]
        near = set()
        for mask in touched:
            reached = [pod for pod in pods if pod & mask]
            if len(reached) < len(pods):
                near.update(reached)
        return [*near, *[pod for pod in pods if pod not in near][:2]]

    def _first_two(self, cell: int) -> Iterator[str]:
        for _ in range(2):
            if cell:
                lowest = cell & -cell
                yield self._lowest[lowest.bit_length() - 1].name
                cell ^= lowest

    def _used_by(self) -> Mapping[str, int]:
        """Return the leaves whose ways up lead over each switch; a leaf's own are its own."""
        users: dict[str, int] = dict.fromkeys(self._wiring.uplinks, 0) | self._own
        for lower, above in self._wiring.uplinks.items():  # tier by tier, as switches of a fabric are
            for upper in above:
                users[upper] |= users[lower]
        return users


def any_of(sets: Iterable[int]) -> int:
    """Return the union of sets that are bits."""
    found = 0
    for one in sets:
        found |= one
    return found


def _sets(members: Iterable[tuple[object, int]]) -> Iterable[int]:
    """Return the union of the bits of each key."""
    found: dict[object, int] = {}
    for key, bit in members:
        found[key] = found.get(key, 0) | bit
    return found.values()
