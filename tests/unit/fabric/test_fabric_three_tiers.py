"""Three tiers through everything behind the design: two pods of two leaves and two spines, joined by two groups of two
super-spines (RFC 7938 section 3.2)."""

import pytest
from config_checks import check_config
from engine_tools import configure_all
from route_valleys import valleys

from railweave.cabling.table import cable_rows
from railweave.catalog.load import load_catalog
from railweave.design.build import design
from railweave.design.document import fabric_json
from railweave.fabric.model import Fabric
from railweave.intent.load import load_intent_text
from railweave.lab.node_network import network_script
from railweave.plan.capacity import capacity
from railweave.plan.expectation import expect
from railweave.plan.manual_drain import check_drain, choose
from railweave.plan.policy import RolloutPolicy, Share
from railweave.plan.waves import WaveGate, lay_out
from railweave.qos.deadlock import find_deadlock
from railweave.routing.instance import bgp_speaker
from railweave.sonic.render.ports import attachments

CABLE_M = 500
PODS = f"""
fabric: three
workload: {{kind: inference}}
nodes:
  - {{name: gpu, count: 8, gpus: 2, nics: {{count: 2, speed: 100G, model: connectx-6}}}}
topology:
  tiers: 3
  stripe: 4
  pod: 1
  links_per_pair: 1
  oversubscription: "2:1"
  leaf: {{model: sonic-vs, count: 4, downlink_speed: 100G, uplink_speed: 100G}}
  spine: {{model: sonic-vs, count: 4}}
  super_spine: {{model: sonic-vs, count: 4, oversubscription: "7:1"}}
  reserve: {{leaves: 8, spines: 16, pods: 4}}
cabling: {{spine_super_spine: {{length_m: {CABLE_M}}}}}
"""
"""A spine has 28 ports down, so that spines of the second pod begin at 29, and 4 up: two links to each super-spine of
its group, which numbers 1, 2 and 5, 6 have."""


@pytest.fixture(scope="module")
def three() -> Fabric:
    found = design(load_intent_text(PODS, "pods.yml"), load_catalog())
    assert found.fabric is not None, found.diagnostics
    return found.fabric


def test_the_graph_has_a_tier_in_the_middle(three: Fabric) -> None:
    spine = three.switch_of["three-spine1"]
    assert (three.top.name, three.top.level, three.top.count) == ("super-spine", 2, 4)
    assert three.below(spine.name) == ("three-leaf1", "three-leaf2")
    assert three.above(spine.name) == ("three-superspine1", "three-superspine2")
    assert len(three.fabric_links_of(spine.name)) == len(three.links_of[spine.name]) == 6


def test_what_was_learned_from_above_is_not_announced_upwards(three: Fabric) -> None:
    texts = {config.device: config.frr for config in configure_all(three)}
    spine = texts["three-spine1"]
    assert (
        "route-map TO-SUPER-SPINES-V4 deny 100\n match community LEARNED-FROM-SUPER-SPINES\nexit\n!\n"
        "route-map TO-SUPER-SPINES-V4 permit 110\n match ip address prefix-list FABRIC-PREFIXES\nexit\n" in spine
    )
    assert "route-map TO-LEAVES-V4 permit 100\n match ip address prefix-list FABRIC-PREFIXES\nexit\n" in spine
    assert "OWN-PREFIXES" not in spine
    assert "deny" not in texts["three-superspine1"]
    assert "match ip address prefix-list OWN-PREFIXES" in texts["three-leaf1"]


def test_every_adjacent_tier_is_a_peer_group(three: Fabric) -> None:
    groups = {
        tier.name: [(group.name, group.upwards) for group in bgp_speaker(three, switches[0]).groups]
        for tier, switches in zip(three.tiers, three.tier_switches, strict=True)
    }
    assert groups == {
        "leaf": [("SPINES", True)],
        "spine": [("LEAVES", False), ("SUPER-SPINES", True)],
        "super-spine": [("SPINES", False)],
    }
    sessions = bgp_speaker(three, three.switch_of["three-spine1"]).sessions
    assert sorted(one.group for one in sessions) == ["LEAVES"] * 2 + ["SUPER-SPINES"] * 4


def test_checks_find_no_valley_and_no_ring(three: Fabric) -> None:
    found = check_config(three)
    assert not [one for one in found if one.code in {"V-1", "D-1"}]
    assert not valleys(three)
    transits = {"three-spine1": frozenset({"three-superspine2"}), "three-spine29": frozenset({"three-superspine1"})}
    assert len(find_deadlock(three, transits)) >= 4  # a ring through both pods, were they in transit


def test_a_tier_meets_the_cables_of_both_its_sides(three: Fabric) -> None:
    low, middle, top = three.cable_lengths_m
    assert CABLE_M not in low
    assert set(middle) == {30, CABLE_M}
    assert top == (CABLE_M,)
    used = attachments(three, three.policies.addressing, three.switch_of["three-spine1"])
    assert [one.neighbor for one in used] == [
        "three-leaf1", "three-leaf2", *["three-superspine1", "three-superspine2"] * 2,
    ]  # fmt: skip
    assert len({one.address for one in used}) == 6


def test_cables_and_the_document_name_the_third_layer(three: Fabric) -> None:
    kinds = [row.kind for row in cable_rows(three)]
    assert (kinds.count("host_leaf"), kinds.count("leaf_spine"), kinds.count("spine_super_spine")) == (16, 8, 16)
    document = fabric_json(three)
    assert {device["role"] for device in document["devices"]} == {"leaf", "spine", "super-spine", "host"}
    assert sum(link["kind"] == "spine_super_spine" for link in document["links"]) == 16


def test_verification_expects_the_sessions_of_both_sides(three: Fabric) -> None:
    expected = expect(three, three.switch_of["three-spine1"])
    assert [one.device for one in expected.sessions] == [
        *three.below("three-spine1"), *three.above("three-spine1") * 2,
    ]  # fmt: skip
    assert all(one.required for one in expected.neighbors)


def test_paths_are_counted_where_two_leaves_meet(three: Fabric) -> None:
    # Two leaves of a pod meet in its 2 spines, leaves of two pods in 4 super-spines.
    assert capacity(three, ()).least_paths == 2
    assert capacity(three, ("three-spine1",)).least_paths == 1
    gone = ("three-superspine1", "three-superspine2", "three-superspine5")
    left = capacity(three, gone)
    # Spine 1 of every pod leads nowhere any more, spine 2 half as wide: a leaf keeps one of its two spines.
    assert (left.least_paths, left.least_uplink_percent) == (1, 50)
    assert capacity(three, ("three-superspine1",)).least_uplink_percent == 50
    down = [link for link in three.fabric_links if link.level == 2 and link.lower == "three-spine1"]
    assert capacity(three, ("three-superspine5",), down=down).least_paths == 1
    assert capacity(three, (), down=down[:1]).least_uplink_percent == 75


def test_a_rollout_goes_down_tier_by_tier_and_keeps_to_the_floors(three: Fabric) -> None:
    names = [switch.name for switch in three.switches]
    gate = WaveGate(three, RolloutPolicy(spines=Share(percent=50)), disruptive=names)
    order = lay_out(three, names, gate)
    assert not order.violations
    levels = [three.switch_of[wave[0]].tier.level for wave in order.waves]
    assert levels == sorted(levels, reverse=True)
    for wave in order.waves:
        left = capacity(three, wave)
        assert left.least_paths is None or left.least_paths >= 1
        assert gate.violation(wave) is None


def test_a_spine_is_drained_where_its_leaves_keep_another(three: Fabric) -> None:
    (target,) = choose(three, ["three-spine1"])
    assert (target.whole, len(target.links)) == (True, 6)
    assert check_drain(three, [target], {}, ()) == ()
    both = choose(three, ["three-spine1", "three-spine2"])
    assert [one.code for one in check_drain(three, both, {}, (), several=True)] == ["RW522"]


def test_nodes_reach_the_leaves_of_all_pods(three: Fabric) -> None:
    script = network_script(three, three.host_of["gpu1"])
    assert script.count("ip route add 10.32.0.") == 6  # a pool on each rail's table, and two leaves on each rail
