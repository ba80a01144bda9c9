"""Time of the simulated switches: SONiC's waits run on a scaled clock, confirm deadlines on the real one."""

import time
from dataclasses import dataclass

NEARLY_NOTHING = 0.001


@dataclass(frozen=True, slots=True)
class Clock:
    """``scale``: real seconds for one second of the switch (1.0 = as slow as a switch)."""

    scale: float = NEARLY_NOTHING

    def now(self) -> float:
        """Return real seconds since 1970."""
        return time.time()

    def real_s(self, switch_s: float) -> float:
        """Return how long a wait of the switch takes here."""
        return switch_s * self.scale
