"""What is asked of a run of an acceptance, and what it comes to."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Protocol

from railweave.acceptance.document import ReadPlan
from railweave.acceptance.model import AcceptanceRound
from railweave.acceptance.running.journal import AcceptanceProgress


class WallClock(Protocol):
    """The time in Unix seconds, and the wait by it."""

    def now(self) -> float:
        """Return the seconds since 1970."""

    def sleep(self, seconds: float) -> None:
        """Wait for this many seconds."""


@dataclass(frozen=True, slots=True)
class RunSummary:
    """The end of a run."""

    fabric: str
    rounds: int
    tests: int
    # By test why it did not run, and by device what was wrong with it.
    not_run: Mapping[str, str]
    problems: Mapping[str, str]
    # Rounds that were repeated, with the reason.
    repeated: Mapping[str, str]
    interrupted: bool = False

    @property
    def ok(self) -> bool:
        """Tell whether all tests ran, whatever their results."""
        return not self.not_run and not self.interrupted


@dataclass(frozen=True)
class RunRequest:
    """What is to be run: the rounds of a plan, with the tests that a limit leaves of them."""

    folder: Path
    read: ReadPlan
    rounds: tuple[AcceptanceRound, ...]
    nodes: tuple[str, ...]
    switches: tuple[str, ...]
    limit: str = ""
    # Real seconds in which a second of a test passes.
    factor: float = 1.0
    # How many times slower than alone programs run on the machine that simulates all nodes; None for real nodes.
    slowness: Callable[[], float] | None = None


def refused_progress(progress: AcceptanceProgress, sha256: str, limit: str, *, resume: bool) -> str:
    """Return why a run may not begin after the ``progress`` of earlier ones; empty if it may.

    ``sha256`` is that of the plan to run, ``limit`` and ``resume`` are the options of the run.
    """
    if not progress.plan_sha256:
        return ""
    if progress.plan_sha256 != sha256:
        return "results of another plan are in this directory"
    if resume and progress.limit != limit:
        return f"the run to resume had --limit {progress.limit or 'of all nodes'}"
    if not resume:
        return f"{len(progress.done)} rounds of this plan are done in this directory"
    return ""
