"""Three tiers through everything behind the design: nothing there depends on there being two.

The design lays out two tiers today, so the fabric is put together here: two pods of two leaves and two spines, joined
by two groups of two super-spines (RFC 7938 section 3.2), with the identities of the design's rules.
"""

from dataclasses import replace
from itertools import chain

import pytest
from engine_tools import configure_all
from route_valleys import valleys

from railweave.cabling.table import cable_rows
from railweave.catalog.load import load_catalog
from railweave.checks.config import check_config
from railweave.design.build import design
from railweave.design.document import fabric_json
from railweave.fabric.model import Fabric, Host, Link, Panel, Switch, Tier
from railweave.intent.load import load_intent_text
from railweave.lab.topology import network_script
from railweave.plan.capacity import capacity
from railweave.plan.expectation import expect
from railweave.plan.manual_drain import check_drain, choose
from railweave.plan.policy import RolloutPolicy, Share
from railweave.plan.waves import WaveGate, lay_out
from railweave.qos.deadlock import find_deadlock
from railweave.routing.instance import bgp_speaker
from railweave.sonic.render.ports import attachments
from railweave.units import parse_ipv4

POD = """
fabric: three
workload: {kind: inference}
nodes:
  - {name: gpu, count: 4, gpus: 2, nics: {count: 2, speed: 100G, model: connectx-6}}
topology:
  stripe: 4
  links_per_pair: 1
  oversubscription: "2:1"
  leaf: {model: sonic-vs, count: 2, downlink_speed: 100G, uplink_speed: 100G}
  spine: {model: sonic-vs, count: 2}
  reserve: {leaves: 8, spines: 4}
"""
SUPER = Tier("super-spine", 2, count=4, reserve=4, ports_down=32, down_gbps=100)
STRIDE = 28
"""Spine numbers of a pod: the logical ports of a leaf less its downlinks."""
CORE = parse_ipv4("10.224.0.0")
CABLE_M = 500


def pod(fabric: Fabric, number: int) -> tuple[list[Switch], list[Host], list[Link]]:
    """Return a two-tier fabric as the pod with this number."""
    names: dict[str, str] = {}
    switches, hosts = [], []
    for one in fabric.switches:
        place = one.number + number * (2 if one.tier.attaches_nodes else STRIDE)
        names[one.name] = f"three-{one.tier.name}{place + 1}"
        switches.append(
            one._replace(
                name=names[one.name],
                number=place,
                place=place,
                stripe=number if one.tier.attaches_nodes else None,
                asn=one.asn + number * (2 if one.tier.attaches_nodes else 1),
                loopback=one.loopback + place - one.number,
            )
        )
    for host in fabric.hosts:
        names[host.name] = f"gpu{host.number + 4 * number + 1}"
        hosts.append(replace(host, name=names[host.name], number=host.number + 4 * number, stripe=number))
    # Two leaves further on: 64 addresses of hosts and 32 links each.
    links = [
        link._replace(lower=names[link.lower], upper=names[link.upper], network=link.network + 128 * number)
        for link in fabric.links
    ]
    return switches, hosts, links


def super_spine(number: int, panel: Panel) -> Switch:
    loopback = parse_ipv4("10.255.255.255") - number
    name = f"three-super-spine{number + 1}"
    return Switch(name, SUPER, number, number, 0, None, None, 4_200_000_000, loopback, panel)


def uplink(spine: Switch, member: int, supers: list[Switch]) -> Link:
    """Return the link of a spine to a member of its group, on its port 17 or 18 and the port of its pod."""
    pod_number, group = divmod(spine.number, STRIDE)
    port, upper = 16 + member, supers[2 * group + member].name
    network = CORE + 2 * (32 * spine.number + port)
    return Link(2, 0, None, spine.name, port, upper, pod_number, network, 100, CABLE_M, "dr")


@pytest.fixture(scope="module")
def three() -> Fabric:
    two = design(load_intent_text(POD, "pod.yml"), load_catalog()).fabric
    assert two is not None
    pods = [pod(two, number) for number in (0, 1)]
    supers = [super_spine(number, two.switches[-1].panel) for number in range(4)]
    switches = [*chain.from_iterable(one for one, _, _ in pods)]
    spines = [one for one in switches if not one.tier.attaches_nodes]
    core = [uplink(spine, member, supers) for spine in spines for member in (0, 1)]
    blocks = {
        leaf.name: (two.host_blocks["three-leaf1"][0] + 64 * leaf.number, 26)
        for leaf in switches
        if leaf.tier.attaches_nodes
    }
    low, top = two.tiers
    return replace(
        two,
        tiers=(low, replace(top, ports_up=2, up_gbps=100, links_per_pair=1), SUPER),
        switches=tuple(sorted((*switches, *supers), key=lambda one: (one.tier.level, one.number))),
        hosts=tuple(chain.from_iterable(hosts for _, hosts, _ in pods)),
        links=(*chain.from_iterable(links for _, _, links in pods), *core),
        host_blocks=blocks,
    )


def test_the_graph_has_a_tier_in_the_middle(three: Fabric) -> None:
    spine = three.switch_of["three-spine1"]
    assert three.top == SUPER
    assert three.below(spine.name) == ("three-leaf1", "three-leaf2")
    assert three.above(spine.name) == ("three-super-spine1", "three-super-spine2")
    assert len(three.fabric_links_of(spine.name)) == len(three.links_of[spine.name]) == 4


def test_what_was_learned_from_above_is_not_announced_upwards(three: Fabric) -> None:
    texts = {config.device: config.frr for config in configure_all(three)}
    spine = texts["three-spine1"]
    assert (
        "route-map TO-SUPER-SPINES-V4 deny 100\n match community LEARNED-FROM-SUPER-SPINES\nexit\n!\n"
        "route-map TO-SUPER-SPINES-V4 permit 110\n match ip address prefix-list FABRIC-PREFIXES\nexit\n" in spine
    )
    assert "route-map TO-LEAVES-V4 permit 100\n match ip address prefix-list FABRIC-PREFIXES\nexit\n" in spine
    assert "OWN-PREFIXES" not in spine
    assert "deny" not in texts["three-super-spine1"]
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
    assert sorted(one.group for one in sessions) == ["LEAVES", "LEAVES", "SUPER-SPINES", "SUPER-SPINES"]


def test_checks_find_no_valley_and_no_ring(three: Fabric) -> None:
    found = check_config(three)
    assert not [one for one in found if one.code in {"V-1", "D-1"}]
    assert not valleys(three)
    transits = {"three-spine1": frozenset({"three-super-spine2"}), "three-spine29": frozenset({"three-super-spine1"})}
    assert len(find_deadlock(three, transits)) >= 4  # a ring through both pods, were they in transit


def test_a_tier_meets_the_cables_of_both_its_sides(three: Fabric) -> None:
    low, middle, top = three.cable_lengths_m
    assert CABLE_M not in low
    assert set(middle) == {30, CABLE_M}
    assert top == (CABLE_M,)
    used = attachments(three, three.switch_of["three-spine1"])
    assert [one.neighbor for one in used] == [
        "three-leaf1", "three-leaf2", "three-super-spine1", "three-super-spine2",
    ]  # fmt: skip
    assert len({one.address for one in used}) == 4


def test_cables_and_the_document_name_the_third_layer(three: Fabric) -> None:
    kinds = [row.kind for row in cable_rows(three)]
    assert (kinds.count("host_leaf"), kinds.count("leaf_spine"), kinds.count("spine_super_spine")) == (16, 8, 8)
    document = fabric_json(three)
    assert {device["role"] for device in document["devices"]} == {"leaf", "spine", "super-spine", "host"}
    assert sum(link["kind"] == "spine_super_spine" for link in document["links"]) == 8


def test_verification_expects_the_sessions_of_both_sides(three: Fabric) -> None:
    expected = expect(three, three.switch_of["three-spine1"])
    assert [one.device for one in expected.sessions] == [*three.below("three-spine1"), *three.above("three-spine1")]
    assert all(one.required for one in expected.neighbors)


def test_paths_are_counted_where_two_leaves_meet(three: Fabric) -> None:
    # Two leaves of a pod meet in its 2 spines, leaves of two pods in 4 super-spines.
    assert capacity(three, ()).least_paths == 2
    assert capacity(three, ("three-spine1",)).least_paths == 1
    gone = ("three-super-spine1", "three-super-spine2", "three-super-spine3")
    left = capacity(three, gone)
    assert (left.least_paths, left.least_uplink_percent) == (1, 0)
    assert capacity(three, ("three-super-spine1",)).least_uplink_percent == 50
    down = [link for link in three.fabric_links if link.level == 2 and link.lower == "three-spine1"]
    assert capacity(three, ("three-super-spine3",), down=down).least_paths == 1
    assert capacity(three, (), down=down[:1]).least_uplink_percent == 50


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
    assert (target.whole, len(target.links)) == (True, 4)
    assert check_drain(three, [target], {}, ()) == ()
    both = choose(three, ["three-spine1", "three-spine2"])
    assert [one.code for one in check_drain(three, both, {}, (), several=True)] == ["RW522"]


def test_nodes_reach_the_leaves_of_all_pods(three: Fabric) -> None:
    script = network_script(three, three.host_of["gpu1"])
    assert script.count("ip route add 10.32.0.") == 6  # a pool on each rail's table, and two leaves on each rail
