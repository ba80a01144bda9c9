"""Deployment of a plan: its devices wave by wave, and the verification of the whole fabric afterwards."""

from collections.abc import Callable, Mapping
from dataclasses import replace
from functools import partial

from nornir.core import Nornir

from nornir_railweave.device.jobs import DeployJob
from nornir_railweave.device.reading import Comparer, IntendedConfig
from nornir_railweave.events import Announcer, Event, Events, Step, silent
from nornir_railweave.rollout.control import Control, FileControl, control_file
from nornir_railweave.rollout.journal import DEPLOYMENT, Journal, RolloutMetadata
from nornir_railweave.rollout.looking_away import looking_away
from nornir_railweave.rollout.rolling_out import OperatorControl, RolloutContext, outcomes_of, roll_out
from nornir_railweave.target.connect import run_on
from nornir_railweave.target.policy import Policy
from nornir_railweave.tasks.save_config import UNSAVED, Saved, save_config
from nornir_railweave.tasks.verifying import verify
from railweave.errors import RefusedError
from railweave.fabric.model import Fabric
from railweave.plan.build import wave_gate
from railweave.plan.consent import check_consent
from railweave.plan.expectation import Expecting, expect
from railweave.plan.lineage import UNKNOWN_HISTORY, History, discarded
from railweave.plan.model import DeviceState, Generation, Plan
from railweave.plan.outcome import DeployResult, DeviceOutcome, Outcome, Progress, Result, VerifyResult
from railweave.sonic.delta.change import Delta


def deploy(
    nr: Nornir,
    fabric: Fabric,
    plan: Plan,
    intended: IntendedConfig,
    *,
    policy: Policy,
    events: Events = silent,
    journal: Journal | None = None,
    metadata: RolloutMetadata = DEPLOYMENT,
    expecting: Expecting = expect,
    control: Control | None = None,
    history: History = UNKNOWN_HISTORY,
) -> DeployResult:
    """Carry out ``plan``, which was made through ``nr`` a moment ago, and verify the whole fabric afterwards.

    ``journal`` is that of a resumed rollout; a new one holds ``metadata``.
    ``expecting`` tells what must be seen on a switch: less than all while cables are in somebody's hands.
    ``control`` is asked between waves whether to go on; without it the file beside the journal tells. ``history`` is of
    the project that is deployed: what it would discard on switches is refused.
    Raises RefusedError, with nothing done, where the plan holds conflicts or needs consent that ``policy`` does not
    give. Everything that happens on devices is in the result and, step by step, in the journal.
    """
    refused = check_consent(plan, policy.consent, skip_unreachable=policy.skip_unreachable)
    if not policy.consent.discard_newer:
        refused = (*refused, *discarded(plan, history))
    if refused:
        raise RefusedError(refused)
    metadata = replace(metadata, sources_sha256=history.own.digest)
    with journal or Journal(policy.journal_dir, fabric.name, plan.target, metadata, policy.journals) as opened:
        announce = Announcer([opened, events])
        opening = opened.opening(plan)
        announce(opening)
        opened.require_written()
        policy = replace(policy, message=f"{policy.message} {opened.name}")
        compare = Comparer(fabric, intended, policy.remove_conflicting, share=partial(_planned, plan.deltas))
        operator = OperatorControl(control or FileControl(control_file(opened.path)), opened.blocker)
        digest = str(opening.details["plan_digest"])
        deployment = _Deployment(nr, compare, plan, policy, expecting, operator, history.own, digest)
        result = deployment.run(announce, opened.has_ended)
        result = opened.judged(result)
        step = Step.STOPPED if result.result is Result.STOPPED else Step.ENDED
        announce(Event(step, text=result.stopped_by, details={"result": result.result.value, "ok": result.ok}))
        return replace(
            opened.judged(result), journal=str(opened.path), target=plan.target, intent=opened.metadata.intent
        )


def _planned(deltas: Mapping[str, Delta], name: str, delta: Delta) -> Delta:
    """Return the plan's delta of a device where it is equal: the devices of a plan share their changes."""
    planned = deltas.get(name)
    return planned if planned is not None and planned == delta else delta


class _Deployment:
    """One deployment on its way: the plan's devices as jobs of a rollout, and their results."""

    def __init__(
        self,
        nr: Nornir,
        compare: Comparer,
        plan: Plan,
        policy: Policy,
        expecting: Expecting,
        operator: OperatorControl,
        own: Generation,
        plan_digest: str,
    ) -> None:
        self._nr = nr
        self._compare = compare
        self._fabric = compare.fabric
        self._plan = plan
        self._policy = policy
        self._expecting = expecting
        self._operator = operator
        self._own = own
        self._plan_digest = plan_digest

    def run(self, announce: Events, has_ended: Callable[[str], bool]) -> DeployResult:
        """Return how the deployment ended; ``has_ended`` as in `RolloutContext`."""
        unreachable = self._plan.names(DeviceState.UNREACHABLE)
        if unreachable and not self._policy.skip_unreachable:
            return self._stopped(f"{', '.join(unreachable)} could not be reached; nothing was changed")
        saved, unsaved = self._save_unchanged(announce)
        jobs = {name: self._job(name) for wave in self._plan.waves for name in wave}
        ended = roll_out(self._nr, jobs, self._plan.waves, self._context(announce, has_ended))
        progress = Progress(
            waves_done=ended.waves_done,
            waves=self._plan.waves,
            undone=ended.undone,
            failed=(*unsaved, *ended.failed),
            drained=ended.drained,
            saved=saved,
        )
        devices = outcomes_of(self._plan, {**unsaved, **ended.outcomes})
        if ended.stopped_by:
            return DeployResult(
                Result.STOPPED, devices, ended.stopped_by, interrupted=ended.interrupted, progress=progress
            )
        result = Result.DONE if self._plan.deltas or saved else Result.UNCHANGED
        return DeployResult(result, devices, verification=self._verified(devices, announce), progress=progress)

    def _job(self, name: str) -> DeployJob:
        expectation = self._expecting(self._fabric, self._fabric.switch_of[name])
        delta = self._plan.deltas.get(name, Delta())
        planned = self._plan.devices[name]
        return DeployJob(self._compare, expectation, planned, delta, self._own, self._plan_digest)

    def _context(self, announce: Events, has_ended: Callable[[str], bool]) -> RolloutContext:
        unread = frozenset(self._plan.names(DeviceState.UNREACHABLE))
        return RolloutContext(
            gate=wave_gate(self._fabric, self._plan),
            policy=self._policy,
            settled=frozenset(self._plan.names(DeviceState.UNCHANGED)),
            announce=announce,
            look_away=looking_away(self._nr, self._fabric, unread),
            unread=unread,
            has_ended=has_ended,
            operator=self._operator,
        )

    def _save_unchanged(self, announce: Events) -> tuple[tuple[str, ...], dict[str, DeviceOutcome]]:
        """Save devices that run what is intended and boot something else; return these, and those that cannot be.

        A rollout that was cut off between a confirmation and its saving leaves such a device behind.
        """
        jobs = {name: self._job(name) for name in self._plan.names(DeviceState.UNCHANGED)}
        found = run_on(self._nr, jobs, save_config, jobs=jobs, announce=announce)
        unsaved = {name: DeviceOutcome(Outcome.NEW, UNSAVED) for name in jobs if found[name] is Saved.NOT}
        return tuple(name for name in jobs if found[name] is Saved.NOW), unsaved

    def _stopped(self, reason: str) -> DeployResult:
        """Return the end of a deployment that did not begin: nobody was looked at, so nobody is called new."""
        devices = {
            name: outcome if outcome.outcome is Outcome.UNREACHABLE else DeviceOutcome(Outcome.NOT_ATTEMPTED)
            for name, outcome in outcomes_of(self._plan, {}).items()
        }
        return DeployResult(Result.STOPPED, devices, reason, progress=Progress(waves=self._plan.waves))

    def _verified(self, devices: Mapping[str, DeviceOutcome], announce: Events) -> VerifyResult:
        """Return the verification of every device that is new now."""
        rollout = self._policy.rollout
        reached = {name for name, end in devices.items() if end.outcome is Outcome.NEW}
        return verify(
            self._nr,
            self._fabric,
            reached,
            settled=reached,
            timeout_s=rollout.verify_timeout_s,
            interval_s=rollout.verify_interval_s,
            events=announce,
            expecting=self._expecting,
            clock=self._policy.clock,
        )
