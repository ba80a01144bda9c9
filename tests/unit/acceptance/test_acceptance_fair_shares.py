"""Fair shares and their distribution over random hashes, held against an independent model of flows on the graph."""

import random
from collections.abc import Callable
from fractions import Fraction
from pathlib import Path

import pytest
from designed_fabrics import CATALOG
from graph_shares import GraphModel, oracle_rates
from hypothesis import given
from hypothesis import strategies as st

from railweave.acceptance.limits.basis import LimitShares, NicPair
from railweave.acceptance.limits.loaded import LoadedLimits, loaded_limits
from railweave.acceptance.limits.paths import fabric_paths
from railweave.acceptance.limits.waterfill import fair_rates
from railweave.acceptance.model import Metric, NicPort
from railweave.design.build import design
from railweave.fabric.model import Fabric
from railweave.intent.load import load_intent, load_intent_text

ROOT = Path(__file__).resolve().parents[3]


@given(st.data())
def test_fair_rates_are_those_of_the_oracle(data: st.DataObject) -> None:
    links = data.draw(st.integers(1, 8))
    capacity = {link: data.draw(st.sampled_from([25, 100, 200, 400])) for link in range(links)}
    choices = st.lists(st.integers(0, links - 1), min_size=1, max_size=4, unique=True)
    flows = data.draw(st.lists(choices, min_size=1, max_size=25))
    exact = oracle_rates([list(flow) for flow in flows], {link: Fraction(gbps) for link, gbps in capacity.items()})
    assert fair_rates(flows, capacity) == pytest.approx([float(rate) for rate in exact], rel=1e-9)


def shifted(fabric: Fabric, nodes: int, rails: int, queue_pairs: int) -> list[NicPair]:
    """Pair every NIC port with that of a node further on, and of another rail of the same plane."""
    pairs = []
    for number, host in enumerate(fabric.hosts):
        peer = fabric.hosts[(number + nodes) % len(fabric.hosts)]
        for place, port in enumerate(host.ports):
            far = peer.ports[(place + rails * fabric.planes) % len(peer.ports)]
            sender = NicPort(host.name, port.nic, port.port)
            pairs.append(NicPair(sender, NicPort(peer.name, far.nic, far.port), queue_pairs))
    return pairs


SMALL = """\
fabric: pod1
workload: {{kind: pretraining}}
nodes:
  - {{name: gpu, count: {nodes}, gpus: 8, nics: {{count: 4, {nics}, model: connectx-7, pcie: gen5x16}}}}
topology: {{{topology}, leaf: {{model: nokia-ixr7220-h4-64d{uplinks}}}, spine: {{model: nvidia-sn4700}}}}
"""


def small(nodes: int, topology: str, nics: str = "speed: 400G, ports: 1", uplinks: str = "") -> Fabric:
    text = SMALL.format(nodes=nodes, topology=topology, nics=nics, uplinks=uplinks)
    fabric = design(load_intent_text(text, "small.yml"), CATALOG).fabric
    assert fabric is not None
    return fabric


def reference(name: str) -> Fabric:
    fabric = design(load_intent(ROOT / "intent" / f"{name}.yml"), CATALOG).fabric
    assert fabric is not None
    return fabric


TWO_PORTS = "speed: 200G, ports: 2"
# How the fabric is made; by how many nodes and rails the receiver is further on; queue pairs.
CASES: dict[str, tuple[Callable[[], Fabric], int, int, int]] = {
    "one queue pair": (lambda: reference("pod-32"), 1, 1, 1),
    "three tiers, to the next pod": (lambda: reference("lab-pods"), 4, 0, 4),
    "three tiers, other rails": (lambda: reference("lab-pods"), 1, 1, 2),
    "parallel links": (lambda: reference("pod-32-wide"), 1, 1, 2),
    "two generations": (lambda: reference("generations"), 1, 1, 2),
    "two planes": (lambda: small(8, "planes: 2, stripe: 4", TWO_PORTS), 4, 0, 4),
    "dual-ToR": (lambda: small(8, "leaves_per_nic: 2, stripe: 4", TWO_PORTS), 4, 0, 2),
    "rail-only": (lambda: small(16, "shape: rail-only, stripe: 8"), 8, 0, 4),
    "oversubscribed": (lambda: small(16, "stripe: 8, links_per_pair: 1, oversubscription: '2:1'"), 8, 0, 4),
    "rack-aligned": (lambda: small(16, "shape: rack-aligned"), 8, 0, 2),
    "uplinks slower than NICs": (lambda: small(8, "stripe: 4", uplinks=", uplink_speed: 200G"), 4, 1, 4),
}


def assert_healthy(limits: LoadedLimits, rates: list[float], payload: float) -> None:
    """Assert that a draw of a healthy fabric has no finding."""
    mean = next(limit for limit in limits.round if limit.metric is Metric.ROUND_BANDWIDTH)
    assert payload * sum(rates) / len(rates) > mean.fail
    below = 0
    for (limit,), rate in zip(limits.tests, rates, strict=True):
        assert payload * rate > limit.fail
        below += payload * rate < limit.warn
    most = [limit.fail for limit in limits.round if limit.metric is Metric.BELOW_LIMIT]
    assert below <= max(most, default=0)


@pytest.mark.parametrize("case", CASES)
def test_shares_over_random_hashes_are_those_of_flows_on_the_graph(case: str) -> None:
    make, nodes, rails, queue_pairs = CASES[case]
    fabric = make()
    paths = fabric_paths(fabric)
    pairs = shifted(fabric, nodes, rails, queue_pairs)
    limits = loaded_limits(paths, pairs, LimitShares(), seed=3)
    model = GraphModel(fabric)
    chance = random.Random(5)
    payload = paths.payload.of(1)
    rates: list[float] = []
    below = 0
    draws = max(2, 500 // len(pairs))
    for _ in range(draws):
        drawn = model.draw(pairs, chance)
        assert_healthy(limits, drawn, payload)
        rates += drawn
        below += sum(payload * rate < limit.expect for (limit,), rate in zip(limits.tests, drawn, strict=True))
    mean = limits.round[0]
    # Five standard deviations of both samples.
    line_gbps, mean_share, deviation = (float(mean.inputs[name]) for name in ("line_gbps", "mean_share", "deviation"))
    tolerance = 5 * (deviation / draws**0.5 + 0.004)
    assert sum(rates) / len(rates) / line_gbps == pytest.approx(mean_share, abs=tolerance)
    assert below <= 0.04 * len(rates)


def test_two_thirds_of_the_pairs_of_pod_32_lie_below_090_with_4_queue_pairs() -> None:
    fabric = reference("pod-32")
    pairs = shifted(fabric, 1, 1, 4)
    model = GraphModel(fabric)
    chance = random.Random(11)
    shares = [rate / 400 for _ in range(4) for rate in model.draw(pairs, chance)]
    assert 0.6 < sum(share < 0.90 for share in shares) / len(shares) < 0.73
