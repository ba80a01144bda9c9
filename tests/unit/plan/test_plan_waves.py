"""The order of a rollout."""

from collections.abc import Callable

from engine_tools import plan_waves

from railweave.fabric.model import Fabric
from railweave.plan.policy import DEFAULT_POLICY
from railweave.plan.waves import WaveGate, split_by_limits


def names(fabric: Fabric, role: str) -> list[str]:
    return [switch.name for switch in fabric.switches if switch.tier.name == role]


def test_nothing_to_change_needs_no_wave(lab: Fabric) -> None:
    assert plan_waves(lab, ()) == ()


def test_the_canary_spine_goes_first_then_spines_then_the_canary_leaf(redesign: Callable[..., Fabric]) -> None:
    fabric = redesign(("spine: {model: sonic-vs, count: 2", "spine: {model: sonic-vs, count: 4"))
    everything = {switch.name for switch in fabric.switches}
    assert plan_waves(fabric, everything) == (
        ("lab-spine1",),
        ("lab-spine2", "lab-spine3", "lab-spine4"),
        ("lab-leaf1",),
        ("lab-leaf2",),
    )


def test_only_changed_devices_are_in_a_wave(lab: Fabric) -> None:
    assert plan_waves(lab, {"lab-leaf2"}) == (("lab-leaf2",),)


def test_disturbed_spines_go_one_at_a_time(redesign: Callable[..., Fabric]) -> None:
    fabric = redesign(("spine: {model: sonic-vs, count: 2", "spine: {model: sonic-vs, count: 4"))
    spines = names(fabric, "spine")
    assert plan_waves(fabric, set(spines), set(spines)) == tuple((name,) for name in spines)


def test_disturbed_leaves_of_one_stripe_never_go_together(redesign: Callable[..., Fabric]) -> None:
    fabric = redesign(("count: 4\n", "count: 8\n"), ("count: 2, downlink", "count: 4, downlink"))
    leaves = names(fabric, "leaf")
    waves = plan_waves(fabric, set(leaves), set(leaves))
    stripe = {switch.name: switch.stripe for switch in fabric.switches}
    for wave in waves:
        assert len({stripe[name] for name in wave}) == len(wave)
    assert sorted(name for wave in waves for name in wave) == sorted(leaves)


def test_undisturbed_devices_do_not_wait_for_disturbed_ones(redesign: Callable[..., Fabric]) -> None:
    fabric = redesign(("spine: {model: sonic-vs, count: 2", "spine: {model: sonic-vs, count: 4"))
    waves = plan_waves(fabric, set(names(fabric, "spine")), {"lab-spine1"})
    assert waves == (("lab-spine2",), ("lab-spine3", "lab-spine4"), ("lab-spine1",))


def test_waves_made_for_a_hitless_change_are_split_where_their_devices_are_disruptive(
    redesign: Callable[..., Fabric],
) -> None:
    fabric = redesign(("spine: {model: sonic-vs, count: 2", "spine: {model: sonic-vs, count: 4"))
    hitless = (("lab-leaf1",), ("lab-spine2", "lab-spine3", "lab-spine4"), ("lab-spine1",))
    assert split_by_limits(hitless, WaveGate(fabric, DEFAULT_POLICY)).waves == hitless
    gate = WaveGate(fabric, DEFAULT_POLICY, disruptive={"lab-spine2", "lab-spine4"})
    assert split_by_limits(hitless, gate).waves == (
        ("lab-leaf1",),
        ("lab-spine2", "lab-spine3"),
        ("lab-spine4",),
        ("lab-spine1",),
    )
