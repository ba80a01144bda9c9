"""What a rehearsal says: faults as they are written, the line, and what was left of a fabric at every moment."""

from dataclasses import replace

import pytest
from planned_devices import having, planned

from railweave.diagnostics import error
from railweave.errors import UsageError
from railweave.fabric.model import Fabric
from railweave.plan.model import DeviceState, Plan
from railweave.plan.outcome import DeployResult, DeviceOutcome, Outcome, Progress, Result
from railweave.plan.policy import RolloutPolicy
from railweave.plan.rehearsal import (
    CapacityLeft,
    InjectedFault,
    Rehearsal,
    RehearsedWave,
    default_waves,
    parse_fault,
    unlike,
)
from railweave.plan.rehearsed_waves import Judge, LinkMoment, RolloutMoment, cable_of
from railweave.plan.rollout_step import Step

KINDS = {"unreachable": False, "link-down": True, "no-return": False}
WHOLE = CapacityLeft(100.0, 2, 0)


def plan_of(lab: Fabric, *disruptive: str, unprovisioned: bool = False, floor: int = 1) -> Plan:
    """Return a plan whose waves are the lab's spines and leaves, one at a time."""
    names = ("lab-spine1", "lab-spine2", "lab-leaf1", "lab-leaf2")
    devices = {
        name: planned(
            DeviceState.CHANGED, running_sha256=name, disruptive=name in disruptive, unprovisioned=unprovisioned
        )
        for name in names
    }
    policy = RolloutPolicy(path_floor=floor)
    return Plan("lab", "sim", "", devices, tuple((name,) for name in names), policy=policy)


def judge_of(lab: Fabric, plan: Plan) -> Judge:
    return Judge(lab, plan, [cable_of(lab, link) for link in lab.fabric_links])


@pytest.mark.parametrize(
    ("text", "parsed"),
    [
        ("lab-leaf1=no-return", InjectedFault("lab-leaf1", "no-return", wave=0)),
        ("lab-leaf1:Ethernet0=link-down@3", InjectedFault("lab-leaf1", "link-down", "Ethernet0", 3)),
    ],
)
def test_a_fault_names_a_switch_a_port_a_kind_and_a_wave(lab: Fabric, text: str, parsed: InjectedFault) -> None:
    assert parse_fault(text, lab, KINDS) == parsed


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("lab-leaf1", "--fault lab-leaf1: write DEVICE=KIND, DEVICE:PORT=KIND or either with @WAVE"),
        (
            "leaf1=no-return",
            "--fault leaf1=no-return: no switch 'leaf1'; the fabric has lab-leaf1, lab-leaf2, lab-spine1, lab-spine2",
        ),
        (
            "lab-leaf1=slo",
            "--fault lab-leaf1=slo: no fault 'slo' in a rehearsal; there are unreachable, link-down and no-return",
        ),
        ("lab-leaf1:Eth0=link-down", "--fault lab-leaf1:Eth0=link-down: lab-leaf1 has no port Eth0"),
        (
            "lab-leaf1:Ethernet0=no-return",
            "--fault lab-leaf1:Ethernet0=no-return: no-return is a fault of the whole switch; "
            "write lab-leaf1=no-return",
        ),
        (
            "lab-leaf1:Ethernet64=link-down",
            "--fault lab-leaf1:Ethernet64=link-down: lab-leaf1 has no cable at Ethernet64",
        ),
        ("lab-leaf1=no-return@0", "--fault lab-leaf1=no-return@0: waves are counted from 1"),
    ],
)
def test_a_fault_that_cannot_be_meant_is_refused(lab: Fabric, text: str, said: str) -> None:
    with pytest.raises(UsageError) as refused:
        parse_fault(text, lab, KINDS)
    assert str(refused.value) == said


def test_a_fault_without_a_wave_has_that_of_its_switch() -> None:
    faults = [InjectedFault(name, "slow", wave=wave) for name, wave in (("b", 0), ("c", 0), ("b", 1))]
    assert [one.wave for one in default_waves(faults, (("a",), ("b",)))] == [2, 1, 1]


def test_a_wave_has_what_was_left_while_its_switch_was_at_work(lab: Fabric) -> None:
    judge = judge_of(lab, plan_of(lab, "lab-spine1", "lab-leaf1"))
    moments = [
        RolloutMoment(1, Step.WAVE),
        RolloutMoment(2, Step.APPLYING, "lab-spine1"),
        RolloutMoment(4, Step.CONFIRMED, "lab-spine1"),
        RolloutMoment(5, Step.WAVE),
        RolloutMoment(6, Step.APPLYING, "lab-spine2"),
        RolloutMoment(8, Step.CONFIRMED, "lab-spine2"),
        RolloutMoment(99, Step.VERIFYING, "lab-spine2"),
    ]
    busy = [LinkMoment(3, "lab-spine1", 31.0), LinkMoment(7, "lab-spine2", 2.0)]
    assert judge.before == WHOLE
    assert judge.waves(moments, busy, workers=4) == (
        RehearsedWave(("lab-spine1",), 3, 31.0, CapacityLeft(50.0, 1, 0)),
        RehearsedWave(("lab-spine2",), 3, 2.0, WHOLE),
    )


def test_cables_that_cease_to_carry_cross_a_floor_that_the_plan_kept(lab: Fabric) -> None:
    judge = judge_of(lab, plan_of(lab, "lab-spine1", floor=1))
    down = tuple(cable_of(lab, link) for link in lab.fabric_links if link.upper == "lab-spine2")
    moments = [
        RolloutMoment(1, Step.WAVE),
        RolloutMoment(2, Step.APPLYING, "lab-spine1"),
        RolloutMoment(5, Step.OUTCOME, "lab-spine1"),
    ]
    links = [LinkMoment(3, "lab-spine2", 0, down=down[:1]), LinkMoment(4, "lab-spine2", 0, up=down[:1])]
    (wave,) = judge.waves(moments, links, workers=1)
    assert wave.left == CapacityLeft(0.0, 0, 0)
    assert wave.violations == ("two leaves keep no path between them, and the floor is 1",)


def test_what_was_broken_before_is_no_violation_of_the_rollout(lab: Fabric) -> None:
    plan = plan_of(lab, floor=2)
    alive = [cable_of(lab, link) for link in lab.fabric_links if link.upper == "lab-spine1"]
    judge = Judge(lab, plan, alive)
    assert judge.before == CapacityLeft(50.0, 1, 0)
    (wave,) = judge.waves([RolloutMoment(1, Step.WAVE)], [], workers=1)
    assert wave.violations == ()


def test_switches_that_carry_nothing_yet_are_left_out(lab: Fabric) -> None:
    judge = Judge(lab, plan_of(lab, "lab-leaf1", unprovisioned=True), [])
    assert judge.before.paths is None
    (wave,) = judge.waves([RolloutMoment(1, Step.WAVE), RolloutMoment(2, Step.APPLYING, "lab-leaf1")], [], workers=1)
    assert wave.violations == ()


def test_the_time_on_switches_is_that_of_the_workers_together(lab: Fabric) -> None:
    judge = judge_of(lab, plan_of(lab))
    busy = [LinkMoment(2 + place, name, 30.0) for place, name in enumerate(("lab-leaf1", "lab-leaf2", "lab-spine2"))]
    for workers, seconds in ((1, 90), (2, 60), (8, 30)):
        (wave,) = judge.waves([RolloutMoment(1, Step.WAVE)], busy, workers)
        assert wave.switch_s == seconds


def rehearsal(result: DeployResult | None, **more: object) -> Rehearsal:
    made = Rehearsal("lab", "sim", "0" * 64, "2026-11-23T12:00:00+00:00", "target sim", 96, 41.3, 128, result=result)
    return replace(made, **more)  # type: ignore[arg-type]


DONE = DeployResult(Result.DONE, {}, progress=Progress(12, (("a",),) * 12))


@pytest.mark.parametrize(
    ("made", "line", "ok"),
    [
        (rehearsal(DONE), "rehearsed on 96 simulated switches in 41 s: 12 waves, no gate violated", True),
        (
            rehearsal(DONE, waves=(RehearsedWave(("a",), 1, 1, WHOLE, ("too few paths",)),)),
            "rehearsed on 96 simulated switches in 41 s: 12 waves, 1 gate violated",
            False,
        ),
        (
            rehearsal(
                DeployResult(
                    Result.STOPPED, {"a": DeviceOutcome(Outcome.OLD, "no")}, "a: no",
                    progress=Progress(3, (("a",),) * 12, failed=("a",)),
                ),
                faults=(InjectedFault("a", "slow"),),
            ),
            "rehearsed on 96 simulated switches in 41 s with 1 fault: stopped after 3 of 12 waves, no gate violated",
            False,
        ),
        (
            rehearsal(None, refused=(error("RW507", "reloads", fix="say --provision"),)),
            "rehearsed on 96 simulated switches in 41 s: the deployment would be refused (RW507)",
            False,
        ),
        (
            rehearsal(DeployResult(Result.UNCHANGED, {})),
            "rehearsed on 96 simulated switches in 41 s: no changes, no gate violated",
            True,
        ),
    ],
)  # fmt: skip
def test_the_line_says_how_the_deployment_would_end(made: Rehearsal, line: str, ok: bool) -> None:
    assert (made.line, made.ok) == (line, ok)


def test_a_twin_that_plans_otherwise_is_found(lab: Fabric) -> None:
    plan = plan_of(lab)
    moved = {**plan.devices, "lab-leaf2": having(plan.devices["lab-leaf2"], running_sha256="another")}
    assert tuple(unlike(plan, plan)) == ()
    assert tuple(unlike(plan, replace(plan, devices=moved))) == ("lab-leaf2",)


def test_a_rule_that_the_rollout_mends_is_no_violation_of_a_wave(lab: Fabric) -> None:
    # A spine is out of service before the rollout, which returns it.
    plan = plan_of(lab, "lab-spine1", floor=2)
    spine = having(plan.devices["lab-spine1"], out_of_service=True)
    plan = replace(plan, devices={**plan.devices, "lab-spine1": spine})
    judge = judge_of(lab, plan)
    moments = [
        RolloutMoment(1, Step.WAVE),
        RolloutMoment(2, Step.APPLYING, "lab-spine1"),
        RolloutMoment(4, Step.CONFIRMED, "lab-spine1"),
        RolloutMoment(5, Step.WAVE),
        RolloutMoment(8, Step.CONFIRMED, "lab-spine2"),
    ]
    assert judge.before == CapacityLeft(50.0, 1, 0)
    assert [wave.violations for wave in judge.waves(moments, [], workers=4)] == [(), ()]
