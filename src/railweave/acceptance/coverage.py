"""How probable it is that the rounds of a plan load a link, whatever the hash of the switches is.

Each queue pair is a flow, which a hash throws onto one of the equal next hops of every switch on its way: at the leaf
onto an uplink to a spine that has a route, at the spine onto an uplink to a super-spine or a parallel link down, at the
super-spine onto a link to the pod. The mean number of flows on a link follows from that without randomness. The number
itself is a sum of independent trials, and below its mean such a sum is at most as probable as a Poisson number
(Hoeffding, "On the distribution of the number of successes in independent trials", 1956), which is used for it.

A link counts as loaded if both of its directions are: each needs enough flows, in one round, for the share of its rate
that the judge demands.
"""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from math import ceil, exp
from typing import NamedTuple

from railweave.acceptance.endpoints import Pair
from railweave.acceptance.limits.paths import FabricPaths

# A flow may get less than its part of a NIC port, because others collide with it on the way.
_WORST_PART = 0.5

# Shares that differ by less than this are equal.
_EQUAL = 1e-9


class FlowCounts(NamedTuple):
    """The mean number of flows on a link of each bundle, away from the nodes and towards them."""

    up: list[float]
    down: list[float]

    def times(self, factor: int) -> "FlowCounts":
        """Return the numbers while each pair has ``factor`` times as many queue pairs."""
        return FlowCounts([factor * mean for mean in self.up], [factor * mean for mean in self.down])


class LinkLoad(NamedTuple):
    """The probability that both directions of a link have been loaded, and the bits of the rounds that may have."""

    probability: float
    rounds: int


class LeafRoutes(NamedTuple):
    """How the flows of a leaf to another one spread: the share of all of them on each link that they may take."""

    # Up from the sender's leaf and down to the receiver's, by the place among the leaf's uplinks.
    up: Mapping[int, float]
    down: Mapping[int, float]
    # Between the spines of different pods, by the place of the link among those of its pod.
    core_up: Mapping[int, float]
    core_down: Mapping[int, float]


class Coverage:
    """Gathers rounds, and says how probable it is that each link has been loaded.

    In a regular fabric all uplinks of a leaf carry as many flows, and so do all uplinks of a pod: these links are one
    bundle, and a round costs a thousandth of the time. The first flows that spread otherwise make each link a bundle.
    """

    def __init__(self, paths: FabricPaths, covered_share: float) -> None:
        """Begin without rounds; a link is loaded if it carries ``covered_share`` of its rate."""
        self.paths = paths
        self._covered_share = covered_share
        self._number = {switch.name: number for number, switch in enumerate(paths.fabric.switches)}
        # The links up from the spines of each pod.
        self._core_links: dict[int, list[int]] = {}
        self._shapes = self._shapes_of_leaves()
        # By the shapes of two leaves, and whether they are of one pod.
        self._routes: dict[tuple[int, int, bool], LeafRoutes] = {}
        self._regular = True
        # The bundle of each link by its number, and the speed of a bundle's links.
        self._bundle_of = self._regular_bundles()
        self._speeds_gbps = [0] * (max(self._bundle_of, default=-1) + 1)
        for link, bundle in enumerate(self._bundle_of):
            # Uplinks of one switch have one speed; should some not, the fastest needs most flows.
            self._speeds_gbps[bundle] = max(self._speeds_gbps[bundle], paths.speeds_gbps[link])
        # The probability that no round has loaded the direction, and the bits of the rounds that may have.
        self._missed_up = [1.0] * len(self._speeds_gbps)
        self._missed_down = [1.0] * len(self._speeds_gbps)
        self._rounds = [0] * len(self._speeds_gbps)

    def _shapes_of_leaves(self) -> list[int]:
        """Return of each leaf a number, equal for leaves whose flows spread alike, whichever pods they are of.

        They have the same places of spines in their pod at their uplinks, and these spines the same super-spines.
        """
        paths = self.paths
        places: dict[int, int] = {}
        above: dict[int, list[tuple[int, ...]]] = {}
        for number, switch in enumerate(paths.fabric.switches):
            if not switch.tier.attaches_nodes:
                spines = above.setdefault(paths.pod[number], [])
                places[number] = len(spines)
                spines.append(tuple(super_spine for _, super_spine in paths.up[number]))
                self._core_links.setdefault(paths.pod[number], []).extend(link for link, _ in paths.up[number])
        cores: dict[tuple[tuple[int, ...], ...], int] = {}
        core_of = {pod: cores.setdefault(tuple(spines), len(cores)) for pod, spines in above.items()}
        shapes: dict[tuple[int | None, tuple[int, ...]], int] = {}
        numbers = []
        for number, links in enumerate(paths.up):
            shape = core_of.get(paths.pod[number]), tuple(places.get(upper, -1) for _, upper in links)
            numbers.append(shapes.setdefault(shape, len(shapes)))
        return numbers

    def _shapes_of(self, ends: tuple[int, int]) -> tuple[int, int, bool]:
        source, target = ends
        return self._shapes[source], self._shapes[target], self.paths.pod[source] == self.paths.pod[target]

    def _regular_bundles(self) -> list[int]:
        """Return the bundle of each link: one for each leaf, and one for the uplinks of each pod."""
        numbers: dict[tuple[int, int | None], int] = {}
        bundle_of = [0] * len(self.paths.speeds_gbps)
        for lower, links in enumerate(self.paths.up):
            is_leaf = self.paths.fabric.switches[lower].tier.attaches_nodes
            leaf = lower if is_leaf else None
            for link, _ in links:
                bundle_of[link] = numbers.setdefault((self.paths.pod[lower], leaf), len(numbers))
        return bundle_of

    def flow_counts(self, pairs: Iterable[Pair], queue_pairs: int) -> FlowCounts:
        """Return the mean number of flows on the links while ``pairs`` send at the same time."""
        between: dict[tuple[int, int], int] = {}
        for sender, receiver in pairs:
            ends = self._number[sender.switch], self._number[receiver.switch]
            if ends[0] != ends[1]:
                between[ends] = between.get(ends, 0) + queue_pairs
        for ends in between:
            shapes = self._shapes_of(ends)
            if shapes not in self._routes:
                self._routes[shapes] = self._checked(self._routes_between(*ends), *ends)
        flows = FlowCounts([0.0] * len(self._speeds_gbps), [0.0] * len(self._speeds_gbps))
        of_pods: dict[tuple[int, int, tuple[int, int, bool]], int] = {}
        for ends, count in between.items():
            source, target = ends
            shapes = self._shapes_of(ends)
            routes = self._routes[shapes]
            self._add_shares(flows.up, self._leaf_shares(routes.up, source), count)
            self._add_shares(flows.down, self._leaf_shares(routes.down, target), count)
            pods = self.paths.pod[source], self.paths.pod[target], shapes
            of_pods[pods] = of_pods.get(pods, 0) + count
        for (first, last, shapes), count in of_pods.items():
            routes = self._routes[shapes]
            self._add_shares(flows.up, self._core_shares(routes.core_up, first), count)
            self._add_shares(flows.down, self._core_shares(routes.core_down, last), count)
        return flows

    def flows_of_rounds(self, rounds: Sequence[Iterable[Pair]], queue_pairs: int) -> list[FlowCounts]:
        """Return the mean numbers of flows of several rounds."""
        flows = [self.flow_counts(pairs, queue_pairs) for pairs in rounds]
        if len({len(of_round.up) for of_round in flows}) > 1:
            # A later round has made each link a bundle of its own.
            return [self.flow_counts(pairs, queue_pairs) for pairs in rounds]
        return flows

    def _leaf_shares(self, shares: Mapping[int, float], leaf: int) -> Iterable[tuple[int, float]]:
        links = self.paths.up[leaf]
        if self._regular:
            # All places have the share of the first.
            return ((links[0][0], shares[0]),)
        return ((links[place][0], share) for place, share in shares.items())

    def _core_shares(self, shares: Mapping[int, float], pod: int) -> Iterable[tuple[int, float]]:
        links = self._core_links[pod] if shares else ()
        return ((links[place], share) for place, share in shares.items())

    def _add_shares(self, counts: list[float], shares: Iterable[tuple[int, float]], count: int) -> None:
        for link, share in shares:
            counts[self._bundle_of[link]] += count * share
            if self._regular:
                # The other links of the bundle have the same.
                return

    def _checked(self, routes: LeafRoutes, source: int, target: int) -> LeafRoutes:
        """Return routes; where they differ within a bundle, each link becomes one."""
        paths = self.paths
        if not self._regular:
            return routes
        pods = paths.pod[source], paths.pod[target]
        even = (
            _is_even(routes.up, len(paths.up[source]))
            and _is_even(routes.down, len(paths.up[target]))
            and (pods[0] == pods[1] or _is_even(routes.core_up, paths.pod_uplinks[pods[0]].links))
            and (pods[0] == pods[1] or _is_even(routes.core_down, paths.pod_uplinks[pods[1]].links))
        )
        if not even:
            self._split_bundles()
        return routes

    def _split_bundles(self) -> None:
        """Make each link a bundle of its own, with what its bundle had."""
        self._regular = False
        for values in (self._missed_up, self._missed_down):
            values[:] = [values[bundle] for bundle in self._bundle_of]
        self._rounds = [self._rounds[bundle] for bundle in self._bundle_of]
        self._speeds_gbps = list(self.paths.speeds_gbps)
        self._bundle_of = list(range(len(self._speeds_gbps)))

    def _routes_between(self, source: int, target: int) -> LeafRoutes:
        paths = self.paths
        if paths.pod[source] == paths.pod[target]:
            return self._routes_in_pod(source, target)
        places: list[int] = []
        cores: dict[int, list[tuple[int, list[tuple[int, int]]]]] = {}
        for place, (_, spine) in enumerate(paths.up[source]):
            if spine not in cores:
                hops = [(link, self._ways_down(upper, target)) for link, upper in paths.up[spine]]
                cores[spine] = [(link, ways) for link, ways in hops if ways]
            if cores[spine]:
                places.append(place)
        up_place = {link: place for place, link in enumerate(self._core_links[paths.pod[source]])}
        down_place = {link: place for place, link in enumerate(self._core_links[paths.pod[target]])}
        core_up: dict[int, float] = {}
        core_down: dict[int, float] = {}
        arrivals: dict[int, float] = {}
        for place in places:
            hops_up = cores[paths.up[source][place][1]]
            for link, ways in hops_up:
                share = 1 / len(places) / len(hops_up)
                core_up[up_place[link]] = core_up.get(up_place[link], 0.0) + share
                for way, spine in ways:
                    core_down[down_place[way]] = core_down.get(down_place[way], 0.0) + share / len(ways)
                    arrivals[spine] = arrivals.get(spine, 0.0) + share / len(ways)
        up = {place: 1 / len(places) for place in places}
        return LeafRoutes(up, self._down_shares(arrivals, target), core_up, core_down)

    def _routes_in_pod(self, source: int, target: int) -> LeafRoutes:
        spines = [spine for _, spine in self.paths.up[source]]
        places = [place for place, spine in enumerate(spines) if (spine, target) in self.paths.down]
        arrivals: dict[int, float] = {}
        for place in places:
            arrivals[spines[place]] = arrivals.get(spines[place], 0.0) + 1 / len(places)
        up = {place: 1 / len(places) for place in places}
        return LeafRoutes(up, self._down_shares(arrivals, target), {}, {})

    def _down_shares(self, arrivals: Mapping[int, float], target: int) -> dict[int, float]:
        """Return the shares of a leaf's links of what its spines hand down, each over its parallel links."""
        shares = {}
        for place, (_, spine) in enumerate(self.paths.up[target]):
            if spine in arrivals:
                shares[place] = arrivals[spine] / len(self.paths.down[spine, target])
        return shares

    def _ways_down(self, super_spine: int, target: int) -> list[tuple[int, int]]:
        """Return the links of a super-spine, with the spine below, that lead to a leaf."""
        paths = self.paths
        ways = paths.to_pod.get((super_spine, paths.pod[target]), ())
        return [way for way in ways if (way[1], target) in paths.down]

    def add(self, flows: FlowCounts, flow_gbps: float, round_bit: int) -> None:
        """Count a round whose flows have at least ``flow_gbps`` while nothing collides."""
        self._miss(self._missed_up, flows.up, flow_gbps)
        self._miss(self._missed_down, flows.down, flow_gbps)
        for bundle, means in enumerate(zip(flows.up, flows.down, strict=True)):
            if any(means):
                self._rounds[bundle] |= round_bit

    def _miss(self, missed: list[float], counts: Iterable[float], flow_gbps: float) -> None:
        """Multiply the probabilities that no round has loaded a direction by those of one more round."""
        for bundle, mean in enumerate(counts):
            if mean:
                needed_gbps = self._covered_share * self._speeds_gbps[bundle]
                missed[bundle] *= poisson_below(ceil(needed_gbps / (flow_gbps * _WORST_PART)), mean)

    def below_after(
        self, rounds: Iterable[FlowCounts], flow_gbps: float, confidence: float, links: Iterable[int]
    ) -> list[int]:
        """Return what `below` would return after more rounds, none of which is kept."""
        kept = self._missed_up, self._missed_down
        self._missed_up, self._missed_down = map(list, kept)
        for flows in rounds:
            self._miss(self._missed_up, flows.up, flow_gbps)
            self._miss(self._missed_down, flows.down, flow_gbps)
        below = self.below(confidence, links)
        self._missed_up, self._missed_down = kept
        return below

    def loads(self) -> Iterator[LinkLoad]:
        """Yield of every link by its number how probable it is that it has been loaded, and in which rounds."""
        loads = [LinkLoad(*load) for load in zip(self._probabilities(), self._rounds, strict=True)]
        return map(loads.__getitem__, self._bundle_of)

    def probability(self, link: int) -> float:
        """Return the probability that both directions of a link have been loaded."""
        return self._probabilities()[self._bundle_of[link]]

    def _probabilities(self) -> list[float]:
        missed = zip(self._missed_up, self._missed_down, strict=True)
        return [(1 - up) * (1 - down) for up, down in missed]

    def below(self, confidence: float, links: Iterable[int]) -> list[int]:
        """Return those of ``links`` that have been loaded with at most the probability ``confidence``."""
        is_below = [probability <= confidence for probability in self._probabilities()]
        return [link for link in links if is_below[self._bundle_of[link]]]

    def reached(self, flows: FlowCounts, links: Iterable[int]) -> bool:
        """Tell whether flows may take any of ``links``."""
        bundles = {self._bundle_of[link] for link in links}
        return any(flows.up[bundle] or flows.down[bundle] for bundle in bundles)


def _is_even(shares: Mapping[int, float], links: int) -> bool:
    """Tell whether all ``links`` have the same share."""
    return len(shares) == links and max(shares.values()) - min(shares.values()) < _EQUAL


def poisson_below(count: int, mean: float) -> float:
    """Return the probability that a Poisson number is below ``count``; 1 where the mean is no larger than that.

    Only below the mean does it bound a sum of independent trials.
    """
    if count > 1 and mean <= count:
        return 1.0
    term = exp(-mean)
    total = term
    for number in range(1, count):
        term *= mean / number
        total += term
    return min(1.0, total)
