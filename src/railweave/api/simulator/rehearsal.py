"""A rehearsal: the plan for a target, deployed on simulated switches that hold what the target's switches hold."""

import time
from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from nornir_railweave.events import Event
from nornir_railweave.rollout import deploying
from nornir_railweave.rollout.control import Unasked
from nornir_railweave.target.model import Target
from nornir_railweave.target.policy import policy_for
from nornir_railweave.target.target_file import load_target
from nornir_railweave.tasks.recording import RecordedSwitch, record
from railweave.api.deployment.rollout import agreed_for
from railweave.api.design.intent import Designed, load_configurable
from railweave.api.plan_files import read_plan
from railweave.api.project import Project, find_target
from railweave.api.simulator.rehearsal_files import store
from railweave.api.simulator.states import states_of
from railweave.api.simulator.twin import FAULTS, Twin, dark_ports, twin
from railweave.api.targets.fabric import LiveFabric, live_fabric
from railweave.api.targets.phases import live_phases
from railweave.diagnostics import Diagnostic, error
from railweave.errors import RailweaveError, RefusedError, UsageError
from railweave.plan.consent import PLAN_ALONE, DeployOptions
from railweave.plan.document import plan_digest
from railweave.plan.expectation import WHOLE_FABRIC, VerificationScope
from railweave.plan.model import DeviceState, Plan
from railweave.plan.offline import plan_offline
from railweave.plan.outcome import DeployResult
from railweave.plan.rehearsal import InjectedFault, Rehearsal, default_waves, parse_fault, unlike
from railweave.plan.rehearsed_waves import Judge, LinkMoment, RolloutMoment
from railweave.plan.resumption import check_binding
from railweave.plan.rollout import RolloutMetadata
from railweave.plan.rollout_step import Step
from railweave.wording import compact, counted, first_few
from sonic_sim.faults import FaultKind

_UNREACHABLE = FaultKind.UNREACHABLE
_LINK_DOWN = FaultKind.LINK_DOWN


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
    """Deploy the plan for ``target`` on simulated switches with the configuration of its switches; return the result.

    No device of the target is changed. ``options`` are the operator's consents, as for the deployment itself.
    ``reviewed`` is the file of a plan. ``running`` names what the switches run, so that none is read: a revision or
    file of the intent, or a folder of recorded documents (`states_of`). ``base`` and ``phase`` name the phase of a
    change to rehearse, as for `plan`, by default the next one. ``faults`` are injected
    (``DEVICE[:PORT]=KIND[@WAVE]``).

    The result is stored in the project under the plan's digest, and beside ``reviewed``. Raises RefusedError if a
    device changed since ``reviewed``, or if a simulated switch does not run what its switch runs; UsageError for an
    unknown fault or target; KeyboardInterrupt if a person ended the rehearsal.
    """
    began_s = time.monotonic()
    if running and reviewed:
        raise UsageError("a plan's file is of devices that were read: omit it, or --running")
    if running and (base or phase is not None):
        raise UsageError("the phase of a change depends on what switches run: omit --from and --phase, or --running")
    if running:
        task = _offline_task(project, target, options, running)
    else:
        live, options = _live_fabric_and_consent(project, target, options, base, phase)
        task = _live_task(live, options, reviewed)
    rehearsal = _rehearse_task(project, task, options, faults, began_s)
    if reviewed is None:
        store(rehearsal)
    else:
        store(rehearsal, reviewed)
    return rehearsal


def _rehearse_task(
    project: Project, task: "_Task", options: DeployOptions, faults: Sequence[str], began_s: float
) -> Rehearsal:
    """Deploy the plan of a task on a twin, with faults; ``began_s`` is when the rehearsal began (monotonic clock).

    Raises UsageError for an unknown fault, KeyboardInterrupt if a person ended the deployment.
    """
    # Before the twin starts, which takes seconds: a misspelled fault is refused at once.
    parsed = tuple(parse_fault(text, task.designed.fabric, FAULTS) for text in faults)
    with twin(project, task.designed, task.target, task.recorded, task.scope) as simulated:
        unprovisioned: Collection[str] = ()
        if task.plan is not None:
            unprovisioned = task.plan.unprovisioned
        down_ports = dark_ports(simulated.spec, task.recorded, unprovisioned)
        plan = _prepare_twin(simulated, task, options, down_ports)
        planned_faults = default_waves(parsed, plan.waves)
        _check_waves(planned_faults, plan)
        judge = Judge(task.designed.fabric, plan, simulated.watch())
        run = _RehearsedRun(simulated, plan, options, planned_faults)
        refused = run.deploy(str(project.intent))
        waves = judge.waves(run.moments, run.link_moments(), task.target.rollout.workers)
        injected = run.injected_faults()
    if run.result is not None and run.result.interrupted:
        raise KeyboardInterrupt
    return Rehearsal(
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
        notes=_notes(task, plan, down_ports),
    )


def _check_waves(faults: Sequence[InjectedFault], plan: Plan) -> None:
    """Raise UsageError for a fault in a wave that the plan does not have."""
    for fault in faults:
        # A plan without waves is still rehearsed: nothing starts, and the fault is reported as not injected.
        if fault.wave > max(1, len(plan.waves)):
            raise UsageError(f"--fault {fault}: the plan has {counted(len(plan.waves), 'wave')}")


@dataclass(frozen=True, slots=True)
class _Task:
    """What is rehearsed: the fabric, its target, and the configuration of its switches with its ``source`` in words.

    ``plan`` is that of the target, None where no device was read. ``digest`` is then that of the difference of two
    intents, if two are compared. ``scope`` is what is verified: not the cables that are still to be moved.
    """

    designed: Designed
    target: Target
    recorded: Mapping[str, RecordedSwitch]
    source: str
    plan: Plan | None = None
    scope: VerificationScope = WHOLE_FABRIC
    digest: str = ""


def _live_fabric_and_consent(
    project: Project, target: str, options: DeployOptions, base: str, number: int | None
) -> tuple[LiveFabric, DeployOptions]:
    """Return the fabric on the target, and ``options`` with the consents that its phase implies.

    Without ``base`` and ``number`` it is the fabric of the intent; else that of phase ``number``, by default of the
    first that is not done. Raises UsageError for a phase that changes no switch's configuration.
    """
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


def _live_task(live: LiveFabric, options: DeployOptions, reviewed: Path | None) -> _Task:
    """Plan for the target as a deployment does, record what its switches run, and return both.

    Raises RefusedError if the plan is not the one in the file ``reviewed``, RailweaveError if a switch does not answer
    any more after the plan.
    """
    live.require_secrets()
    reviewed_plan = None
    limit: tuple[str, ...] = ()
    if reviewed is not None:
        reviewed_plan, _, _ = read_plan(reviewed, live.target.allowed_signers)
        limit = reviewed_plan.limit
    with live.connected(), live.shown:
        plan = live.plan(remove_conflicting=options.remove_conflicting, limit=limit)
        if reviewed_plan is not None:
            diagnostics = check_binding(reviewed_plan, plan, str(reviewed))
            if diagnostics:
                raise RefusedError(diagnostics)
        # Devices that could not be read for the plan have no digest.
        readable = [name for name, device in plan.devices.items() if device.reading.running_sha256]
        recorded = record(live.nornir, readable, events=live.shown)
    _require_recorded(recorded)
    source = f"target {live.target.name}"
    if live.phase:
        source += f", phase {live.phase} from {live.base}"
    return _Task(
        designed=live.designed, target=live.target, recorded=recorded, source=source, plan=plan, scope=live.scope
    )


def _require_recorded(recorded: Mapping[str, RecordedSwitch]) -> None:
    """Raise RailweaveError for switches that were lost between the plan and the reading for the twin."""
    lost = [name for name, switch in recorded.items() if switch.error]
    if lost:
        why = "; ".join(f"{name}: {recorded[name].error}" for name in lost[:3])
        raise RailweaveError(f"{first_few(lost)} answered for the plan and not for the rehearsal: {why}")


def _offline_task(project: Project, target: str, options: DeployOptions, running: str) -> _Task:
    """Return the task for switches that run what ``running`` names; of the target only its file is read."""
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
        # As in the plan of `diff`, which looks up the rehearsal under this digest.
        digest = plan_digest(replace(compared, intent_sha256=designed.intent.sha256))
    return _Task(designed, load_target(find_target(target)), states.recorded, states.source, digest=digest)


def _prepare_twin(simulated: Twin, task: _Task, options: DeployOptions, down_ports: Sequence[tuple[str, str]]) -> Plan:
    """Bring the twin into the state of the target, with the links at ``down_ports`` down, and return the plan.

    It is the plan for the target, or the one for the twin if no device was read. Raises RefusedError if the two plans
    differ.
    """
    target_plan = task.plan
    limit: tuple[str, ...] = ()
    if target_plan is not None:
        limit = target_plan.limit
        _disconnect_unreachable(simulated, target_plan, task.recorded)
    for name, port in down_ports:
        simulated.fault(name, _LINK_DOWN, port=port)
    with simulated.live.progress():
        twin_plan = simulated.live.plan(remove_conflicting=options.remove_conflicting, limit=limit)
    if target_plan is None:
        return twin_plan
    differing = tuple(unlike(target_plan, twin_plan))
    if differing:
        message = f"the simulated twin of {first_few(differing)} does not run what the switch runs"
        fix = "rehearse again if the target was changed meanwhile; otherwise report it, with the plan as JSON"
        raise RefusedError([error("RW540", message, devices=differing, fix=fix)])
    return target_plan


def _disconnect_unreachable(simulated: Twin, plan: Plan, recorded: Mapping[str, RecordedSwitch]) -> None:
    """Make the switches unreachable that the plan could not read, with their links down if they are out of service."""
    for name in plan.unread:
        if name in recorded:
            continue
        simulated.fault(name, _UNREACHABLE)
        if plan.devices[name].reading.out_of_service:
            simulated.fault(name, _LINK_DOWN)


_MISSED_BECAUSE: Mapping[str, str] = {
    FaultKind.NO_RETURN: "the switch was not reloaded after that",
    FaultKind.REFUSE_COMMIT: "nothing was committed on the switch after that",
}
"""Why a fault had no effect, for those that wait for something other than the next command."""


@dataclass(slots=True)
class _RehearsedRun:
    """The deployment of the plan on the twin: the moments of the rollout, and its result (None if it was refused)."""

    twin: Twin
    plan: Plan
    options: DeployOptions
    faults: Sequence[InjectedFault]
    moments: list[RolloutMoment] = field(default_factory=list)
    result: DeployResult | None = None
    _injected: set[InjectedFault] = field(default_factory=set)
    _not_injected: str = ""

    def deploy(self, intent: str) -> tuple[Diagnostic, ...]:
        """Deploy the plan as it would be deployed to the target, and keep the result.

        Returns why the deployment is refused, empty if it is not. Raises RailweaveError if a fault cannot be injected.
        """
        live = self.twin.live
        target_policy = policy_for(self.twin.of, self.options)
        # The target's policy with the waits of the twin, which are short.
        policy = replace(
            target_policy,
            rollout=replace(live.target.rollout, max_failures=target_policy.rollout.max_failures),
            reconnect_s=live.target.timeouts.reconnect_s,
            journal_dir=self.twin.journals,
        )
        try:
            with live.progress():
                self.result = deploying.deploy(
                    live.nornir,
                    live.designed.fabric,
                    self.plan,
                    live.intended,
                    policy=policy,
                    events=self._on_event,
                    metadata=RolloutMetadata(intent=intent, remove_conflicting=self.options.remove_conflicting),
                    scope=live.scope,
                    control=Unasked(),
                    history=live.history(self.plan),
                )
        except RefusedError as refused:
            return tuple(refused.diagnostics)
        if self._not_injected:
            raise RailweaveError(self._not_injected)
        return ()

    def _on_event(self, event: Event) -> None:
        """Note when an event of the rollout happened, and inject the faults of a wave that begins."""
        self.moments.append(RolloutMoment(time.monotonic(), event.step, event.device))
        if event.step is Step.WAVE:
            for fault in self.faults:
                if fault.wave == int(event.details["wave"]):
                    self._inject(fault)
        self.twin.live.shown(event)

    def _inject(self, fault: InjectedFault) -> None:
        """Inject a fault, or note why the twin refuses it."""
        details = {}
        if fault.port:
            details["port"] = fault.port
        try:
            self.twin.fault(fault.device, fault.kind, **details)
        except RailweaveError as refused:
            # Raised after the rollout: an exception from here would be one of the rollout's own.
            self._not_injected = f"--fault {fault}: {refused}"
        self._injected.add(fault)

    def injected_faults(self) -> tuple[InjectedFault, ...]:
        """Return the faults; those that had no effect have the reason in ``missed``."""
        return tuple(fault._replace(missed=self._why_missed(fault)) for fault in self.faults)

    def _why_missed(self, fault: InjectedFault) -> str:
        """Return why a fault had no effect, empty if it had one."""
        if fault not in self._injected:
            if not self.plan.waves:
                return "the plan has no wave"
            return f"wave {fault.wave} was not started"
        if fault.kind in self.twin.unstruck(fault.device):
            return _MISSED_BECAUSE.get(fault.kind, f"{fault.device} ran no command after that")
        return ""

    def link_moments(self) -> tuple[LinkMoment, ...]:
        """Return when which cables of the twin came up and went down."""
        return tuple(_link_moment(moment) for moment in self.twin.watched())


def _link_moment(moment: Mapping[str, Any]) -> LinkMoment:
    """Return a moment of the simulator's record (`sonic_sim.watching`)."""
    return LinkMoment(
        at_s=float(moment["at"]),
        device=str(moment["device"]),
        busy_s=float(moment["busy_s"]),
        up=tuple((a, b) for a, b in moment["up"]),
        down=tuple((a, b) for a, b in moment["down"]),
    )


def _notes(task: _Task, plan: Plan, down_ports: Sequence[tuple[str, str]]) -> tuple[str, ...]:
    """Return notes about what the rehearsal could not do as on the target, and about links that are down there."""
    notes = [*_unread_notes(task, plan)]
    if down_ports:
        notes.append(f"down on the target, and here: {first_few(':'.join(end) for end in down_ports)}")
    soak_s = task.target.rollout.soak_s
    if soak_s:
        notes.append(f"the soak of {soak_s:g} s after each wave was left out")
    if task.plan is None:
        notes.append("no switch was read: what others changed there is not part of this")
    return tuple(notes)


def _unread_notes(task: _Task, plan: Plan) -> Iterator[str]:
    """Yield notes about switches that could not be read, and about those whose startup configuration could not be."""
    unread = [name for name in plan.names(DeviceState.UNREACHABLE) if name not in task.recorded]
    if unread:
        verb = "does" if len(unread) == 1 else "do"
        yield f"{compact(unread)} could not be read, and {verb} not answer in the rehearsal either"
    # Offline no startup configuration was to be read.
    if task.plan is None:
        return
    without_startup = [name for name, switch in task.recorded.items() if switch.startup is None]
    if without_startup:
        yield f"{compact(without_startup)}: what it boots could not be read, and is taken to be what it runs"
