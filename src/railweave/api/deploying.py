"""A deployment: the plan, the question to the operator, the rollout."""

from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from railweave.api.auditing import audited
from railweave.api.project import JOURNALS, Project
from railweave.api.reaching import ReachedFabric, reached_fabric
from railweave.errors import RailweaveError, RefusedError

if TYPE_CHECKING:
    from nornir_railweave.target.policy import Policy
    from railweave.plan.model import Plan
    from railweave.plan.outcome import DeployResult

TIMER_MARGIN_S = 15
"""How long a switch may take to go back after its own timer ended."""


@dataclass(frozen=True, slots=True)
class Agreement:
    """What the operator agrees to beside the plan itself.

    ``provision`` allows reloads, ``renumber`` other identities of existing devices, ``skip_unreachable`` leaves devices
    out that do not answer, ``remove_conflicting`` removes rows of others that hold a fabric port, ``single_step`` does
    at once what live traffic would need phases for, ``remove_live`` closes ports in use. ``max_failures`` None is the
    target's.
    """

    provision: bool = False
    renumber: bool = False
    skip_unreachable: bool = False
    remove_conflicting: bool = False
    single_step: bool = False
    remove_live: bool = False
    max_failures: int | None = None

    def policy(self, fabric: ReachedFabric, *, remove_conflicting: bool | None = None) -> "Policy":
        """Return the policy of a rollout to ``fabric`` under this agreement."""
        from nornir_railweave.target.policy import policy_for

        return policy_for(
            fabric.target,
            provision=self.provision,
            renumber=self.renumber,
            skip_unreachable=self.skip_unreachable,
            remove_conflicting=self.remove_conflicting if remove_conflicting is None else remove_conflicting,
            single_step=self.single_step,
            remove_live=self.remove_live,
            max_failures=self.max_failures,
        )


PLAN_ALONE = Agreement()
"""Nothing beyond the plan is agreed to."""


def deploy(
    project: Project,
    target: str,
    agreement: Agreement = PLAN_ALONE,
    *,
    reviewed: Path | None = None,
    reach: ReachedFabric | None = None,
) -> "DeployResult | None":
    """Plan and deploy the project's intent, or ``reach``, a phase of it; None when the operator said no.

    ``reviewed`` is the file of a plan: devices that have moved since are refused.

    Raises RefusedError when the plan must not be carried out, UsageError and RailweaveError as the words say.
    """
    from nornir_railweave.rollout.journal import Undertaking, refuse_while_running

    bound = _read_plan(reviewed) if reviewed else None
    fabric = reach or reached_fabric(project, target)
    refuse_while_running(JOURNALS, fabric.designed.fabric.name, target)
    _tell_unfinished(project, fabric)
    wait_s = fabric.target.rollout.revert_in_s + TIMER_MARGIN_S
    with fabric.connected():
        with fabric.shown:
            plan = fabric.plan(remove_conflicting=agreement.remove_conflicting, pending_wait_s=wait_s)
        _check_binding(bound, plan, reviewed)
        if not project.operator.approves(plan):
            return None
        undertaking = Undertaking(
            intent=str(project.intent),
            remove_conflicting=agreement.remove_conflicting,
            base=fabric.base,
            phase=fabric.phase,
        )
        with audited(f"deploy {reviewed or project.intent}", plan) as note, fabric.shown:
            result = fabric.deploy(plan, agreement.policy(fabric), undertaking=undertaking)
            note(result)
            return result


def _read_plan(file: Path) -> "Plan":
    from railweave.plan.document import parse_plan

    try:
        return parse_plan(file.read_text(encoding="utf-8"), str(file))
    except (OSError, UnicodeDecodeError) as problem:
        raise RailweaveError(f"{file}: {getattr(problem, 'strerror', None) or 'not a text file'}") from problem


def _check_binding(bound: "Plan | None", fresh: "Plan", file: Path | None) -> None:
    from railweave.plan.binding import check_binding

    if bound is not None and (moved := check_binding(bound, fresh, str(file))):
        raise RefusedError(moved)


def _tell_unfinished(project: Project, fabric: ReachedFabric) -> None:
    """Tell that an earlier rollout was not finished, and what can be done about it."""
    from nornir_railweave.rollout.resuming import newest_unfinished

    found = newest_unfinished(JOURNALS, fabric.designed.fabric.name, fabric.target.name)
    if found is not None:
        project.operator.tell(
            f"rollout {found.name} was not finished ({found.state}): `railweave deploy --resume` resumes it, "
            f"`railweave rollback {found.name}` rolls it back; this deployment makes a new plan"
        )
