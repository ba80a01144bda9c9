"""Resume a rollout: revert unconfirmed commits, plan what remains, ask, continue."""

from contextlib import closing
from dataclasses import replace

from nornir_railweave.rollout.journal import Journal
from nornir_railweave.rollout.resuming import newer_change, newest_unfinished, write_down_done
from nornir_railweave.rollout.rollouts import named_rollout
from railweave.api.deployment.rollback import phases_of, reopened, resume_rollback, revert_unconfirmed
from railweave.api.deployment.rollout import agreed_for, policy_of, report_ended_state
from railweave.api.journal.audit import audited
from railweave.api.journal.folder import fetched_journals, journal_folder, refuse_while_held
from railweave.api.plan_files import check_resumed
from railweave.api.project import Project
from railweave.api.targets.fabric import LiveFabric, live_fabric
from railweave.errors import RefusedError
from railweave.plan.consent import PLAN_ALONE, DeployOptions
from railweave.plan.outcome import DeployResult
from railweave.plan.resumption import came_after, check_resume, differing, in_journaled_order, nothing_to_resume
from railweave.plan.rollout import Rollout, RolloutKind


def resume(
    project: Project, target: str, options: DeployOptions = PLAN_ALONE, *, rollout: str = ""
) -> DeployResult | None:
    """Resume the named rollout, by default the newest unfinished one; None if the operator declined.

    If the target takes signed plans only, the journal of the rollout must contain one that an allowed signer signed.
    Raises RefusedError if the rollout must not be resumed, UsageError for unknown names, RailweaveError if a file
    cannot be read or written.
    """
    fabric = live_fabric(project, target)
    fabric_name = fabric.designed.fabric.name
    folder = fetched_journals()
    refuse_while_held(fabric_name, target, project.operator)
    unfinished = named_rollout(folder, rollout) if rollout else newest_unfinished(folder, fabric_name, target)
    if unfinished is None:
        raise RefusedError([nothing_to_resume(fabric_name, target)])
    phases = phases_of(unfinished, fabric, project)
    if phases is not None:
        # The phase implied these options when it began; nobody has to repeat them.
        options = agreed_for(options, phases.change.phase(unfinished.metadata.phase))
        fabric = phases.live_to_deploy(unfinished.metadata.phase)
    _require_resumable(unfinished, fabric)
    signer = ""
    if fabric.target.allowed_signers is not None:
        signer = check_resumed(unfinished, fabric.target.allowed_signers)
    fabric.require_secrets()
    project.operator.require_answer("deploy --resume")
    if unfinished.metadata.kind is RolloutKind.ROLLBACK:
        return resume_rollback(project, fabric, unfinished, options, signer)
    with closing(reopened(unfinished, project)) as journal, fabric.connected():
        return _resume(project, fabric, unfinished, journal, options, signer)


def _require_resumable(rollout: Rollout, fabric: LiveFabric) -> None:
    """Raise RefusedError if the rollout is of another fabric, target or intent, or another rollout came after it."""
    designed = fabric.designed
    diagnostics = check_resume(rollout, designed.fabric.name, fabric.target.name, designed.intent.sha256)
    if diagnostics:
        raise RefusedError(diagnostics)
    newer_rollout = newer_change(journal_folder(), rollout)
    if newer_rollout:
        raise RefusedError([came_after(rollout, newer_rollout)])


def _resume(
    project: Project, fabric: LiveFabric, rollout: Rollout, journal: Journal, options: DeployOptions, signer: str
) -> DeployResult | None:
    """Revert unconfirmed commits, plan what remains of ``rollout``, ask the operator and deploy it.

    Returns None if the operator declined. Raises RefusedError if the changes are not the remaining ones of the rollout.
    """
    revert_unconfirmed(fabric, rollout, journal)
    with fabric.shown:
        plan = fabric.plan(remove_conflicting=rollout.metadata.remove_conflicting, limit=rollout.metadata.limit)
    diagnostics = differing(rollout, plan)
    if diagnostics:
        raise RefusedError(diagnostics)
    plan = in_journaled_order(fabric.designed.fabric, rollout, plan)
    if not project.operator.approves(plan, f"Resume rollout {rollout.name}:"):
        return None
    policy = policy_of(replace(options, remove_conflicting=rollout.metadata.remove_conflicting), fabric.target)
    command = f"deploy --resume {rollout.name}"
    with report_ended_state(project, fabric), audited(command, plan, signed_by=signer) as record, fabric.shown:
        # A rollback of this rollout needs every committed switch in the journal, also one whose record was lost.
        write_down_done(rollout, plan, journal)
        result = fabric.deploy(plan, policy, journal=journal)
        record(result)
        return result
