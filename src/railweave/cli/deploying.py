"""The deployment as a person meets it: the plan, the question, the result."""

import sys
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from railweave.cli.auditing import audited
from railweave.cli.reaching import ReachedFabric, reached_fabric
from railweave.errors import RailweaveError, RefusedError

if TYPE_CHECKING:
    from railweave.plan.model import Plan
    from railweave.plan.outcome import DeployResult

TIMER_MARGIN_S = 15
"""How long a switch may take to go back after its own timer ended."""


@dataclass(frozen=True, slots=True)
class Agreement:
    """What the person agreed to on the command line. ``quiet`` prints nothing but the result."""

    yes: bool
    provision: bool
    renumber: bool
    skip_unreachable: bool
    take_ports: bool
    quiet: bool


def run_deployment(path: Path, target: str, reviewed: Path | None, agreement: Agreement) -> "DeployResult | None":
    """Plan and deploy; None when the person said no.

    Raises RefusedError when the plan must not be carried out, UsageError and RailweaveError as the words say.
    """
    from nornir_railweave.policy import policy_for

    bound = _read_plan(reviewed) if reviewed else None
    fabric = reached_fabric(path, target)
    policy = policy_for(
        fabric.target,
        provision=agreement.provision,
        renumber=agreement.renumber,
        skip_unreachable=agreement.skip_unreachable,
        take_ports=agreement.take_ports,
    )
    wait_s = fabric.target.rollout.revert_in_s + TIMER_MARGIN_S
    with fabric.progress():
        plan = fabric.plan(take_ports=agreement.take_ports, pending_wait_s=wait_s)
    _check_binding(bound, plan, reviewed)
    if not agreement.quiet:
        _show(plan)
    if plan.changes and not agreement.yes and not _asked(plan, fabric):
        return None
    with audited(f"deploy {reviewed or path}", plan) as note, fabric.progress():
        result = fabric.deploy(plan, policy)
        note(result)
        return result


def show_result(result: "DeployResult", *, as_json: bool) -> None:
    """Print how a deployment ended."""
    from railweave.cli.show import print_json, print_view
    from railweave.report.deployment import deploy_json, deploy_view

    if as_json:
        print_json(deploy_json(result))
    else:
        print_view(deploy_view(result))


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


def _show(plan: "Plan") -> None:
    from railweave.cli.planning_view import show_plan

    show_plan(plan, as_json=False, as_markdown=False)


def _asked(plan: "Plan", fabric: ReachedFabric) -> bool:
    if not sys.stdin.isatty():
        raise RailweaveError(
            "without a terminal to ask on, deploy needs --yes or a plan file (`railweave plan -o plan.json`)"
        )
    devices = len({change.device for change in plan.changes})
    question = f"Apply {len(plan.changes)} changes to {devices} devices of {plan.fabric} on {fabric.target.name}?"
    print(f"{question} Only `yes` goes on: ", end="", file=sys.stderr, flush=True)
    return sys.stdin.readline().strip() == "yes"
