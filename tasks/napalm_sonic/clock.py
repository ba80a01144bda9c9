"""The clock of everything that waits: for devices, locks, gates and soaks. A test drives one of its own."""

import time
from typing import Protocol


class Clock(Protocol):
    """A steady clock in seconds, and the wait by it; called from any thread."""

    def monotonic(self) -> float:
        """Return the seconds since some moment; only differences mean something."""

    def sleep(self, seconds: float) -> None:
        """Return once so many seconds have passed."""


class SystemClock:
    """The machine's own steady clock."""

    def monotonic(self) -> float:
        """Return the machine's steady clock."""
        return time.monotonic()

    def sleep(self, seconds: float) -> None:
        """Wait; other threads keep running."""
        time.sleep(seconds)


SYSTEM_CLOCK = SystemClock()
