"""A deployment: the plan, the question to the operator, the rollout."""

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, fields, replace
from pathlib import Path

from nornir_railweave.rollout.journal import RolloutMetadata
from nornir_railweave.rollout.resuming import newest_unfinished
from nornir_railweave.target.model import Target
from nornir_railweave.target.policy import Policy, policy_for
from railweave.api.journal.audit import audited
from railweave.api.journal.folder import journal_folder, refuse_while_rolling_out, shared_journals
from railweave.api.plans import read_plan, refuse_unsigned
from railweave.api.project import Project
from railweave.api.targets.fabric import LiveFabric, live_fabric, pending_wait_s
from railweave.errors import RefusedError
from railweave.plan.consent import Consent
from railweave.plan.outcome import DeployResult
from railweave.plan.phases import Phase
from railweave.plan.resumption import check_binding
from railweave.plan.rollout import Rollout
from railweave.wording import command_line, compact, counted


@dataclass(frozen=True, slots=True)
class DeployOptions(Consent):
    """What the operator agrees to beside the plan itself.

    ``provision`` allows reloads, ``renumber`` other identities of existing devices; ``skip_unreachable`` leaves out
    devices that do not answer; ``remove_conflicting`` removes unmanaged rows that hold a fabric port; ``single_step``
    deploys in one step what live traffic would need phases for; ``remove_live`` closes ports in use;
    ``allow_lockout`` changes who can log in to switches; ``discard_newer`` undoes what a newer or another state of
    the intent brought; ``nodes_done`` states that the GPU nodes have done the phases before, and that no job still
    sends what is dropped. ``max_failures`` None is the target's.
    """

    skip_unreachable: bool = False
    remove_conflicting: bool = False
    nodes_done: bool = False
    max_failures: int | None = None

    def policy(self, fabric: LiveFabric) -> Policy:
        """Return the policy of a rollout to ``fabric`` with these options, whose journals are the project's."""
        return replace(self.policy_on(fabric.target), journal_dir=journal_folder(), journals=shared_journals())

    def policy_on(self, target: Target) -> Policy:
        """Return the policy of a rollout to ``target`` with these options; its journals have no place yet."""
        # A policy is a value for workers too: it holds what was agreed to and none of the other options.
        agreed = Consent(**{one.name: getattr(self, one.name) for one in fields(Consent)})
        return policy_for(
            target,
            agreed,
            skip_unreachable=self.skip_unreachable,
            remove_conflicting=self.remove_conflicting,
            max_failures=self.max_failures,
        )


PLAN_ALONE = DeployOptions()
"""Nothing beyond the plan is agreed to."""


def agreed_for(options: DeployOptions, phase: Phase) -> DeployOptions:
    """Return the options with those that asking for phases implies.

    These are the phase's own cables, and a marking or a packet size that no node sends any more.
    """
    implied = bool(phase.cables) or phase.lowers_mtu or phase.drops
    return replace(options, single_step=True) if implied else options


def deploy(
    project: Project,
    target: str,
    options: DeployOptions = PLAN_ALONE,
    *,
    reviewed: Path | None = None,
    live: LiveFabric | None = None,
    require: Callable[[], object] = bool,
) -> DeployResult | None:
    """Plan and deploy the project's intent, or ``live``, a phase of it; None if the operator declined.

    ``require`` raises where the phase is not the next one any more. It is called between the plan, after which no
    switch takes what it was not planned for, and the first change.

    ``reviewed`` is the file of a plan: the deployment is refused if a device has changed since, or if the target takes
    signed plans and nobody who may signed it. Raises RefusedError if
    the plan must not be deployed, UsageError for an unknown target, RailweaveError if a file cannot be read or written.
    """
    fabric = live or live_fabric(project, target)
    fabric.require_secrets()
    bound, signed, signer = read_plan(reviewed, fabric.target.allowed_signers) if reviewed else (None, None, "")
    if reviewed is None and fabric.target.allowed_signers is not None:
        raise refuse_unsigned(target, fabric.target.allowed_signers)
    refuse_while_rolling_out(fabric.designed.fabric.name, target, project.operator)
    _report_unfinished(project, fabric)
    with fabric.connected():
        with fabric.shown:
            plan = fabric.plan(
                remove_conflicting=options.remove_conflicting, pending_wait_s=pending_wait_s(fabric.target)
            )
        if bound is not None and (moved := check_binding(bound, plan, str(reviewed))):
            raise RefusedError(moved)
        if not project.operator.approves(plan):
            return None
        require()
        metadata = RolloutMetadata(
            intent=str(project.intent),
            remove_conflicting=options.remove_conflicting,
            base=fabric.base,
            phase=fabric.phase,
            signed=signed,
        )
        told = state_told(project, fabric)
        with told, audited(f"deploy {reviewed or project.intent}", plan, signed_by=signer) as record, fabric.shown:
            result = fabric.deploy(plan, options.policy(fabric), metadata=metadata)
            record(result)
            return result


@contextmanager
def state_told(project: Project, fabric: LiveFabric) -> Iterator[None]:
    """Tell the operator who ends a rollout at once, by a second signal, in which state it is left."""
    try:
        yield
    except KeyboardInterrupt:
        if found := newest_unfinished(journal_folder(), fabric.designed.fabric.name, fabric.target.name):
            middle = [name for name, record in found.devices.items() if record.in_doubt]
            project.operator.tell(
                f"rollout {found.name} was ended at once: {len(found.names('new'))} of "
                f"{counted(len(found.devices), 'device')} committed; changing {compact(middle) or 'no device'}. "
                "A switch with an unconfirmed commit rolls it back by itself within "
                f"{fabric.target.rollout.revert_in_s} s. {_ways_on(found, 'the rollout')}"
            )
        raise


def _ways_on(found: Rollout, what: str = "it") -> str:
    """Return the two commands that end an unfinished rollout, in a clause."""
    resume = command_line("deploy", "--resume", found.name, target=found.target)
    rollback = command_line("rollback", found.name, target=found.target)
    return f"`{resume}` resumes {what}, `{rollback}` rolls it back"


def _report_unfinished(project: Project, fabric: LiveFabric) -> None:
    """Report an earlier rollout that was interrupted, with the commands that resume it or roll it back."""
    found = newest_unfinished(journal_folder(), fabric.designed.fabric.name, fabric.target.name)
    if found is not None:
        project.operator.tell(
            f"rollout {found.name} was not finished ({found.state}): {_ways_on(found)}; "
            "this deployment makes a new plan"
        )
