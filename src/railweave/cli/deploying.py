"""The deployment as a person meets it: the plan, the question, the result."""

import sys
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from railweave.api.auditing import audited
from railweave.api.project import JOURNALS
from railweave.cli.reaching import ReachedFabric, reached_fabric
from railweave.errors import RailweaveError, RefusedError

if TYPE_CHECKING:
    from nornir_railweave.policy import Policy
    from railweave.plan.model import Plan
    from railweave.plan.outcome import DeployResult

EXIT_INTERRUPTED = 130

TIMER_MARGIN_S = 15
"""How long a switch may take to go back after its own timer ended."""


@dataclass(frozen=True, slots=True)
class Agreement:
    """What the person agreed to on the command line. ``quiet`` prints nothing but the result; ``max_failures`` None is
    the target's."""

    yes: bool
    provision: bool
    renumber: bool
    skip_unreachable: bool
    remove_conflicting: bool
    quiet: bool
    single_step: bool = False
    remove_live: bool = False
    max_failures: int | None = None

    def policy(self, fabric: ReachedFabric, *, remove_conflicting: bool | None = None) -> "Policy":
        """Return the policy of a rollout to ``fabric`` under this agreement."""
        from nornir_railweave.policy import policy_for

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


def run_deployment(
    path: Path, target: str, reviewed: Path | None, agreement: Agreement, reach: ReachedFabric | None = None
) -> "DeployResult | None":
    """Plan and deploy the intent at ``path``, or ``reach``, a phase of it; None when the person said no.

    Raises RefusedError when the plan must not be carried out, UsageError and RailweaveError as the words say.
    """
    from nornir_railweave.journal import Undertaking, refuse_while_running

    bound = _read_plan(reviewed) if reviewed else None
    fabric = reach or reached_fabric(path, target)
    refuse_while_running(JOURNALS, fabric.designed.fabric.name, target)
    _tell_unfinished(fabric)
    wait_s = fabric.target.rollout.revert_in_s + TIMER_MARGIN_S
    with fabric.progress():
        plan = fabric.plan(remove_conflicting=agreement.remove_conflicting, pending_wait_s=wait_s)
    _check_binding(bound, plan, reviewed)
    if not agreement.quiet:
        show_plan_for_a_person(plan)
    if plan.changes and not agreed(plan, agreement):
        return None
    undertaking = Undertaking(
        intent=str(path), remove_conflicting=agreement.remove_conflicting, base=fabric.base, phase=fabric.phase
    )
    with audited(f"deploy {reviewed or path}", plan) as note, fabric.progress():
        result = fabric.deploy(plan, agreement.policy(fabric), undertaking=undertaking)
        note(result)
        return result


def show_result(result: "DeployResult | None", *, as_json: bool) -> int:
    """Print how a rollout ended and return the exit status; None: a person said no."""
    from railweave.cli.show import print_document, print_view
    from railweave.report.deployment import deploy_json, deploy_view

    if result is not None and as_json:
        print_document(deploy_json(result))
    elif result is not None:
        print_view(deploy_view(result))
    return exit_status(result)


def exit_status(result: "DeployResult | None") -> int:
    """Return the exit status of a rollout; None: a person said no."""
    if result is None:
        return 1
    if result.interrupted:
        return EXIT_INTERRUPTED
    return 0 if result.ok else 1


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


def show_plan_for_a_person(plan: "Plan") -> None:
    """Print ``plan`` as a person reads it."""
    from railweave.cli.planning_view import show_plan

    show_plan(plan, as_json=False, as_markdown=False)


def _tell_unfinished(fabric: ReachedFabric) -> None:
    """Say on standard error that an earlier rollout was not finished, and what can be done about it."""
    from nornir_railweave.resuming import newest_unfinished
    from railweave.cli.show import print_note

    found = newest_unfinished(JOURNALS, fabric.designed.fabric.name, fabric.target.name)
    if found is not None:
        print_note(
            f"rollout {found.name} was not finished ({found.state}): `railweave deploy --resume` carries it on, "
            f"`railweave rollback {found.name}` goes back; this deployment plans afresh"
        )


def refuse_without_terminal(command: str, agreement: Agreement) -> None:
    """Raise RailweaveError where nobody agreed and nobody can be asked, before anything is done on a device."""
    if not agreement.yes and not sys.stdin.isatty():
        raise RailweaveError(f"without a terminal to ask on, {command} needs --yes")


def agreed(plan: "Plan", agreement: Agreement, what: str = "") -> bool:
    """Tell whether the person agreed on the command line or agrees now; raises RailweaveError without a terminal."""
    if agreement.yes:
        return True
    if not sys.stdin.isatty():
        raise RailweaveError(
            "without a terminal to ask on, deploy needs --yes or a plan file (`railweave plan -o plan.json`)"
        )
    devices = len({change.device for change in plan.changes})
    apply = f"{what} apply" if what else "Apply"
    question = f"{apply} {len(plan.changes)} changes to {devices} devices of {plan.fabric} on {plan.target}?"
    print(f"{question} Only `yes` goes on: ", end="", file=sys.stderr, flush=True)
    return sys.stdin.readline().strip() == "yes"
