"""The rollout policy: what may go together, and what is refused because no order can keep it."""

from collections.abc import Callable
from dataclasses import replace

import pytest
from engine_tools import plan_waves

from railweave.diagnostics import Diagnostic, Where
from railweave.errors import RefusedError
from railweave.fabric.model import Fabric
from railweave.plan.build import build_plan
from railweave.plan.capacity import capacity
from railweave.plan.consent import DeployOptions, check_consent, conflicts
from railweave.plan.model import DeviceState, Plan, Reading
from railweave.plan.offline import plan_offline
from railweave.plan.policy import PolicyViolation, RolloutPolicy, Share
from railweave.plan.waves import WaveGate
from railweave.sonic.delta.change import Change, Delta, Disruption, Method, Op
from railweave.sonic.delta.diff import DeviceDiff
from railweave.templates import find_templates

FOUR_SPINES = ("spine: {model: sonic-vs, count: 2", "spine: {model: sonic-vs, count: 4")


@pytest.fixture(scope="module")
def wide(redesign: Callable[..., Fabric]) -> Fabric:
    return redesign(FOUR_SPINES)


def spines(fabric: Fabric) -> list[str]:
    return [switch.name for switch in fabric.switches if switch.tier.name == "spine"]


def refused(fabric: Fabric, policy: RolloutPolicy, names: list[str] | None = None) -> Diagnostic:
    names = names or spines(fabric)
    with pytest.raises(RefusedError) as caught:
        plan_waves(fabric, names, names, policy)
    (found,) = caught.value.diagnostics
    assert found.code == "RW513"
    return found


@pytest.mark.parametrize(
    ("share", "total", "found"),
    [
        (Share(count=1), 4, 1),
        (Share(count=9), 4, 4),
        (Share(percent=25), 4, 1),
        (Share(percent=25), 7, 1),
        (Share(percent=25), 3, 0),
        (Share(percent=100), 3, 3),
    ],
)
def test_a_share_is_of_whole_devices(share: Share, total: int, found: int) -> None:
    assert share.of(total) == found


def test_a_share_is_a_count_or_a_percentage() -> None:
    with pytest.raises(ValueError, match="a count or a percentage"):
        Share(1, 25)
    with pytest.raises(ValueError, match="a count or a percentage"):
        Share()


def test_a_share_of_the_spines_goes_together_after_the_canary(wide: Fabric) -> None:
    names = spines(wide)
    waves = plan_waves(wide, names, names, RolloutPolicy(spines=Share(percent=50)))
    assert waves == (("lab-spine1",), ("lab-spine2", "lab-spine3"), ("lab-spine4",))


def test_a_floor_bounds_a_larger_share(wide: Fabric) -> None:
    names = spines(wide)
    generous = RolloutPolicy(spines=Share(percent=100), uplink_floor_percent=50)
    assert max(map(len, plan_waves(wide, names, names, generous))) == 2
    assert max(map(len, plan_waves(wide, names, names, replace(generous, path_floor=3)))) == 1


def test_a_wave_is_never_larger_than_said(wide: Fabric) -> None:
    names = [switch.name for switch in wide.switches]
    assert max(map(len, plan_waves(wide, names, (), RolloutPolicy(wave_size=2)))) == 2


def test_a_floor_that_one_spine_crosses_is_refused_with_its_numbers_and_its_place(wide: Fabric) -> None:
    place = Where("inventory/production.yml", 14, 20, "rollout.floor.uplinks")
    found = refused(wide, RolloutPolicy(uplink_floor_percent=90, places={"floor.uplinks": place}))
    assert found.where == place
    assert "a leaf keeps 75% of its uplink bandwidth, and the floor is 90%" in found.message
    assert found.fix.startswith("lower `floor.uplinks` to 75%, or add spines")
    assert found.devices == tuple(spines(wide))


def test_paths_that_one_spine_takes_are_refused_with_their_number(lab: Fabric) -> None:
    found = refused(lab, RolloutPolicy(path_floor=2))
    assert "two leaves keep 1 path between them, and the floor is 2" in found.message
    assert found.where.path == "rollout.floor.paths"


def test_a_share_that_is_not_a_whole_spine_is_refused(lab: Fabric) -> None:
    found = refused(lab, RolloutPolicy(spines=Share(percent=25)))
    assert "25% of the 2 spines of plane 0 is not a whole device" in found.message
    assert "to 1 or to 50%" in found.fix


def test_a_single_spine_cannot_be_disturbed_unless_that_is_accepted(lab: Fabric) -> None:
    assert capacity(lab, spines(lab)).least_paths == 0
    with pytest.raises(RefusedError, match="no path"):
        plan_waves(lab, ["lab-spine1"], ["lab-spine1"], RolloutPolicy(), unprovisioned=["lab-spine2"])
    accepted = RolloutPolicy(path_floor=0)
    assert plan_waves(lab, ["lab-spine1"], ["lab-spine1"], accepted, unprovisioned=["lab-spine2"]) == (("lab-spine1",),)


def test_what_is_provisioned_is_bound_by_no_floor(lab: Fabric) -> None:
    names = [switch.name for switch in lab.switches]
    strict = RolloutPolicy(uplink_floor_percent=100, path_floor=2)
    assert plan_waves(lab, names, names, strict, unprovisioned=names)


def test_a_lost_spine_holds_the_next_one_back(wide: Fabric) -> None:
    policy = RolloutPolicy(spines=Share(count=2), path_floor=3)
    assert message(WaveGate(wide, policy, disruptive=spines(wide)), "lab-spine1") == ""
    assert message(WaveGate(wide, policy, disruptive=spines(wide)), "lab-spine1", failed="lab-spine2") == (
        "two leaves keep 2 paths between them, and the floor is 3"
    )
    lost = WaveGate(wide, RolloutPolicy(), disruptive=spines(wide), out_of_service=["lab-spine2"])
    assert message(lost, "lab-spine1") == ("2 of the 4 spines of plane 0 would be out of service, and 1 may be")
    assert message(lost, "lab-leaf1") == ""


def message(gate: WaveGate, name: str, *, failed: str = "") -> str:
    violation = gate.violation([name], [failed] if failed else [])
    return violation.message if violation else ""


def test_a_plan_beside_a_lost_spine_is_refused_before_its_first_wave(wide: Fabric) -> None:
    """The rollout used to begin, and to stop in front of the first spine."""
    readings = {switch.name: Reading(changing()) for switch in wide.switches}
    readings["lab-spine2"] = Reading(error="no route to host", out_of_service=True)
    plan = build_plan(wide, readings, target="t", intent_sha256="")
    assert plan.out_of_service == {"lab-spine2"}
    (found,) = conflicts(plan)
    assert found.code == "RW513"
    assert found.message == (
        "the rollout policy cannot be met while lab-spine2 is out of service: 2 of the 4 spines of plane 0 would be out"
        " of service, and 1 may be"
    )
    assert found.devices == ("lab-spine1", "lab-spine3", "lab-spine4")
    assert "RW513" in {one.code for one in check_consent(plan, DeployOptions(skip_unreachable=True))}
    # The deployment says that the device could not be reached, and changes nothing.
    assert check_consent(plan, DeployOptions()) == ()


def changing() -> DeviceDiff:
    """A difference that resets every BGP session of a device."""
    change = Change(Op.ADD, "frr", "router bgp 1", "timers bgp 3 9", None, None, Disruption.SESSION, Method.FRR, "")
    return DeviceDiff(Delta((change,)), {}, (), unprovisioned=False)


def test_a_plan_that_no_policy_allows_is_shown_and_not_carried_out(
    lab: Fabric, redesign: Callable[..., Fabric]
) -> None:
    head = redesign(("workload:", "bgp: {keepalive: 2, hold: 6}\nworkload:"))
    plan = plan_offline(lab, head, find_templates(), policy=RolloutPolicy(path_floor=2))
    assert plan.names(DeviceState.CHANGED)
    assert [one.code for one in conflicts(plan)] == ["RW513"]


def test_parting_leaves_from_spines_is_agreed_to_as_a_renumbering(growth: Plan) -> None:
    plan = replace(
        growth, violations=(PolicyViolation("floor.paths", "parted", "say so", ("lab-spine1",), two_sided=True),)
    )
    agreed = DeployOptions(provision=True)
    assert conflicts(plan) == ()
    assert [one.code for one in check_consent(plan, agreed)] == ["RW514"]
    assert check_consent(plan, replace(agreed, renumber=True)) == ()
