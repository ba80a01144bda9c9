"""What holds for the acceptance plan of every fabric: who sends to whom, and what the rounds load."""

import json
from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator
from itertools import permutations
from math import ceil

import pytest
from acceptance_designs import LOSSY, designs, few, planned, switch_of_port
from hashed_flows import Walker
from hypothesis import given
from hypothesis import strategies as st

from railweave.acceptance.document import parse_plan, plan_blocks
from railweave.acceptance.model import Level, RoundKind, Tool
from railweave.api.design.intent import Designed, design_text
from railweave.fabric.model import Fabric

LOADING = {RoundKind.ISOLATED, RoundKind.LOADED, RoundKind.INCAST, RoundKind.SOAK}


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
            ends = [(switches[test.sender], switches[test.receiver]) for test in tests if test.receiver]
            # Pairs of one switch use no link between switches.
            crossing = [pair for pair in ends if pair[0] != pair[1] or round_.kind is RoundKind.LATENCY]
            assert set(Counter(sender for sender, _ in crossing).values()) <= {1}
            assert set(Counter(receiver for _, receiver in crossing).values()) <= {1}


@pytest.mark.slow
@given(designs(mixed=True), st.sampled_from(Level))
@few
def test_rails_are_paired_where_they_are_routed(designed: Designed, level: Level) -> None:
    fabric = designed.fabric
    shape = designed.intent.topology.shape
    plan = planned(designed, level)
    rails = {link.nic_port: link.rail for link in plan.links if link.nic_port is not None}
    switches = switch_of_port(fabric)
    crossing = set()
    for test in plan.tests:
        if test.receiver is not None and test.kind not in (RoundKind.INCAST, RoundKind.LATENCY):
            crossing.add(rails[test.sender] != rails[test.receiver])
    if shape == "rail-only":
        assert True not in crossing
        return
    if shape == "rail-optimized":
        ways = False
        for sender, receiver in permutations(rails, 2):
            ends = [fabric.switch_of[switches[port]] for port in (sender, receiver)]
            is_routed = ends[0] != ends[1] and fabric.network_of(ends[0]) == fabric.network_of(ends[1])
            ways = ways or (is_routed and rails[sender] != rails[receiver] and sender.node != receiver.node)
        assert (True in crossing) == ways


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


@pytest.mark.slow
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
