"""Rolling back a rollout: an ordinary rollout of what each switch kept of its earlier configuration.

Each switch keeps the rollback documents of its last commits, so secrets never leave it and no earlier intent is
needed. Waves go in reverse: every device meets its neighbors as they were when it changed. What was healthy before
the rollout has to be healthy again, and the configuration read back has to be the one that the journal has the digest
of.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from itertools import chain
from pathlib import Path

from nornir.core import Nornir

from nornir_railweave.device.jobs import RollbackJob, held_before
from nornir_railweave.device.reading import IntendedConfig
from nornir_railweave.events import Event, Events, Step
from nornir_railweave.rollout.journal import Journal
from nornir_railweave.rollout.procedure import Procedure, begin, end
from nornir_railweave.rollout.rolling_out import outcomes_of
from nornir_railweave.rollout.rollouts import rollouts
from nornir_railweave.target.connect import run_on
from nornir_railweave.target.policy import Policy
from nornir_railweave.tasks.read_rollback import read_rollback
from nornir_railweave.tasks.verifying import Judgment, verify_device
from railweave.errors import RefusedError
from railweave.fabric.model import Fabric
from railweave.plan.build import build_plan, in_waves
from railweave.plan.expectation import expect
from railweave.plan.lineage import generation_document
from railweave.plan.manual_drain import WHOLE
from railweave.plan.model import DeviceState, Plan, Reading
from railweave.plan.observation import Observation
from railweave.plan.outcome import ConfigState, DeployResult, Result, VerifyResult
from railweave.plan.resumption import left_of
from railweave.plan.rollback_checks import DeviceReading, config_state, rollback_refusals
from railweave.plan.rollout import Rollout, RolloutKind
from railweave.sonic.delta.delta import Sharing
from railweave.sonic.delta.diff import NO_DIFFERENCE
from railweave.sonic.delta.snapshot import Snapshot


@dataclass(frozen=True, slots=True)
class RollbackPlan:
    """What rolling back ``rollout`` would do: an ordinary plan, and the job of each device that it changes.

    ``done`` are the jobs of devices that run their earlier configuration already, but may boot another one.
    """

    rollout: Rollout
    plan: Plan
    jobs: Mapping[str, RollbackJob]
    done: Mapping[str, RollbackJob] = field(default_factory=dict)


def newest_change(folder: Path, fabric: str, target: str) -> Rollout | None:
    """Return the newest rollout of this fabric and target that changed devices and was not rolled back, if any."""
    rolled_back: set[str] = set()
    for rollout in rollouts(folder, fabric, target):
        is_rollback = bool(rollout.metadata.of)
        if is_rollback and rollout.finished:
            rolled_back.add(rollout.metadata.of)
        elif is_rollback and rollout.changed:
            # A rollback that was cut off is not rolled back itself: the rollout that it was of is.
            continue
        elif rollout.changed and rollout.name not in rolled_back:
            return rollout
    return None


def newer_than(folder: Path, rollout: Rollout) -> list[Rollout]:
    """Return the rollouts of the same fabric and target that came after ``rollout``, newest first."""
    newer: list[Rollout] = []
    for candidate in rollouts(folder, rollout.fabric, rollout.target):
        if candidate.name == rollout.name:
            break
        newer.append(candidate)
    return newer


def plan_rollback(
    nr: Nornir, fabric: Fabric, intended: IntendedConfig, rollout: Rollout, policy: Policy, announce: Events
) -> RollbackPlan:
    """Read every device that ``rollout`` may have changed, and return what rolling it back would change.

    Raises RefusedError if devices cannot be rolled back, because they were changed since, or their documents are gone.
    """
    names = [name for name, record in rollout.devices.items() if record.step and name in fabric.switch_of]
    readings = _read(nr, names, rollout, intended, announce)
    refused = rollback_refusals(rollout, readings, newer_than(policy.journal_dir, rollout))
    if refused:
        raise RefusedError(refused)
    jobs, jobs_done = _jobs(fabric, rollout, readings)
    plan = _plan(fabric, rollout, readings, jobs, policy)
    # The plan decides which peers each device is drained from.
    jobs = {name: replace(job, drain=plan.devices[name].drain) for name, job in jobs.items()}
    return RollbackPlan(rollout, plan, jobs, jobs_done)


def _jobs(
    fabric: Fabric, rollout: Rollout, readings: Mapping[str, DeviceReading]
) -> tuple[dict[str, RollbackJob], dict[str, RollbackJob]]:
    """Return the jobs of the devices to roll back, and of those that run their earlier configuration already."""
    jobs: dict[str, RollbackJob] = {}
    jobs_done: dict[str, RollbackJob] = {}
    for name, reading in readings.items():
        if reading.running is None or reading.snapshot is None:
            continue
        state = config_state(rollout.devices[name], reading)
        if state is ConfigState.AFTER:
            jobs[name] = _job(fabric, rollout, reading, reading.snapshot)
        elif state is ConfigState.BEFORE:
            # The document may be of another commit, so FRR's lines are taken from the device.
            current = replace(reading.snapshot, frr=reading.running.frr_document)
            jobs_done[name] = _job(fabric, rollout, reading, current)
    return jobs, jobs_done


def _read(
    nr: Nornir, names: list[str], rollout: Rollout, intended: IntendedConfig, announce: Events
) -> dict[str, DeviceReading]:
    if names:
        announce(Event(Step.READING, text=f"reading {len(names)} devices", details={"devices": len(names)}))
    results = run_on(nr, names, read_rollback, rollout=rollout, intended=intended, announce=announce)
    return {name: reading or DeviceReading(error="not attempted") for name, reading in results.items()}


def _job(fabric: Fabric, rollout: Rollout, reading: DeviceReading, earlier: Snapshot) -> RollbackJob:
    """Return the job that brings a device back to ``earlier``, its configuration before the rollout."""
    record = rollout.devices[earlier.owned.device]
    return RollbackJob(
        expectation=expect(fabric, fabric.switch_of[earlier.owned.device]),
        earlier=earlier,
        before_sha256=reading.sha256,
        held=held_before(record) if record.before_sha256 else None,
        reason=f"rollback of {rollout.name}",
        generation={"was": reading.number, "now": generation_document(reading.earlier)},
    )


def _plan(
    fabric: Fabric,
    rollout: Rollout,
    readings: Mapping[str, DeviceReading],
    jobs: Mapping[str, RollbackJob],
    policy: Policy,
) -> Plan:
    """Return the plan that changes the devices of ``jobs`` back, in the reverse order of the rollout's waves."""
    # The planner needs a reading of every switch; those outside of the rollout are left out of the plan below.
    planner_readings = {switch.name: Reading(NO_DIFFERENCE) for switch in fabric.switches}
    share = Sharing()
    for name, reading in readings.items():
        planner_readings[name] = _planned_reading(reading, jobs.get(name), share)
    plan = build_plan(
        fabric,
        planner_readings,
        target=rollout.target,
        intent_sha256=rollout.intent_sha256,
        policy=policy.rollout.policy,
    )
    devices = {name: device for name, device in plan.devices.items() if name in readings}
    # A change that was hitless may be disruptive to roll back (a port that was added is removed); then its waves are
    # split.
    waves = left_of(reversed(rollout.waves or plan.waves), plan.names(DeviceState.CHANGED))
    drained = [name for wave in waves for name in wave if devices[name].difference.drained == WHOLE]
    return _drained_first(fabric, replace(plan, devices=devices), waves, drained)


def _planned_reading(reading: DeviceReading, job: RollbackJob | None, share: Sharing) -> Reading:
    """Return a device's reading for the planner, with its difference from the earlier configuration if it has a job.

    A device that could not be read counts as out of service.
    """
    if reading.running is None:
        return Reading(error=reading.error, out_of_service=True)
    difference = NO_DIFFERENCE
    if job is not None:
        difference = job.earlier.difference(reading.running, job.reason)
        difference = replace(difference, delta=share(difference.delta))
    return Reading(difference, reading.sha256, reading.pending)


def _drained_first(fabric: Fabric, plan: Plan, waves: Sequence[Sequence[str]], drained: Sequence[str]) -> Plan:
    """Return the plan with the ``drained`` devices first, each in a wave of its own: they carry no traffic.

    If there are such devices, violations of the rollout policy by the other ones are left out. They must not refuse the
    rollback of the drained ones, and are judged again before each wave.
    """
    drained_waves = [(name,) for name in drained]
    in_service = [name for wave in waves for name in wave if name not in drained]
    ordered = in_waves(fabric, plan, [*drained_waves, *left_of(waves, in_service)])
    if not drained:
        return ordered
    violations = [violation for violation in ordered.violations if not set(drained).isdisjoint(violation.devices)]
    return replace(ordered, violations=tuple(violations))


def roll_back(
    nr: Nornir, fabric: Fabric, planned: RollbackPlan, *, policy: Policy, events: Events, journal: Journal
) -> DeployResult:
    """Carry out a rollback, then verify that the checks that passed before the rollout pass again.

    The consent that reloads need was checked before (``refusal.blockers``).
    """
    plan = planned.plan
    procedure = Procedure(
        nr,
        fabric,
        plan,
        policy=replace(policy, message=f"{policy.message} {journal.name} {RolloutKind.ROLLBACK.value}"),
        journal=journal,
    )
    with journal:
        announce = begin(journal, journal.opening(plan), events)
        result = end(journal, plan, announce, _rolled_back(procedure, planned, announce))
    return replace(result, of=planned.rollout.name)


def _rolled_back(procedure: Procedure, planned: RollbackPlan, announce: Events) -> DeployResult:
    """Carry out a rollback, and verify its devices unless it stopped."""
    reason = procedure.unreachable_reason
    if reason:
        return DeployResult(Result.STOPPED, outcomes_of(planned.plan, {}), reason)
    result = procedure.carry_out(planned.jobs, planned.done, announce)
    if result.stopped_by:
        return result
    return replace(result, verification=_verified(procedure.nr, planned, procedure.policy, announce))


def _verified(nr: Nornir, planned: RollbackPlan, policy: Policy, announce: Events) -> VerifyResult | None:
    """Verify every device again, now that its neighbors are rolled back too.

    Return None if nothing can be judged, because it is not known which checks passed before the rollout.
    """
    if not any(job.held for job in planned.jobs.values()):
        return None

    def judge(name: str, seen: Observation) -> Judgment:
        return Judgment(planned.jobs[name].gate(seen, (), frozenset()))

    rollout = policy.rollout
    results = run_on(
        nr,
        planned.jobs,
        verify_device,
        judge=judge,
        timeout_s=rollout.verify_timeout_s,
        interval_s=rollout.verify_interval_s,
        announce=announce,
        clock=policy.clock,
    )
    return VerifyResult(tuple(chain.from_iterable(judgment.checks for judgment in results.values())))
