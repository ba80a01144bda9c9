"""What is drained before a change, which changes disturb, and which part links."""

from collections.abc import Callable, Collection
from typing import Any

import pytest

from railweave.fabric.model import Fabric
from railweave.plan.drain_planner import WHOLE, drain_of, drains_of_waves, is_disruptive, two_sided_links
from railweave.plan.model import Plan
from railweave.plan.offline import plan_offline
from railweave.sonic.delta.change import Change, Disruption, Op
from railweave.sonic.rows import FRR_TABLE
from railweave.templates import find_templates

SPINE, LEAF = "lab-spine1", "lab-leaf1"
SPEED = {"field": "speed", "before": "100000", "after": "40000", "disruption": Disruption.FLAP}
LINE = {"table": FRR_TABLE, "key": "router bgp 1", "disruption": Disruption.SESSION, "op": Op.REMOVE}

Peers = Callable[..., tuple[str, ...]]


@pytest.fixture
def drained(lab: Fabric, change: Callable[..., Change]) -> Peers:
    def peers(device: str, *changes: dict[str, Any], unprovisioned: Collection[str] = ()) -> tuple[str, ...]:
        made = {device: [change(device=device, **one) for one in changes]}
        return drains_of_waves(lab, made, [[device]], unprovisioned).get(device, ())

    return peers


def test_what_disturbs_nothing_drains_nothing(drained: Peers) -> None:
    assert drained(SPINE, {"field": "mtu"}) == ()


def test_a_spine_of_which_all_links_are_concerned_is_drained_as_a_whole(drained: Peers) -> None:
    assert drained(SPINE, {**SPEED, "key": "Ethernet0"}, {**SPEED, "key": "Ethernet4"}) == WHOLE


def test_of_a_spine_only_the_links_concerned_are_drained(drained: Peers) -> None:
    assert drained(SPINE, {**SPEED, "key": "Ethernet4"}) == ("10.192.0.121",)


def test_a_group_of_peers_is_the_whole_spine(drained: Peers) -> None:
    assert drained(SPINE, {**LINE, "field": "neighbor LEAVES timers 3 9"}) == WHOLE
    assert drained(SPINE, {**LINE, "field": "timers bgp 3 9"}) == WHOLE


def test_a_reload_is_the_whole_spine(drained: Peers) -> None:
    assert drained(SPINE, {"table": "BUFFER_POOL", "key": "x", "disruption": Disruption.RELOAD}) == WHOLE


def test_what_is_not_known_is_the_whole_spine(drained: Peers) -> None:
    assert drained(SPINE, {"table": "MIRROR_SESSION", "key": "m", "disruption": Disruption.FLAP}) == WHOLE


def test_of_a_leaf_with_nodes_only_the_uplinks_concerned_are_drained(drained: Peers) -> None:
    assert drained(LEAF, {**SPEED, "key": "Ethernet116"}) == ("10.192.0.58",)


def test_a_leaf_with_nodes_is_never_drained_as_a_whole(drained: Peers) -> None:
    assert drained(LEAF, {**SPEED, "key": "Ethernet112"}, {**SPEED, "key": "Ethernet116"}) == ()
    assert drained(LEAF, {**LINE, "field": "neighbor SPINES timers 3 9"}) == ()


def test_a_port_of_a_node_drains_nothing(drained: Peers) -> None:
    assert drained(LEAF, {**SPEED, "key": "Ethernet0"}) == ()


def test_the_only_spine_that_carries_is_not_drained(drained: Peers) -> None:
    assert drained(SPINE, {**LINE, "field": "timers bgp 3 9"}, unprovisioned={"lab-spine2"}) == ()


def test_a_peer_that_leaves_the_intent_is_drained_by_its_address(drained: Peers) -> None:
    assert drained(SPINE, {**LINE, "field": "neighbor 10.192.0.185 remote-as 4210000002"}) == ("10.192.0.185",)


def test_an_address_taken_from_a_port_drains_its_peer(drained: Peers) -> None:
    gone = {"table": "INTERFACE", "op": Op.REMOVE, "field": None, "disruption": Disruption.SESSION}
    assert drained(SPINE, {**gone, "key": "Ethernet0|10.192.0.56/31"}) == ("10.192.0.57",)


def test_peers_of_unnumbered_links_are_the_ports(
    redesign: Callable[..., Fabric], change: Callable[..., Change]
) -> None:
    fabric = redesign(("workload:", "addressing: {underlay: unnumbered}\nworkload:"))
    one = change(device=SPINE, **{**SPEED, "key": "Ethernet4"})
    assert drain_of(fabric, fabric.switch_of[SPINE], [one]) == ("Ethernet4",)
    line = change(device=SPINE, **{**LINE, "field": "neighbor Ethernet0 interface peer-group LEAVES"})
    assert drain_of(fabric, fabric.switch_of[SPINE], [line]) == ("Ethernet0",)


def test_links_that_end_with_their_far_end_disturb_nobody(lab: Fabric, redesign: Callable[..., Fabric]) -> None:
    grown = redesign(("count: 4\n", "count: 8\n"), ("count: 2, downlink", "count: 4, downlink"))
    plan = plan_offline(grown, lab, find_templates())
    assert any(one.disruption is not Disruption.NONE for _, one in plan.changes())
    assert plan.disruptive == frozenset()
    assert plan.devices[SPINE].drain == ("10.192.0.185", "10.192.0.249")


def test_a_port_of_a_node_that_stays_is_disturbed(lab: Fabric, change: Callable[..., Change]) -> None:
    leaf = lab.switch_of[LEAF]
    assert is_disruptive(lab, leaf, [change(device=LEAF, **SPEED)])
    assert not is_disruptive(lab, leaf, [change(device=LEAF, **{**SPEED, "key": "Ethernet16"})])


def test_a_switch_that_is_provisioned_is_neither_drained_nor_disturbed(growth: Plan) -> None:
    fresh = [name for name, device in growth.devices.items() if device.difference.unprovisioned]
    assert fresh == ["lab-leaf3", "lab-leaf4"]
    assert growth.unprovisioned == frozenset(fresh)
    assert growth.disruptive == frozenset()
    assert all(growth.devices[name].drain == () for name in fresh)


def test_a_link_is_parted_only_where_both_ends_change(lab: Fabric, change: Callable[..., Change]) -> None:
    link = next(one for one in lab.links_of[SPINE] if one.lower == LEAF)
    spine = change(device=SPINE, **{**SPEED, "key": "Ethernet0"})
    leaf = change(device=LEAF, **{**SPEED, "key": "Ethernet112"})
    assert two_sided_links(lab, {SPINE: (spine,), LEAF: (leaf,)}) == {link}
    assert two_sided_links(lab, {SPINE: (spine,)}) == set()
    assert two_sided_links(lab, {SPINE: (spine,), LEAF: (leaf,)}, unprovisioned={LEAF}) == set()


def test_other_as_numbers_part_every_link(lab: Fabric, redesign: Callable[..., Fabric]) -> None:
    plan = plan_offline(
        lab, redesign(("workload:", "addressing: {asn: {spine: 4200002000}}\nworkload:")), find_templates(),
        renumber=True,
    )  # fmt: skip
    (violation,) = plan.violations
    assert violation.two_sided
    assert "both ends of 4 links have to change" in violation.message


def test_no_spine_is_drained_whose_leaves_have_lost_the_others(redesign: Callable[..., Fabric]) -> None:
    four = ("spine: {model: sonic-vs, count: 2", "spine: {model: sonic-vs, count: 4")
    base = redesign(four)
    head = redesign(four, ("workload:", "addressing: {asn: {spine: 4200002000}}\nworkload:"))
    plan = plan_offline(base, head, find_templates(), renumber=True)
    drained = [name for name, device in plan.devices.items() if device.drain]
    assert drained == ["lab-spine1", "lab-spine2", "lab-spine3"]


def test_a_spine_is_not_drained_onto_one_that_is_out_in_the_same_wave(
    lab: Fabric, change: Callable[..., Change]
) -> None:
    spines = ["lab-spine1", "lab-spine2"]
    line = {**LINE, "field": "timers bgp 3 9"}
    changes = {name: [change(device=name, **line)] for name in spines}
    assert drains_of_waves(lab, changes, [spines]) == {}
    assert drains_of_waves(lab, changes, [[name] for name in spines]) == dict.fromkeys(spines, WHOLE)
