"""Growth and removal of nodes, stripes, leaves and spines: a plan goes through in one rollout, or is refused when made.

Nothing is compared with the planner's own view here: a fabric is deployed, grown or shrunk, and deployed again on
switches in memory, wave by wave, through the whole rollout.
"""

from collections.abc import Callable
from typing import Any

from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from railweave.fabric.model import Fabric
from railweave.plan.build import wave_gate
from railweave.plan.offline import plan_offline
from railweave.plan.outcome import Result
from railweave.plan.policy import RolloutPolicy, Share
from railweave.plan.refusal import conflicts
from railweave.templates import find_templates

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


@settings(max_examples=60, deadline=None)
@given(before=shapes, after=shapes, policy=policies)
def test_every_wave_of_a_plan_passes_the_gate_or_the_plan_is_refused(
    redesign: Redesign, before: Shape, after: Shape, policy: RolloutPolicy
) -> None:
    head = fabric_of(redesign, after)
    plan = plan_offline(fabric_of(redesign, before), head, find_templates(), policy=policy)
    gate = wave_gate(head, plan)
    stopped = [wave for wave in plan.waves if gate.violation(wave)]
    assert {one.code for one in conflicts(plan)} == ({"RW513"} if stopped else set())


@settings(max_examples=10, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
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
