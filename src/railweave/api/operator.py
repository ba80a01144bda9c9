"""The person, or the program, on whose behalf devices are read and changed."""

import io
from collections.abc import Callable, Iterable, Mapping, Sequence
from contextlib import AbstractContextManager, nullcontext
from pathlib import Path
from typing import TYPE_CHECKING

from railweave.diagnostics import Diagnostic

if TYPE_CHECKING:
    from nornir_railweave.device.trusting import ShownKey
    from nornir_railweave.rollout.progress import FabricProgress
    from railweave.hosts.outcome import HostsRun, HostState
    from railweave.plan.manual_drain import DrainTarget
    from railweave.plan.model import Plan
    from railweave.plan.phases.progress import PhaseStep


class Operator:
    """Receives progress and confirms before devices change.

    This class ignores all progress and agrees to everything: a program decides before it calls. A subclass shows
    progress and asks.
    """

    def tell(self, note: str) -> None:
        """Take a note: one sentence that stops nothing."""

    def warn(self, diagnostics: Iterable[Diagnostic]) -> None:
        """Take diagnostics that stop nothing."""

    def progress(self) -> "FabricProgress":
        """Return what shows the progress of work on switches."""
        from nornir_railweave.rollout.progress import FabricProgress

        return FabricProgress(io.StringIO())

    def node_progress(
        self, title: str, count: int
    ) -> "AbstractContextManager[Callable[[str, HostState], None] | None]":
        """Return what receives the name and state of each of ``count`` GPU nodes as it is done; None for nothing."""
        return nullcontext()

    def round_started(self, text: str) -> None:
        """Take a line about a round of acceptance tests that begins."""

    def finished(self, step: "PhaseStep") -> None:
        """Take a step of a deployment in phases as it ends."""

    def require_answer(self, command: str) -> None:
        """Raise RailweaveError if nobody agreed to ``command`` and nobody can be asked; no device was touched."""

    def approves(self, plan: "Plan", what: str = "") -> bool:
        """Tell whether ``plan`` may be deployed; ``what`` names work that is no new deployment."""
        return True

    def approves_drain(
        self, targets: "Sequence[DrainTarget]", drained: Mapping[str, tuple[str, ...]], uplinks_left_percent: float
    ) -> bool:
        """Tell whether the traffic of ``targets`` may be moved away; ``drained`` is what is drained around them."""
        return True

    def approves_selftest(self, device: str) -> bool:
        """Tell whether the unused switch ``device`` may be changed, and changed back, by a self-test."""
        return True

    def approves_removal(self, names: "Sequence[str]") -> bool:
        """Tell whether these GPU nodes or switches, which leave the fabric, may be taken out of use."""
        return True

    def approves_nodes(self, plan: "Callable[[], HostsRun]", target: str) -> bool:
        """Tell whether the GPU nodes on ``target`` may change; ``plan`` reads them and returns how."""
        return True

    def show_keys(self, keys: "Sequence[ShownKey]") -> None:
        """Take the host keys that devices show."""

    def approves_keys(self, fresh: "Sequence[ShownKey]", known_hosts: Path) -> bool:
        """Tell whether these new and changed host keys may be recorded in ``known_hosts``."""
        return True


SILENT = Operator()
