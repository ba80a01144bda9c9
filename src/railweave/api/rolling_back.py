"""A rollback which rollout, what goes back, the question, the result."""

from contextlib import ExitStack, closing
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING

from railweave.api.auditing import audited
from railweave.api.deploying import PLAN_ALONE, Agreement
from railweave.api.project import JOURNALS, Project
from railweave.api.reaching import ReachedFabric, reached_fabric
from railweave.api.resuming import fabric_of, free, reopened
from railweave.errors import RefusedError

if TYPE_CHECKING:
    from nornir_railweave.rollout.journal import Journal
    from railweave.plan.outcome import DeployResult
    from railweave.plan.rollout import Rollout


def rollback(
    project: Project, target: str, agreement: Agreement = PLAN_ALONE, *, rollout: str = ""
) -> "DeployResult | None":
    """Bring back what the rollout named changed, else the newest that changed anything.

    None when the operator said no.

    Raises RefusedError, naming the devices, where that cannot be done; UsageError and RailweaveError as the words say.
    """
    from nornir_railweave.rollout.journal import refuse_while_running

    fabric = reached_fabric(project, target)
    found = _rollout_to_roll_back(rollout, fabric)
    project.operator.require_answer("rollback")
    refuse_while_running(JOURNALS, found.fabric, found.target)
    fabric = fabric_of(found, fabric, project)
    with fabric.connected():
        return _roll_back(fabric, _freed(fabric, found, project), agreement, project)


def rollback_last(project: Project, target: str, agreement: Agreement = PLAN_ALONE) -> "DeployResult | None":
    """Bring back what the newest rollout changed that the switches know of, whose journal is lost.

    Raises RefusedError where no switch knows of one or a switch cannot be asked.
    """
    from nornir_railweave.rollout.journal import refuse_while_running
    from nornir_railweave.rollout.resuming import free_devices

    fabric = reached_fabric(project, target)
    project.operator.require_answer("rollback")
    refuse_while_running(JOURNALS, fabric.designed.fabric.name, target)
    with fabric.connected():
        with fabric.shown:
            rollout = _last(fabric)
            free_devices(fabric.nornir, rollout, reconnect_s=fabric.target.timeouts.reconnect_s, announce=fabric.shown)
            rollout = _last(fabric, rollout.name)
        return _roll_back(fabric, rollout, agreement, project)


def _last(fabric: ReachedFabric, name: str = "") -> "Rollout":
    from nornir_railweave.rollout.last_rollout import last_rollout

    designed = fabric.designed
    return last_rollout(
        fabric.nornir,
        designed.fabric,
        target=fabric.target.name,
        intent_sha256=designed.intent.sha256,
        announce=fabric.shown,
        name=name,
    )


def carry_on_rollback(
    project: Project, fabric: ReachedFabric, rollback: "Rollout", agreement: Agreement
) -> "DeployResult | None":
    """Carry on a rollback that was not finished; raises RefusedError where that cannot be."""
    from nornir_railweave.rollout.rollouts import journals, named_rollout

    project = replace(project, intent=Path(rollback.intent))
    with closing(reopened(rollback, project)) as journal, fabric.connected():
        free(fabric, rollback, journal)
        known = any(one.stem == rollback.of for one in journals(JOURNALS, rollback.fabric))
        of = named_rollout(JOURNALS, rollback.of) if known else _last(fabric, rollback.of)
        return _roll_back(fabric, of, agreement, project, journal)


def _rollout_to_roll_back(name: str, fabric: ReachedFabric) -> "Rollout":
    """Return the rollout named, else the newest that changed anything; raises RefusedError where it cannot go back."""
    from nornir_railweave.rollout.rolling_back import newest_change
    from nornir_railweave.rollout.rollouts import named_rollout
    from railweave.plan.resumption import of_another, still_running
    from railweave.plan.takeback import changed_nothing, nothing_to_roll_back

    designed, target = fabric.designed, fabric.target.name
    rollout = named_rollout(JOURNALS, name) if name else newest_change(JOURNALS, designed.fabric.name, target)
    if rollout is None:
        raise RefusedError([nothing_to_roll_back(designed.fabric.name, target)])
    refused = of_another(rollout, designed.fabric.name, target, designed.intent.sha256, "rollback")
    if rollout.alive:
        refused = (still_running(rollout),)
    elif not rollout.changed:
        refused = (changed_nothing(rollout),)
    if refused:
        raise RefusedError(refused)
    return rollout


def _freed(fabric: ReachedFabric, rollout: "Rollout", project: Project) -> "Rollout":
    """Return the rollout with nothing of it left waiting on any device."""
    from nornir_railweave.rollout.rollouts import read_rollout

    if rollout.finished:
        return rollout
    with closing(reopened(rollout, project)) as journal:
        free(fabric, rollout, journal)
    return read_rollout(rollout.path)


def _roll_back(
    fabric: ReachedFabric, rollout: "Rollout", agreement: Agreement, project: Project, journal: "Journal | None" = None
) -> "DeployResult | None":
    """Plan, ask and carry out; ``journal`` is that of a rollback which is carried on."""
    from nornir_railweave.rollout.journal import Journal, Undertaking
    from nornir_railweave.rollout.rolling_back import plan_rollback, roll_back
    from railweave.plan.refusal import Consent, refusals
    from railweave.plan.rollout import Kind

    designed = fabric.designed.fabric
    policy = agreement.policy(fabric)
    with fabric.shown:
        planned = plan_rollback(fabric.nornir, designed, fabric.wanted, rollout, policy, fabric.shown)
    plan = planned.plan
    # Going back to what ran is consent to the identities that ran; a reload takes a data plane down all the same.
    consent = Consent(provision=agreement.provision, renumber=True, single_step=True)
    if refused := refusals(plan, consent, skip_unreachable=agreement.skip_unreachable):
        raise RefusedError(refused)
    if not project.operator.approves(plan, f"Roll back {rollout.name}:"):
        return None
    with ExitStack() as stack:
        if journal is None:
            undertaking = Undertaking(
                Kind.ROLLBACK, rollout.name, str(project.intent), base=rollout.base, phase=rollout.phase
            )
            journal = stack.enter_context(closing(Journal(JOURNALS, designed.name, plan.target, undertaking)))
        note = stack.enter_context(audited(f"rollback {rollout.name}", plan))
        stack.enter_context(fabric.shown)
        result = roll_back(fabric.nornir, designed, planned, policy=policy, events=fabric.shown, journal=journal)
        note(result)
        return result
