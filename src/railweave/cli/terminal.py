"""The operator at a terminal: sees plans and progress, and is asked before devices change."""

import sys
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from railweave.api.operator import Operator
from railweave.diagnostics import Diagnostic
from railweave.errors import RailweaveError

if TYPE_CHECKING:
    from nornir_railweave.rollout.progress import FabricProgress
    from railweave.plan.drains import DrainTarget
    from railweave.plan.model import Plan
    from railweave.plan.outcome import DeployResult

EXIT_INTERRUPTED = 130


@dataclass(frozen=True, slots=True)
class Terminal(Operator):
    """The person who typed a command: ``yes`` agreed on the command line, ``quiet`` wants the result alone."""

    yes: bool = False
    quiet: bool = False

    def tell(self, note: str) -> None:
        """Print a note on standard error."""
        from railweave.cli.show import print_note

        print_note(note)

    def warn(self, found: Iterable[Diagnostic]) -> None:
        """Print diagnostics on standard error."""
        from railweave.cli.show import print_diagnostics

        print_diagnostics(found)

    def progress(self) -> "FabricProgress":
        """Return progress on standard error: bars on a terminal, lines elsewhere."""
        from nornir_railweave.rollout.progress import FabricProgress

        return FabricProgress()

    def require_answer(self, command: str) -> None:
        """Raise RailweaveError where nobody agreed and nobody can be asked."""
        if not self.yes and not sys.stdin.isatty():
            raise RailweaveError(f"without a terminal to ask on, {command} needs --yes")

    def approves(self, plan: "Plan", what: str = "") -> bool:
        """Show ``plan`` and ask, unless it has no changes or the command line agreed."""
        from railweave.cli.planning_view import show_plan

        if not self.quiet:
            show_plan(plan, as_json=False, as_markdown=False)
        if self.yes or not plan.deltas:
            return True
        if not sys.stdin.isatty():
            raise RailweaveError(
                "without a terminal to ask on, deploy needs --yes or a plan file (`railweave plan -o plan.json`)"
            )
        devices = len(plan.deltas)
        apply = f"{what} apply" if what else "Apply"
        question = f"{apply} {plan.summary.total} changes to {devices} devices of {plan.fabric} on {plan.target}?"
        print(f"{question} Only `yes` goes on: ", end="", file=sys.stderr, flush=True)
        return sys.stdin.readline().strip() == "yes"

    def approves_drain(
        self, targets: "Sequence[DrainTarget]", drained: Mapping[str, tuple[str, ...]], uplinks_left_percent: float
    ) -> bool:
        """Show what a drain takes off and ask, unless the command line agreed."""
        from railweave.cli.show import print_view
        from railweave.report.draining import intention_view

        if not self.quiet:
            print_view(intention_view(targets, drained, uplinks_left_percent))
        if self.yes:
            return True
        if not sys.stdin.isatty():
            raise RailweaveError("without a terminal to ask on, drain needs --yes")
        import typer

        return typer.confirm(f"Drain {', '.join(target.device for target in targets)}?")


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
