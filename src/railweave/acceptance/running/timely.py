"""The counters of switches between two rounds: the readings of a round count only if they all came in time."""

from collections import Counter
from collections.abc import Mapping, Sequence
from statistics import median_low
from typing import Any

from railweave.acceptance.running.answers import SwitchReading, SwitchSet

LATE_READINGS = 3
"""A switch that came too late so often is not read any more, so that the rounds of the others count."""

# A switch that takes so much longer than most is not waited for around each round.
_MUCH_S = 5.0
_TIMES = 4


class TimelySwitches:
    """The switches of a run; why one has no counters is put into ``problems``."""

    def __init__(self, switches: SwitchSet, names: Sequence[str], problems: dict[str, str]) -> None:
        """Read nothing yet."""
        self._switches = switches
        self._names = names
        self._problems = problems
        # How often each switch came too late, and those that are not read any more.
        self._lateness: Counter[str] = Counter()
        self._left_out: set[str] = set()

    def measure(self, now: float, *, patient: bool = False) -> float:
        """Read the switches, and return the seconds that the slowest took.

        Switches that are far slower than most are left out, unless ``patient``: few rounds are repeated for them.
        """
        readings = self._switches.read([name for name in self._names if name not in self._left_out])
        seconds = {}
        for name, reading in readings.items():
            if reading.error:
                self._problems[name] = reading.error
            else:
                seconds[name] = reading.answered - now
        if not seconds:
            return 0.0
        usual_s = median_low(seconds.values())
        most_s = _MUCH_S + _TIMES * usual_s
        if patient:
            most_s = max(seconds.values())
        for name, took_s in seconds.items():
            if took_s > most_s:
                self._problems[name] = f"its counters came after {took_s:.0f} s, those of most after {usual_s:.0f} s"
                self._left_out.add(name)
        return max(took_s for took_s in seconds.values() if took_s <= most_s)

    def read(self, now: float, deadline: float) -> Mapping[str, Any] | None:
        """Return the counters of the switches by name; None if one came after ``deadline``, in Unix seconds."""
        if now > deadline:
            return None
        readings = self._switches.read([name for name in self._names if name not in self._left_out])
        for name, reading in readings.items():
            if reading.error:
                self._problems[name] = reading.error
        late = {name: reading for name, reading in readings.items() if reading.answered > deadline}
        if late:
            self._note_late(late, len(readings), now)
            return None
        return {name: reading.counters for name, reading in readings.items() if not reading.error}

    def _note_late(self, late: Mapping[str, SwitchReading], count: int, began: float) -> None:
        """Note which of ``count`` switches came late."""
        if 2 * len(late) > count > 1:
            # Most came late: this machine is slow, not a switch.
            return
        for name, reading in late.items():
            self._lateness[name] += 1
            if self._lateness[name] == LATE_READINGS and not reading.error:
                seconds = reading.answered - began
                self._problems[name] = f"its counters came after {seconds:.0f} s, too late for a round"
            # The session of a switch that does not answer may hang as long each time.
            if reading.error or self._lateness[name] == LATE_READINGS:
                self._left_out.add(name)

    def read_all_again(self) -> None:
        """Read also the switches that were left out because they were slow: from now on they have more time."""
        self._left_out -= {name for name, count in self._lateness.items() if count == LATE_READINGS}
        self._lateness.clear()
