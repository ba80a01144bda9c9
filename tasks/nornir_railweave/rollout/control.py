"""A person's requests to a running rollout: pause or stop after the current wave.

A request is a file beside the journal, so that it can be written from another terminal and by another user's shell.
Ctrl-C, or SIGTERM, which a canceled pipeline sends, is another: the first one ends the rollout when the current devices
are finished, the second one at once. Python raises KeyboardInterrupt wherever the program happens to be, which may be
between a device's commit and the note of it, so a rollout takes the first signal as a request and looks at it where it
can be fulfilled.
"""

import signal
import threading
from dataclasses import dataclass
from pathlib import Path
from types import FrameType, TracebackType
from typing import Any, Protocol, Self

PAUSE = "pause"
ABORT = "abort"
GO_ON = ""


class Control(Protocol):
    """Whoever is asked between waves and during a soak whether the rollout may go on."""

    def asked(self) -> str:
        """Return ``""`` (go on), ``"pause"`` or ``"abort"``."""


@dataclass(frozen=True, slots=True)
class Unasked:
    """Nobody asks anything."""

    def asked(self) -> str:
        """Return that the rollout may go on."""
        return GO_ON


def control_file(journal: Path) -> Path:
    """Return the file that holds the request to the rollout of ``journal``: ``NAME.control``."""
    return journal.with_suffix(".control")


@dataclass(frozen=True, slots=True)
class FileControl:
    """The operator's request in ``file``; a missing, empty or unknown one means continue."""

    file: Path

    def asked(self) -> str:
        """Return the request in the file."""
        try:
            request = self.file.read_text(encoding="utf-8").strip()
        except (OSError, UnicodeDecodeError):
            return GO_ON
        if request in (PAUSE, ABORT):
            return request
        return GO_ON


def ask(journal: Path, word: str) -> None:
    """Write the request ``word`` to the rollout of ``journal``: ``PAUSE``, ``ABORT``, or ``GO_ON`` to withdraw one.

    Raises OSError if the file beside the journal cannot be written.
    """
    file = control_file(journal)
    if word == GO_ON:
        file.unlink(missing_ok=True)
        return
    # A rename is atomic: the rollout reads the old request or the new one, never half a word.
    fresh = file.with_suffix(".control.new")
    fresh.write_text(f"{word}\n", encoding="utf-8")
    fresh.replace(file)


class Interrupts:
    """Within this context a first SIGINT or SIGTERM sets ``asked``, and a second one raises KeyboardInterrupt."""

    def __init__(self) -> None:
        self.asked = False
        self._earlier: dict[int, Any] = {}

    def __enter__(self) -> Self:
        """Begin to take signals; only the main thread ever gets one."""
        if threading.current_thread() is threading.main_thread():
            for number in (signal.SIGINT, signal.SIGTERM):
                self._earlier[number] = signal.signal(number, self._on_signal)
        return self

    def __exit__(
        self, kind: type[BaseException] | None, value: BaseException | None, trace: TracebackType | None
    ) -> None:
        """Leave signals to whoever had them before."""
        for number, earlier in self._earlier.items():
            signal.signal(number, earlier)

    def _on_signal(self, number: int, frame: FrameType | None) -> None:
        if self.asked:
            raise KeyboardInterrupt
        self.asked = True


@dataclass(frozen=True, slots=True)
class InterruptibleControl:
    """The requests of ``control``; an interrupt is one to end as well."""

    control: Control
    interrupts: Interrupts

    def asked(self) -> str:
        """Return the request now."""
        if self.interrupts.asked:
            return ABORT
        return self.control.asked()
