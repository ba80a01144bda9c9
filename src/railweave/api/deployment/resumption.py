"""Resume a rollout: revert unconfirmed commits, plan what remains, ask, continue."""

from contextlib import closing
from dataclasses import replace

from nornir_railweave.rollout.journal import Journal
from nornir_railweave.rollout.resuming import newer_change, newest_unfinished, write_down_done
from nornir_railweave.rollout.rollouts import named_rollout
from railweave.api.deployment.rollback import free, phases_of, reopened, resume_rollback
from railweave.api.deployment.rollout import PLAN_ALONE, DeployOptions, agreed_for, state_told
from railweave.api.journal.audit import audited
from railweave.api.journal.folder import fetched_journals, journal_folder, refuse_while_held
from railweave.api.plans import check_resumed
from railweave.api.project import Project
from railweave.api.targets.fabric import LiveFabric, live_fabric
from railweave.errors import RefusedError
from railweave.plan.outcome import DeployResult
from railweave.plan.resumption import came_after, check_resume, differing, in_journaled_order, nothing_to_resume
from railweave.plan.rollout import Kind, Rollout


def resume(
    project: Project, target: str, options: DeployOptions = PLAN_ALONE, *, rollout: str = ""
) -> DeployResult | None:
    """Resume the named rollout, by default the newest unfinished one; None if the operator declined.

    A target that takes signed plans resumes those alone whose journal carries one that an allowed signer signed.
    Raises RefusedError if it must not be resumed, UsageError for unknown names, RailweaveError if a file cannot be read
    or written.
    """
    fabric = live_fabric(project, target)
    name = fabric.designed.fabric.name
    folder = fetched_journals()
    refuse_while_held(name, target, project.operator)
    found = named_rollout(folder, rollout) if rollout else newest_unfinished(folder, name, target)
    if found is None:
        raise RefusedError([nothing_to_resume(name, target)])
    phases = phases_of(found, fabric, project)
    if phases is not None:
        # What asking for phases agrees to, it agreed to when the phase began.
        options = agreed_for(options, phases.change.phase(found.phase))
        fabric = phases.live_to_deploy(found.phase)
    _refuse(found, fabric)
    allowed = fabric.target.allowed_signers
    signer = check_resumed(found, allowed) if allowed is not None else ""
    fabric.require_secrets()
    project.operator.require_answer("deploy --resume")
    if found.kind is Kind.ROLLBACK:
        return resume_rollback(project, fabric, found, options, signer)
    with closing(reopened(found, project)) as journal, fabric.connected():
        return _resume(project, fabric, found, journal, options, signer)


def _refuse(rollout: Rollout, fabric: LiveFabric) -> None:
    designed = fabric.designed
    refused = check_resume(rollout, designed.fabric.name, fabric.target.name, designed.intent.sha256)
    if not refused and (newer := newer_change(journal_folder(), rollout)):
        refused = (came_after(rollout, newer),)
    if refused:
        raise RefusedError(refused)


def _resume(
    project: Project, fabric: LiveFabric, rollout: Rollout, journal: Journal, options: DeployOptions, signer: str
) -> DeployResult | None:
    free(fabric, rollout, journal)
    with fabric.shown:
        plan = fabric.plan(remove_conflicting=rollout.remove_conflicting)
    if moved := differing(rollout, plan):
        raise RefusedError(moved)
    plan = in_journaled_order(fabric.designed.fabric, rollout, plan)
    if not project.operator.approves(plan, f"Resume rollout {rollout.name}:"):
        return None
    policy = replace(options, remove_conflicting=rollout.remove_conflicting).policy(fabric)
    told, command = state_told(project, fabric), f"deploy --resume {rollout.name}"
    with told, audited(command, plan, signed_by=signer) as record, fabric.shown:
        write_down_done(rollout, plan, journal)
        result = fabric.deploy(plan, policy, journal=journal)
        record(result)
        return result
