"""The bandwidth between two leaves: what the paths could carry, and what equal-cost routing makes of it.

Routes go up, then down (RFC 7938): two leaves meet in the nearest tier in which they are linked with the same switches.
What the paths could carry is their greatest flow. A switch does not aim at it: it spreads packets evenly over the links
on its shortest paths and does not know how much remains further on, so the first link that is full ends the increase.
"""

from collections.abc import Collection, Iterator, Mapping
from typing import NamedTuple

from railweave.fabric.links import Link
from railweave.fabric.model import Fabric

Bundle = tuple[int, int]
"""The links between two switches: their number and their bandwidth in Gb/s. Analyses make millions of them."""

_NONE: Bundle = (0, 0)


class PairBandwidth(NamedTuple):
    """Bandwidth from one leaf to another in Gb/s: the greatest flow, and what even spreading reaches of it."""

    flow_gbps: float
    spread_gbps: float


class Wiring:
    """Which switches are linked: ``uplinks`` of each by the switch above, ``lowers`` of each below it."""

    def __init__(self, fabric: Fabric) -> None:
        self.uplinks: dict[str, dict[str, Bundle]] = {switch.name: {} for switch in fabric.switches}
        for link in fabric.fabric_links:
            own = self.uplinks[link.lower]
            count, gbps = own.get(link.upper, _NONE)
            own[link.upper] = count + 1, gbps + link.speed_gbps
        self.lowers: dict[str, set[str]] = {switch.name: set() for switch in fabric.switches}
        for lower, own in self.uplinks.items():
            for upper in own:
                self.lowers[upper].add(lower)


class Paths:
    """The paths between leaves without some switches and links; ``intact`` are those of the whole fabric."""

    def __init__(
        self,
        wiring: Wiring,
        out: Collection[str] = (),
        down: Collection[Link] = (),
        *,
        intact: "Paths | None" = None,
    ) -> None:
        self._wiring = wiring
        self._out = frozenset(out)
        self._intact = intact
        self._over_of: dict[tuple[str, str], tuple[int, float]] = {}
        """What reaches a leaf from a spine of another pod: the leaves of a pod share its spines."""
        self._changed: dict[str, dict[str, Bundle]] = {}
        for link in down:
            own = self._changed.setdefault(link.lower, dict(wiring.uplinks[link.lower]))
            count, gbps = own[link.upper]
            own[link.upper] = count - 1, gbps - link.speed_gbps
        self._touched = self._joined_with({*self._out, *self._changed})
        """Switches that joined a failed one, or one that lost a link, over the tier above or below."""

    def _joined_with(self, switches: Collection[str]) -> set[str]:
        """Return switches, those above and below them, and all that the ones above join."""
        joined = set(switches)
        for switch in switches:
            joined |= self._wiring.lowers[switch]
            for upper in self._wiring.uplinks[switch]:
                joined |= self._wiring.lowers[upper]
        return joined

    def between(self, leaf: str, other: str) -> PairBandwidth:
        """Return the bandwidth from ``leaf`` to another leaf, both in service."""
        intact = self._wiring.uplinks
        have_common_spine = not intact[leaf].keys().isdisjoint(intact[other])
        ways = []
        for upper, (links, gbps) in self._in_service(leaf):
            flow, spread = self._straight(upper, other) if have_common_spine else self._over_once(upper, other)
            if flow:
                ways.append((links, min(gbps, flow), min(gbps, spread)))
        if not ways:
            return PairBandwidth(0, 0)
        links = sum(count for count, _, _ in ways)
        # The leaf sends each way as much a link, so the first way that is full ends the increase of all.
        spread_gbps = min(spread * links / count for count, _, spread in ways)
        return PairBandwidth(sum(flow for _, flow, _ in ways), spread_gbps)

    def _straight(self, upper: str, other: str) -> tuple[int, float]:
        """Return what reaches ``other`` from a switch that is linked with it: greatest flow and even spreading."""
        gbps = self._bundle(other, upper)[1]
        return gbps, gbps

    def _over_once(self, upper: str, other: str) -> tuple[int, float]:
        # A failure touches few groups of spines: over all others a leaf is reached as in the whole fabric.
        if self._intact is not None and upper not in self._touched and other not in self._changed:
            return self._intact._over_once(upper, other)
        reached = self._over_of.get((upper, other))
        if reached is None:
            reached = self._over_of[upper, other] = self._over(upper, other)
        return reached

    def _over(self, upper: str, other: str) -> tuple[int, float]:
        """Return what reaches ``other`` from ``upper`` over the tier above it.

        All that ``upper`` is linked with above joins one switch above ``other``: the one of its group.
        """
        turns = []
        last = ""
        above_other = self._wiring.uplinks[other].keys()
        for top, (links, gbps) in self._in_service(upper):
            for lower in self._wiring.lowers[top] & above_other:
                if lower in self._out:
                    continue
                _, join_gbps = self._bundle(lower, top)
                if join_gbps:
                    turns.append((links, min(gbps, join_gbps)))
                    last = lower
        if not turns:
            return 0, 0
        _, down_gbps = self._bundle(other, last)
        links = sum(count for count, _ in turns)
        flow = min(down_gbps, sum(gbps for _, gbps in turns))
        return flow, min(down_gbps, *(gbps * links / count for count, gbps in turns))

    def _in_service(self, switch: str) -> Iterator[tuple[str, Bundle]]:
        for upper, bundle in self._uplinks(switch).items():
            if bundle[0] and upper not in self._out:
                yield upper, bundle

    def _bundle(self, lower: str, upper: str) -> Bundle:
        return self._uplinks(lower).get(upper, _NONE)

    def _uplinks(self, switch: str) -> Mapping[str, Bundle]:
        return self._changed.get(switch) or self._wiring.uplinks[switch]
