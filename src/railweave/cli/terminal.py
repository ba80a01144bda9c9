"""The operator at a terminal: sees plans and progress, and confirms before devices change."""

import sys
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from railweave.api.operator import Operator
from railweave.cli.show import (
    console,
    dumb_columns,
    print_diagnostics,
    print_note,
    print_plan,
    print_rehearsals,
    print_result,
    print_text,
    print_view,
)
from railweave.cli.status import EXIT_FAILED, rollout_status
from railweave.diagnostics import Diagnostic
from railweave.errors import RailweaveError
from railweave.masking import masked
from railweave.wording import command_line, counted, first_few

if TYPE_CHECKING:
    from nornir_railweave.device.trusting import ShownKey
    from nornir_railweave.rollout.progress import FabricProgress
    from railweave.hosts.outcome import HostsRun, HostState
    from railweave.plan.manual_drain import DrainTarget
    from railweave.plan.model import Plan
    from railweave.plan.outcome import DeployResult
    from railweave.plan.phases.progress import PhasedResult, PhaseStep


@dataclass(frozen=True, slots=True)
class Terminal(Operator):
    """The person who typed a command: ``yes`` if they agreed on the command line, ``quiet`` for results only."""

    yes: bool = False
    quiet: bool = False

    def tell(self, note: str) -> None:
        """Print a note on standard error."""
        print_note(note)

    def round_started(self, text: str) -> None:
        """Print a line on standard error."""
        print_text(text, stderr=True)

    def warn(self, diagnostics: Iterable[Diagnostic]) -> None:
        """Print diagnostics on standard error."""
        print_diagnostics(diagnostics)

    def progress(self) -> "FabricProgress":
        """Return progress on standard error: bars on a terminal, lines elsewhere."""
        from nornir_railweave.rollout.progress import FabricProgress

        return FabricProgress(columns=dumb_columns(sys.stderr))

    @contextmanager
    def node_progress(self, title: str, count: int) -> "Iterator[Callable[[str, HostState], None]]":
        """Show a bar on a terminal, and a line for each node that fails."""
        from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeElapsedColumn

        from railweave.hosts.outcome import HostState

        screen = console(stderr=True)
        columns = (TextColumn("{task.description:<10}"), BarColumn(), MofNCompleteColumn(), TimeElapsedColumn())
        # A bar redraws its line; in the log of a pipeline each redrawing would be another line.
        with Progress(*columns, console=screen, transient=True, disable=not screen.is_terminal) as bars:
            bar = bars.add_task(title, total=count)

            def listener(name: str, state: HostState) -> None:
                bars.advance(bar)
                if state in {HostState.FAILED, HostState.UNREACHABLE}:
                    # rich would take brackets in a text for its markup.
                    screen.print(masked(f"{name}: {state.value}"), markup=False)

            yield listener

    def finished(self, step: "PhaseStep") -> None:
        """Print the result of a phase."""
        from railweave.plan.outcome import DeployResult
        from railweave.plan.phases.progress import OutOfUse
        from railweave.report.deployment import deploy_view
        from railweave.report.hosts import hosts_view
        from railweave.report.phases import out_of_use_view

        result = step.result
        if result is None or self.quiet:
            return
        if isinstance(result, OutOfUse):
            print_view(out_of_use_view(step.phase))
        elif isinstance(result, DeployResult):
            print_view(deploy_view(result))
        else:
            print_view(hosts_view(result))

    def require_answer(self, command: str, instead: str = "") -> None:
        """Raise RailweaveError if nobody agreed and nobody can be asked."""
        # A pipeline would wait for an answer until its own timeout.
        if not self.yes and not sys.stdin.isatty():
            raise RailweaveError(f"without a terminal to confirm on, {command} needs --yes{instead}")

    def approves(self, plan: "Plan", what: str = "") -> bool:
        """Show ``plan`` and ask, unless it has no changes or the command line agreed."""
        if not self.quiet:
            print_plan(plan)
            print_rehearsals(plan)
        if not plan.deltas:
            return True
        from railweave.plan.grouping import shown_summary

        changes = counted(shown_summary(plan).total, "change")
        devices = counted(len(plan.deltas), "device")
        beginning = f"{what} apply" if what else "Apply"
        question = f"{beginning} {changes} to {devices} of {plan.fabric} on {plan.target}?"
        plan_command = command_line("plan", "-o", "plan.json")
        return self._confirms(question, "deploy", f" or a plan file (`{plan_command}`)")

    def approves_drain(
        self, targets: "Sequence[DrainTarget]", drained: Mapping[str, tuple[str, ...]], uplinks_left_percent: float
    ) -> bool:
        """Show what a drain removes from service and ask, unless the command line agreed."""
        from railweave.report.draining import intention_view

        if not self.quiet:
            print_view(intention_view(targets, drained, uplinks_left_percent))
        return self._confirms(f"Drain {', '.join(target.device for target in targets)}?", "drain")

    def approves_selftest(self, device: str) -> bool:
        """Ask, unless the command line agreed."""
        return self._confirms(f"Change {device}, and change it back, trial by trial?", "selftest")

    def approves_removal(self, names: "Sequence[str]") -> bool:
        """Ask, unless the command line agreed."""
        return self._confirms(f"Drain {first_few(names)}, which leave the fabric?", "deploy")

    def approves_nodes(self, plan: "Callable[[], HostsRun]", target: str) -> bool:
        """Show what would change on the nodes and ask, unless nothing would or the command line agreed."""
        from railweave.hosts.outcome import HostState
        from railweave.report.hosts import hosts_view

        if self.yes:
            return True
        run = plan()
        if not self.quiet:
            print_view(hosts_view(run))
        changed = run.named(HostState.CHANGED)
        if run.ok and not changed:
            return True
        nodes = counted(len(changed), "node")
        if run.is_rollback:
            return self._confirms(f"Roll back {nodes} on {target}?", "hosts rollback")
        return self._confirms(f"Change {nodes} on {target}?", "hosts apply")

    def show_keys(self, keys: "Sequence[ShownKey]") -> None:
        """Print host keys."""
        from railweave.api.targets.host_keys import key_fields
        from railweave.report.trust import trust_view

        if not self.quiet:
            print_view(trust_view(map(key_fields, keys)))

    def approves_keys(self, fresh: "Sequence[ShownKey]", known_hosts: Path) -> bool:
        """Ask whether to record host keys, unless the command line agreed."""
        keys = counted(len(fresh), "host key")
        changed = sum(key.trust == "changed" for key in fresh)
        if changed:
            keys += f", {changed} of them in place of another"
        question = f"Compare the fingerprints with the devices' own. Record {keys} in {known_hosts}?"
        return self._confirms(question, "trust", "; nothing was recorded")

    def _confirms(self, question: str, command: str, instead: str = "") -> bool:
        """Ask on standard error, unless the command line agreed, and tell whether the person agrees.

        Raises RailweaveError for ``command`` if nobody can be asked; ``instead`` is what the message adds to --yes.
        """
        if self.yes:
            return True
        self.require_answer(command, instead)
        # Not input(), whose prompt goes to standard output, where a document of --json is expected.
        print_text(f"{question} Type `yes` to confirm: ", end="", stderr=True)
        # The whole word, as Terraform asks for: no key pressed by mistake changes a fabric.
        return sys.stdin.readline().strip() == "yes"


def show_result(result: "DeployResult | None", *, as_json: bool) -> int:
    """Print how a rollout ended and return the exit status; None: the person declined."""
    from railweave.report.deployment import deploy_json, deploy_view

    if result is None:
        return EXIT_FAILED
    print_result(result, deploy_json, deploy_view, as_json=as_json)
    return rollout_status(result)


def show_phases(result: "PhasedResult", *, as_json: bool) -> int:
    """Print what a deployment in phases waits for, with ``as_json`` all of it, and return the exit status."""
    from railweave.report.phases import phased_json, waiting_view

    if as_json or result.waiting:
        print_result(result, phased_json, waiting_view, as_json=as_json)
    return rollout_status(result)
