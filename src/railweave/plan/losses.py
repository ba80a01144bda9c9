"""Packets lost on a device's ports: no faster after a change than before it.

A counter alone says nothing: it may have stood where it stands for a year. What counts is how fast it rises, so two
readings make a rate, and the rate before the change is held against the rate after it.
"""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass

from railweave.plan.observation import Counters
from railweave.plan.outcome import CheckKind, VerifyCheck

Rates = Mapping[tuple[CheckKind, str], float]
"""Lost packets a second, by kind (errors or discards) and port."""

UNCHANGED_PER_S = 1.0
"""A rate up to this is no loss: a retrained link and a single bad frame are not what a change is rolled back for."""

FACTOR = 2.0
"""Traffic varies between two readings; up to this factor a rate counts as unchanged."""


@dataclass(frozen=True, slots=True)
class LossWatch:
    """Two readings of one device's counters in a row."""

    earlier: Counters
    later: Counters

    @property
    def seconds(self) -> float:
        """Return the time between the readings."""
        return self.later.at_s - self.earlier.at_s

    def rates(self, ports: Iterable[str]) -> Rates:
        """Return how fast the counters of ``ports`` rose; a counter that began anew (a reload) did not rise."""
        found: dict[tuple[CheckKind, str], float] = {}
        if self.seconds <= 0:
            return found
        for port in ports:
            for kind, earlier, later in (
                (CheckKind.ERRORS, self.earlier.errors, self.later.errors),
                (CheckKind.DISCARDS, self.earlier.discards, self.later.discards),
            ):
                if port in earlier and port in later:
                    found[kind, port] = max(0, later[port] - earlier[port]) / self.seconds
        return found


def loss_checks(device: str, before: Rates, now: Rates) -> tuple[VerifyCheck, ...]:
    """Return a check for every counter of ``now``; a port that was not watched before is held against none lost."""
    return tuple(_check(device, kind, port, before.get((kind, port), 0.0), rate) for (kind, port), rate in now.items())


def _check(device: str, kind: CheckKind, port: str, before: float, now: float) -> VerifyCheck:
    allowed = max(UNCHANGED_PER_S, before * FACTOR)
    return VerifyCheck(device, kind, port, f"at most {allowed:.1f}/s", f"{now:.1f}/s", now <= allowed)
