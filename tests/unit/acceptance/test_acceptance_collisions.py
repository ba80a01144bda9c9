"""Collectives whose flows a hash puts on one link: the plan allows for it, and counters tell how far it went."""

from collections import Counter, defaultdict
from collections.abc import Callable, Sequence
from dataclasses import replace
from random import Random

import pytest
from acceptance_fabrics import INTENTS
from designed_fabrics import CATALOG

from railweave.acceptance.counter_names import CounterMeaning
from railweave.acceptance.judge.collisions import with_counted_limits
from railweave.acceptance.judge.outcomes import Measure, MeasuredTest, OutcomeStatus
from railweave.acceptance.judge.paths import PlanIndex
from railweave.acceptance.judge.tally import RoundTally
from railweave.acceptance.limits.collisions import exchange_share, ring_share
from railweave.acceptance.limits.paths import FabricPaths, fabric_paths
from railweave.acceptance.model import AcceptancePlan, Level, NicPort, RoundKind
from railweave.acceptance.planner import PlanInput, plan_acceptance
from railweave.api.design.intent import gather_text
from railweave.design.build import design
from railweave.fabric.links import Link
from railweave.fabric.model import Fabric
from railweave.intent.load import load_intent_text

PODS = """
fabric: pods
workload: {kind: pretraining}
nodes:
  - {name: gpu, count: 32, gpus: 8, nics: {count: 8, speed: 400G, ports: 1, model: connectx-7}}
topology:
  tiers: 3
  stripe: 4
  pod: 4
  leaf: {model: nvidia-sn5600, downlink_speed: 400G, uplink_speed: 400G}
  spine: {model: nvidia-sn5600}
  super_spine: {model: nvidia-sn5600}
"""


def designed(text: str) -> Fabric:
    fabric = design(load_intent_text(text, "pods.yml"), CATALOG).fabric
    assert fabric is not None
    return fabric


@pytest.fixture(scope="module")
def pods() -> FabricPaths:
    return fabric_paths(designed(PODS))


def group_of(fabric: Fabric) -> list[NicPort]:
    return [NicPort(host.name, port.nic, port.port) for host in fabric.hosts for port in host.ports]


Hop = tuple[NicPort, NicPort]


def ring(group: Sequence[NicPort]) -> list[Hop]:
    """Return the hops of the rings over the nodes, one for each number of a port."""
    lanes = defaultdict(list)
    for port in group:
        lanes[port.nic, port.port].append(port)
    return [hop for lane in lanes.values() for hop in zip(lane, [*lane[1:], lane[0]], strict=True)]


def exchange(group: Sequence[NicPort]) -> list[Hop]:
    return [(a, b) for a in group for b in group if a[1:] == b[1:] and a.node != b.node]


class Hashes:
    """The choices of every switch, from the links of the design."""

    def __init__(self, fabric: Fabric, rng: Random) -> None:
        self.rng = rng
        self.pod_of = {switch.name: switch.pod for switch in fabric.switches}
        self.leaf_of: dict[NicPort, str] = {}
        self.up: dict[str, list[Link]] = defaultdict(list)
        self.down: dict[tuple[str, object], list[Link]] = defaultdict(list)
        for link in fabric.links:
            if link.is_access:
                port = fabric.host_of[link.lower].ports[link.lower_port]
                self.leaf_of[NicPort(link.lower, port.nic, port.port)] = link.upper
                continue
            self.up[link.lower].append(link)
            # Towards a leaf, and towards any spine of a pod.
            self.down[link.upper, link.lower].append(link)
            self.down[link.upper, self.pod_of[link.lower]].append(link)

    def drawn_share(self, hops: Sequence[Hop], flows_of_port: int) -> float:
        """Return what the slowest flow of a draw of all hashes gets of its even part of a port."""
        loads: Counter[tuple[int, bool]] = Counter()
        for sender, receiver in hops:
            source, target = self.leaf_of[sender], self.leaf_of[receiver]
            if source == target:
                continue
            first = self.rng.choice(self.up[source])
            loads[id(first), True] += 1
            top = first.upper
            if self.pod_of[source] != self.pod_of[target]:
                second = self.rng.choice(self.up[top])
                loads[id(second), True] += 1
                third = self.rng.choice(self.down[second.upper, self.pod_of[target]])
                loads[id(third), False] += 1
                top = third.lower
            last = self.rng.choice(self.down[top, target])
            loads[id(last), False] += 1
        return min(1.0, flows_of_port / max(loads.values(), default=1))


@pytest.mark.parametrize(
    ("share_of", "hops_of", "flows_of_port", "draws"), [(ring_share, ring, 1, 60), (exchange_share, exchange, 31, 4)]
)
def test_no_draw_of_the_hashes_is_below_the_sure_share(
    pods: FabricPaths,
    share_of: Callable[[FabricPaths, Sequence[NicPort]], float],
    hops_of: Callable[[Sequence[NicPort]], list[Hop]],
    flows_of_port: int,
    draws: int,
) -> None:
    group = group_of(pods.fabric)
    sure = share_of(pods, group)
    hashes = Hashes(pods.fabric, Random(1))
    shares = [hashes.drawn_share(hops_of(group), flows_of_port) for _ in range(draws)]
    assert 0.1 < sure <= min(shares)
    # Chance reaches it seldom, and the whole rate not always.
    assert min(shares) < 0.9


def test_a_ring_within_two_tiers_and_an_exchange_within_a_leaf_lose_nothing() -> None:
    paths = fabric_paths(designed(INTENTS["two-planes"]))
    group = group_of(paths.fabric)
    assert ring_share(paths, group) == 1.0
    assert exchange_share(paths, group) < 1.0
    assert exchange_share(paths, [port for port in group if port.node in {"gpu1", "gpu2"}]) == 1.0


@pytest.fixture(scope="module")
def plan() -> AcceptancePlan:
    gathered = gather_text(PODS, "pods")
    assert gathered.fabric is not None
    policy = gathered.fabric.policies.acceptance
    gpus_of = {entry.name: entry.gpus or 0 for entry in gathered.intent.nodes}
    return plan_acceptance(
        PlanInput(gathered.fabric, gathered.catalog, policy, gathered.intent.sha256, gpus_of, Level.SMOKE)
    )


def judged_at(plan: AcceptancePlan, value: float, most_flows: int | None, slow_nic: float = 1.0) -> MeasuredTest:
    """Return the outcome of an all-reduce whose most loaded link carried so many flows; None without counters."""
    test = next(test for test in plan.tests if test.kind is RoundKind.COLLECTIVE)
    index = PlanIndex(plan)
    index.places.update({end: place for place, end in enumerate(index.link_at)})
    counts = RoundTally(test.round, index.places)
    if most_flows is not None:
        fabric_links = [link for link in plan.links if link.nic_port is None]
        sent = dict.fromkeys(index.link_at, 10**9)
        sent[fabric_links[3].lower] = most_flows * 10**9
        sent[plan.links[0].lower] = int(slow_nic * 10**9)
        counts.columns[CounterMeaning.SENT_BYTES] = [sent[end] for end in index.link_at]
    outcomes = {test.id: MeasuredTest(OutcomeStatus.PASSED, (Measure(test.limits[0], value),), None)}
    one_test = replace(plan, tests=(test,))
    return with_counted_limits(PlanIndex(one_test, index.places), outcomes, {test.round: counts})[test.id]


def test_counters_tell_how_many_flows_a_collective_waited_for(plan: AcceptancePlan) -> None:
    (limit,) = next(test for test in plan.tests if test.kind is RoundKind.COLLECTIVE).limits
    half = 0.48 * limit.expect
    assert limit.fail < half < limit.expect / 2
    assert judged_at(plan, half, None).status is OutcomeStatus.PASSED
    assert judged_at(plan, half, 1).status is OutcomeStatus.FAILED
    two = judged_at(plan, half, 2)
    assert (two.status, two.measures[0].limit.inputs["counted_share"]) == (OutcomeStatus.PASSED, 0.5)
    assert two.measures[0].limit.fail == pytest.approx(0.45 * limit.expect)
    # One NIC sent less than the others, so that they did not wait for it.
    assert judged_at(plan, half, 1, slow_nic=0.5).status is OutcomeStatus.PASSED
    # More than chance puts there: something else is wrong, and the limit of the plan stands.
    assert judged_at(plan, half, 50).measures[0].limit.fail == pytest.approx(limit.fail)
