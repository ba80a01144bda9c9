"""Counters of a running fabric before and after other work on it, for the checks of growth in `verify`."""

from collections.abc import Collection

from napalm_sonic.clock import Clock
from nornir_railweave.tasks.counters import read_counters
from railweave.api.targets.fabric import LiveFabric
from railweave.health.growing import growth_checks, judged_counters
from railweave.health.judge import CounterAnswer
from railweave.plan.outcome import VerifyCheck

LEAST_SECONDS = 2.0
"""Two polls of the counters of ports, which SONiC reads every second, so that at least one is between the readings."""


class ErrorWatch:
    """Reads the counters of switches when it is made, and again for its checks."""

    def __init__(self, live: LiveFabric, names: Collection[str], clock: Clock) -> None:
        """Read the switches ``names`` once."""
        self._live = live
        self._clock = clock
        self._read_at_s = clock.monotonic()
        self._before = self._read(names)

    def _read(self, names: Collection[str]) -> dict[str, CounterAnswer]:
        readings = read_counters(self._live.nornir, names, keep=judged_counters)
        return {name: CounterAnswer(reading.counters, reading.error) for name, reading in readings.items()}

    def checks(self) -> tuple[tuple[VerifyCheck, ...], tuple[str, ...]]:
        """Read again, at least ``LEAST_SECONDS`` after the first reading; return the failed checks and their fixes."""
        # There is nothing to compare for a switch that did not answer, or whose driver has no counters.
        readable = [name for name, answer in self._before.items() if not answer.error]
        if not readable:
            return (), ()
        elapsed_s = self._clock.monotonic() - self._read_at_s
        self._clock.sleep(max(0.0, LEAST_SECONDS - elapsed_s))
        return growth_checks(self._live.designed.fabric, self._before, self._read(readable))
