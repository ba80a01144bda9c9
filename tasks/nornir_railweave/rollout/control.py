"""A person's requests to a running rollout: pause or stop after the current wave.

The wish lies in a file beside the journal, so it can be written from another terminal and by another user's shell.
"""

from dataclasses import dataclass
from pathlib import Path
from typing import Protocol

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
    """Return the file that holds the wish for the rollout of ``journal``: ``NAME.control``."""
    return journal.with_suffix(".control")


@dataclass(frozen=True, slots=True)
class FileControl:
    """The wish in ``file``; no file, an empty one and an unknown word all mean to go on."""

    file: Path

    def asked(self) -> str:
        """Return the word in the file."""
        try:
            word = self.file.read_text(encoding="utf-8").strip()
        except (OSError, UnicodeDecodeError):
            return GO_ON
        return word if word in (PAUSE, ABORT) else GO_ON


def ask(journal: Path, word: str) -> None:
    """Write the wish for the rollout of ``journal``; ``GO_ON`` takes an earlier one back. Raises OSError."""
    file = control_file(journal)
    if word == GO_ON:
        file.unlink(missing_ok=True)
        return
    # Whoever asks meanwhile sees the old wish or the new one, never half a word.
    fresh = file.with_suffix(".control.new")
    fresh.write_text(f"{word}\n", encoding="utf-8")
    fresh.replace(file)
