"""The sentence of a plan: each clause is counted from the plan's own changes."""

from collections.abc import Callable, Sequence
from dataclasses import replace

import pytest
from planned_devices import planned

from railweave.fabric.model import Fabric
from railweave.plan.document import plan_json
from railweave.plan.headline import headline
from railweave.plan.model import DeviceState, Plan
from railweave.plan.offline import plan_offline
from railweave.sonic.delta.change import Change, Disruption, Op
from railweave.templates import find_templates

GROWN = (("count: 4\n", "count: 8\n"), ("count: 2, downlink", "count: 4, downlink"))


@pytest.fixture(scope="module")
def between(lab: Fabric, redesign: Callable[..., Fabric]) -> Callable[..., str]:
    """Return a function that says what leads from one redesigned lab to another."""

    def sentence(before: Sequence[tuple[str, str]] = (), after: Sequence[tuple[str, str]] = ()) -> str:
        plan = plan_offline(redesign(*before), redesign(*after), find_templates(), renumber=True)
        return headline(plan)

    return sentence


@pytest.mark.parametrize(
    ("before", "after", "sentence"),
    [
        ((), (), "lab: no changes: both intents configure 4 devices alike."),
        (
            (),
            GROWN,
            "lab: adds 2 leaves, 4 links and 8 node ports; touches 2 spines without disruption; no renumbering; "
            "no QoS change.",
        ),
        (
            GROWN,
            (),
            "lab: removes 2 leaves and 4 links; touches 2 spines, disrupting only links that are removed; "
            "no renumbering; no QoS change.",
        ),
        (
            (),
            (("spine: {model: sonic-vs, count: 2", "spine: {model: sonic-vs, count: 4"),),
            "lab: adds 2 spines and 4 links; touches 2 leaves without disruption; no renumbering; no QoS change.",
        ),
        (
            (("count: 4\n", "count: 3\n"),),
            (),
            "lab: adds 2 node ports; touches 2 leaves without disruption; no renumbering; no QoS change.",
        ),
        (
            (),
            (("count: 4\n", "count: 3\n"),),
            "lab: removes 2 node ports; touches 2 leaves, disrupting only links that are removed; no renumbering; "
            "no QoS change.",
        ),
        (
            (),
            (("workload:", "bgp: {keepalive: 2, hold: 6}\nworkload:"),),
            "lab: touches 2 leaves and 2 spines (BGP sessions reset); no renumbering; no QoS change.",
        ),
        (
            (),
            (("workload:", "mtu: {fabric: 4300, hosts: 4200}\nworkload:"),),
            "lab: touches 2 leaves and 2 spines (larger packets dropped); no renumbering; no QoS change.",
        ),
        (
            (("workload:", "mtu: {fabric: 4300, hosts: 4200}\nworkload:"),),
            (),
            "lab: touches 2 leaves and 2 spines without disruption; no renumbering; no QoS change.",
        ),
        (
            (),
            (("workload:", "addressing: {links: 10.160.0.0/11}\nworkload:"),),
            "lab: touches 2 leaves and 2 spines (BGP sessions reset); changes 8 addresses; no QoS change.",
        ),
        (
            (),
            (("workload:", "addressing: {asn: {spine: 4200002000}}\nworkload:"),),
            "lab: touches 2 leaves and 2 spines (BGP sessions reset); changes 2 AS numbers; no new address; "
            "no QoS change.",
        ),
    ],
)
def test_a_change_of_the_intent_is_told_as_a_reviewer_asks(
    between: Callable[..., str], before: Sequence[tuple[str, str]], after: Sequence[tuple[str, str]], sentence: str
) -> None:
    assert between(before, after) == sentence
    assert len(sentence) <= 160


def test_a_change_of_a_class_is_a_change_of_qos(recolored: Plan) -> None:
    assert headline(recolored) == (
        "lab: touches 2 leaves and 2 spines (packets of DSCP 26 may be dropped); no renumbering;"
        " changes QoS on 2 leaves and 2 spines."
    )


def test_rows_of_a_port_that_is_linked_anew_are_no_change_of_qos(
    plan_of: Callable[..., Plan], change: Callable[..., Change]
) -> None:
    linked = {"table": "DEVICE_NEIGHBOR", "field": None, "op": Op.ADD, "before": None, "after": {"name": "gpu1"}}
    qos = {"table": "QUEUE", "key": "Ethernet0|3", "field": None, "op": Op.ADD, "before": None, "after": {"s": "x"}}
    assert "no QoS change" in headline(plan_of(change(**linked), change(**qos)))
    assert "changes QoS on 1 leaf" in headline(plan_of(change(**qos)))


def test_speeds_and_breakouts_are_counted(plan_of: Callable[..., Plan], change: Callable[..., Change]) -> None:
    ports = [change(key=f"Ethernet{port}", field="speed", before="100000", after="50000") for port in range(3)]
    assert "changes the speed of 3 ports" in headline(plan_of(*ports))
    mode = change(table="BREAKOUT_CFG", field="brkout_mode", before="1x100G", after="2x50G")
    assert "changes the breakout of 1 port" in headline(plan_of(mode))


def test_cables_that_move_are_counted(plan_of: Callable[..., Plan], change: Callable[..., Change]) -> None:
    moved = [
        change(table="DEVICE_NEIGHBOR", key=f"Ethernet{port}", field="name", before="spine1", after="spine5")
        for port in range(2)
    ]
    assert "moves 2 cables" in headline(plan_of(*moved))


def test_only_part_of_what_is_touched_may_be_disturbed(
    plan_of: Callable[..., Plan], change: Callable[..., Change]
) -> None:
    plan = plan_of(change(), change(device="leaf2", field="speed", disruption=Disruption.FLAP))
    devices = {**plan.devices, "leaf2": replace(plan.devices["leaf2"], disruptive=True)}
    assert "touches 2 leaves (ports flap on 1)" in headline(replace(plan, devices=devices))


def test_queues_that_are_set_anew_are_not_called_ports_that_flap(
    plan_of: Callable[..., Plan], change: Callable[..., Change]
) -> None:
    plan = plan_of(change(table="BUFFER_PG", key="Ethernet0|3-4", field=None, disruption=Disruption.FLAP))
    devices = {name: replace(one, disruptive=True) for name, one in plan.devices.items()}
    assert "(queues lose their buffer or scheduler for a moment" in headline(replace(plan, devices=devices))


def test_a_change_of_the_packets_for_the_cpu_is_not_called_a_session_that_resets(
    plan_of: Callable[..., Plan], change: Callable[..., Change]
) -> None:
    plan = plan_of(change(table="COPP_GROUP", key="queue4_group1", field="cir", disruption=Disruption.SESSION))
    devices = {name: replace(one, disruptive=True) for name, one in plan.devices.items()}
    assert "(packets for the CPU may be dropped" in headline(replace(plan, devices=devices))


def test_a_first_deployment_says_only_what_it_adds(plan_of: Callable[..., Plan], change: Callable[..., Change]) -> None:
    fresh = planned(DeviceState.CHANGED, "leaf", unprovisioned=True)
    assert headline(plan_of(change(), leaf1=fresh)) == "pod1: adds 1 leaf."


def test_what_could_not_be_read_is_counted(plan_of: Callable[..., Plan], change: Callable[..., Change]) -> None:
    gone = planned(DeviceState.UNREACHABLE, "leaf", error="no route to host")
    assert headline(plan_of(change(), leaf2=gone)).endswith("; 1 device could not be read.")


def test_the_document_carries_the_sentence_beside_the_counts(growth: Plan) -> None:
    document = plan_json(growth)
    assert document["headline"] == headline(growth)
    assert set(document["summary"]) == {"add", "update", "remove"}


def test_of_devices_that_were_not_read_nobody_says_that_they_are_as_intended(plan_of: Callable[..., Plan]) -> None:
    lost = planned(DeviceState.UNREACHABLE, "leaf", error="no route")
    plan = replace(plan_of(), target="sim", devices={"leaf1": lost, "leaf2": lost})
    assert headline(plan) == "pod1: nothing is known of what runs; 2 devices could not be read."
