"""Time of the simulated switches: SONiC's own waits are scaled, and the clock may be advanced past a deadline."""

import time
from dataclasses import dataclass

NEARLY_NOTHING = 0.001


@dataclass(slots=True)
class Clock:
    """``scale``: real seconds for one second of the switch (1.0 = as slow as a switch).

    ``ahead_s``: by how much the switches' clock is ahead of this machine's; `advance` lets time pass at once.
    """

    scale: float = NEARLY_NOTHING
    ahead_s: float = 0.0

    def now(self) -> float:
        """Return seconds since 1970."""
        return time.time() + self.ahead_s

    def monotonic(self) -> float:
        """Return seconds since some moment; only differences mean something."""
        return time.monotonic() + self.ahead_s

    def advance(self, seconds: float) -> None:
        """Let so many seconds pass at once. Raises ValueError if time would go back."""
        if seconds < 0:
            raise ValueError(f"time does not go back: {seconds} s")
        self.ahead_s += seconds

    def real_s(self, switch_s: float) -> float:
        """Return how many real seconds a wait of the switch takes here."""
        return switch_s * self.scale
