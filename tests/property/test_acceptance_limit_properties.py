"""The limits of the plan of every fabric are those of an independent computation on the graph of its links."""

import random
from collections import Counter, defaultdict, deque
from collections.abc import Iterable, Sequence
from itertools import pairwise, permutations
from math import ceil
from statistics import mean

import pytest
from acceptance_designs import designs, few, planned, switch_of_port
from graph_shares import GraphModel
from hypothesis import given
from hypothesis import strategies as st

from railweave.acceptance.limits.basis import NicPair
from railweave.acceptance.model import AcceptanceRound, Level, Metric, MetricLimit, NicPort, PlannedTest, RoundKind
from railweave.api.design.intent import Designed
from railweave.fabric.model import Fabric

# A packet of 4,096 bytes with Ethernet, IPv4, UDP, BTH, ICRC, FCS, preamble and gap.
SHARE = 4096 / (4096 + 14 + 20 + 8 + 12 + 4 + 4 + 20)


class Graph:
    """The switches of a fabric with the speed of each link between them, and the speed of each NIC port."""

    def __init__(self, fabric: Fabric) -> None:
        self.switches = switch_of_port(fabric)
        self.gbps: dict[NicPort, int] = {}
        self.cable_m: dict[NicPort, int] = {}
        self.peers: dict[str, list[tuple[str, int]]] = {}
        self.lengths_m: dict[tuple[str, str], list[int]] = {}
        self.up_gbps: Counter[str] = Counter()
        self.core_gbps: Counter[str] = Counter()
        # The switches of a network without its highest tier hang together by pod.
        self.pods: dict[str, set[str]] = {}
        highest = {switch.name for switch in fabric.tier_switches[-1]}
        for link in fabric.links:
            if link.is_access:
                port = fabric.host_of[link.lower].ports[link.lower_port]
                self.gbps[NicPort(link.lower, port.nic, port.port)] = link.speed_gbps
                self.cable_m[NicPort(link.lower, port.nic, port.port)] = link.length_m
                continue
            self.up_gbps[link.lower] += link.speed_gbps
            if link.upper in highest:
                self.core_gbps[link.lower] += link.speed_gbps
            for ends in ((link.lower, link.upper), (link.upper, link.lower)):
                self.lengths_m.setdefault(ends, []).append(link.length_m)
            self._join(link.lower, link.upper, highest)
            self.peers.setdefault(link.lower, []).append((link.upper, link.speed_gbps))
            self.peers.setdefault(link.upper, []).append((link.lower, link.speed_gbps))

    def _join(self, lower: str, upper: str, highest: set[str]) -> None:
        pod = self.pods.setdefault(lower, {lower})
        if upper in highest:
            return
        pod |= self.pods.get(upper, {upper})
        for switch in pod:
            self.pods[switch] = pod

    def shortest_m(self, test: PlannedTest) -> int:
        """Return the meters of the shortest cables on a path of the fewest hops between the ports of a test."""
        assert test.receiver is not None
        source, target = self.switches[test.sender], self.switches[test.receiver]
        hops = self._hops(target)
        meters = {source: 0}
        while target not in meters:
            further: dict[str, int] = {}
            for switch, so_far in meters.items():
                for peer, _ in self.peers[switch]:
                    if hops[peer] < hops[switch]:
                        length = so_far + min(self.lengths_m[switch, peer])
                        further[peer] = min(length, further.get(peer, length))
            meters = further
        return meters[target] + self.cable_m[test.sender] + self.cable_m[test.receiver]

    def bus_gigabytes(self, group: Iterable[NicPort]) -> float:
        """Return the payload in GB/s of the slowest node of a group, over the narrowest tier that the group crosses."""
        of_node: Counter[str] = Counter()
        into: Counter[str] = Counter()
        for port in group:
            of_node[port.node] += self.gbps[port]
            into[self.switches[port]] += self.gbps[port]
        ratio = 1.0
        for leaf, gbps in into.items():
            pod = self.pods.get(leaf, {leaf})
            reached = self._hops(leaf).keys()
            if any(other in reached for other in into if other != leaf):
                ratio = max(ratio, gbps / self.up_gbps[leaf])
            if any(other in reached for other in into if other not in pod):
                into_pod = sum(into[member] for member in pod)
                ratio = max(ratio, into_pod / sum(self.core_gbps[member] for member in pod))
        return min(of_node.values()) * SHARE / 8 / ratio

    def line_gbps(self, test: PlannedTest) -> int:
        assert test.receiver is not None
        return min(self.gbps[test.sender], self.gbps[test.receiver])

    def slowest_gbps(self, test: PlannedTest) -> float:
        """Return the speed of the slowest link on any shortest path between the leaves of a test."""
        assert test.receiver is not None
        source, target = self.switches[test.sender], self.switches[test.receiver]
        hops = self._hops(target)
        waiting = {source}
        slowest = float("inf")
        while waiting and target not in waiting:
            further: set[str] = set()
            for switch in waiting:
                nearer = [(peer, gbps) for peer, gbps in self.peers[switch] if hops[peer] < hops[switch]]
                slowest = min([slowest, *(gbps for _, gbps in nearer)])
                further |= {peer for peer, _ in nearer}
            waiting = further
        return slowest

    def _hops(self, target: str) -> dict[str, int]:
        hops = {target: 0}
        waiting = deque([target])
        while waiting:
            switch = waiting.popleft()
            for peer, _ in self.peers.get(switch, ()):
                if peer not in hops:
                    hops[peer] = hops[switch] + 1
                    waiting.append(peer)
        return hops


def limit_of(limits: Iterable[MetricLimit], metric: Metric) -> MetricLimit:
    (limit,) = [limit for limit in limits if limit.metric is metric]
    return limit


@given(designs(mixed=True))
@few
def test_bandwidth_limits_follow_from_speeds_alone(designed: Designed) -> None:
    plan = planned(designed, Level.QUICK)
    policy = designed.fabric.policies.acceptance
    graph = Graph(designed.fabric)
    senders = Counter((test.round, test.receiver) for test in plan.tests)
    for test in plan.tests:
        if test.receiver is None or test.kind is RoundKind.LATENCY:
            continue
        limit = limit_of(test.limits, Metric.BANDWIDTH)
        line = graph.line_gbps(test)
        if test.kind is RoundKind.ISOLATED:
            line_of_links = min(line, test.queue_pairs * graph.slowest_gbps(test))
            assert limit.expect == pytest.approx(line_of_links * SHARE)
            # Where tests of a round may meet on a link, each surely gets a part of it.
            assert limit.fail <= limit.expect * policy.fail + 1e-6
        elif test.kind is RoundKind.INCAST:
            assert test.receiver is not None
            count = senders[test.round, test.receiver]
            part = min(graph.gbps[test.sender], graph.gbps[test.receiver] / count)
            assert limit.expect == pytest.approx(part * SHARE)
            assert limit.fail == pytest.approx(part * SHARE * policy.fail / 2)
        elif "share" in limit.inputs:
            assert 0 < limit.fail <= limit.warn <= limit.expect <= line * SHARE
        else:
            assert limit.expect == pytest.approx(line * SHARE)
            assert limit.fail == pytest.approx(line * SHARE * policy.fail)


@pytest.mark.slow
@given(designs(mixed=True), st.integers(0, 1000))
@few
def test_flows_that_walk_the_graph_keep_the_limits_of_their_round(designed: Designed, seed: int) -> None:
    """Throw the flows of each round onto the links of the graph and share them out by another program."""
    plan = planned(designed, Level.QUICK)
    model = GraphModel(designed.fabric)
    chance = random.Random(seed)
    tests_of: defaultdict[str, list[PlannedTest]] = defaultdict(list)
    for test in plan.tests:
        tests_of[test.round].append(test)
    for planned_round in plan.rounds:
        if planned_round.kind not in (RoundKind.ISOLATED, RoundKind.LOADED):
            continue
        tests = tests_of[planned_round.id]
        pairs = [NicPair(test.sender, test.receiver, test.queue_pairs) for test in tests if test.receiver is not None]
        draws = [model.draw(pairs, chance) for _ in range(3)]
        for rates in draws:
            assert_healthy(planned_round, tests, rates)
        if planned_round.kind is RoundKind.LOADED:
            assert_mean(planned_round, draws)


def assert_healthy(planned_round: AcceptanceRound, tests: Sequence[PlannedTest], rates: Sequence[float]) -> None:
    """Assert that what a healthy fabric carries fails no limit."""
    below = 0
    for test, rate in zip(tests, rates, strict=True):
        limit = limit_of(test.limits, Metric.BANDWIDTH)
        assert rate * SHARE > limit.fail - 1e-6
        below += rate * SHARE < limit.warn - 1e-6
    for limit in planned_round.limits:
        if limit.metric is Metric.BELOW_LIMIT:
            assert below <= limit.fail
        else:
            assert mean(rates) * SHARE > limit.fail


def assert_mean(planned_round: AcceptanceRound, draws: Sequence[Sequence[float]]) -> None:
    """Assert that the mean of rounds is what the plan expects, within five standard deviations of both samples."""
    limit = limit_of(planned_round.limits, Metric.ROUND_BANDWIDTH)
    deviation = float(limit.inputs["deviation"]) / len(draws) ** 0.5 + 0.005
    line_gbps = float(limit.inputs["line_gbps"])
    measured = mean(mean(rates) for rates in draws)
    assert measured / line_gbps == pytest.approx(limit.expect / line_gbps / SHARE, abs=5 * deviation)


@pytest.mark.slow
@given(designs(mixed=True))
@few
def test_limits_of_latency_and_collectives_follow_from_cables_and_speeds(designed: Designed) -> None:
    plan = planned(designed, Level.QUICK)
    fabric = designed.fabric
    policy = fabric.policies.acceptance
    graph = Graph(fabric)
    gpus_of = {entry.name: entry.gpus or 0 for entry in designed.intent.nodes}
    for test in plan.tests:
        if test.kind is RoundKind.LATENCY:
            # One packet over the slowest link of the way; light in glass takes 1 us for 198 m.
            wire_bytes = policy.latency_bytes + ceil(policy.latency_bytes / 4096) * 82
            slowest_gbps = min(graph.line_gbps(test), graph.slowest_gbps(test))
            least_us = graph.shortest_m(test) / 198 + wire_bytes * 8 / (slowest_gbps * 1000)
            for metric in (Metric.LATENCY_TYPICAL, Metric.LATENCY_P999):
                limit = limit_of(test.limits, metric)
                assert limit.expect == pytest.approx(least_us)
                assert limit.expect < limit.warn <= limit.fail
        elif test.group:
            limit = limit_of(test.limits, Metric.BUS_BANDWIDTH)
            gpus = gpus_of[fabric.host_of[test.group[0].node].kind]
            expect = graph.bus_gigabytes(test.group)
            if any("alltoall_perf" in words for words in test.argv.values()):
                # What stays within a node crosses no NIC.
                ranks = gpus * len({port.node for port in test.group})
                expect *= (ranks - 1) / (ranks - gpus) / gpus
            assert limit.expect == pytest.approx(expect, rel=1e-4)
            part = limit.fail / (policy.fail * limit.expect)
            assert limit.warn == pytest.approx(policy.warn * part * limit.expect)
            assert part == pytest.approx(float(limit.inputs.get("sure_share", 1)))


@pytest.mark.slow
@given(designs(mixed=True), st.integers(0, 1000))
@few
def test_no_flow_of_a_collective_is_slower_than_its_limit(designed: Designed, seed: int) -> None:
    """Throw the flows of each collective onto the links of the graph; each waits for the slowest of them."""
    plan = planned(designed, Level.QUICK)
    policy = designed.fabric.policies.acceptance
    model = GraphModel(designed.fabric)
    graph = Graph(designed.fabric)
    chance = random.Random(seed)
    for test in plan.tests:
        if not test.group:
            continue
        limit = limit_of(test.limits, Metric.BUS_BANDWIDTH)
        part = limit.fail / (policy.fail * limit.expect)
        # What is expected is the rate of the NICs divided by the ratio of the tiers already.
        least_share = part / float(limit.inputs.get("ratio", 1))
        lanes: defaultdict[tuple[int, int], list[NicPort]] = defaultdict(list)
        for port in test.group:
            lanes[port.nic, port.port].append(port)
        flows_of_port = 1
        pairs = [NicPair(*ends, 1) for lane in lanes.values() for ends in pairwise([*lane, lane[0]])]
        if any("alltoall_perf" in words for words in test.argv.values()):
            flows_of_port = max(map(len, lanes.values())) - 1
            pairs = [NicPair(*ends, 1) for lane in lanes.values() for ends in permutations(lane, 2)]
        line_gbps = max(graph.gbps[port] for port in test.group)
        slowest_gbps = flows_of_port * min(model.draw(pairs, chance))
        assert slowest_gbps / line_gbps >= least_share - 1e-4
