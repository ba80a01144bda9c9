"""A rollout carried on, what is freed, what is left, the question, the result."""

from contextlib import closing
from typing import TYPE_CHECKING

from railweave.api.auditing import audited
from railweave.api.deploying import PLAN_ALONE, Agreement
from railweave.api.project import JOURNALS, Project
from railweave.api.reaching import ReachedFabric, reached_fabric
from railweave.errors import RailweaveError, RefusedError

if TYPE_CHECKING:
    from nornir_railweave.rollout.journal import Journal
    from railweave.plan.outcome import DeployResult
    from railweave.plan.rollout import Rollout


def rollout_to_resume(name: str, fabric: str, target: str) -> "Rollout":
    """Return the rollout named, else the newest unfinished one of this fabric and target; raises RefusedError."""
    from nornir_railweave.rollout.resuming import newest_unfinished
    from nornir_railweave.rollout.rollouts import named_rollout
    from railweave.plan.resumption import nothing_to_resume

    found = named_rollout(JOURNALS, name) if name else newest_unfinished(JOURNALS, fabric, target)
    if found is None:
        raise RefusedError([nothing_to_resume(fabric, target)])
    return found


def resume(
    project: Project, target: str, agreement: Agreement = PLAN_ALONE, *, rollout: str = ""
) -> "DeployResult | None":
    """Carry on the rollout named, else the newest unfinished one; None when the operator said no.

    Raises RefusedError where it must not be carried on, UsageError and RailweaveError as the words say.
    """
    from railweave.plan.rollout import Kind

    fabric = reached_fabric(project, target)
    found = rollout_to_resume(rollout, fabric.designed.fabric.name, target)
    fabric = fabric_of(found, fabric, project)
    refuse_resume(found, fabric)
    project.operator.require_answer("deploy --resume")
    if found.kind is Kind.ROLLBACK:
        from railweave.api.rolling_back import carry_on_rollback

        return carry_on_rollback(project, fabric, found, agreement)
    with closing(reopened(found, project)) as journal, fabric.connected():
        return _carry_on(project, fabric, found, journal, agreement)


def fabric_of(rollout: "Rollout", fabric: ReachedFabric, project: Project) -> ReachedFabric:
    """Return the fabric that ``rollout`` is about: ``fabric``, or the phase of a change that leads to it.

    Raises RefusedError where there is no way in phases any more, UsageError where there is no such phase.
    """
    if not rollout.phase or rollout.intent_sha256 != fabric.designed.intent.sha256:
        return fabric
    from railweave.api.phasing import find_phases

    return find_phases(project, rollout.base).reached_for_deployment(fabric.target.name, rollout.phase)


def refuse_resume(rollout: "Rollout", fabric: ReachedFabric) -> None:
    """Raise RefusedError where ``rollout`` cannot be carried on with this fabric."""
    from nornir_railweave.rollout.resuming import newer_change
    from railweave.plan.resumption import came_after, resume_refusals

    designed = fabric.designed
    refused = resume_refusals(rollout, designed.fabric.name, fabric.target.name, designed.intent.sha256)
    if not refused and (newer := newer_change(JOURNALS, rollout)):
        refused = (came_after(rollout, newer),)
    if refused:
        raise RefusedError(refused)


def reopened(rollout: "Rollout", project: Project) -> "Journal":
    """Return the journal of ``rollout``, open at its end; raises RefusedError where somebody is at work."""
    from nornir_railweave.rollout.control import GO_ON, ask
    from nornir_railweave.rollout.journal import Journal, Undertaking

    undertaking = Undertaking(
        rollout.kind,
        rollout.of,
        rollout.intent or str(project.intent),
        rollout.remove_conflicting,
        rollout.base,
        rollout.phase,
    )
    try:
        journal = Journal.reopen(rollout.path, rollout.fabric, rollout.target, undertaking)
        # What was wished of the process that is gone is not wished of this one.
        ask(rollout.path, GO_ON)
    except OSError as problem:
        raise RailweaveError(f"{rollout.path}: {problem.strerror}") from problem
    return journal


def free(fabric: ReachedFabric, rollout: "Rollout", journal: "Journal") -> None:
    """Take back at once what the rollout left waiting on its devices, and say so in its journal."""
    from nornir_railweave.events import Announcer
    from nornir_railweave.rollout.resuming import free_devices

    with fabric.shown:
        free_devices(
            fabric.nornir,
            rollout,
            reconnect_s=fabric.target.timeouts.reconnect_s,
            announce=Announcer([journal, fabric.shown]),
        )


def _carry_on(
    project: Project, fabric: ReachedFabric, rollout: "Rollout", journal: "Journal", agreement: Agreement
) -> "DeployResult | None":
    from nornir_railweave.rollout.resuming import write_down_done
    from railweave.plan.resumption import differing, in_journaled_order

    free(fabric, rollout, journal)
    with fabric.shown:
        plan = fabric.plan(remove_conflicting=rollout.remove_conflicting)
    if moved := differing(rollout, plan):
        raise RefusedError(moved)
    plan = in_journaled_order(fabric.designed.fabric, rollout, plan)
    if not project.operator.approves(plan, f"Carry on rollout {rollout.name}:"):
        return None
    policy = agreement.policy(fabric, remove_conflicting=rollout.remove_conflicting)
    with audited(f"deploy --resume {rollout.name}", plan) as note, fabric.shown:
        write_down_done(rollout, plan, journal)
        result = fabric.deploy(plan, policy, journal=journal)
        note(result)
        return result
