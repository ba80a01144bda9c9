"""Roll back a rollout: which one, the plan of the rollback, the question, the result.

Resuming shares its first steps: the fabric of a rollout, its journal, its pending commits.
"""

from contextlib import ExitStack, closing
from dataclasses import replace
from pathlib import Path

from nornir_railweave.events import Announcer
from nornir_railweave.rollout import last_rollout
from nornir_railweave.rollout.control import GO_ON, ask
from nornir_railweave.rollout.journal import Journal, RolloutMetadata
from nornir_railweave.rollout.resuming import free_devices
from nornir_railweave.rollout.rolling_back import newer_than, newest_change, plan_rollback, roll_back
from nornir_railweave.rollout.rollouts import journals, named_rollout, read_rollout
from railweave.api.deployment.rollout import PLAN_ALONE, DeployOptions, state_told
from railweave.api.journal.audit import audited
from railweave.api.journal.folder import (
    fetched_journals,
    journal_folder,
    refuse_while_held,
    refuse_while_rolling_out,
    shared_journals,
)
from railweave.api.plans import read_order
from railweave.api.project import Project
from railweave.api.targets.fabric import LiveFabric, live_fabric
from railweave.api.targets.phases import LivePhases, live_phases
from railweave.errors import RailweaveError, RefusedError
from railweave.plan.consent import Consent, check_consent
from railweave.plan.outcome import DeployResult
from railweave.plan.resumption import of_another, of_other_version, still_running
from railweave.plan.rollback_checks import changed_nothing, nothing_to_roll_back
from railweave.plan.rollout import Kind, Rollout
from railweave.plan.signed import Signed

_Ordered = tuple[Signed | None, str]
"""The order that a target with allowed signers asks for, None where none is asked for, and who signed it."""


def rollback(
    project: Project,
    target: str,
    options: DeployOptions = PLAN_ALONE,
    *,
    rollout: str = "",
    order: Path | None = None,
) -> DeployResult | None:
    """Roll back the named rollout, by default the newest that changed anything; None if the operator declined.

    A target that takes signed plans needs an ``order``: a signed file that holds the rollout's name.
    Raises RefusedError, naming the devices, if that is impossible; UsageError for unknown names; RailweaveError if a
    file cannot be read or written.
    """
    fabric = live_fabric(project, target)
    fetched_journals()
    refuse_while_held(fabric.designed.fabric.name, target, project.operator)
    found = _rollout_to_roll_back(rollout, fabric)
    if not rollout:
        _tell_of_others(project, found)
    ordered = _ordered(fabric, found.name, order)
    project.operator.require_answer("rollback")
    refuse_while_rolling_out(found.fabric, found.target)
    fabric = fabric_of(found, fabric, project)
    with fabric.connected():
        return _roll_back(fabric, _freed(fabric, found, project), options, project, ordered)


def rollback_last(
    project: Project, target: str, options: DeployOptions = PLAN_ALONE, *, order: Path | None = None
) -> DeployResult | None:
    """Roll back the newest rollout that the switches know of, which needs no journal; None if the operator declined.

    ``order`` as for `rollback`. Raises RefusedError if no switch knows of one or a switch cannot be read.
    """
    fabric = live_fabric(project, target)
    project.operator.require_answer("rollback")
    refuse_while_rolling_out(fabric.designed.fabric.name, target, project.operator)
    with fabric.connected():
        with fabric.shown:
            rollout = _last(fabric)
            ordered = _ordered(fabric, rollout.name, order)
            reconnect_s = fabric.target.timeouts.reconnect_s
            free_devices(fabric.nornir, rollout, fabric.intended, reconnect_s=reconnect_s, announce=fabric.shown)
            rollout = _last(fabric, rollout.name)
        return _roll_back(fabric, rollout, options, project, ordered)


def _ordered(fabric: LiveFabric, rollout: str, order: Path | None) -> _Ordered:
    allowed = fabric.target.allowed_signers
    if allowed is None:
        return None, ""
    try:
        return read_order(order, rollout, allowed)
    except OSError as exc:
        raise RailweaveError(f"{order}: {exc.strerror}") from exc


def resume_rollback(
    project: Project, fabric: LiveFabric, rollback: Rollout, options: DeployOptions, signer: str
) -> DeployResult | None:
    """Resume a rollback that was not finished, ordered by ``signer``; raises RefusedError if that is impossible."""
    project = replace(project, intent=Path(rollback.intent))
    with closing(reopened(rollback, project)) as journal, fabric.connected():
        free(fabric, rollback, journal)
        known = any(one.stem == rollback.of for one in journals(journal_folder(), rollback.fabric))
        of = named_rollout(journal_folder(), rollback.of) if known else _last(fabric, rollback.of)
        if refused := of_other_version(of):
            raise RefusedError(refused)
        return _roll_back(fabric, of, options, project, (None, signer), journal)


def _last(fabric: LiveFabric, name: str = "") -> Rollout:
    return last_rollout.last_rollout(
        fabric.nornir,
        fabric.designed.fabric,
        target=fabric.target.name,
        intent_sha256=fabric.designed.intent.sha256,
        announce=fabric.shown,
        name=name,
    )


def _rollout_to_roll_back(name: str, fabric: LiveFabric) -> Rollout:
    designed, target = fabric.designed, fabric.target.name
    rollout = (
        named_rollout(journal_folder(), name) if name else newest_change(journal_folder(), designed.fabric.name, target)
    )
    if rollout is None:
        raise RefusedError([nothing_to_roll_back(designed.fabric.name, target)])
    refused = of_another(rollout, designed.fabric.name, target, designed.intent.sha256, "rollback")
    if other := of_other_version(rollout):
        refused = other
    elif rollout.alive:
        refused = (still_running(rollout),)
    elif not rollout.changed:
        refused = (changed_nothing(rollout),)
    if refused:
        raise RefusedError(refused)
    return rollout


def _tell_of_others(project: Project, found: Rollout) -> None:
    """Tell the operator, who named no rollout, that this is not the newest one: that one changed nothing."""
    without = [one.name for one in newer_than(journal_folder(), found) if one.kind is Kind.DEPLOY and not one.changed]
    if without:
        project.operator.tell(
            f"{', '.join(without)} changed nothing; this rolls back an earlier rollout, {found.name}, which "
            f"{found.by or 'somebody'} started at {found.begun_at}"
        )


def _freed(fabric: LiveFabric, rollout: Rollout, project: Project) -> Rollout:
    if rollout.finished:
        return rollout
    with closing(reopened(rollout, project)) as journal:
        free(fabric, rollout, journal)
    return read_rollout(rollout.path)


def _roll_back(
    fabric: LiveFabric,
    rollout: Rollout,
    options: DeployOptions,
    project: Project,
    ordered: _Ordered,
    journal: Journal | None = None,
) -> DeployResult | None:
    """Plan, ask and roll back; ``journal`` is that of a rollback that is resumed."""
    designed, (order, signer) = fabric.designed.fabric, ordered
    policy = options.policy(fabric)
    with fabric.shown:
        planned = plan_rollback(fabric.nornir, designed, fabric.intended, rollout, policy, fabric.shown)
    plan = planned.plan
    # Asking for a rollback is consent to the earlier identities, but not to the outage of a reload.
    consent = Consent(provision=options.provision, renumber=True, single_step=True, allow_lockout=True)
    if refused := check_consent(plan, consent, skip_unreachable=options.skip_unreachable):
        raise RefusedError(refused)
    if not project.operator.approves(plan, f"Roll back {rollout.name}:"):
        return None
    with ExitStack() as stack:
        if journal is None:
            metadata = RolloutMetadata(
                Kind.ROLLBACK, rollout.name, str(project.intent), base=rollout.base, phase=rollout.phase, signed=order
            )
            opened = Journal(journal_folder(), designed.name, plan.target, metadata, shared_journals())
            journal = stack.enter_context(closing(opened))
        stack.enter_context(state_told(project, fabric))
        record = stack.enter_context(audited(f"rollback {rollout.name}", plan, signed_by=signer))
        stack.enter_context(fabric.shown)
        result = roll_back(fabric.nornir, designed, planned, policy=policy, events=fabric.shown, journal=journal)
        record(result)
        return result


def fabric_of(rollout: Rollout, fabric: LiveFabric, project: Project) -> LiveFabric:
    """Return the fabric of ``rollout``: ``fabric``, or the phase of a change that leads to it.

    Raises RefusedError if no phases lead there any more, UsageError if that phase does not exist.
    """
    phases = phases_of(rollout, fabric, project)
    return fabric if phases is None else phases.live_to_deploy(rollout.phase)


def phases_of(rollout: Rollout, fabric: LiveFabric, project: Project) -> LivePhases | None:
    """Return the change of which ``rollout`` is a phase, None where it is none; raises as `fabric_of` does."""
    if not rollout.phase or rollout.intent_sha256 != fabric.designed.intent.sha256:
        return None
    return live_phases(project, fabric.target.name, rollout.base)


def reopened(rollout: Rollout, project: Project) -> Journal:
    """Return the journal of ``rollout``, open at its end; raises RefusedError if another process holds it."""
    metadata = RolloutMetadata(
        rollout.kind,
        rollout.of,
        rollout.intent or str(project.intent),
        rollout.remove_conflicting,
        rollout.base,
        rollout.phase,
    )
    try:
        journal = Journal.reopen(rollout.path, rollout.fabric, rollout.target, metadata, shared_journals())
        # A request to the process that is gone is no request to this one.
        ask(rollout.path, GO_ON)
    except OSError as exc:
        raise RailweaveError(f"{rollout.path}: {exc.strerror}") from exc
    return journal


def free(fabric: LiveFabric, rollout: Rollout, journal: Journal) -> None:
    """Revert at once what the rollout left unconfirmed on its devices, and record it in its journal."""
    with fabric.shown:
        free_devices(
            fabric.nornir,
            rollout,
            fabric.intended,
            reconnect_s=fabric.target.timeouts.reconnect_s,
            announce=Announcer([journal, fabric.shown]),
        )
