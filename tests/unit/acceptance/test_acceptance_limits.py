"""Limits of acceptance tests: known figures, and each formula evaluated over its inputs."""

import itertools
import json
from collections.abc import Iterator
from math import comb, exp, factorial
from pathlib import Path

import pytest
from designed_fabrics import CATALOG

from railweave.acceptance.limits.basis import LimitShares, NicPair, payload_of
from railweave.acceptance.limits.collectives import Algorithm, Collective, bus_factor, collective_limit, fit, steps
from railweave.acceptance.limits.incast import incast_limits, incast_senders
from railweave.acceptance.limits.isolated import isolated_limits
from railweave.acceptance.limits.latency import latency_limits
from railweave.acceptance.limits.loaded import loaded_limits
from railweave.acceptance.limits.paths import FabricPaths, fabric_paths
from railweave.acceptance.limits.queues import queue_thresholds
from railweave.acceptance.limits.significance import most_below, most_flows
from railweave.acceptance.measured import measured_value
from railweave.acceptance.model import HIGHER_IS_WORSE, Metric, MetricLimit, NicPort, PlannedTest, RoundKind, Tool
from railweave.acceptance.readings import Answer, ToolReading
from railweave.design.build import design
from railweave.fabric.model import Fabric
from railweave.intent.load import load_intent, load_intent_text

INTENTS = Path(__file__).resolve().parents[3] / "intent"
LOSSY_PLANES = INTENTS.parent / "tests" / "golden" / "sonic_config" / "intents" / "lossy-planes.yml"
NAMES = ("pod-32", "lab-4", "lab-pods", "lab-ipv6", "generations", "mixed-nodes")
SHARES = LimitShares()


def reference(name: str) -> Fabric:
    fabric = design(load_intent(INTENTS / f"{name}.yml"), CATALOG).fabric
    assert fabric is not None
    return fabric


@pytest.fixture(scope="module")
def pod_32() -> FabricPaths:
    return fabric_paths(reference("pod-32"))


def nic_ports(fabric: Fabric) -> list[NicPort]:
    return [NicPort(host.name, port.nic, port.port) for host in fabric.hosts for port in host.ports]


def other_rail(fabric: Fabric, queue_pairs: int) -> list[NicPair]:
    """Pair the ports of each node with those of the next node, one port further on."""
    pairs = []
    for host, peer in zip(fabric.hosts, (*fabric.hosts[1:], fabric.hosts[0]), strict=True):
        ports = [NicPort(peer.name, port.nic, port.port) for port in peer.ports]
        count = min(len(host.ports), len(ports))
        for port, far in zip(host.ports[:count], (*ports[1:count], ports[0]), strict=True):
            pairs.append(NicPair(NicPort(host.name, port.nic, port.port), far, queue_pairs))
    return pairs


def all_limits(fabric: Fabric) -> Iterator[MetricLimit]:
    paths = fabric_paths(fabric)
    pairs = other_rail(fabric, 4)
    yield isolated_limits(paths, pairs[:1], SHARES)[0][0]
    loaded = loaded_limits(paths, pairs, SHARES, 1)
    yield from (limit for (limit,) in loaded.tests)
    yield from loaded.round
    yield from latency_limits(paths, pairs[0], 8)
    group = nic_ports(fabric)
    to_first = [NicPair(port, group[0], 4) for port in group[1:4]]
    yield from (limit for (limit,) in incast_limits(paths, to_first, SHARES))
    two_nodes = [port for port in group if port.node in {fabric.hosts[0].name, fabric.hosts[1].name}]
    for collective in Collective:
        yield collective_limit(paths, collective, Algorithm.RING, group, 8, SHARES)
        yield collective_limit(paths, collective, Algorithm.TREE, two_nodes, 8, SHARES)


@pytest.mark.parametrize("name", NAMES)
def test_every_formula_yields_its_expectation(name: str) -> None:
    for limit in all_limits(reference(name)):
        value = eval(limit.formula, {"__builtins__": {"min": min}}, dict(limit.inputs))
        assert value == pytest.approx(limit.expect, rel=1e-9)
        order = (limit.expect, limit.warn, limit.fail)
        if limit.metric in HIGHER_IS_WORSE:
            assert order == tuple(sorted(order))
        else:
            assert order == tuple(sorted(order, reverse=True))


def test_rocev2_carries_98_percent_of_the_line_and_ipv6_a_little_less() -> None:
    assert payload_of(reference("pod-32")) == (4096, 82)
    assert payload_of(reference("lab-ipv6")) == (4096, 102)
    # TCP with timestamps over IPv4 at an MTU of 9000.
    assert payload_of(reference("pod-32"), Tool.IPERF3) == (8948, 90)


def test_the_packets_follow_the_mtu_of_the_nodes() -> None:
    text = (INTENTS / "pod-32.yml").read_text() + "\nmtu: {hosts: 1500}\n"
    fabric = design(load_intent_text(text, "pod-32.yml"), CATALOG).fabric
    assert fabric is not None
    assert payload_of(fabric) == (1024, 82)


def test_an_isolated_pair_of_pod_32_is_expected_at_392_gbps(pod_32: FabricPaths) -> None:
    pair = NicPair(NicPort("gpu1", 0, 0), NicPort("gpu2", 1, 0), 4)
    ((limit,),) = isolated_limits(pod_32, [pair], SHARES)
    assert (round(limit.expect, 1), round(limit.warn, 1), round(limit.fail, 1)) == (392.1, 376.5, 352.9)
    assert limit.inputs["sure_share"] == 1


def test_pairs_that_may_meet_are_judged_by_what_each_surely_gets(pod_32: FabricPaths) -> None:
    pairs = [NicPair(NicPort(f"gpu{node}", 0, 0), NicPort(f"gpu{node}", 1, 0), 4) for node in (1, 2)]
    limits = isolated_limits(pod_32, pairs, SHARES)
    assert limits[0] is limits[1]
    # All 8 queue pairs may share an uplink, then each has 50 Gb/s.
    assert limits[0][0].inputs["sure_share"] == 0.5


def test_pairs_of_one_leaf_never_meet(pod_32: FabricPaths) -> None:
    nodes = [host.name for host in pod_32.fabric.hosts]
    pairs = [NicPair(NicPort(a, 0, 0), NicPort(b, 0, 0), 1) for a, b in itertools.pairwise(nodes)]
    limits = loaded_limits(pod_32, pairs, SHARES, 1)
    assert {limit.metric for limit in limits.round} == {Metric.ROUND_BANDWIDTH}
    assert limits.round[0].expect == pytest.approx(limits.tests[0][0].expect)


def test_alike_rounds_are_sampled_once_and_equal_seeds_give_equal_limits(pod_32: FabricPaths) -> None:
    pairs = other_rail(pod_32.fabric, 4)
    first = loaded_limits(pod_32, pairs, SHARES, 1)
    assert first == loaded_limits(fabric_paths(pod_32.fabric), pairs, SHARES, 1)
    assert int(first.tests[0][0].inputs["samples"]) >= 4000
    # The quantile of 4 queue pairs on 32 uplinks: about half of the line, while the mean is four fifths.
    assert first.tests[0][0].inputs["share"] == pytest.approx(0.51, abs=0.03)
    assert first.round[0].inputs["mean_share"] == pytest.approx(0.80, abs=0.02)
    json.dumps([limit.inputs for limit in first.round])


def binomial_tail(tests: int, probability: float, above: int) -> float:
    return sum(
        comb(tests, count) * probability**count * (1 - probability) ** (tests - count)
        for count in range(above + 1, tests + 1)
    )


@pytest.mark.parametrize(("tests", "probability"), [(4, 0.01), (31, 0.02), (128, 0.0125), (900, 0.4)])
def test_most_below_is_the_exact_tail_of_the_binomial_distribution(tests: int, probability: float) -> None:
    most = most_below(tests, probability, improbable=1e-6)
    assert binomial_tail(tests, probability, most) <= 1e-6 < binomial_tail(tests, probability, most - 1)


def test_dependent_tests_allow_more_below() -> None:
    assert most_below(128, 0.01, dispersion=4.0) > most_below(128, 0.01)
    assert most_below(3, 0.01, dispersion=9.0) <= 3


@pytest.mark.parametrize("mean", [0.125, 4.0, 30.0])
def test_most_flows_bounds_the_poisson_tail(mean: float) -> None:
    most = most_flows(mean, 1e-6)
    tail = 1 - sum(exp(-mean) * mean**count / factorial(count) for count in range(most + 1))
    assert tail <= 1e-6


def test_an_incast_passes_kmin_and_stays_below_the_pause(pod_32: FabricPaths) -> None:
    for device in ("pod1-leaf1", "pod1-spine1"):
        incast = incast_senders(pod_32, device, 400)
        assert incast.most_bytes is not None
        assert 2 * incast.marking_bytes <= incast.burst_bytes <= incast.most_bytes
        assert incast.burst_bytes == (incast.senders - 1) * 400_000


def test_an_incast_of_lossy_rdma_passes_kmin_and_stays_below_the_drop() -> None:
    fabric = design(load_intent(LOSSY_PLANES), CATALOG).fabric
    assert fabric is not None
    paths = fabric_paths(fabric)
    spine = incast_senders(paths, "mix-spine1", 400)
    thresholds = queue_thresholds(paths, "mix-spine1", 400)
    assert thresholds.pause is None
    assert spine.most_bytes == thresholds.drop_bytes
    assert spine.most_bytes is not None
    assert 2 * spine.marking_bytes <= spine.burst_bytes <= spine.most_bytes
    # SONiC ships no buffers for these leaves.
    assert incast_senders(paths, "mix-leaf1", 400).most_bytes is None


def test_a_lower_bound_of_latency_grows_with_cables_and_message(pod_32: FabricPaths) -> None:
    within, across = (
        latency_limits(pod_32, NicPair(NicPort("gpu1", 0, 0), NicPort("gpu2", rail, 0), 1), 8)[0] for rail in (0, 1)
    )
    assert within.inputs["cable_m"] == 40
    assert across.inputs["cable_m"] == 100
    assert (within.inputs["switches"], across.inputs["switches"]) == (1, 3)
    assert 0.2 < within.expect < across.expect < 1
    large = latency_limits(pod_32, NicPair(NicPort("gpu1", 0, 0), NicPort("gpu2", 0, 0), 1), 1 << 20)[0]
    # A mebibyte at 400 Gb/s takes 21 us.
    assert large.expect - within.expect == pytest.approx(21.4, abs=0.1)


def test_rings_of_pod_32_reach_196_gigabytes(pod_32: FabricPaths) -> None:
    group = nic_ports(pod_32.fabric)
    limit = collective_limit(pod_32, Collective.ALL_REDUCE, Algorithm.RING, group, 8, SHARES)
    assert limit.expect == pytest.approx(4 * 400 / 8 * 4096 / 4178)
    assert limit.inputs["steps"] == 2 * 255
    one_rail = [port for port in group if port.nic == 0]
    assert collective_limit(pod_32, Collective.ALL_REDUCE, Algorithm.RING, one_rail, 1, SHARES).expect == pytest.approx(
        limit.expect / 4
    )


def test_trees_of_two_nodes_show_more_than_their_nics_carry(pod_32: FabricPaths) -> None:
    pair = [port for port in nic_ports(pod_32.fabric) if port.node in {"gpu1", "gpu2"}]
    ring = collective_limit(pod_32, Collective.ALL_REDUCE, Algorithm.RING, pair, 8, SHARES)
    tree = collective_limit(pod_32, Collective.ALL_REDUCE, Algorithm.TREE, pair, 8, SHARES)
    assert tree.expect / ring.expect == pytest.approx(2 * 15 / 16)


def test_a_collective_within_a_node_has_no_limit(pod_32: FabricPaths) -> None:
    group = [NicPort("gpu1", nic, 0) for nic in range(4)]
    with pytest.raises(ValueError, match="a collective within one node crosses no NIC port"):
        collective_limit(pod_32, Collective.ALL_REDUCE, Algorithm.RING, group, 8, SHARES)


@pytest.mark.parametrize("collective", Collective)
def test_alpha_and_beta_are_fitted_apart(collective: Collective) -> None:
    ranks = 64
    count = steps(collective, Algorithm.RING, ranks)
    factor = bus_factor(collective, ranks)
    sizes = (1 << 10, 1 << 20, 1 << 33)
    bus = {size: factor * size / (count * 7e-6 + factor * size / 190e9) / 1e9 for size in sizes}
    assert fit(count, factor, bus) == pytest.approx((7.0, 190.0))
    assert fit(count, factor, {1 << 20: bus[1 << 20]}) is None


def test_the_steps_of_a_large_group_do_not_count_against_its_bandwidth(pod_32: FabricPaths) -> None:
    group = nic_ports(pod_32.fabric)
    limit = collective_limit(pod_32, Collective.ALL_REDUCE, Algorithm.RING, group, 8, SHARES)
    sizes = (1 << 21, 1 << 27, 1 << 33)
    # 510 steps of 40 us take 20 ms, as long as a quarter of the largest message.
    factor = 2 * 255 / 256
    bus = {f"busbw_GBps_at_{size}_oop": factor * size / (510 * 40e-6 + factor * size / 195e9) / 1e9 for size in sizes}
    test = PlannedTest(
        "t", "r", RoundKind.COLLECTIVE, Tool.NCCL, group[0], None, tuple(group), 1, 1 << 33, {}, (limit,)
    )
    largest = f"busbw_GBps_at_{1 << 33}_oop"
    assert bus[largest] < limit.fail
    assert measured_value(ToolReading("x", Answer.OK, bus), Metric.BUS_BANDWIDTH, test) == pytest.approx(195)
    assert (
        measured_value(ToolReading("x", Answer.OK, {largest: bus[largest]}), Metric.BUS_BANDWIDTH, test) == bus[largest]
    )
