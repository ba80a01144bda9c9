"""A rehearsal: the plan for a target, carried out on simulated switches that hold what the target's switches hold."""

import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime
from pathlib import Path

from nornir_railweave.events import Event
from nornir_railweave.rollout import deploying
from nornir_railweave.rollout.control import Unasked
from nornir_railweave.rollout.journal import RolloutMetadata
from nornir_railweave.target.model import Target
from nornir_railweave.target.target_file import load_target
from nornir_railweave.tasks.recording import RecordedSwitch, record
from railweave.api.deployment.rollout import PLAN_ALONE, DeployOptions, agreed_for
from railweave.api.design.intent import Designed, load_configurable
from railweave.api.plans import read_plan
from railweave.api.project import Project, find_target
from railweave.api.simulator.rehearsal_files import store
from railweave.api.simulator.states import states_of
from railweave.api.simulator.twin import FAULTS, Twin, dark_ports, twin
from railweave.api.targets.fabric import LiveFabric, live_fabric
from railweave.api.targets.phases import live_phases
from railweave.diagnostics import Diagnostic, error
from railweave.errors import RailweaveError, RefusedError, UsageError
from railweave.plan.document import plan_digest
from railweave.plan.expectation import Expecting, expect
from railweave.plan.model import DeviceState, Plan
from railweave.plan.offline import plan_offline
from railweave.plan.outcome import DeployResult
from railweave.plan.rehearsal import InjectedFault, Rehearsal, default_waves, parse_fault, unlike
from railweave.plan.rehearsed_waves import Judge, LinkMoment, RolloutMoment
from railweave.plan.resumption import check_binding
from railweave.plan.rollout_step import Step
from railweave.wording import compact, counted, first_few
from sonic_sim.faults import FaultKind

_UNREACHABLE, _LINK_DOWN = FaultKind.UNREACHABLE, FaultKind.LINK_DOWN


def rehearse(
    project: Project,
    target: str,
    options: DeployOptions = PLAN_ALONE,
    *,
    reviewed: Path | None = None,
    running: str = "",
    base: str = "",
    phase: int | None = None,
    faults: Sequence[str] = (),
) -> Rehearsal:
    """Carry out the plan for ``target`` on simulated switches that hold what its switches hold; return what was met.

    No device of the target is changed. ``options`` are what the deployment would be agreed to, ``reviewed`` is the file
    of a plan, ``faults`` are injected (``DEVICE[:PORT]=KIND[@WAVE]``). With ``running`` no device is read either: it
    tells what runs, a revision or file of the intent or a folder of recorded documents (`running_states`). ``base`` and
    ``phase`` are of a change in phases, as for `plan`: that phase is rehearsed, by default the next one. The result is
    stored in the project under the plan's digest, and beside ``reviewed``. Raises RefusedError where a device
    changed since ``reviewed`` or the simulated switches do not run what the switches run, UsageError for an unknown
    fault or target, KeyboardInterrupt where a person ended it.
    """
    if running and reviewed:
        raise UsageError("a plan's file is of devices that were read: omit it, or --running")
    if running and (base or phase is not None):
        raise UsageError("the phase of a change depends on what switches run: omit --from and --phase, or --running")
    began_s = time.monotonic()
    if running:
        task = _offline(project, target, options, running)
    else:
        live, options = _live(project, target, options, base, phase)
        task = _read(live, options, reviewed)
    named = tuple(parse_fault(one, task.designed.fabric, FAULTS) for one in faults)
    with twin(project, task.designed, task.target, task.recorded, task.expecting) as made:
        dark = dark_ports(made.spec, task.recorded, task.plan.unprovisioned if task.plan else ())
        plan = _settled(made, task, options, dark)
        injected = default_waves(named, plan.waves)
        for one in injected:
            if one.wave > max(1, len(plan.waves)):
                raise UsageError(f"--fault {one}: the plan has {counted(len(plan.waves), 'wave')}")
        judge = Judge(task.designed.fabric, plan, made.watch())
        run = _Run(made, plan, options, injected)
        refused = run.deploy(str(project.intent))
        waves = judge.waves(run.moments, run.link_moments(), task.target.rollout.workers)
        injected = run.told_faults()
    if run.result is not None and run.result.interrupted:
        raise KeyboardInterrupt
    rehearsal = Rehearsal(
        fabric=plan.fabric,
        target=plan.target,
        plan_digest=task.digest or plan_digest(plan),
        at=datetime.now(UTC).isoformat(timespec="seconds"),
        source=task.source,
        switches=len(plan.devices),
        elapsed_s=round(time.monotonic() - began_s, 1),
        changes=plan.summary.total,
        faults=injected,
        refused=refused,
        result=run.result,
        before=judge.before,
        waves=waves,
        notes=_notes(task, plan, dark),
    )
    store(rehearsal, *([reviewed] if reviewed else []))
    return rehearsal


@dataclass(frozen=True, slots=True)
class _Task:
    """What is rehearsed: the fabric, its target, and what the switches hold, with where that is from.

    ``plan`` is that of the target, None where no device was read; ``digest`` is then of the difference, if of one.
    ``expecting`` tells what is verified, less than all while cables are yet to be moved.
    """

    designed: Designed
    target: Target
    recorded: Mapping[str, RecordedSwitch]
    source: str
    plan: Plan | None = None
    expecting: Expecting = expect
    digest: str = ""


def _live(
    project: Project, target: str, options: DeployOptions, base: str, number: int | None
) -> tuple[LiveFabric, DeployOptions]:
    """Return the fabric on the target, of a phase where ``base`` is given, and what is agreed to for it."""
    if not base and number is None:
        return live_fabric(project, target), options
    phases = live_phases(project, target, base)
    if number is None:
        number = min(phases.done() + 1, len(phases.change.phases))
    phase = phases.change.phase(number)
    if phase.is_of_nodes or phase.is_drain:
        raise UsageError(
            f"phase {number} changes no configuration of a switch: {phase.title}; name another with --phase"
        )
    return phases.live_to_deploy(number), agreed_for(options, phase)


def _read(live: LiveFabric, options: DeployOptions, reviewed: Path | None) -> _Task:
    """Make the plan for the target as a deployment makes it, and read what its switches hold."""
    live.require_secrets()
    bound = read_plan(reviewed, live.target.allowed_signers)[0] if reviewed else None
    with live.connected(), live.shown:
        plan = live.plan(remove_conflicting=options.remove_conflicting)
        if bound is not None and (moved := check_binding(bound, plan, str(reviewed))):
            raise RefusedError(moved)
        readable = [name for name, device in plan.devices.items() if device.running_sha256]
        recorded = record(live.nornir, readable, events=live.shown)
    if lost := [name for name, one in recorded.items() if one.error]:
        why = "; ".join(f"{name}: {recorded[name].error}" for name in lost[:3])
        raise RailweaveError(f"{first_few(lost)} answered for the plan and not for the rehearsal: {why}")
    of_phase = f", phase {live.phase} from {live.base}" if live.phase else ""
    return _Task(live.designed, live.target, recorded, f"target {live.target.name}{of_phase}", plan, live.expecting)


def _offline(project: Project, target: str, options: DeployOptions, running: str) -> _Task:
    """Take from ``running`` what the switches hold; of the target only its file is read."""
    designed = load_configurable(project.intent)
    states = states_of(project, designed, running)
    digest = ""
    if states.base is not None:
        compared = plan_offline(
            states.base.fabric,
            designed.fabric,
            designed.templates,
            before=states.base.templates,
            renumber=options.renumber,
        )
        digest = plan_digest(replace(compared, intent_sha256=designed.intent.sha256))
    return _Task(designed, load_target(find_target(target)), states.recorded, states.source, digest=digest)


def _settled(made: Twin, task: _Task, options: DeployOptions, dark: Sequence[tuple[str, str]]) -> Plan:
    """Make the twin as it was read, with the links of the ports ``dark`` down; return the plan.

    Raises RefusedError where the twin plans something else than the target.
    """
    plan = task.plan
    for name in plan.names(DeviceState.UNREACHABLE) if plan else ():
        if plan and name not in task.recorded:
            made.fault(name, _UNREACHABLE)
            if plan.devices[name].out_of_service:
                made.fault(name, _LINK_DOWN)
    for name, port in dark:
        made.fault(name, _LINK_DOWN, port=port)
    with made.live.progress():
        planned = made.live.plan(remove_conflicting=options.remove_conflicting)
    if plan is None:
        return planned
    if other := tuple(unlike(plan, planned)):
        message = f"the simulated twin of {first_few(other)} does not run what the switch runs"
        fix = "rehearse again if the target was changed meanwhile; otherwise report it, with the plan as JSON"
        raise RefusedError([error("RW540", message, devices=other, fix=fix)])
    return plan


_NEVER_CAME: Mapping[str, str] = {
    FaultKind.NO_RETURN: "the switch was not reloaded after that",
    FaultKind.REFUSE_COMMIT: "nothing was committed on the switch after that",
}
"""Why a fault that waits for something to happen did not show, where that is not any command."""


@dataclass(slots=True)
class _Run:
    """The plan on its way through the twin: what the rollout did when, and how it ended (None where refused)."""

    twin: Twin
    plan: Plan
    options: DeployOptions
    faults: Sequence[InjectedFault]
    moments: list[RolloutMoment] = field(default_factory=list)
    result: DeployResult | None = None
    _injected: set[InjectedFault] = field(default_factory=set)
    _not_injected: str = ""

    def deploy(self, intent: str) -> tuple[Diagnostic, ...]:
        """Deploy the plan as it would be deployed to the target; return why that is refused."""
        live = self.twin.live
        policy = self.options.policy_on(self.twin.of)
        rollout = replace(live.target.rollout, max_failures=policy.rollout.max_failures)
        try:
            with live.progress():
                self.result = deploying.deploy(
                    live.nornir,
                    live.designed.fabric,
                    self.plan,
                    live.intended,
                    policy=replace(
                        policy,
                        rollout=rollout,
                        reconnect_s=live.target.timeouts.reconnect_s,
                        journal_dir=self.twin.journals,
                    ),
                    events=self._take,
                    metadata=RolloutMetadata(intent=intent, remove_conflicting=self.options.remove_conflicting),
                    expecting=live.expecting,
                    control=Unasked(),
                    history=live.history,
                )
        except RefusedError as refused:
            return tuple(refused.diagnostics)
        if self._not_injected:
            raise RailweaveError(self._not_injected)
        return ()

    def _take(self, event: Event) -> None:
        wave = int(event.details["wave"]) if event.step is Step.WAVE else 0
        self.moments.append(RolloutMoment(time.monotonic(), event.step, event.device))
        for one in self.faults:
            if wave and one.wave == wave:
                try:
                    self.twin.fault(one.device, one.kind, **({"port": one.port} if one.port else {}))
                except RailweaveError as refused:
                    self._not_injected = f"--fault {one}: {refused}"
                self._injected.add(one)
        self.twin.live.shown(event)

    def told_faults(self) -> tuple[InjectedFault, ...]:
        """Return the faults, those that had no effect with the reason."""
        return tuple(one._replace(missed=self._missed(one)) for one in self.faults)

    def _missed(self, one: InjectedFault) -> str:
        if one not in self._injected:
            return f"wave {one.wave} was not started" if self.plan.waves else "the plan has no wave"
        if one.kind in self.twin.unstruck(one.device):
            return _NEVER_CAME.get(one.kind, f"{one.device} ran no command after that")
        return ""

    def link_moments(self) -> tuple[LinkMoment, ...]:
        """Return what the twin's record says of its cables."""
        return tuple(
            LinkMoment(
                float(one["at"]),
                str(one["device"]),
                float(one["busy_s"]),
                tuple((a, b) for a, b in one["up"]),
                tuple((a, b) for a, b in one["down"]),
            )
            for one in self.twin.watched()
        )


def _notes(task: _Task, plan: Plan, dark: Sequence[tuple[str, str]]) -> tuple[str, ...]:
    """Return what the simulated switches lack of the target's."""
    unread = [name for name in plan.names(DeviceState.UNREACHABLE) if name not in task.recorded]
    unknown = [name for name, one in task.recorded.items() if one.startup is None] if task.plan else []
    soak_s = task.target.rollout.soak_s
    return (
        *([f"{compact(unread)} could not be read, and does not answer in the rehearsal either"] if unread else ()),
        *([f"{compact(unknown)}: what it boots could not be read, and is taken to be what it runs"] if unknown else ()),
        *([f"down on the target, and here: {first_few(':'.join(one) for one in dark)}"] if dark else ()),
        *([f"the soak of {soak_s:g} s after each wave was left out"] if soak_s else ()),
        *(["no switch was read: what others changed there is not part of this"] if task.plan is None else ()),
    )
