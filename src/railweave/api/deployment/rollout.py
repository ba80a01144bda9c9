"""A deployment: make the plan, ask the operator, roll it out."""

from collections.abc import Collection, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING

from nornir_railweave.rollout.resuming import newest_unfinished
from nornir_railweave.target.model import Target
from nornir_railweave.target.policy import Policy, policy_for
from railweave.api.design.intent import commit_at
from railweave.api.journal.audit import audited
from railweave.api.journal.folder import journal_folder, refuse_while_rolling_out, shared_journals
from railweave.api.plan_files import read_plan, refuse_unsigned
from railweave.api.project import Project
from railweave.api.targets.fabric import LiveFabric, live_fabric, pending_wait_s
from railweave.api.targets.limit import refuse_limited_phase, selected_switches
from railweave.errors import RefusedError, UsageError
from railweave.plan.consent import PLAN_ALONE, DeployOptions
from railweave.plan.model import Plan
from railweave.plan.outcome import DeployResult
from railweave.plan.resumption import check_binding
from railweave.plan.rollout import Rollout, RolloutMetadata
from railweave.plan.signed import Signed
from railweave.wording import command_line, compact, counted

if TYPE_CHECKING:
    from railweave.plan.phases.planning import Phase


def policy_of(options: DeployOptions, target: Target) -> Policy:
    """Return the policy of a rollout to ``target`` with these options, whose journals are the project's."""
    return replace(policy_for(target, options), journal_dir=journal_folder(), journals=shared_journals())


def agreed_for(options: DeployOptions, phase: "Phase") -> DeployOptions:
    """Return the options for deploying ``phase``, with the consent that the phases before it make unnecessary.

    The plan of a phase needs consent to a single step if it moves cables, lowers the MTU or drops a marking. In a
    change in phases nothing is lost by that: by then no node sends the old values any more.
    """
    if phase.cables or phase.lowers_mtu or phase.drops:
        return replace(options, single_step=True)
    return options


@dataclass(frozen=True, slots=True)
class Review:
    """A plan that was reviewed before its deployment: its ``file``, what was ``signed`` of it, and by whom.

    All are empty where a deployment makes its plan itself.
    """

    file: Path | None = None
    plan: Plan | None = None
    signed: Signed | None = None
    signer: str = ""


NOTHING_REVIEWED = Review()


@dataclass(frozen=True, slots=True)
class AgreedPlan:
    """A plan that the operator agreed to, and what its rollout says of it."""

    plan: Plan
    metadata: RolloutMetadata
    # The command, as the audit log has it.
    command: str
    # Who signed the plan; empty where nobody had to.
    signer: str = ""


def deploy(
    project: Project,
    target: str,
    options: DeployOptions = PLAN_ALONE,
    *,
    reviewed: Path | None = None,
    limit: str = "",
) -> DeployResult | None:
    """Plan and deploy the project's intent; None if the operator declined.

    ``reviewed`` is the file of a plan: the deployment is refused if a device has changed since, or if the target takes
    signed plans only and no allowed signer signed it. ``limit`` names the switches that may be changed: names, patterns
    and tiers, separated by commas; the file of a plan has its own. Raises RefusedError if the plan must not be
    deployed, UsageError for an unknown target, RailweaveError if a file cannot be read or written.
    """
    if limit and reviewed is not None:
        raise UsageError(f"--limit belongs to the plan: `{command_line('plan', '--limit', limit, '-o', reviewed)}`")
    fabric = live_fabric(project, target)
    names = selected_switches(fabric.designed.fabric, limit)
    review = read_review(reviewed, fabric.target)
    with fabric.connected():
        agreed = agree(project, fabric, options, review, names)
        if agreed is None:
            return None
        return carry_out(project, fabric, agreed, options)


def agree(
    project: Project, fabric: LiveFabric, options: DeployOptions, review: Review, limit: Collection[str] = ()
) -> AgreedPlan | None:
    """Plan the deployment of ``fabric`` and return the plan if the operator agrees to it, None if they declined.

    ``limit`` are the only switches that may be changed, by default all; a reviewed plan has its own limit. Raises as
    `deploy` does.
    """
    fabric.require_secrets()
    refuse_while_rolling_out(fabric.designed.fabric.name, fabric.target.name, project.operator)
    _report_unfinished(project, fabric)
    if review.plan is not None:
        limit = review.plan.limit
    refuse_limited_phase(",".join(limit), fabric.base, None)
    with fabric.shown:
        plan = fabric.plan(
            remove_conflicting=options.remove_conflicting,
            pending_wait_s=pending_wait_s(fabric.target),
            limit=limit,
        )
    # Planned again, and compared with what was reviewed: devices may have changed since.
    if review.plan is not None:
        diagnostics = check_binding(review.plan, plan, str(review.file))
        if diagnostics:
            raise RefusedError(diagnostics)
    if not options.renumber:
        diagnostics = fabric.earlier_default(plan)
        if diagnostics:
            raise RefusedError(diagnostics)
    if not project.operator.approves(plan):
        return None
    metadata = replace(_metadata(project, fabric, options, review.signed), limit=plan.limit)
    return AgreedPlan(plan, metadata, f"deploy {review.file or project.intent}", review.signer)


def carry_out(project: Project, fabric: LiveFabric, agreed: AgreedPlan, options: DeployOptions) -> DeployResult:
    """Roll out a plan that was agreed to, record it in the audit log, and return the result.

    A switch refuses its changes if its state is not the one that they were planned for.
    """
    with (
        report_ended_state(project, fabric),
        audited(agreed.command, agreed.plan, signed_by=agreed.signer) as record,
        fabric.shown,
    ):
        result = fabric.deploy(agreed.plan, policy_of(options, fabric.target), metadata=agreed.metadata)
        record(result)
        return result


def read_review(file: Path | None, target: Target) -> Review:
    """Return the reviewed plan in ``file`` and who signed it; empty without a file.

    No switch is needed for this, so that an invalid file is reported before a login is tried. Raises RefusedError if
    the file is not a plan, or if the target takes signed plans only and no allowed signer signed it.
    """
    allowed = target.allowed_signers
    if file is not None:
        plan, signed, signer = read_plan(file, allowed)
        return Review(file, plan, signed, signer)
    if allowed is not None:
        raise refuse_unsigned(target.name, allowed)
    return NOTHING_REVIEWED


def _metadata(project: Project, fabric: LiveFabric, options: DeployOptions, signed: Signed | None) -> RolloutMetadata:
    """Return what the journal keeps of the command, so that `deploy --resume` continues the same deployment."""
    return RolloutMetadata(
        intent=str(project.intent),
        remove_conflicting=options.remove_conflicting,
        base=fabric.base,
        base_commit=commit_at(fabric.base),
        phase=fabric.phase,
        signed=signed,
    )


@contextmanager
def report_ended_state(project: Project, fabric: LiveFabric) -> Iterator[None]:
    """If a second signal ends the rollout at once, tell the operator in which state it is left, and raise it again."""
    try:
        yield
    except KeyboardInterrupt:
        rollout = newest_unfinished(journal_folder(), fabric.designed.fabric.name, fabric.target.name)
        if rollout is not None:
            committed = f"{len(rollout.names('new'))} of {counted(len(rollout.devices), 'device')} committed"
            changing = [name for name, record in rollout.devices.items() if record.in_doubt]
            project.operator.tell(
                f"rollout {rollout.name} was ended at once: {committed}; changing {compact(changing) or 'no device'}. "
                "A switch with an unconfirmed commit rolls it back by itself within "
                f"{fabric.target.rollout.revert_in_s} s. {_ways_on(rollout, 'the rollout')}"
            )
        raise


def _ways_on(rollout: Rollout, what: str = "it") -> str:
    """Return the clause with the two commands that end an unfinished rollout; ``what`` is its object."""
    resume = command_line("deploy", "--resume", rollout.name, target=rollout.target)
    rollback = command_line("rollback", rollout.name, target=rollout.target)
    return f"`{resume}` resumes {what}, `{rollback}` rolls it back"


def _report_unfinished(project: Project, fabric: LiveFabric) -> None:
    """Report an earlier rollout that was interrupted, with the commands that resume it or roll it back."""
    rollout = newest_unfinished(journal_folder(), fabric.designed.fabric.name, fabric.target.name)
    if rollout is not None:
        project.operator.tell(
            f"rollout {rollout.name} was not finished ({rollout.state}): {_ways_on(rollout)}; "
            "this deployment makes a new plan"
        )
