"""Deployment of a plan: its devices wave by wave, and the verification of the whole fabric afterwards."""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace
from itertools import chain

from nornir.core import Nornir

from nornir_railweave.device.jobs import DeployJob
from nornir_railweave.device.reading import Comparer, IntendedConfig
from nornir_railweave.events import Events, silent
from nornir_railweave.rollout.control import Control
from nornir_railweave.rollout.journal import Journal
from nornir_railweave.rollout.procedure import Procedure, begin, end
from nornir_railweave.rollout.rolling_out import outcomes_of
from nornir_railweave.target.policy import Policy
from nornir_railweave.tasks.verifying import verify
from railweave.errors import RefusedError
from railweave.fabric.model import Fabric
from railweave.plan.consent import check_consent
from railweave.plan.expectation import WHOLE_FABRIC, VerificationScope, expect
from railweave.plan.lineage import UNKNOWN_HISTORY, History, discarded
from railweave.plan.model import DeviceState, Generation, Plan
from railweave.plan.outcome import DeployResult, DeviceOutcome, Outcome, Progress, Result, VerifyResult
from railweave.plan.rollout import DEPLOYMENT, RolloutMetadata
from railweave.sonic.delta.delta import Sharing


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
    scope: VerificationScope = WHOLE_FABRIC,
    control: Control | None = None,
    history: History = UNKNOWN_HISTORY,
) -> DeployResult:
    """Carry out ``plan``, which was made through ``nr`` a moment ago, and verify the whole fabric afterwards.

    ``journal`` is that of a resumed rollout; without it a new one with ``metadata`` is made. ``control`` is asked
    between waves, by default the file beside the journal. ``history`` tells whether what a switch runs is newer than
    this intent. Raises RefusedError, with nothing done, if the policy lacks a consent that the plan needs.
    """
    _refuse(plan, policy, history)
    metadata = replace(metadata, sources_sha256=history.own.digest)
    with journal or Journal(policy.journal_dir, fabric.name, plan.target, metadata, policy.journals) as opened:
        opening = opened.opening(plan)
        policy = replace(policy, message=f"{policy.message} {opened.name}")
        compare = Comparer(fabric, intended, policy.consent.remove_conflicting, sharing=Sharing(plan.deltas.values()))
        procedure = Procedure(
            nr,
            fabric,
            plan,
            policy=policy,
            journal=opened,
            settled=plan.settled,
            control=control,
            counts_unsaved=True,
        )
        announce = begin(opened, opening, events)
        jobs = _Jobs(plan, compare, scope, history.own, str(opening.details["plan_digest"]))
        return end(opened, plan, announce, _deployed(procedure, jobs, announce))


def _refuse(plan: Plan, policy: Policy, history: History) -> None:
    """Raise RefusedError if the plan lacks consent, or would discard what a newer state of the intent deployed."""
    refused = check_consent(plan, policy.consent)
    if not policy.consent.discard_newer:
        refused = (*refused, *discarded(plan, history))
    if refused:
        raise RefusedError(refused)


@dataclass(frozen=True, slots=True)
class _Jobs:
    """Makes the jobs of devices, from what they have in common."""

    plan: Plan
    compare: Comparer
    scope: VerificationScope
    own: Generation
    plan_digest: str

    def of(self, names: Iterable[str]) -> dict[str, DeployJob]:
        """Return the jobs of these devices."""
        return {name: self._job(name) for name in names}

    def _job(self, name: str) -> DeployJob:
        fabric = self.compare.fabric
        expectation = expect(fabric, fabric.switch_of[name], self.scope)
        return DeployJob(self.compare, expectation, self.plan.devices[name], self.own, self.plan_digest)


def _deployed(procedure: Procedure, jobs: _Jobs, announce: Events) -> DeployResult:
    """Carry out the plan and verify the fabric unless the rollout stopped."""
    plan = procedure.plan
    reason = procedure.unreachable_reason
    if reason:
        return _not_begun(plan, reason)
    changed = jobs.of(chain.from_iterable(plan.waves))
    unchanged = jobs.of(name for name in plan.names(DeviceState.UNCHANGED) if plan.includes(name))
    result = procedure.carry_out(changed, unchanged, announce)
    if result.stopped_by:
        return result
    # An interrupt in the last wave had nothing left to stop.
    verification = _verified(procedure, result.devices, jobs.scope, announce)
    return replace(result, verification=verification, interrupted=False)


def _not_begun(plan: Plan, reason: str) -> DeployResult:
    """Return the result of a deployment that did not begin: no device was attempted, not even the unchanged ones."""
    outcomes: dict[str, DeviceOutcome] = {}
    for name, outcome in outcomes_of(plan, {}).items():
        if outcome.outcome is Outcome.UNREACHABLE:
            outcomes[name] = outcome
        else:
            outcomes[name] = DeviceOutcome(Outcome.NOT_ATTEMPTED)
    return DeployResult(Result.STOPPED, outcomes, reason, progress=Progress(waves=plan.waves))


def _verified(
    procedure: Procedure, outcomes: Mapping[str, DeviceOutcome], scope: VerificationScope, announce: Events
) -> VerifyResult:
    """Verify every device that runs its new configuration; with a limit, only its devices and their neighbors."""
    rollout = procedure.policy.rollout
    plan = procedure.plan
    new = {name for name, outcome in outcomes.items() if outcome.outcome is Outcome.NEW}
    verified = new
    if plan.limit:
        # A fault elsewhere must not fail this deployment, which did not cause it.
        verified = new & {*plan.limit, *procedure.fabric.neighbors_of(plan.limit)}
    return verify(
        procedure.nr,
        procedure.fabric,
        verified,
        settled=new | plan.settled,
        timeout_s=rollout.verify_timeout_s,
        interval_s=rollout.verify_interval_s,
        events=announce,
        scope=scope,
        clock=procedure.policy.clock,
    )
