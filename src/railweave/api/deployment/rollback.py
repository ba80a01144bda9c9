"""Roll back a rollout: find it, plan the rollback, ask the operator, carry it out.

Resuming a rollout begins with the same steps: the fabric of the rollout, its journal, its unconfirmed commits.
"""

from contextlib import ExitStack, closing
from dataclasses import replace
from pathlib import Path
from typing import NamedTuple

from nornir_railweave.events import Announcer
from nornir_railweave.rollout import last_rollout
from nornir_railweave.rollout.control import GO_ON, ask
from nornir_railweave.rollout.journal import Journal
from nornir_railweave.rollout.resuming import revert_pending
from nornir_railweave.rollout.rolling_back import newer_than, newest_change, plan_rollback, roll_back
from nornir_railweave.rollout.rollouts import journals, named_rollout, read_rollout
from railweave.api.deployment.rollout import policy_of, report_ended_state
from railweave.api.journal.audit import audited
from railweave.api.journal.folder import (
    fetched_journals,
    journal_folder,
    refuse_while_held,
    refuse_while_rolling_out,
    shared_journals,
)
from railweave.api.plan_files import read_order
from railweave.api.project import Project
from railweave.api.targets.fabric import LiveFabric, live_fabric
from railweave.api.targets.phases import LivePhases, live_phases
from railweave.errors import RailweaveError, RefusedError
from railweave.plan.consent import PLAN_ALONE, DeployOptions, check_consent
from railweave.plan.outcome import DeployResult
from railweave.plan.resumption import check_journal_version, check_same_intent, still_running
from railweave.plan.rollback_checks import changed_nothing, nothing_to_roll_back
from railweave.plan.rollout import Rollout, RolloutKind, RolloutMetadata
from railweave.plan.signed import Signed
from railweave.wording import first_few


class _CheckedOrder(NamedTuple):
    """The signed order to roll back, and who signed it; None and empty if the target asks for none.

    A resumed rollback has the signer alone: its journal already has the order.
    """

    signed: Signed | None = None
    signer: str = ""


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
    past_rollout = _rollout_to_roll_back(rollout, fabric)
    if not rollout:
        _report_skipped(project, past_rollout)
    _require_rollback(past_rollout, fabric)
    checked_order = _checked_order(fabric, past_rollout.name, order)
    project.operator.require_answer("rollback")
    refuse_while_rolling_out(past_rollout.fabric, past_rollout.target)
    fabric = fabric_of(past_rollout, fabric, project)
    with fabric.connected():
        past_rollout = _without_pending(fabric, past_rollout, project)
        return _roll_back(fabric, past_rollout, options, project, checked_order)


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
            rollout = _recorded_rollout(fabric)
            checked_order = _checked_order(fabric, rollout.name, order)
            reconnect_s = fabric.target.timeouts.reconnect_s
            revert_pending(fabric.nornir, rollout, fabric.intended, reconnect_s=reconnect_s, announce=fabric.shown)
            # Switches that had an unconfirmed commit of it have now reverted it, and are not part of it any more.
            rollout = _recorded_rollout(fabric, rollout.name)
        return _roll_back(fabric, rollout, options, project, checked_order)


def _checked_order(fabric: LiveFabric, rollout: str, order: Path | None) -> _CheckedOrder:
    """Return the signed order and its signer; both are empty if the target takes unsigned plans too.

    Raises RefusedError if the order is missing or no allowed signer signed it, RailweaveError if it cannot be read.
    """
    allowed_signers = fabric.target.allowed_signers
    if allowed_signers is None:
        return _CheckedOrder()
    try:
        signed, signer = read_order(order, rollout, allowed_signers)
        return _CheckedOrder(signed, signer)
    except OSError as exc:
        raise RailweaveError(f"{order}: {exc.strerror}") from exc


def resume_rollback(
    project: Project, fabric: LiveFabric, rollback: Rollout, options: DeployOptions, signer: str
) -> DeployResult | None:
    """Resume a rollback that was not finished and that ``signer`` ordered; None if the operator declined.

    Raises RefusedError if that is impossible.
    """
    # The intent that the rollback began with, whatever the command names.
    project = replace(project, intent=Path(rollback.metadata.intent))
    with closing(reopened(rollback, project)) as journal, fabric.connected():
        revert_unconfirmed(fabric, rollback, journal)
        past_rollout = _journaled_or_recorded(fabric, rollback)
        diagnostics = check_journal_version(past_rollout)
        if diagnostics:
            raise RefusedError(diagnostics)
        return _roll_back(fabric, past_rollout, options, project, _CheckedOrder(signer=signer), journal)


def _journaled_or_recorded(fabric: LiveFabric, rollback: Rollout) -> Rollout:
    """Return the rollout that ``rollback`` rolls back, from its journal if there is one, else from the switches."""
    name = rollback.metadata.of
    if any(path.stem == name for path in journals(journal_folder(), rollback.fabric)):
        return named_rollout(journal_folder(), name)
    # `rollback_last` needs no journal of the rollout that it rolls back.
    return _recorded_rollout(fabric, name)


def _recorded_rollout(fabric: LiveFabric, name: str = "") -> Rollout:
    """Return the rollout ``name``, by default the newest, as the switches themselves recorded it."""
    return last_rollout.last_rollout(
        fabric.nornir,
        fabric.designed.fabric,
        target=fabric.target.name,
        intent_sha256=fabric.designed.intent.sha256,
        announce=fabric.shown,
        name=name,
    )


def _rollout_to_roll_back(name: str, fabric: LiveFabric) -> Rollout:
    """Return the named rollout, by default the newest that changed anything; raises RefusedError if there is none."""
    if name:
        return named_rollout(journal_folder(), name)
    newest = newest_change(journal_folder(), fabric.designed.fabric.name, fabric.target.name)
    if newest is None:
        raise RefusedError([nothing_to_roll_back(fabric.designed.fabric.name, fabric.target.name)])
    return newest


def _require_rollback(rollout: Rollout, fabric: LiveFabric) -> None:
    """Raise RefusedError if ``rollout`` cannot be rolled back with this fabric, target and intent."""
    designed = fabric.designed
    diagnostics = check_journal_version(rollout)
    if diagnostics:
        raise RefusedError(diagnostics)
    if rollout.alive:
        raise RefusedError([still_running(rollout)])
    if not rollout.changed:
        raise RefusedError([changed_nothing(rollout)])
    target = fabric.target.name
    diagnostics = check_same_intent(rollout, designed.fabric.name, target, designed.intent.sha256, "rollback")
    if diagnostics:
        raise RefusedError(diagnostics)


def _report_skipped(project: Project, past_rollout: Rollout) -> None:
    """Report to the operator, who named no rollout, which rollouts newer than ``past_rollout`` are skipped, and why."""
    skipped = []
    for newer in newer_than(journal_folder(), past_rollout):
        if newer.metadata.kind is not RolloutKind.DEPLOY:
            continue
        reason = "already rolled back" if newer.changed else "changed nothing"
        skipped.append(f"{newer.name} ({reason})")
    if skipped:
        project.operator.tell(
            f"skipped {first_few(skipped)}; this rolls back the earlier rollout {past_rollout.name}, which "
            f"{past_rollout.by or 'somebody'} started at {past_rollout.begun_at}"
        )


def _without_pending(fabric: LiveFabric, rollout: Rollout, project: Project) -> Rollout:
    """Revert the unconfirmed commits of a rollout, and return it as its journal records it afterwards."""
    if rollout.finished:
        return rollout
    with closing(reopened(rollout, project)) as journal:
        revert_unconfirmed(fabric, rollout, journal)
    return read_rollout(rollout.path)


def _roll_back(
    fabric: LiveFabric,
    rollout: Rollout,
    options: DeployOptions,
    project: Project,
    order: _CheckedOrder,
    journal: Journal | None = None,
) -> DeployResult | None:
    """Plan the rollback of ``rollout``, ask the operator and carry it out; None if they declined.

    ``journal`` is that of a rollback that is resumed; a new one gets its own. Raises RefusedError if the plan needs a
    consent that ``options`` do not give.
    """
    designed_fabric = fabric.designed.fabric
    policy = policy_of(options, fabric.target)
    with fabric.shown:
        planned = plan_rollback(fabric.nornir, designed_fabric, fabric.intended, rollout, policy, fabric.shown)
    plan = planned.plan
    # Asking for a rollback is consent to the earlier identities, but not to the outage of a reload.
    consent = replace(options, renumber=True, single_step=True, allow_lockout=True)
    diagnostics = check_consent(plan, consent)
    if diagnostics:
        raise RefusedError(diagnostics)
    if not project.operator.approves(plan, f"Roll back {rollout.name}:"):
        return None
    with ExitStack() as stack:
        # A resumed rollback continues its own journal.
        if journal is None:
            metadata = _metadata(rollout, project, order.signed)
            new_journal = Journal(journal_folder(), designed_fabric.name, plan.target, metadata, shared_journals())
            journal = stack.enter_context(closing(new_journal))
        stack.enter_context(report_ended_state(project, fabric))
        record = stack.enter_context(audited(f"rollback {rollout.name}", plan, signed_by=order.signer))
        stack.enter_context(fabric.shown)
        result = roll_back(fabric.nornir, designed_fabric, planned, policy=policy, events=fabric.shown, journal=journal)
        record(result)
        return result


def _metadata(rollout: Rollout, project: Project, order: Signed | None) -> RolloutMetadata:
    """Return the metadata for the journal of a rollback of ``rollout``."""
    return RolloutMetadata(
        kind=RolloutKind.ROLLBACK,
        of=rollout.name,
        intent=str(project.intent),
        base=rollout.metadata.base,
        base_commit=rollout.metadata.base_commit,
        phase=rollout.metadata.phase,
        signed=order,
    )


def fabric_of(rollout: Rollout, fabric: LiveFabric, project: Project) -> LiveFabric:
    """Return the fabric of ``rollout``: ``fabric``, or the phase of a change that leads to it.

    Raises RefusedError if no phases lead there any more, UsageError if that phase does not exist.
    """
    phases = phases_of(rollout, fabric, project)
    if phases is None:
        return fabric
    return phases.live_to_deploy(rollout.metadata.phase)


def phases_of(rollout: Rollout, fabric: LiveFabric, project: Project) -> LivePhases | None:
    """Return the change of which ``rollout`` deployed a phase, None if it deployed a whole intent or another one.

    Raises as `fabric_of` does.
    """
    if not rollout.metadata.phase or rollout.intent_sha256 != fabric.designed.intent.sha256:
        return None
    # A branch may have moved on since, even to the end of the change itself.
    base = rollout.metadata.base_commit or rollout.metadata.base
    return live_phases(project, fabric.target.name, base)


def reopened(rollout: Rollout, project: Project) -> Journal:
    """Return the journal of ``rollout``, open at its end.

    Raises RefusedError if another process holds it, RailweaveError if it cannot be opened.
    """
    intent = rollout.metadata.intent or str(project.intent)
    # The signature is in the first line of the journal, and the digest is that of what was deployed then.
    metadata = replace(rollout.metadata, intent=intent, sources_sha256="", signed=None)
    try:
        journal = Journal.reopen(rollout.path, rollout.fabric, rollout.target, metadata, shared_journals())
        # A request to the process that ended does not apply to this one.
        ask(rollout.path, GO_ON)
    except OSError as exc:
        raise RailweaveError(f"{rollout.path}: {exc.strerror}") from exc
    return journal


def revert_unconfirmed(fabric: LiveFabric, rollout: Rollout, journal: Journal) -> None:
    """Revert at once what the rollout left unconfirmed on its devices, and record it in its journal."""
    with fabric.shown:
        revert_pending(
            fabric.nornir,
            rollout,
            fabric.intended,
            reconnect_s=fabric.target.timeouts.reconnect_s,
            announce=Announcer([journal, fabric.shown]),
        )
