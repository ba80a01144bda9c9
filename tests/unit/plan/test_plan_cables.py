"""The cables that a plan changes, by the labels of their ports."""

import json
from pathlib import Path

import pytest

from railweave.catalog.load import load_catalog
from railweave.design.build import design
from railweave.design.renumbering import moved_cables, renumbered
from railweave.errors import RefusedError
from railweave.fabric.model import Fabric
from railweave.intent.load import load_intent_text
from railweave.plan.cables import changed_cables
from railweave.plan.document import parse_plan, plan_json
from railweave.plan.moves import find_renumbering
from railweave.plan.offline import plan_offline
from railweave.plan.phases.planning import phases
from railweave.sonic.delta.change import Op
from railweave.templates import find_templates

POD = (Path(__file__).resolve().parents[3] / "intent" / "pod-32.yml").read_text(encoding="utf-8")


def pod(nodes: int) -> Fabric:
    text = POD.replace("count: 32", f"count: {nodes}").replace("gpus: 256", f"gpus: {8 * nodes}")
    found = design(load_intent_text(text, "pod.yml"), load_catalog()).fabric
    assert found is not None
    return found


def test_a_cable_to_a_new_node_has_the_label_of_a_port_that_stays_as_it_is() -> None:
    plan = plan_offline(pod(30), pod(31), find_templates())
    assert not any(change.field == "alias" for delta in plan.deltas.values() for change in delta)
    found = changed_cables(plan)
    assert [(one.op, one.lower, one.after) for one in found] == [
        (Op.ADD, f"gpu31:rail{rail}", f"pod1-leaf{rail + 1}:Ethernet31/1") for rail in range(4)
    ]
    assert changed_cables(parse_plan(json.dumps(plan_json(plan)), "plan.json")) == found


LAB = (Path(__file__).resolve().parents[3] / "intent" / "lab-4.yml").read_text(encoding="utf-8")


def lab(leaf: str = "sonic-vs", spine: str = "sonic-vs") -> Fabric:
    text = LAB.replace("leaf:  {model: sonic-vs", f"leaf:  {{model: {leaf}")
    text = text.replace("spine: {model: sonic-vs", f"spine: {{model: {spine}")
    found = design(load_intent_text(text, "lab.yml"), load_catalog()).fabric
    assert found is not None
    return found


def test_a_model_with_other_labels_at_the_same_ports_moves_no_cable() -> None:
    base, head = lab("sonic-vs"), lab("nvidia-sn2700")
    plan = plan_offline(base, head, find_templates(), renumber=True)
    labels = [change for _, change in plan.changes() if (change.table, change.field) == ("DEVICE_NEIGHBOR", "port")]
    assert labels, "leaf ports are etp1 in place of fortyGigE0/0"
    assert changed_cables(plan) == ()
    assert moved_cables(base, head) == (), "their cages count from 0 and from 1"


def test_links_that_get_or_lose_their_addresses_renumber_nobody() -> None:
    numbered = lab()
    text = LAB + "addressing: {underlay: unnumbered}\n"
    unnumbered = design(load_intent_text(text, "lab.yml"), load_catalog()).fabric
    assert unnumbered is not None
    for base, head in ((numbered, unnumbered), (unnumbered, numbered)):
        assert renumbered(base, head) == ()
        plan = plan_offline(base, head, find_templates())
        assert len(plan.deltas) == 4
        assert find_renumbering(plan) == ()


def test_cables_do_not_move_while_their_links_get_or_lose_addresses() -> None:
    text = LAB.replace("spines: 4}", "spines: 8}") + "addressing: {underlay: unnumbered}\n"
    head = design(load_intent_text(text, "lab.yml"), load_catalog()).fabric
    assert head is not None
    with pytest.raises(RefusedError, match="the change replaces the underlay and moves 4 cables"):
        phases(lab(), head)


def test_cables_that_move_into_the_cages_of_another_model_are_no_single_step() -> None:
    base, head = lab(), lab(spine="nvidia-sn4700")
    moved = {str(cable.before) for cable in moved_cables(base, head)}
    assert moved == {"lab-leaf2:Ethernet112 – lab-spine1:Ethernet4", "lab-leaf2:Ethernet116 – lab-spine2:Ethernet4"}
    with pytest.raises(RefusedError, match="cables move while the ports of lab-spine1 and 1 more change"):
        phases(base, head)


def test_a_cable_of_a_node_that_leaves_has_its_label_too() -> None:
    found = changed_cables(plan_offline(pod(31), pod(30), find_templates()))
    assert [(one.op, one.before) for one in found] == [
        (Op.REMOVE, f"pod1-leaf{leaf}:Ethernet31/1") for leaf in range(1, 5)
    ]
