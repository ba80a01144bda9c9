"""Growth and removal of nodes, stripes, leaves and spines: a plan goes through in one rollout, or is refused when made.

Nothing is compared with the planner's own view here: a fabric is deployed, grown or shrunk, and deployed again on
switches in memory, wave by wave, through the whole rollout.
"""

import json
from collections.abc import Callable
from typing import TYPE_CHECKING, Any

import pytest
from examples import few
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from napalm.base.exceptions import ConnectionException

from nornir_railweave.tasks.phase_progress import find_phase_progress
from railweave.errors import RefusedError
from railweave.fabric.model import Fabric
from railweave.plan.build import wave_gate
from railweave.plan.consent import conflicts
from railweave.plan.document import parse_plan, plan_json
from railweave.plan.offline import plan_offline
from railweave.plan.outcome import Result
from railweave.plan.phases.planning import phases
from railweave.plan.phases.progress import PhaseProgress
from railweave.plan.policy import RolloutPolicy, Share
from railweave.sonic.render.configure import Configurator
from railweave.templates import find_templates

if TYPE_CHECKING:
    from tests.unit.nornir.conftest import Bench


Redesign = Callable[..., Fabric]
Shape = tuple[int, int, int]

RAILS = 4
NODES_OF_A_STRIPE = 3

shapes = st.integers(1, 2).flatmap(
    lambda stripes: st.tuples(
        st.integers((stripes - 1) * NODES_OF_A_STRIPE + 1, stripes * NODES_OF_A_STRIPE),
        st.just(stripes * RAILS),
        st.sampled_from((2, 3, 4)),
    )
)
"""Nodes, leaves and spines of a lab."""

policies = st.builds(
    RolloutPolicy,
    spines=st.sampled_from((Share(count=1), Share(count=2), Share(percent=25), Share(percent=50))),
    wave_size=st.integers(1, 6),
    uplink_floor_percent=st.sampled_from((None, 50, 75)),
    path_floor=st.integers(0, 2),
)


def fabric_of(redesign: Redesign, shape: Shape) -> Fabric:
    nodes, leaves, spines = shape
    return redesign(
        ("count: 4\n    gpus: 2", f"count: {nodes}\n    gpus: {RAILS}"),
        ("nics: {count: 2", f"nics: {{count: {RAILS}"),
        ("rails: 2\n  stripe: 4", f"rails: {RAILS}\n  stripe: {NODES_OF_A_STRIPE}"),
        ("reserve: {leaves: 4", "reserve: {leaves: 8"),
        ("leaf:  {model: sonic-vs, count: 2", f"leaf:  {{model: sonic-vs, count: {leaves}"),
        ("spine: {model: sonic-vs, count: 2", f"spine: {{model: sonic-vs, count: {spines}"),
    )


@pytest.mark.slow
@given(before=shapes, after=shapes, policy=policies)
def test_every_wave_of_a_plan_passes_the_gate_or_the_plan_is_refused(
    redesign: Redesign, before: Shape, after: Shape, policy: RolloutPolicy
) -> None:
    head = fabric_of(redesign, after)
    plan = plan_offline(fabric_of(redesign, before), head, find_templates(), policy=policy)
    gate = wave_gate(head, plan)
    stopped = [wave for wave in plan.waves if gate.violation(wave)]
    assert {one.code for one in conflicts(plan)} == ({"RW513"} if stopped else set())


@settings(few, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(before=shapes, after=shapes)
def test_growth_and_removal_go_through_in_one_rollout(
    redesign: Redesign, bench_of: Callable[[Fabric], Any], settle: Callable[[Any], Any], before: Shape, after: Shape
) -> None:
    bench = settle(bench_of(fabric_of(redesign, before)))
    bench.world.grow(fabric_of(redesign, after))
    result = bench.deploy()
    assert result.stopped_by == ""
    assert result.result is (Result.UNCHANGED if before == after else Result.DONE)
    assert result.ok
    assert bench.deploy().result is Result.UNCHANGED


def test_closing_the_ports_of_removed_nodes_takes_no_leaf_out_of_service(
    redesign: Redesign, bench_of: Callable[[Fabric], Any], settle: Callable[[Any], Any]
) -> None:
    """The first leaf was changed, and the second wave, of the three others, never started."""
    bench = settle(bench_of(fabric_of(redesign, (3, 4, 2))))
    bench.world.grow(fabric_of(redesign, (2, 4, 2)))
    plan = bench.plan()
    assert plan.waves == (("lab-leaf1",), ("lab-leaf2", "lab-leaf3", "lab-leaf4"))
    assert plan.disruptive == frozenset()
    assert bench.deploy(plan).result is Result.DONE


@pytest.fixture
def shrunk(redesign: Redesign, bench_of: Callable[[Fabric], Any], settle: Callable[[Any], Any]) -> Any:
    """Four leaves of one stripe whose third node, still running, leaves the intent."""
    bench = settle(bench_of(fabric_of(redesign, (3, 4, 2))))
    before = bench.world.fabric
    gone = [link for link in before.links if link.lower == "gpu3"]
    ports = {(link.upper, before.switch_of[link.upper].panel.ports[link.upper_port].name) for link in gone}
    bench.world.grow(fabric_of(redesign, (2, 4, 2)))
    bench.world.still_up |= ports
    return bench


def test_the_ports_of_a_node_that_runs_do_not_close_unasked(shrunk: Any) -> None:
    before = {name: switch.running for name, switch in shrunk.world.switches.items()}
    with pytest.raises(RefusedError) as caught:
        shrunk.deploy()
    (found,) = caught.value.diagnostics
    assert (found.code, found.message, found.fix) == (
        "RW523",
        "4 ports of 4 switches would be shut down permanently, but are still in use: gpu3",
        "take them out of use before their ports close with `railweave deploy --from REV`, where REV is the git"
        " revision that is deployed; or deploy with --remove-live if they may lose these links",
    )
    assert found.devices == ("lab-leaf1", "lab-leaf2", "lab-leaf3", "lab-leaf4")
    assert {name: switch.running for name, switch in shrunk.world.switches.items()} == before


def test_the_ports_of_a_node_that_was_shut_down_close(shrunk: Any) -> None:
    shrunk.world.still_up.clear()
    assert shrunk.deploy().result is Result.DONE


def test_with_consent_the_ports_of_a_node_that_runs_close(shrunk: Any) -> None:
    assert shrunk.deploy(remove_live=True).result is Result.DONE
    assert not shrunk.world.enabled("lab-leaf1", port_of(shrunk))


def test_a_switch_that_does_not_tell_its_links_closes_no_port_unasked(shrunk: Any) -> None:
    shrunk.world.still_up.clear()
    shrunk.world.switches["lab-leaf2"].faults["observe"] = ConnectionException("no answer")
    plan = shrunk.plan()
    live_ports = {name: device.reading.live_ports for name, device in plan.devices.items()}
    assert [(name, port.port, port.far_end) for name, ports in live_ports.items() for port in ports] == [
        ("lab-leaf2", port_of(shrunk), "gpu3")
    ]
    assert plan_json(parse_plan(json.dumps(plan_json(plan)), "plan.json")) == plan_json(plan)


def port_of(bench: "Bench") -> str:
    """Return the third port of a leaf, to which the third node is cabled."""
    return str(bench.world.fabric.switch_of["lab-leaf1"].panel.ports[2].name)


@pytest.mark.parametrize(("packets_per_s", "in_use"), [(0, False), (1_000_000, True)])
def test_a_port_to_a_switch_that_leaves_is_in_use_while_it_carries_traffic(
    redesign: Redesign,
    bench_of: Callable[[Fabric], Any],
    settle: Callable[[Any], Any],
    packets_per_s: int,
    in_use: bool,
) -> None:
    bench = settle(bench_of(fabric_of(redesign, (3, 4, 3))))
    before = bench.world.fabric
    gone = [link for link in before.links if link.upper == "lab-spine3"]
    ports = {(link.lower, before.switch_of[link.lower].panel.ports[link.lower_port].name) for link in gone}
    bench.world.grow(fabric_of(redesign, (3, 4, 2)))
    bench.world.still_up |= ports
    for switch in bench.world.switches.values():
        switch.drained = () if packets_per_s else ("*",)
    live = {one.far_end for device in bench.plan().devices.values() for one in device.reading.live_ports}
    assert live == ({"lab-spine3"} if in_use else set())


def test_a_switch_that_leaves_has_come_as_far_as_its_last_configuration_and_may_be_off_then(
    redesign: Redesign, bench_of: Callable[[Fabric], Any], settle: Callable[[Any], Any]
) -> None:
    base, head = fabric_of(redesign, (6, 8, 2)), fabric_of(redesign, (3, 4, 2))
    found = phases(base, head)
    assert [one.kind for one in found] == ["drain", "switches", "drain", "switches"]
    bench = settle(bench_of(base))

    def done() -> PhaseProgress:
        stages = [Configurator(fabric, find_templates()) for fabric in (base, *(one.fabric for one in found))]
        with bench.connected() as nr:
            return find_phase_progress(nr, stages)

    assert done().done == 1, "the leaves that leave still have the ports of their nodes"
    for one in found[1:2]:
        bench.world.grow(one.fabric)
        assert bench.deploy(remove_live=True).result is Result.DONE
    assert done().latest["lab-leaf8"] == 4
    assert done().done == 3
    bench.world.switches["lab-leaf8"].faults["open"] = ConnectionException("no answer")
    assert (done().latest["lab-leaf8"], done().unreadable) == (4, {})
    bench.world.switches["lab-leaf1"].faults["open"] = ConnectionException("no answer")
    assert list(done().unreadable) == ["lab-leaf1"]
