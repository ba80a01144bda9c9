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
from nornir_railweave.events import Announcer, Event, Events, Step
from nornir_railweave.rollout.control import FileControl, control_file
from nornir_railweave.rollout.journal import Journal
from nornir_railweave.rollout.looking_away import looking_away
from nornir_railweave.rollout.rolling_out import OperatorControl, RolloutContext, outcomes_of, roll_out
from nornir_railweave.rollout.rollouts import rollouts
from nornir_railweave.target.connect import run_on
from nornir_railweave.target.policy import Policy
from nornir_railweave.tasks.read_rollback import read_rollback
from nornir_railweave.tasks.save_config import Saved, save_config
from nornir_railweave.tasks.verifying import Judgment, verify_device
from railweave.errors import RefusedError
from railweave.fabric.model import Fabric
from railweave.plan.build import Reading, build_plan, in_waves, wave_gate
from railweave.plan.expectation import expect
from railweave.plan.lineage import generation_document
from railweave.plan.manual_drain import WHOLE
from railweave.plan.model import DeviceState, Plan
from railweave.plan.outcome import (
    ConfigState,
    DeployResult,
    Progress,
    Result,
    VerifyResult,
)
from railweave.plan.resumption import left_of
from railweave.plan.rollback_checks import DeviceReading, config_state, rollback_refusals
from railweave.plan.rollout import Rollout, RolloutKind
from railweave.plan.verification import Observation
from railweave.sonic.delta.change import Delta
from railweave.sonic.delta.delta import Sharing
from railweave.sonic.delta.diff import DeviceDiff
from railweave.sonic.delta.snapshot import Snapshot

_NOTHING = DeviceDiff(Delta(), {}, (), False)


@dataclass(frozen=True, slots=True)
class RollbackPlan:
    """What rolling back ``rollout`` would do: an ordinary plan, and the work on each device that it changes.

    ``done`` are devices that run what they ran before the rollout; whether they boot that is another question.
    """

    rollout: Rollout
    plan: Plan
    jobs: Mapping[str, RollbackJob]
    done: Mapping[str, RollbackJob] = field(default_factory=dict)


def newest_change(folder: Path, fabric: str, target: str) -> Rollout | None:
    """Return the newest rollout of this fabric and target that left something on a device and was not rolled back."""
    undone: set[str] = set()
    for rollout in rollouts(folder, fabric, target):
        if rollout.of and rollout.finished:
            undone.add(rollout.of)
        elif rollout.of and rollout.changed:
            # A rollback that was cut off has changed devices towards what this command wants: it goes on.
            continue
        elif rollout.changed and rollout.name not in undone:
            return rollout
    return None


def newer_than(folder: Path, rollout: Rollout) -> list[Rollout]:
    """Return the rollouts of the same fabric and target that came after ``rollout``, newest first."""
    newer: list[Rollout] = []
    for one in rollouts(folder, rollout.fabric, rollout.target):
        if one.name == rollout.name:
            break
        newer.append(one)
    return newer


def plan_rollback(
    nr: Nornir, fabric: Fabric, intended: IntendedConfig, rollout: Rollout, policy: Policy, announce: Events
) -> RollbackPlan:
    """Return what rolling ``rollout`` back would change, after reading every device that it may have changed.

    Raises RefusedError with every device that cannot go back: changed since, or its rollback document is gone.
    """
    names = [name for name, record in rollout.devices.items() if record.step and name in fabric.switch_of]
    readings = _read(nr, names, rollout, intended, announce)
    if refused := rollback_refusals(rollout, readings, newer_than(policy.journal_dir, rollout)):
        raise RefusedError(refused)
    jobs: dict[str, RollbackJob] = {}
    done: dict[str, RollbackJob] = {}
    for name, reading in readings.items():
        if reading.running is None or reading.snapshot is None:
            continue
        state = config_state(rollout.devices[name], reading)
        if state is ConfigState.AFTER:
            jobs[name] = _job(fabric, rollout, reading, reading.snapshot)
        elif state is ConfigState.BEFORE:
            held = replace(reading.snapshot, frr=reading.running.frr_document)
            done[name] = _job(fabric, rollout, reading, held)
    plan = _plan(fabric, rollout, readings, jobs, policy)
    drained = {name: replace(job, drain=plan.devices[name].drain) for name, job in jobs.items()}
    return RollbackPlan(rollout, plan, drained, done)


def _read(
    nr: Nornir, names: list[str], rollout: Rollout, intended: IntendedConfig, announce: Events
) -> dict[str, DeviceReading]:
    if names:
        announce(Event(Step.READING, text=f"reading {len(names)} devices", details={"devices": len(names)}))
    results = run_on(nr, names, read_rollback, rollout=rollout, intended=intended, announce=announce)
    return {name: one or DeviceReading(error="not attempted") for name, one in results.items()}


def _job(fabric: Fabric, rollout: Rollout, reading: DeviceReading, earlier: Snapshot) -> RollbackJob:
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
    found: Mapping[str, DeviceReading],
    jobs: Mapping[str, RollbackJob],
    policy: Policy,
) -> Plan:
    """Return the plan of the devices of the rollout; the others stand in it for nothing and are left out."""
    readings = {switch.name: Reading(_NOTHING) for switch in fabric.switches}
    share = Sharing()
    for name, one in found.items():
        difference = _NOTHING
        if name in jobs and one.running is not None:
            difference = jobs[name].earlier.difference(one.running, jobs[name].reason)
            difference = replace(difference, delta=share(difference.delta))
        readings[name] = (
            Reading(error=one.error, out_of_service=True)
            if one.running is None
            else Reading(difference, one.sha256, one.pending)
        )
    plan = build_plan(
        fabric,
        readings,
        target=rollout.target,
        intent_sha256=rollout.intent_sha256,
        policy=policy.rollout.policy,
    )
    devices = {name: device for name, device in plan.devices.items() if name in found}
    # The order that brought the devices here, backwards. What was hitless on the way here may be disruptive on the way
    # back (a port that was added is taken away); then its waves are split.
    waves = left_of(reversed(rollout.waves or plan.waves), plan.names(DeviceState.CHANGED))
    drained = [name for wave in waves for name in wave if devices[name].drained == WHOLE]
    return _drained_first(fabric, replace(plan, devices=devices), waves, drained)


def _drained_first(fabric: Fabric, plan: Plan, waves: Sequence[Sequence[str]], drained: Sequence[str]) -> Plan:
    """Return the plan in its waves, with the drained devices first: their rollback takes no capacity away.

    Whether the others may follow is judged before their wave, and does not refuse the rollback of the drained ones.
    """
    rest = (tuple(name for name in wave if name not in drained) for wave in waves)
    ordered = in_waves(fabric, plan, [*((name,) for name in drained), *filter(None, rest)])
    if not drained:
        return ordered
    own = tuple(one for one in ordered.violations if not set(drained).isdisjoint(one.devices))
    return replace(ordered, violations=own)


def roll_back(
    nr: Nornir, fabric: Fabric, planned: RollbackPlan, *, policy: Policy, events: Events, journal: Journal
) -> DeployResult:
    """Carry out a rollback and look afterwards whether what was healthy before the rollout is so again.

    The consent that reloads need has been asked for before (``refusal.blockers``).
    """
    plan = planned.plan
    with journal:
        announce = Announcer([journal, events])
        announce(journal.opening(plan))
        journal.require_written()
        result = journal.judged(_carried_out(nr, fabric, planned, policy, journal, announce))
        if result.result is Result.STOPPED:
            announce(Event(Step.STOPPED, text=result.stopped_by, details={"result": result.result.value, "ok": False}))
        else:
            announce(Event(Step.ENDED, details={"result": result.result.value, "ok": result.ok}))
        result = journal.judged(result)
        return replace(
            result,
            journal=str(journal.path),
            target=plan.target,
            intent=journal.metadata.intent,
            of=planned.rollout.name,
        )


def _carried_out(
    nr: Nornir, fabric: Fabric, planned: RollbackPlan, policy: Policy, journal: Journal, announce: Events
) -> DeployResult:
    plan = planned.plan
    unreachable = plan.names(DeviceState.UNREACHABLE)
    if unreachable and not policy.skip_unreachable:
        why = f"{', '.join(unreachable)} could not be reached; nothing was changed"
        return DeployResult(Result.STOPPED, outcomes_of(plan, {}), why)
    saved = _saved(nr, planned, announce)
    context = RolloutContext(
        wave_gate(fabric, plan),
        replace(policy, message=f"{policy.message} {journal.name} {RolloutKind.ROLLBACK.value}"),
        announce=announce,
        look_away=looking_away(nr, fabric, unreachable),
        unread=frozenset(unreachable),
        has_ended=journal.has_ended,
        operator=OperatorControl(FileControl(control_file(journal.path)), journal.blocker),
    )
    ended = roll_out(nr, planned.jobs, plan.waves, context)
    stopped = bool(ended.stopped_by)
    done = Result.DONE if plan.deltas or saved else Result.UNCHANGED
    return DeployResult(
        Result.STOPPED if stopped else done,
        outcomes_of(plan, ended.outcomes),
        ended.stopped_by,
        verification=None if stopped else _verified(nr, planned, policy, announce),
        interrupted=ended.interrupted,
        progress=Progress(
            waves_done=ended.waves_done,
            waves=plan.waves,
            undone=ended.undone,
            failed=ended.failed,
            drained=ended.drained,
            saved=saved,
        ),
    )


def _saved(nr: Nornir, planned: RollbackPlan, announce: Events) -> tuple[str, ...]:
    """Save what runs on devices that are back already and would boot something else; return these.

    A rollback that was cut off between a confirmation and its saving leaves such a device behind.
    """
    results = run_on(nr, planned.done, save_config, jobs=planned.done, announce=announce)
    return tuple(name for name, saved in results.items() if saved is Saved.NOW)


def _verified(nr: Nornir, planned: RollbackPlan, policy: Policy, announce: Events) -> VerifyResult | None:
    """Look at every device that went back once more, now that its neighbors have gone back as well."""
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
    return VerifyResult(tuple(chain.from_iterable(one.checks for one in results.values())))
