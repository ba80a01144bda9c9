"""The counters of switches between two rounds: the readings of a round count only if they all came in time."""

from collections import Counter
from collections.abc import Mapping, Sequence
from statistics import median_low
from typing import Any

from railweave.acceptance.running.answers import SwitchReading, SwitchSet

LATE_READINGS = 3
"""A switch that came too late so often is not read any more, so that the rounds of the others count."""

# Switches are waited for around each round for so many times the usual time, and so many seconds more.
_EXTRA_S = 5.0
_TIMES_USUAL = 4


class TimelySwitches:
    """The switches of a run; the reasons why switches have no counters are put into ``problems``."""

    def __init__(self, switches: SwitchSet, names: Sequence[str], problems: dict[str, str]) -> None:
        """Store the arguments; nothing is read."""
        self._switches = switches
        self._names = names
        self._problems = problems
        # How often each switch came too late, and those that are not read any more.
        self._lateness: Counter[str] = Counter()
        self._left_out: set[str] = set()

    def measure(self, now: float, *, patient: bool = False) -> float:
        """Read the switches, and return the seconds that the slowest took; 0 if none answered.

        Switches that are far slower than most are left out from now on. With ``patient`` none is, as for the few rounds
        that are repeated.
        """
        readings = self._switches.read([name for name in self._names if name not in self._left_out])
        seconds_of = {}
        for name, reading in readings.items():
            if reading.error:
                self._problems[name] = reading.error
            else:
                seconds_of[name] = reading.answered - now
        if not seconds_of:
            return 0.0
        usual_s = median_low(seconds_of.values())
        if patient:
            limit_s = max(seconds_of.values())
        else:
            limit_s = _EXTRA_S + _TIMES_USUAL * usual_s
        for name, seconds in seconds_of.items():
            if seconds > limit_s:
                self._problems[name] = f"its counters came after {seconds:.0f} s, those of most after {usual_s:.0f} s"
                self._left_out.add(name)
        return max(seconds for seconds in seconds_of.values() if seconds <= limit_s)

    def read(self, now: float, deadline: float) -> Mapping[str, Any] | None:
        """Return the counters of the switches by name; None if one came after ``deadline``, in Unix seconds.

        Notes the problems of switches, and leaves out those that are late too often.
        """
        if now > deadline:
            return None
        readings = self._switches.read([name for name in self._names if name not in self._left_out])
        for name, reading in readings.items():
            if reading.error:
                self._problems[name] = reading.error
        late_readings = {name: reading for name, reading in readings.items() if reading.answered > deadline}
        if late_readings:
            self._note_late(late_readings, len(readings), now)
            return None
        return {name: reading.counters for name, reading in readings.items() if not reading.error}

    def _note_late(self, late_readings: Mapping[str, SwitchReading], count: int, began: float) -> None:
        """Count late readings, and leave out switches that were late too often; ``count`` switches were read."""
        most_were_late = 2 * len(late_readings) > count
        if most_were_late and count > 1:
            # The controller is slow, not a switch.
            return
        for name, reading in late_readings.items():
            self._lateness[name] += 1
            if reading.error:
                # The session of a switch that does not answer may hang as long each time.
                self._left_out.add(name)
            elif self._lateness[name] == LATE_READINGS:
                seconds = reading.answered - began
                self._problems[name] = f"its counters came after {seconds:.0f} s, too late for a round"
                self._left_out.add(name)

    def read_all_again(self) -> None:
        """Read also the switches that were left out because they were slow: from now on they have more time."""
        self._left_out -= {name for name, count in self._lateness.items() if count == LATE_READINGS}
        self._lateness.clear()
