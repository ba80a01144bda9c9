"""How probable it is that the rounds of a plan load a link, whatever the hash of the switches is.

Each queue pair is a flow, which a hash throws onto one of the equal next hops of every switch on its way: at the leaf
onto an uplink to a spine that has a route, at the spine onto an uplink to a super-spine or a parallel link down, at the
super-spine onto a link to the pod. The mean number of flows on a link follows from that without randomness. The number
itself is a sum of independent trials, and below its mean such a sum is at most as probable as a Poisson number
(Hoeffding, "On the distribution of the number of successes in independent trials", 1956), which is used for it.

A link counts as loaded if both of its directions are: each needs enough flows, in one round, for the share of its rate
that the judge demands.
"""

from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from math import ceil, exp
from typing import NamedTuple

from railweave.acceptance.endpoints import Pair
from railweave.acceptance.limits.paths import FabricPaths, FarSwitch

# A flow may get less than its part of a NIC port, because others collide with it on the way.
_WORST_PART = 0.5

# Shares that differ by less than this are equal.
_EQUAL = 1e-9


class FlowCounts(NamedTuple):
    """The mean number of flows on a link of each bundle, away from the nodes and towards them."""

    up: list[float]
    down: list[float]

    def times(self, factor: int) -> "FlowCounts":
        """Return the numbers of flows if each pair had ``factor`` times as many queue pairs."""
        return FlowCounts([factor * mean for mean in self.up], [factor * mean for mean in self.down])


class LinkLoad(NamedTuple):
    """The probability that both directions of a link have been loaded, and the bits of the rounds that may have."""

    probability: float
    rounds: int


RouteShape = tuple[int, int, bool]
"""The shapes of a sender's and of a receiver's leaf, and whether both leaves are of one pod."""


class CoreHop(NamedTuple):
    """A link up from a spine, and the links down from its super-spine that lead to the receiver's leaf."""

    link: int
    links_down: list[FarSwitch]


class LeafRoutes(NamedTuple):
    """How the flows of a leaf to another one spread: the share of all of them on each link that they may take."""

    # Up from the sender's leaf and down to the receiver's, by the index of the link among the leaf's uplinks.
    up: Mapping[int, float]
    down: Mapping[int, float]
    # Between the spines of different pods, by the index of the link among those of its pod.
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
        self._core_links = self._core_links_of_pods()
        self._shapes = self._shapes_of_leaves()
        self._routes: dict[RouteShape, LeafRoutes] = {}
        # All links of a bundle carry the same, see `_split_bundles`.
        self._regular = True
        # The bundle of each link by its number, and the speed of a bundle's links.
        self._bundle_of = self._regular_bundles()
        self._speeds_gbps = [0] * (max(self._bundle_of, default=-1) + 1)
        for link, bundle in enumerate(self._bundle_of):
            # If the links of a bundle differ in speed, the fastest one needs the most flows.
            self._speeds_gbps[bundle] = max(self._speeds_gbps[bundle], paths.speeds_gbps[link])
        # The probability that no round has loaded the direction, and the bits of the rounds that may have.
        self._missed_up = [1.0] * len(self._speeds_gbps)
        self._missed_down = [1.0] * len(self._speeds_gbps)
        self._rounds = [0] * len(self._speeds_gbps)

    def _core_links_of_pods(self) -> dict[int, list[int]]:
        """Return the links up from the spines of each pod."""
        paths = self.paths
        core_links: dict[int, list[int]] = {}
        for number, switch in enumerate(paths.fabric.switches):
            if not switch.tier.attaches_nodes:
                core_links.setdefault(paths.pod[number], []).extend(link for link, _ in paths.up[number])
        return core_links

    def _shapes_of_leaves(self) -> list[int]:
        """Return a number for each switch; it is equal for leaves whose flows spread in the same way, also across pods.

        Such leaves have uplinks to spines of the same index in their pod, and these spines have the same super-spines.
        """
        paths = self.paths
        index_in_pod: dict[int, int] = {}
        super_spines_of_pod: dict[int, list[tuple[int, ...]]] = {}
        for number, switch in enumerate(paths.fabric.switches):
            if not switch.tier.attaches_nodes:
                super_spines_of_spines = super_spines_of_pod.setdefault(paths.pod[number], [])
                index_in_pod[number] = len(super_spines_of_spines)
                super_spines_of_spines.append(tuple(super_spine for _, super_spine in paths.up[number]))
        # Numbered, because a fabric has many leaves and few different cores: numbers are fast to hash.
        core_numbers: dict[tuple[tuple[int, ...], ...], int] = {}
        core_of_pod: dict[int, int] = {}
        for pod, super_spines in super_spines_of_pod.items():
            core_of_pod[pod] = core_numbers.setdefault(tuple(super_spines), len(core_numbers))
        shape_numbers: dict[tuple[int | None, tuple[int, ...]], int] = {}
        shapes = []
        for number, links in enumerate(paths.up):
            shape = core_of_pod.get(paths.pod[number]), tuple(index_in_pod.get(upper, -1) for _, upper in links)
            shapes.append(shape_numbers.setdefault(shape, len(shape_numbers)))
        return shapes

    def _shape_between(self, source: int, target: int) -> RouteShape:
        return self._shapes[source], self._shapes[target], self.paths.pod[source] == self.paths.pod[target]

    def _regular_bundles(self) -> list[int]:
        """Return the bundle of each link: one for each leaf, and one for the uplinks of each pod."""
        numbers: dict[tuple[int, int | None], int] = {}
        bundle_of = [0] * len(self.paths.speeds_gbps)
        for lower, links in enumerate(self.paths.up):
            # All spines of a pod share the bundle without a leaf.
            leaf = None
            if self.paths.fabric.switches[lower].tier.attaches_nodes:
                leaf = lower
            for link, _ in links:
                bundle_of[link] = numbers.setdefault((self.paths.pod[lower], leaf), len(numbers))
        return bundle_of

    def flow_counts(self, pairs: Iterable[Pair], queue_pairs: int) -> FlowCounts:
        """Return the mean number of flows on a link of each bundle while ``pairs`` send at the same time.

        Splits the bundles if the flows spread unevenly over their links.
        """
        flows_between: dict[tuple[int, int], int] = {}
        for sender, receiver in pairs:
            source = self._number[sender.switch]
            target = self._number[receiver.switch]
            if source != target:
                flows_between[source, target] = flows_between.get((source, target), 0) + queue_pairs
        # All routes first, because uneven ones change what a bundle is.
        for source, target in flows_between:
            self._store_routes(source, target)
        flows = FlowCounts([0.0] * len(self._speeds_gbps), [0.0] * len(self._speeds_gbps))
        # Leaves of equal shapes load the core in the same way, so their flows are added up for the pods.
        flows_between_pods: dict[tuple[int, int, RouteShape], int] = {}
        for (source, target), count in flows_between.items():
            shape = self._shape_between(source, target)
            routes = self._routes[shape]
            self._add_shares(flows.up, self._leaf_shares(routes.up, source), count)
            self._add_shares(flows.down, self._leaf_shares(routes.down, target), count)
            pods = self.paths.pod[source], self.paths.pod[target], shape
            flows_between_pods[pods] = flows_between_pods.get(pods, 0) + count
        for (source_pod, target_pod, shape), count in flows_between_pods.items():
            routes = self._routes[shape]
            self._add_shares(flows.up, self._core_shares(routes.core_up, source_pod), count)
            self._add_shares(flows.down, self._core_shares(routes.core_down, target_pod), count)
        return flows

    def flows_of_rounds(self, rounds: Sequence[Iterable[Pair]], queue_pairs: int) -> list[FlowCounts]:
        """Return the mean numbers of flows of each round (`flow_counts`), all for the same bundles."""
        flows = [self.flow_counts(pairs, queue_pairs) for pairs in rounds]
        bundle_numbers = {len(round_flows.up) for round_flows in flows}
        if len(bundle_numbers) > 1:
            # A later round has split the bundles, so earlier ones are counted again.
            return [self.flow_counts(pairs, queue_pairs) for pairs in rounds]
        return flows

    def _leaf_shares(self, shares: Mapping[int, float], leaf: int) -> Iterable[tuple[int, float]]:
        """Return the uplinks of a leaf with their shares; while bundles are regular, the first one stands for all."""
        links = self.paths.up[leaf]
        if self._regular:
            return ((links[0].link, shares[0]),)
        return ((links[index].link, share) for index, share in shares.items())

    def _core_shares(self, shares: Mapping[int, float], pod: int) -> Iterable[tuple[int, float]]:
        """Return the links up from a pod's spines with their shares; none for flows within the pod."""
        if not shares:
            return ()
        links = self._core_links[pod]
        return ((links[index], share) for index, share in shares.items())

    def _add_shares(self, counts: list[float], shares: Iterable[tuple[int, float]], count: int) -> None:
        """Add ``count`` flows to the ``counts`` of the bundles, to each by the share of its links."""
        for link, share in shares:
            counts[self._bundle_of[link]] += count * share
            if self._regular:
                # All are links of one bundle, whose mean is that of its first link.
                return

    def _store_routes(self, source: int, target: int) -> None:
        """Store the routes between two leaves; all leaves of the same shapes have the same routes.

        Splits the bundles if the routes use some links of a bundle more than others.
        """
        shape = self._shape_between(source, target)
        if shape in self._routes:
            return
        routes = self._routes_between(source, target)
        self._routes[shape] = routes
        if self._regular and not self._are_even(routes, source, target):
            self._split_bundles()

    def _are_even(self, routes: LeafRoutes, source: int, target: int) -> bool:
        """Tell whether routes use all links of the bundles between two leaves alike."""
        paths = self.paths
        if not _is_even(routes.up, len(paths.up[source])) or not _is_even(routes.down, len(paths.up[target])):
            return False
        source_pod = paths.pod[source]
        target_pod = paths.pod[target]
        if source_pod == target_pod:
            return True
        up_is_even = _is_even(routes.core_up, paths.pod_uplinks[source_pod].links)
        return up_is_even and _is_even(routes.core_down, paths.pod_uplinks[target_pod].links)

    def _split_bundles(self) -> None:
        """Make each link a bundle of its own, with the probabilities, rounds and flows of its old bundle."""
        self._regular = False
        for values in (self._missed_up, self._missed_down):
            values[:] = [values[bundle] for bundle in self._bundle_of]
        self._rounds = [self._rounds[bundle] for bundle in self._bundle_of]
        self._speeds_gbps = list(self.paths.speeds_gbps)
        self._bundle_of = list(range(len(self._speeds_gbps)))

    def _routes_between(self, source: int, target: int) -> LeafRoutes:
        """Return the routes between two leaves: every switch spreads flows evenly over links that lead to the target.

        The leaf and the spines of the source use only uplinks from which the target can be reached.
        """
        paths = self.paths
        if paths.pod[source] == paths.pod[target]:
            return self._routes_in_pod(source, target)
        hops_of: dict[int, list[CoreHop]] = {}
        for _, spine in paths.up[source]:
            if spine not in hops_of:
                hops_of[spine] = self._core_hops(spine, target)
        spine_at = {index: spine for index, (_, spine) in enumerate(paths.up[source]) if hops_of[spine]}
        up_index = {link: index for index, link in enumerate(self._core_links[paths.pod[source]])}
        down_index = {link: index for index, link in enumerate(self._core_links[paths.pod[target]])}
        core_up: defaultdict[int, float] = defaultdict(float)
        core_down: defaultdict[int, float] = defaultdict(float)
        # The share of the flows that reaches each spine of the target's pod.
        arrivals: defaultdict[int, float] = defaultdict(float)
        for spine in spine_at.values():
            hops = hops_of[spine]
            share_up = 1 / len(spine_at) / len(hops)
            for link_up, links_down in hops:
                core_up[up_index[link_up]] += share_up
                share_down = share_up / len(links_down)
                for link_down, target_spine in links_down:
                    core_down[down_index[link_down]] += share_down
                    arrivals[target_spine] += share_down
        up = {index: 1 / len(spine_at) for index in spine_at}
        return LeafRoutes(up, self._down_shares(arrivals, target), core_up, core_down)

    def _routes_in_pod(self, source: int, target: int) -> LeafRoutes:
        uplinks = enumerate(self.paths.up[source])
        spine_at = {index: spine for index, (_, spine) in uplinks if (spine, target) in self.paths.down}
        arrivals: defaultdict[int, float] = defaultdict(float)
        for spine in spine_at.values():
            arrivals[spine] += 1 / len(spine_at)
        up = {index: 1 / len(spine_at) for index in spine_at}
        return LeafRoutes(up, self._down_shares(arrivals, target), {}, {})

    def _down_shares(self, arrivals: Mapping[int, float], target: int) -> dict[int, float]:
        """Return the share of each link down to a leaf, by its index among the leaf's uplinks.

        ``arrivals`` is the share of the flows at each spine, which divides it among its links to the leaf.
        """
        shares = {}
        for index, (_, spine) in enumerate(self.paths.up[target]):
            if spine in arrivals:
                shares[index] = arrivals[spine] / len(self.paths.down[spine, target])
        return shares

    def _core_hops(self, spine: int, target: int) -> list[CoreHop]:
        """Return the links up from a spine to the super-spines that can reach a leaf of another pod."""
        paths = self.paths
        hops = []
        for link, super_spine in paths.up[spine]:
            links_to_pod = paths.to_pod.get((super_spine, paths.pod[target]), ())
            links_down = [link_down for link_down in links_to_pod if (link_down.switch, target) in paths.down]
            if links_down:
                hops.append(CoreHop(link, links_down))
        return hops

    def add(self, flows: FlowCounts, flow_gbps: float, round_bit: int) -> None:
        """Count a round whose flows have at least ``flow_gbps`` each while nothing collides.

        ``round_bit`` is the bit that stands for the round in `LinkLoad.rounds`.
        """
        self._count_misses(self._missed_up, flows.up, flow_gbps)
        self._count_misses(self._missed_down, flows.down, flow_gbps)
        for bundle, (mean_up, mean_down) in enumerate(zip(flows.up, flows.down, strict=True)):
            if mean_up or mean_down:
                self._rounds[bundle] |= round_bit

    def _count_misses(self, missed: list[float], counts: Iterable[float], flow_gbps: float) -> None:
        """Multiply ``missed`` by the probabilities that one more round does not load the direction.

        ``missed`` and ``counts`` (the mean numbers of flows) are of one direction, by bundle.
        """
        for bundle, mean in enumerate(counts):
            if mean:
                needed_gbps = self._covered_share * self._speeds_gbps[bundle]
                needed_flows = ceil(needed_gbps / (flow_gbps * _WORST_PART))
                missed[bundle] *= poisson_below(needed_flows, mean)

    def below_after(
        self, rounds: Iterable[FlowCounts], flow_gbps: float, confidence: float, links: Iterable[int]
    ) -> list[int]:
        """Return what `below` would return after ``rounds`` of this ``flow_gbps``, without adding them."""
        missed_up = self._missed_up
        missed_down = self._missed_down
        self._missed_up = list(missed_up)
        self._missed_down = list(missed_down)
        for flows in rounds:
            self._count_misses(self._missed_up, flows.up, flow_gbps)
            self._count_misses(self._missed_down, flows.down, flow_gbps)
        below = self.below(confidence, links)
        self._missed_up = missed_up
        self._missed_down = missed_down
        return below

    def loads(self) -> Iterator[LinkLoad]:
        """Yield the load of every link, in the order of their numbers."""
        loads = [LinkLoad(*load) for load in zip(self._probabilities(), self._rounds, strict=True)]
        return map(loads.__getitem__, self._bundle_of)

    def probability(self, link: int) -> float:
        """Return the probability that both directions of a link have been loaded."""
        return self._probabilities()[self._bundle_of[link]]

    def _probabilities(self) -> list[float]:
        missed = zip(self._missed_up, self._missed_down, strict=True)
        return [(1 - up) * (1 - down) for up, down in missed]

    def below(self, confidence: float, links: Iterable[int]) -> list[int]:
        """Return the ``links`` that have been loaded with a probability of at most ``confidence``."""
        is_below = [probability <= confidence for probability in self._probabilities()]
        return [link for link in links if is_below[self._bundle_of[link]]]

    def reached(self, flows: FlowCounts, links: Iterable[int]) -> bool:
        """Tell whether any of ``flows`` may take one of ``links``."""
        bundles = {self._bundle_of[link] for link in links}
        return any(flows.up[bundle] or flows.down[bundle] for bundle in bundles)


def _is_even(shares: Mapping[int, float], links: int) -> bool:
    """Tell whether all ``links`` have the same share."""
    return len(shares) == links and max(shares.values()) - min(shares.values()) < _EQUAL


def poisson_below(count: int, mean: float) -> float:
    """Return a bound for the probability that a sum of independent trials is below ``count``.

    It is the probability of a Poisson number, which is a bound if ``count`` is below ``mean``, and always if ``count``
    is 1 (no flow at all). Otherwise it is 1.
    """
    if count > 1 and mean <= count:
        return 1.0
    term = exp(-mean)
    total = term
    for number in range(1, count):
        term *= mean / number
        total += term
    return min(1.0, total)
