"""The limits of the plan of every fabric are those of an independent computation on the graph of its links."""

from collections import Counter, deque
from collections.abc import Iterable

import pytest
from acceptance_designs import designs, few, planned, switch_of_port
from hypothesis import given

from railweave.acceptance.model import Level, Metric, MetricLimit, NicPort, PlannedTest, RoundKind
from railweave.api.design.intent import Designed
from railweave.fabric.model import Fabric

# A packet of 4,096 bytes with Ethernet, IPv4, UDP, BTH, ICRC, FCS, preamble and gap.
SHARE = 4096 / (4096 + 14 + 20 + 8 + 12 + 4 + 4 + 20)


class Graph:
    """The switches of a fabric with the speed of each link between them, and the speed of each NIC port."""

    def __init__(self, fabric: Fabric) -> None:
        self.switches = switch_of_port(fabric)
        self.gbps: dict[NicPort, int] = {}
        self.peers: dict[str, list[tuple[str, int]]] = {}
        for link in fabric.links:
            if link.is_access:
                port = fabric.host_of[link.lower].ports[link.lower_port]
                self.gbps[NicPort(link.lower, port.nic, port.port)] = link.speed_gbps
                continue
            self.peers.setdefault(link.lower, []).append((link.upper, link.speed_gbps))
            self.peers.setdefault(link.upper, []).append((link.lower, link.speed_gbps))

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
@given(designs(mixed=True))
@few
def test_no_other_limit_is_beyond_what_the_nics_allow(designed: Designed) -> None:
    plan = planned(designed, Level.QUICK)
    graph = Graph(designed.fabric)
    for test in plan.tests:
        if test.kind is RoundKind.LATENCY:
            typical = limit_of(test.limits, Metric.LATENCY_TYPICAL)
            # 64 bytes in one packet, over the slowest link of the way; light in glass takes 5 ns a meter.
            wire_us = (64 + 82) * 8 / (min(graph.line_gbps(test), graph.slowest_gbps(test)) * 1000)
            assert typical.expect > wire_us
            assert typical.expect < typical.warn <= typical.fail
        elif test.group:
            limit = limit_of(test.limits, Metric.BUS_BANDWIDTH)
            nodes = Counter[str]()
            for port in test.group:
                nodes[port.node] += graph.gbps[port]
            # An intent may state the same share for `fail` and `warn`.
            assert 0 < limit.fail <= limit.warn <= limit.expect <= min(nodes.values()) / 8 * SHARE + 1e-6
