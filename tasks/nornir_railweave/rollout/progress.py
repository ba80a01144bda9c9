"""Progress of a run: a bar on a terminal, plain lines elsewhere; always on standard error.

One object is both a Nornir processor (how many hosts of a task are done) and a listener of events (what happened).
"""

import sys
import threading
from collections.abc import Callable
from types import TracebackType
from typing import Self, TextIO

from nornir.core.inventory import Host
from nornir.core.task import AggregatedResult, MultiResult, Task
from rich.console import Console
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TaskID, TextColumn, TimeElapsedColumn

from nornir_railweave.events import Event, Step
from railweave.masking import masked

_TITLES = {
    "read_running": "reading",
    "record_switch": "recording",
    "save_config": "saving",
    "apply_change": "deploying",
    "confirm_commit": "confirming",
    "rollback_device": "rolling back",
    "soak_check": "soaking",
    "verify_device": "verifying",
}
# Tasks after which a report names every device that could not be read, with its reason.
_REPORTED = frozenset({"read_facts", "read_running", "verify_device"})
_MOST_NAMED = 12
# The height where the width is given: rich takes both or neither, and no line of progress needs the height.
_LINES_OF_A_SCREEN = 25


def _wave(event: Event) -> str:
    return f"{event.text}: {_named(event)}"


def _named(event: Event) -> str:
    """Return the names of an event's devices as a list in words; only the first of them if there are many."""
    names = [str(name) for name in event.details.get("devices", ())]
    more = len(names) - _MOST_NAMED
    return ", ".join(names[:_MOST_NAMED]) + (f" and {more} more" if more > 0 else "")


def _unread(event: Event) -> str:
    if event.details.get("answered"):
        return "cannot be read"
    return "unreachable"


def _outcome(event: Event) -> str:
    # Imported late: a plan has no outcomes.
    from railweave.plan.outcome import outcome_text

    reason = f" ({event.text})" if event.text else ""
    return f"{event.device}: {outcome_text(str(event.details.get('outcome')))}{reason}"


# The events that are shown to a person, one line each.
_LINES: dict[Step, Callable[[Event], str]] = {
    Step.WAVE: _wave,
    Step.OUTCOME: _outcome,
    Step.UNREACHABLE: lambda event: f"{event.device}: {_unread(event)}: {event.text}",
    Step.WAITING: lambda event: f"waiting {event.text}",
    Step.DRAINING: lambda event: f"{event.device}: draining {event.text}",
    Step.SAVED: lambda event: (
        f"{event.device}: saved its running configuration, which was not its startup configuration"
    ),
    Step.ROLLING_BACK: lambda event: f"{event.device}: rolling back: {event.text}",
    Step.WAVE_UNDONE: lambda event: f"rolling back the wave, {_named(event)}: {event.text}",
    Step.SOAKING: lambda event: f"soaking {event.text}",
    Step.PAUSED: lambda event: f"{event.text}; waiting for `railweave rollout continue` or `railweave rollout abort`",
    Step.CONTINUED: lambda event: "continued",
}


class FabricProgress:
    """Shows a run's progress, ``columns`` wide; use it as a context manager around the runs."""

    def __init__(self, stream: TextIO | None = None, columns: int | None = None) -> None:
        self._console = Console(
            file=stream or sys.stderr, width=columns, height=columns and _LINES_OF_A_SCREEN, highlight=False
        )
        # A terminal's lines break between words; a log keeps a line whole, for whoever searches it.
        self._console.soft_wrap = not self._console.is_terminal
        self._bars = Progress(
            TextColumn("{task.description:<10}"),
            BarColumn(bar_width=32),
            MofNCompleteColumn(),
            TimeElapsedColumn(),
            console=self._console,
            transient=True,
            disable=not self._console.is_terminal,
        )
        self._lock = threading.Lock()
        self._current: TaskID | None = None
        self._task = ""
        # The last reason that was shown of each device; of the run as a whole under the empty name.
        self._reasons: dict[str, str] = {}
        self._wave_undone = ""

    def __enter__(self) -> Self:
        """Begin to show."""
        self._bars.start()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, value: BaseException | None, trace: TracebackType | None
    ) -> None:
        """Leave the screen as it was, lines kept."""
        self._bars.stop()

    def __call__(self, event: Event) -> None:
        """Show an event; a reason that was just shown is not repeated."""
        text = self._line(event)
        if not text:
            return
        with self._lock:
            last_reason = self._reasons.get(event.device)
            self._reasons[event.device] = event.text or text
        is_repeated = last_reason == event.text
        is_of_wave = self._is_of_wave(event)
        match event.step:
            case Step.WAVE_UNDONE:
                # The line of this event has the reason; those of the wave's devices leave it out from here on.
                self._wave_undone = event.text
            case Step.WAITING if is_repeated:
                return
            case Step.ROLLING_BACK if is_of_wave:
                return
            case Step.OUTCOME if is_repeated or is_of_wave:
                # The reason, which is in parentheses, has been shown.
                text = text.partition(" (")[0]
        self._console.print(masked(text), markup=False)

    def _line(self, event: Event) -> str:
        """Return the line of an event; empty if nothing is shown, or if a report names the device later."""
        line = _LINES.get(event.step)
        if line is None or (event.step is Step.UNREACHABLE and self._task in _REPORTED):
            return ""
        return line(event)

    def _is_of_wave(self, event: Event) -> bool:
        """Tell whether an event repeats the reason for which its wave is rolled back; that was shown already."""
        return bool(self._wave_undone) and event.text.endswith(self._wave_undone)

    def task_started(self, task: Task) -> None:
        """Begin a bar for all hosts of a task."""
        title = _TITLES.get(task.name, task.name)
        with self._lock:
            self._task = task.name
            self._current = self._bars.add_task(title, total=len(task.nornir.inventory.hosts))

    def task_completed(self, task: Task, result: AggregatedResult) -> None:
        """Take the bar away."""
        with self._lock:
            if self._current is not None:
                self._bars.remove_task(self._current)
                self._current = None
                self._task = ""

    def task_instance_started(self, task: Task, host: Host) -> None:
        """Nothing to tell."""

    def task_instance_completed(self, task: Task, host: Host, result: MultiResult) -> None:
        """Count a host as done."""
        with self._lock:
            if self._current is not None:
                self._bars.advance(self._current)

    def subtask_instance_started(self, task: Task, host: Host) -> None:
        """Nothing to tell."""

    def subtask_instance_completed(self, task: Task, host: Host, result: MultiResult) -> None:
        """Nothing to tell."""
