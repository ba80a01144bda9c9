"""The bandwidth between two leaves: what the paths could carry, and what equal-cost routing makes of it.

Routes go up, then down (RFC 7938): two leaves meet in the nearest tier in which they are linked with the same switches.
What the paths could carry is their greatest flow. Equal-cost routing may carry less: a switch spreads packets evenly
over the links on its shortest paths and does not know what the links further on can carry, so the first full link is
the limit.
"""

from collections.abc import Collection, Iterator, Mapping, Sequence
from typing import NamedTuple

from railweave.fabric.links import Link
from railweave.fabric.model import Fabric

Bundle = tuple[int, int]
"""The links between two switches: their number and their bandwidth in Gb/s. Analyses make millions of them."""

_NO_LINKS: Bundle = (0, 0)


class PairBandwidth(NamedTuple):
    """Bandwidth from a switch to a leaf in Gb/s: the greatest flow, and what even spreading reaches of it."""

    flow_gbps: float
    spread_gbps: float


_NO_PATH = PairBandwidth(0, 0)


class _Branch(NamedTuple):
    """The links from a switch to one of those above it, and the bandwidth in Gb/s that reaches the leaf over them."""

    links: int
    flow_gbps: float
    spread_gbps: float


class Wiring:
    """Which switches are linked: ``uplinks`` of each by the switch above, ``lowers`` of each below it."""

    def __init__(self, fabric: Fabric) -> None:
        self.uplinks: dict[str, dict[str, Bundle]] = {switch.name: {} for switch in fabric.switches}
        for link in fabric.fabric_links:
            bundles = self.uplinks[link.lower]
            count, gbps = bundles.get(link.upper, _NO_LINKS)
            bundles[link.upper] = (count + 1, gbps + link.speed_gbps)
        self.lowers: dict[str, set[str]] = {switch.name: set() for switch in fabric.switches}
        for lower, bundles in self.uplinks.items():
            for upper in bundles:
                self.lowers[upper].add(lower)


class Paths:
    """The paths between leaves after a failure takes the switches ``out`` and the links ``down`` out of service.

    ``intact`` are the paths of the whole fabric, which answer for switches that the failure does not touch.
    """

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
        self._over_top: dict[tuple[str, str], PairBandwidth] = {}
        """What reaches a leaf from a spine of another pod: the leaves of a pod share its spines."""
        self._changed: dict[str, dict[str, Bundle]] = {}
        """The uplinks of the switches that lost a link."""
        for link in down:
            bundles = self._changed.setdefault(link.lower, dict(wiring.uplinks[link.lower]))
            count, gbps = bundles[link.upper]
            bundles[link.upper] = (count - 1, gbps - link.speed_gbps)
        self._touched = self._neighborhood({*self._out, *self._changed})
        """Switches whose paths over the tier above may lead over a failed switch, or over one that lost a link."""

    def _neighborhood(self, switches: Collection[str]) -> set[str]:
        """Return the switches, those below them, and all that are linked with the same switches above."""
        neighborhood = set(switches)
        for switch in switches:
            neighborhood |= self._wiring.lowers[switch]
            for upper in self._wiring.uplinks[switch]:
                neighborhood |= self._wiring.lowers[upper]
        return neighborhood

    def between(self, leaf: str, far_leaf: str) -> PairBandwidth:
        """Return the bandwidth from ``leaf`` to another leaf, both in service."""
        intact_uplinks = self._wiring.uplinks
        have_common_spine = not intact_uplinks[leaf].keys().isdisjoint(intact_uplinks[far_leaf])
        branches = []
        for spine, (links, up_gbps) in self._in_service(leaf):
            if have_common_spine:
                rest = self._straight_down(spine, far_leaf)
            else:
                rest = self._over_tier_above(spine, far_leaf)
            if rest.flow_gbps:
                branches.append(_Branch(links, min(up_gbps, rest.flow_gbps), min(up_gbps, rest.spread_gbps)))
        return _together(branches)

    def _straight_down(self, spine: str, leaf: str) -> PairBandwidth:
        """Return what reaches a leaf over its own links from a spine."""
        _, gbps = self._bundle(leaf, spine)
        return PairBandwidth(gbps, gbps)

    def _over_tier_above(self, spine: str, far_leaf: str) -> PairBandwidth:
        """Return what reaches a leaf from a spine that has no link to it."""
        # A failure touches few groups of spines. From all others a leaf is reached as in the whole fabric.
        if self._intact is not None and spine not in self._touched and far_leaf not in self._changed:
            return self._intact._over_tier_above(spine, far_leaf)
        pair = (spine, far_leaf)
        if pair not in self._over_top:
            self._over_top[pair] = self._up_and_down(spine, far_leaf)
        return self._over_top[pair]

    def _up_and_down(self, spine: str, far_leaf: str) -> PairBandwidth:
        """Return what reaches a leaf from a spine over the tier above.

        Of the spines of the leaf, one is linked with the same switches above as ``spine``: that of the same group.
        """
        branches = []
        far_spine = ""
        far_spines = self._wiring.uplinks[far_leaf].keys()
        for top, (links, up_gbps) in self._in_service(spine):
            for lower in self._wiring.lowers[top] & far_spines:
                if lower in self._out:
                    continue
                _, top_down_gbps = self._bundle(lower, top)
                if top_down_gbps:
                    gbps = min(up_gbps, top_down_gbps)
                    branches.append(_Branch(links, gbps, gbps))
                    far_spine = lower
        if not branches:
            return _NO_PATH
        _, down_gbps = self._bundle(far_leaf, far_spine)
        to_far_spine = _together(branches)
        return PairBandwidth(min(down_gbps, to_far_spine.flow_gbps), min(down_gbps, to_far_spine.spread_gbps))

    def _in_service(self, switch: str) -> Iterator[tuple[str, Bundle]]:
        """Yield the switches above a switch that it reaches, each with the links between them."""
        for upper, bundle in self._uplinks(switch).items():
            links, _ = bundle
            if links and upper not in self._out:
                yield upper, bundle

    def _bundle(self, lower: str, upper: str) -> Bundle:
        return self._uplinks(lower).get(upper, _NO_LINKS)

    def _uplinks(self, switch: str) -> Mapping[str, Bundle]:
        return self._changed.get(switch) or self._wiring.uplinks[switch]


def _together(branches: Sequence[_Branch]) -> PairBandwidth:
    """Return the bandwidth of all branches of a switch."""
    if not branches:
        return _NO_PATH
    flow_gbps = sum(branch.flow_gbps for branch in branches)
    links = sum(branch.links for branch in branches)
    # Every link gets the same rate, so the first branch that is full ends the increase of all.
    spread_gbps = min(branch.spread_gbps * links / branch.links for branch in branches)
    return PairBandwidth(flow_gbps, spread_gbps)
