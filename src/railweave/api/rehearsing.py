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
from nornir_railweave.tasks.recording import RecordedSwitch, record
from railweave.api.deploying import PLAN_ALONE, DeployOptions, read_plan
from railweave.api.live import LiveFabric, live_fabric
from railweave.api.project import Project
from railweave.api.rehearsals import store
from railweave.api.twin import FAULTS, Twin, twin
from railweave.diagnostics import Diagnostic, error
from railweave.errors import RailweaveError, RefusedError, UsageError
from railweave.plan.document import plan_digest
from railweave.plan.lineage import History
from railweave.plan.model import DeviceState, Plan
from railweave.plan.outcome import DeployResult
from railweave.plan.rehearsal import InjectedFault, Rehearsal, default_waves, parse_fault, unlike
from railweave.plan.rehearsed_waves import Judge, LinkMoment, RolloutMoment
from railweave.plan.resumption import check_binding
from railweave.plan.rollout_step import Step
from railweave.wording import compact, counted, first_few

_UNREACHABLE, _LINK_DOWN = "unreachable", "link-down"


def rehearse(
    project: Project,
    target: str,
    options: DeployOptions = PLAN_ALONE,
    *,
    reviewed: Path | None = None,
    faults: Sequence[str] = (),
) -> Rehearsal:
    """Carry out the plan for ``target`` on simulated switches that hold what its switches hold; return what was met.

    No device of the target is changed. ``options`` are what the deployment would be agreed to, ``reviewed`` is the file
    of a plan, ``faults`` are injected (``DEVICE[:PORT]=KIND[@WAVE]``). The result is stored in the project under the
    plan's digest, and beside ``reviewed``. Raises RefusedError where a device changed since ``reviewed`` or the
    simulated switches do not run what the switches run, UsageError for an unknown fault or target, KeyboardInterrupt
    where a person ended it.
    """
    began_s = time.monotonic()
    live = live_fabric(project, target)
    live.require_secrets()
    named = tuple(parse_fault(one, live.designed.fabric, FAULTS) for one in faults)
    plan, recorded = _read(live, options, reviewed)
    injected = default_waves(named, plan.waves)
    for one in injected:
        if one.wave > max(1, len(plan.waves)):
            raise UsageError(f"--fault {one}: the plan has {counted(len(plan.waves), 'wave')}")
    with twin(project, live, recorded) as made:
        judge = _settled(made, plan, recorded, options)
        run = _Run(made, plan, options, injected)
        refused = run.deploy(live.history, str(project.intent))
        waves = judge.waves(run.moments, run.link_moments(), live.target.rollout.workers)
    if run.result is not None and run.result.interrupted:
        raise KeyboardInterrupt
    rehearsal = Rehearsal(
        fabric=plan.fabric,
        target=plan.target,
        plan_digest=plan_digest(plan),
        at=datetime.now(UTC).isoformat(timespec="seconds"),
        source=f"target {target}",
        switches=len(plan.devices),
        elapsed_s=round(time.monotonic() - began_s, 1),
        changes=plan.summary.total,
        faults=injected,
        refused=refused,
        result=run.result,
        before=judge.before,
        waves=waves,
        notes=_notes(live, plan, recorded),
    )
    store(rehearsal, *([reviewed] if reviewed else []))
    return rehearsal


def _read(live: LiveFabric, options: DeployOptions, reviewed: Path | None) -> tuple[Plan, Mapping[str, RecordedSwitch]]:
    """Return the plan for the target, made as a deployment makes it, and what its switches hold."""
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
    return plan, recorded


def _settled(made: Twin, plan: Plan, recorded: Mapping[str, RecordedSwitch], options: DeployOptions) -> Judge:
    """Make the twin as it was read, and begin to watch it; raises RefusedError where it plans something else."""
    for name in plan.names(DeviceState.UNREACHABLE):
        if name not in recorded:
            made.fault(name, _UNREACHABLE)
            if plan.devices[name].out_of_service:
                made.fault(name, _LINK_DOWN)
    with made.live.progress():
        planned = made.live.plan(remove_conflicting=options.remove_conflicting)
    if other := tuple(unlike(plan, planned)):
        message = f"the simulated twin of {first_few(other)} does not run what the switch runs"
        fix = "rehearse again if the target was changed meanwhile; otherwise report it, with the plan as JSON"
        raise RefusedError([error("RW540", message, devices=other, fix=fix)])
    return Judge(made.live.designed.fabric, plan, made.watch())


@dataclass(slots=True)
class _Run:
    """The plan on its way through the twin: what the rollout did when, and how it ended (None where refused)."""

    twin: Twin
    plan: Plan
    options: DeployOptions
    faults: Sequence[InjectedFault]
    moments: list[RolloutMoment] = field(default_factory=list)
    result: DeployResult | None = None
    _not_injected: str = ""

    def deploy(self, history: History, intent: str) -> tuple[Diagnostic, ...]:
        """Deploy the plan as it would be deployed to the target; return why that is refused."""
        live = self.twin.live
        policy = self.options.policy_on(self.twin.of)
        rollout = replace(
            live.target.rollout, max_failures=policy.rollout.max_failures, single_step=policy.rollout.single_step
        )
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
                    history=history,
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
        self.twin.live.shown(event)

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


def _notes(live: LiveFabric, plan: Plan, recorded: Mapping[str, RecordedSwitch]) -> tuple[str, ...]:
    """Return what the simulated switches lack of the target's."""
    unread = [name for name in plan.names(DeviceState.UNREACHABLE) if name not in recorded]
    soak_s = live.target.rollout.soak_s
    return (
        *([f"{compact(unread)} could not be read, and does not answer in the rehearsal either"] if unread else ()),
        *([f"the soak of {soak_s:g} s after each wave was left out"] if soak_s else ()),
    )
