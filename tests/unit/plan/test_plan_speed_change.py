"""Another speed between leaves and spines: one spine after the other, both ends of each link together."""

from collections.abc import Callable
from itertools import pairwise
from pathlib import Path

import pytest

from railweave.catalog.load import load_catalog
from railweave.design.build import design
from railweave.fabric.model import Fabric
from railweave.intent.load import load_intent_text
from railweave.plan.offline import plan_offline
from railweave.plan.phases.planning import phases
from railweave.plan.phases.speed_change import speed_steps
from railweave.templates import find_templates

RATIO = ('oversubscription: "2:1"', 'oversubscription: "5:1"')
SLOWER = ("uplink_speed: 100G", "uplink_speed: 40G")
SPINES = ("spine: {model: sonic-vs, count: 2}", "spine: {model: sonic-vs, count: 3}")
ROOT = Path(__file__).resolve().parents[3]


@pytest.fixture
def before(redesign: Callable[..., Fabric]) -> Fabric:
    return redesign(RATIO, SPINES)


@pytest.fixture
def after(redesign: Callable[..., Fabric]) -> Fabric:
    return redesign(RATIO, SPINES, SLOWER)


def uplinks(fabric: Fabric) -> dict[tuple[str, int], int]:
    return {(link.upper, link.upper_port): link.speed_gbps for link in fabric.links if not link.is_access}


def test_each_step_changes_the_links_of_one_more_spine(before: Fabric, after: Fabric) -> None:
    steps = speed_steps(before, after)
    assert len(steps) == 3
    for number, step in enumerate((one.fabric for one in steps), start=1):
        done = {f"lab-spine{one}" for one in range(1, number + 1)}
        assert uplinks(step) == {end: 40 if end[0] in done else 100 for end in uplinks(before)}
    assert uplinks(steps[-1].fabric) == uplinks(after)


def test_both_ends_of_every_link_agree_in_every_step(before: Fabric, after: Fabric) -> None:
    for step in (one.fabric for one in speed_steps(before, after)):
        for link in step.links:
            if not link.is_access:
                ends = ((link.upper, link.upper_port), (link.lower, link.lower_port))
                assert {step.switch_of[name].panel.ports[port].speed_gbps for name, port in ends} == {link.speed_gbps}


def test_a_step_touches_one_spine_and_of_the_leaves_only_the_ports_towards_it(before: Fabric, after: Fabric) -> None:
    first, second = (one.fabric for one in speed_steps(before, after)[:2])
    plan = plan_offline(first, second, find_templates(ROOT))
    changed = {name for name, change in plan.changes() if change.table == "PORT"}
    assert changed == {"lab-spine2", *(one.name for one in before.switches if one.name.startswith("lab-leaf"))}
    towards = {
        (link.lower, first.switch_of[link.lower].panel.ports[link.lower_port].name)
        for link in first.links
        if link.upper == "lab-spine2"
    }
    of_leaves = {(name, one.key) for name, one in plan.changes() if one.table == "PORT" and "leaf" in name}
    assert of_leaves == towards


def test_in_one_go_the_policy_refuses_what_the_steps_allow(before: Fabric, after: Fabric) -> None:
    whole = plan_offline(before, after, find_templates(ROOT))
    assert whole.violations
    steps = (before, *(one.fabric for one in speed_steps(before, after)), after)
    for one, other in pairwise(steps):
        assert plan_offline(one, other, find_templates(ROOT)).violations == ()


def test_no_steps_where_nothing_or_the_breakout_changes(before: Fabric, lab: Fabric) -> None:
    assert speed_steps(before, before) == ()
    text = (ROOT / "intent" / "pod-32.yml").read_text(encoding="utf-8")
    pods = [
        design(load_intent_text(one, "intent/pod-32.yml"), load_catalog()).fabric
        for one in (text, text.replace("speed: 400G, ports: 1", "speed: 200G, ports: 1"))
    ]
    first, second = pods
    assert first is not None
    assert second is not None
    assert speed_steps(first, second) == ()


def test_the_phases_name_the_spine_and_end_with_the_head(before: Fabric, after: Fabric) -> None:
    found = phases(before, after)
    assert [phase.title for phase in found] == [
        "40G on the links of lab-spine1",
        "40G on the links of lab-spine2",
        "40G on the links of lab-spine3",
        "the rest of the change",
    ]
    assert found[-1].fabric is after
