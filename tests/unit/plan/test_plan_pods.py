"""Three tiers in plans: what may be disturbed together, drained and grown, and what phases say of it."""

from collections.abc import Callable
from dataclasses import replace
from functools import cache

import pytest

from railweave.catalog.load import load_catalog
from railweave.design.build import design
from railweave.fabric.model import Fabric
from railweave.intent.load import load_intent_text
from railweave.plan.capacity import capacity
from railweave.plan.drain_planner import WHOLE, drains_of_waves
from railweave.plan.headline import headline
from railweave.plan.health import prefixes_behind
from railweave.plan.manual_drain import check_drain, choose, uplinks_left_percent
from railweave.plan.offline import plan_offline
from railweave.plan.phases.planning import PhaseKind, phases
from railweave.plan.phases.speed_change import speed_steps
from railweave.plan.policy import RolloutPolicy, Share
from railweave.plan.waves import WaveGate, lay_out
from railweave.sonic.delta.change import Change, Disruption, Method, Op
from railweave.templates import find_templates

PODS = """
fabric: pods
workload: {{kind: inference}}
nodes:
  - {{name: gpu, count: {nodes}, gpus: 2, nics: {{count: 2, speed: 100G, model: connectx-6}}}}
topology:
  stripe: 4
  pod: 1
  links_per_pair: 1
  oversubscription: "2:1"
  leaf: {{model: sonic-vs, downlink_speed: 100G, uplink_speed: 100G}}
  spine: {{model: sonic-vs, count: {spines}}}
  super_spine: {{model: sonic-vs, {supers}oversubscription: "7:1"}}
  reserve: {{leaves: 8, spines: 8, pods: 4}}
"""


@cache
def pods(nodes: int = 8, supers: int | None = 4) -> Fabric:
    """Return pods of 4 nodes, 2 leaves and 2 spines, and two groups of super-spines."""
    given = "" if supers is None else f"count: {supers}, "
    text = PODS.format(nodes=nodes, spines=nodes // 2, supers=given)
    found = design(load_intent_text(text, "pods.yml"), load_catalog())
    assert found.fabric is not None, found.diagnostics
    return found.fabric


def change(**fields: object) -> Change:
    given: dict[str, object] = {"op": Op.UPDATE, "table": "DEVICE_METADATA", "key": "localhost", "field": "hwsku"}
    given |= {"before": "a", "after": "b", "disruption": Disruption.RELOAD, "method": Method.RELOAD, "reason": "r"}
    return Change(**(given | fields))  # type: ignore[arg-type]


@pytest.fixture(scope="module")
def told() -> Callable[..., str]:
    """Return a function that says which rule some switches break when they are disturbed together."""

    def violation(*names: str, spines: Share | None = None, floor: float | None = None, supers: int = 4) -> str:
        policy = RolloutPolicy(spines=spines or Share(count=1), uplink_floor_percent=floor)
        numbers = [f"pods-{name}" for name in names]
        found = WaveGate(pods(supers=supers), policy, disruptive=numbers).violation(numbers)
        return found.message if found else ""

    return violation


def test_two_super_spines_of_a_group_never_go_together(told: Callable[..., str]) -> None:
    assert told("superspine1") == ""
    for share in (Share(count=2), Share(percent=100)):
        assert told("superspine1", "superspine2", spines=share) == (
            "2 of the 2 super-spines of one group of plane 0 would be out of service, and 1 may be"
        )
        assert told("superspine1", "superspine5", spines=share) == ""
    assert told("superspine1", "superspine5") == (
        "the paths of 2 of the 2 groups of super-spines of plane 0 would be out of service at once; the limit is 1"
    )


def test_spines_of_several_pods_go_together_where_the_same_paths_lead_over_them(told: Callable[..., str]) -> None:
    assert told("spine1", "spine29") == ""
    assert told("spine1", "spine29", "superspine2") == ""
    assert told("spine1", "spine2") == "2 of the 2 spines of one pod of plane 0 would be out of service, and 1 may be"
    assert told("spine1", "spine30") == (
        "the paths of 2 of the 2 groups of super-spines of plane 0 would be out of service at once; the limit is 1"
    )
    assert told("spine1", "spine30", spines=Share(count=2)) == (
        "two leaves keep no path between them, and the floor is 1"
    )
    assert told("spine1", "spine2", spines=Share(percent=10)) == (
        "10% of the 2 spines of one pod of plane 0 is not a whole device, so none may ever be disturbed"
    )


def test_the_floor_of_uplinks_holds_in_every_tier(told: Callable[..., str]) -> None:
    assert told("superspine1", floor=50) == ""
    assert told("superspine1", floor=75) == "a spine keeps 50% of its uplink bandwidth, and the floor is 75%"
    # A spine whose whole group is away leads nowhere, so its leaves go by the other one.
    assert capacity(pods(supers=2), ("pods-superspine1",)).least_uplink_percent == 50
    assert told("superspine1", floor=75, supers=2) == "a leaf keeps 50% of its uplink bandwidth, and the floor is 75%"


def test_waves_take_the_same_spine_of_every_pod() -> None:
    fabric = pods(nodes=12, supers=4)
    names = [switch.name for switch in fabric.switches if not switch.tier.attaches_nodes]
    order = lay_out(fabric, names, WaveGate(fabric, RolloutPolicy(), disruptive=names))
    assert not order.violations
    assert [tuple(name.removeprefix("pods-") for name in wave) for wave in order.waves] == [
        ("superspine1",), ("superspine2",), ("superspine5",), ("superspine6",),
        ("spine1",), ("spine29", "spine57"), ("spine2", "spine30", "spine58"),
    ]  # fmt: skip


def test_a_change_drains_a_super_spine_whose_group_it_is_alone() -> None:
    fabric = pods(supers=2)
    reload = (change(),)
    for name in ("pods-superspine1", "pods-spine29"):
        assert drains_of_waves(fabric, {name: reload}, [(name,)]) == {name: WHOLE}
    # With the other spine of a pod away, its leaves have no way around the drained one.
    for beside in ("pods-spine2", "pods-spine30"):
        assert drains_of_waves(fabric, {"pods-superspine1": reload}, [("pods-superspine1",)], {beside}) == {}
    assert drains_of_waves(pods(), {"pods-superspine1": reload}, [("pods-superspine1",)], {"pods-spine2"}) != {}


def test_a_drain_by_hand_leaves_another_way_between_all_leaves() -> None:
    fabric = pods(supers=2)
    first, spine = (choose(fabric, [name]) for name in ("pods-superspine1", "pods-spine2"))
    assert check_drain(fabric, first, {}, ()) == check_drain(fabric, spine, {}, ()) == ()
    assert uplinks_left_percent(fabric, first, {}) == uplinks_left_percent(fabric, spine, {}) == 50
    found = check_drain(fabric, spine, {"pods-superspine1": WHOLE}, (), several=True)
    assert [one.code for one in found] == ["RW522"]
    assert check_drain(fabric, spine, {"pods-superspine5": WHOLE}, (), several=True) == ()
    assert [one.code for one in check_drain(fabric, spine, {"pods-superspine5": WHOLE}, ())] == ["RW521"]


def test_a_spine_takes_the_prefixes_of_its_pod_along() -> None:
    behind = {name: prefixes_behind(pods(), f"pods-{name}") for name in ("leaf1", "spine1", "superspine1")}
    assert behind == {"leaf1": 2, "spine1": 6, "superspine1": 2}


def test_a_pod_is_added_without_touching_another_one() -> None:
    plan = plan_offline(pods(), pods(12), find_templates())
    touched = {name: plan.devices[name] for name in plan.deltas}
    assert {name for name, device in touched.items() if not device.difference.unprovisioned} == {
        f"pods-superspine{number}" for number in (1, 2, 5, 6)
    }
    assert not [name for name, device in touched.items() if device.disruptive]
    assert headline(plan) == (
        "pods: adds 2 leaves, 2 spines, 12 links and 8 node ports; touches 4 super-spines without disruption; no"
        " renumbering; no QoS change."
    )
    assert len(phases(pods(), pods(12))) == 1


def test_a_third_tier_joins_a_fabric_that_reserved_it() -> None:
    two = pods(4, supers=None)
    assert not two.has_pods
    plan = plan_offline(two, pods(), find_templates())
    running = {name for name in plan.deltas if not plan.devices[name].difference.unprovisioned}
    assert running == {"pods-spine1", "pods-spine2"}
    assert not [name for name in running if plan.devices[name].disruptive]
    assert headline(plan) == (
        "pods: adds 2 leaves, 2 spines, 4 super-spines, 20 links and 8 node ports; touches 2 spines without disruption;"
        " no renumbering; changes QoS on 2 spines."  # the headroom of longer cables
    )


def test_super_spines_are_added_link_by_link() -> None:
    two, four = pods(supers=2), pods(supers=4)
    found = phases(two, four)
    assert [phase.title for phase in found[:2]] == ["provision 2 super-spines", "move 4 cables, step 1 of 2"]
    assert {phase.kind for phase in found[1:]} >= {PhaseKind.CABLES}
    assert found[1].why == (
        "configure both ends, then move the cables: no spine-super-spine pair loses more than one link at a time"
    )


def test_speeds_of_both_layers_change_switch_by_switch(speedy: tuple[Fabric, Fabric]) -> None:
    slow, fast = speedy
    steps = speed_steps(slow, fast)
    assert [step.switch for step in steps] == [one.name for one in slow.switches if not one.tier.attaches_nodes]
    for step in steps:
        for link in step.fabric.fabric_links:
            ends = (
                step.fabric.switch_of[name].panel.ports[link.port_of(name)].speed_gbps
                for name in (link.lower, link.upper)
            )
            assert {*ends} == {link.speed_gbps}
    assert steps[-1].fabric.links == fast.links


@pytest.fixture
def speedy() -> tuple[Fabric, Fabric]:
    """The fabric with all links between switches at 40G, and as it is."""
    fast = pods()
    links = tuple(link._replace(speed_gbps=40) if link.level else link for link in fast.links)
    used = {(name, link.port_of(name)) for link in fast.fabric_links for name in (link.lower, link.upper)}
    switches = tuple(
        one._replace(
            panel=one.panel._replace(
                ports=tuple(
                    replace(port, speed_gbps=40) if (one.name, port.index) in used else port for port in one.panel.ports
                )
            )
        )
        for one in fast.switches
    )
    return replace(fast, switches=switches, links=links), fast
