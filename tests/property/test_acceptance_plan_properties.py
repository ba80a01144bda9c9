"""What holds for the acceptance plan of every fabric: who sends to whom, and what the rounds load."""

import json
from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator
from math import ceil
from typing import Any

import pytest
import yaml
from hashed_flows import Walker
from hypothesis import assume, given, settings
from hypothesis import strategies as st

from railweave.acceptance.document import parse_plan, plan_blocks
from railweave.acceptance.model import AcceptancePlan, Level, NicPort, RoundKind, Tool
from railweave.acceptance.planner import PlanInput, plan_acceptance
from railweave.api.design.intent import Designed, design_text
from railweave.errors import RefusedError
from railweave.fabric.model import Fabric

NICS = {1: "connectx-6", 2: "connectx-7", 4: "amd-pollara-400"}
MODELS = ["sonic-vs", "nvidia-sn4700", "accton-as7726-32x"]
LOSSY = [
    {"name": "roce", "role": "rdma", "dscp": [26], "priority": 3, "share": 90},
    {"name": "cnp", "role": "cnp", "dscp": [48], "priority": 6, "strict": True},
    {"name": "best-effort", "role": "bulk", "dscp": "default", "priority": 0, "share": 10},
]
MOST_LINKS = 400
LOADING = {RoundKind.ISOLATED, RoundKind.LOADED, RoundKind.INCAST, RoundKind.SOAK}

# An example takes a tenth of a second.
few = settings(max_examples=max(5, settings().max_examples // 10))


def some(draw: st.DrawFn, **choices: st.SearchStrategy[Any]) -> dict[str, Any]:
    """Return a mapping with some of the keys."""
    drawn = {key: draw(st.none() | values) for key, values in choices.items()}
    return {key: value for key, value in drawn.items() if value is not None}


@st.composite
def designs(draw: st.DrawFn) -> Designed:
    """Draw a fabric of any shape: one to three tiers, planes, several entries of nodes, storage, one or two leaves."""
    ports = draw(st.sampled_from([1, 1, 2, 4]))
    nics = {"count": draw(st.sampled_from([1, 2, 4])), "speed": "100G", "ports": ports, "model": NICS[ports]}
    count = st.sampled_from([1, 2, 4, 8])
    nodes = [{"name": "gpu", "count": draw(st.integers(1, 16)), "gpus": 2, "nics": nics}]
    for name in draw(st.sampled_from([[], [], ["old"], ["old", "store"]])):
        entry = {"name": name, "count": draw(count), "gpus": draw(st.sampled_from([0, 8])), "nics": nics}
        nodes.append(entry | some(draw, stripe=count))
    topology = some(
        draw,
        shape=st.sampled_from(["rail-optimized", "rack-aligned", "rail-only"]),
        tiers=st.sampled_from([2, 3]),
        planes=st.sampled_from([1, ports]),
        oversubscription=st.sampled_from(["1:1", "2:1"]),
        stripe=st.sampled_from([1, 2, 4]),
        links_per_pair=count,
        pod=st.sampled_from([1, 2]),
        leaves_per_nic=st.sampled_from([1, 2]),
    )
    speeds = {"downlink_speed": "100G", "uplink_speed": "100G"}
    model = draw(st.sampled_from(MODELS))
    topology |= {"leaf": {"model": model, **speeds}, "spine": {"model": model, **some(draw, count=count)}}
    if topology.get("tiers") == 3:
        topology["super_spine"] = {"model": model, **some(draw, count=count)}
    intent = {"fabric": "pod", "workload": {"kind": "inference"}, "nodes": nodes, "topology": topology}
    try:
        designed = design_text(yaml.safe_dump(intent | {"traffic_classes": LOSSY}), "pod.yml")
    except RefusedError:
        assume(False)
        raise
    assume(len(designed.fabric.links) <= MOST_LINKS)
    return designed


def planned(designed: Designed, level: Level = Level.SMOKE, seed: int = 0) -> AcceptancePlan:
    gpus_of = {entry.name: entry.gpus or 0 for entry in designed.intent.nodes}
    policy = designed.fabric.policies.acceptance
    given_input = PlanInput(designed.fabric, designed.catalog, policy, "0" * 64, gpus_of, level, seed)
    try:
        return plan_acceptance(given_input)
    except RefusedError:
        assume(False)
        raise


def switch_of_port(fabric: Fabric) -> dict[NicPort, str]:
    switches = {}
    for link in fabric.links:
        if link.is_access:
            port = fabric.host_of[link.lower].ports[link.lower_port]
            switches[NicPort(link.lower, port.nic, port.port)] = link.upper
    return switches


@given(designs(), st.sampled_from([Level.SMOKE, Level.QUICK, Level.FULL]), st.integers(0, 3))
@few
def test_no_port_sends_or_receives_twice_but_in_an_incast(designed: Designed, level: Level, seed: int) -> None:
    plan = planned(designed, level, seed)
    by_round = defaultdict(list)
    for test in plan.tests:
        by_round[test.round].append(test)
    switches = switch_of_port(designed.fabric)
    for round_ in plan.rounds:
        tests = [test for test in by_round[round_.id] if test.receiver is not None]
        senders = Counter(test.sender for test in tests)
        receivers = Counter(test.receiver for test in tests)
        assert set(senders.values()) <= {1}
        if round_.kind is not RoundKind.INCAST:
            assert set(receivers.values()) <= {1}
        if round_.kind in (RoundKind.ISOLATED, RoundKind.LATENCY):
            assert set(Counter(switches[sender] for sender in senders).values()) <= {1}
            assert set(Counter(switches[port] for port in receivers if port).values()) <= {1}


@pytest.mark.slow
@given(designs(), st.sampled_from([Level.SMOKE, Level.FULL]))
@few
def test_every_pair_has_a_way_through_the_fabric(designed: Designed, level: Level) -> None:
    fabric = designed.fabric
    switches = switch_of_port(fabric)
    for test in planned(designed, level).tests:
        if test.receiver is None:
            continue
        assert test.sender.node != test.receiver.node
        ends = [fabric.switch_of[switches[port]] for port in (test.sender, test.receiver)]
        assert fabric.network_of(ends[0]) == fabric.network_of(ends[1])


@pytest.mark.slow
@given(designs())
@few
def test_servers_of_a_node_listen_on_ports_of_their_own(designed: Designed) -> None:
    plan = planned(designed, Level.QUICK)
    listening: Counter[tuple[str, str, str]] = Counter()
    for test in plan.tests:
        if test.receiver is None:
            continue
        server = test.argv[test.receiver.node]
        client = test.argv[test.sender.node]
        port = server[server.index("-p") + 1]
        assert client[client.index("-p") + 1] == port
        listening[test.round, test.receiver.node, port] += 1
    assert set(listening.values()) == {1}


@pytest.mark.slow
@given(designs())
@few
def test_equal_inputs_give_equal_bytes_that_are_read_back(designed: Designed) -> None:
    plan = planned(designed, Level.QUICK, seed=5)
    content = b"".join(plan_blocks(plan))
    assert content == b"".join(plan_blocks(planned(designed, Level.QUICK, seed=5)))
    assert parse_plan(content, "plan.json") == plan


def loaded_links(
    fabric: Fabric, rounds: Iterable[tuple[int, list[tuple[str, str]]]], hashed: int
) -> Iterator[tuple[str, int]]:
    """Yield the links that one hash loads in both directions in some round each: of 5 % of their rate or more.

    A round is the queue pairs of its tests, and the switches of its senders and receivers.
    """
    walker = Walker(fabric, hashed)
    loaded = set()
    for queue_pairs, pairs in rounds:
        for (link, sender), flows in walker.flows(pairs, queue_pairs).items():
            # Ports of 100G, each flow with a queue pair's part of it.
            if flows >= ceil(0.05 * link.speed_gbps / (100 / queue_pairs)):
                loaded.add((link, sender))
    for link in fabric.links:
        if (link, link.lower) in loaded and (link, link.upper) in loaded:
            yield link.lower, link.lower_port


@given(designs(), st.integers(0, 3))
@few
def test_hashed_flows_load_what_the_plan_says(designed: Designed, seed: int) -> None:
    """Carry out the plan 30 times with another hash each time, by walking every flow through the graph."""
    plan = planned(designed, seed=seed)
    fabric = designed.fabric
    switches = switch_of_port(fabric)
    pairs_of = defaultdict(list)
    queue_pairs_of = {}
    for test in plan.tests:
        if test.receiver is not None and test.kind in LOADING:
            pairs_of[test.round].append((switches[test.sender], switches[test.receiver]))
            queue_pairs_of[test.round] = test.queue_pairs
    rounds = [(queue_pairs_of[name], pairs) for name, pairs in pairs_of.items()]
    trials = 30
    loaded: Counter[tuple[str, int]] = Counter()
    for trial in range(trials):
        loaded.update(loaded_links(fabric, rounds, trial))
    for link, covered in zip(fabric.links, plan.links, strict=True):
        if link.is_access:
            continue
        # Five standard deviations of the number of trials that load it, and one trial.
        expected = trials * covered.probability
        deviation = (expected * (1 - covered.probability)) ** 0.5
        assert loaded[link.lower, link.lower_port] >= expected - 5 * deviation - 1


@pytest.mark.slow
@given(designs())
@few
def test_links_that_flows_can_reach_are_loaded_with_the_confidence_of_the_intent(designed: Designed) -> None:
    plan = planned(designed)
    fabric = designed.fabric
    networks = defaultdict(set)
    for switch in fabric.tier_switches[0]:
        if fabric.nodes_on(switch.name):
            networks[fabric.network_of(switch)].add(switch.name)
    for link, covered in zip(fabric.links, plan.links, strict=True):
        if link.is_access or link.level > 1:
            continue
        others = networks[fabric.network_of(fabric.switch_of[link.lower])] - {link.lower}
        reaching = [other for other in others if link.upper in fabric.above(other)]
        nodes = {*fabric.nodes_on(link.lower)}
        peers = {node for other in reaching for node in fabric.nodes_on(other)}
        if nodes and len(nodes | peers) > 1 and peers:
            assert covered.probability > 0.999, (covered, plan.rounds[-1].id)


def test_the_tools_follow_what_nodes_have() -> None:
    text = """
fabric: pod
workload: {kind: inference}
nodes:
  - {name: cpu, role: cpu, count: 4, gpus: 0, nics: {count: 1, speed: 100G, model: connectx-6}}
topology: {shape: rack-aligned, leaf: {model: sonic-vs, count: 1}}
traffic_classes: [{name: bulk, role: bulk, dscp: default, priority: 0, share: 100}]
"""
    plan = planned(design_text(text, "pod.yml"))
    assert {test.tool for test in plan.tests} == {Tool.IPERF3}
    assert {test.kind for test in plan.tests} == {RoundKind.ISOLATED, RoundKind.LOADED}


@pytest.mark.parametrize("shape", ["rail-only", "rail-optimized"])
def test_exchanges_of_all_with_all_need_a_way_between_rails(shape: str) -> None:
    text = f"""
fabric: pod
workload: {{kind: inference}}
nodes:
  - {{name: gpu, count: 4, gpus: 2, nics: {{count: 2, speed: 100G, model: connectx-6}}}}
topology: {{shape: {shape}, leaf: {{model: sonic-vs, uplink_speed: 100G}}, spine: {{model: sonic-vs}}}}
traffic_classes: {json.dumps(LOSSY)}
"""
    plan = planned(design_text(text, "pod.yml"), Level.QUICK)
    commands = [" ".join(words) for test in plan.tests if test.group for words in test.argv.values()]
    assert any("alltoall_perf" in command for command in commands) == (shape == "rail-optimized")
    assert all("NCCL_CROSS_NIC=0" in command for command in commands)
