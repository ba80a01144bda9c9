"""The last readings of all switches, and the pages that scrapes get from them: nothing here waits for a switch."""

from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, field
from threading import Lock

from railweave.exporter.lines import exposition
from railweave.exporter.maintenance import ROLLING
from railweave.exporter.model import SwitchSamples
from railweave.fabric.node_metrics import ScrapedMetric
from railweave.telemetry import metrics

BOUND_S = 10.0
"""A reading that takes longer has hung: the switch counts as not answering, whenever its answer comes."""
STALE_READINGS = 2.5
"""Samples are served until their reading is that many intervals old: one lost reading leaves no gap, two end them."""
ROLLING_S = 900.0
"""A switch that was last seen in a rollout stays so while it cannot be read, for as long as a reload takes at most."""

Seconds = Callable[[], float]
"""A steady clock."""


@dataclass(slots=True)
class _StoredSwitch:
    """What is known of a switch; times are of the store's clock."""

    # The last complete reading began then.
    read_at: float | None = None
    # The last reading that gave samples.
    sampled_at: float | None = None
    samples: SwitchSamples = field(default_factory=lambda: SwitchSamples({}))
    # A reading that has not ended yet.
    begun_at: float | None = None
    # What was wrong with the last reading; None before the first one.
    error: str | None = None
    # The last reading was answered, if not in full.
    answered: bool = False
    seconds: float = 0.0
    readings: int = 0
    failures: int = 0
    drift_rows: int | None = None


class ReadingStore:
    """Holds the readings of the switches ``names``, which are read every ``interval_s``."""

    def __init__(self, names: Iterable[str], interval_s: float, clock: Seconds, version: str = "") -> None:
        self._entries = {name: _StoredSwitch() for name in names}
        self._stale_s = STALE_READINGS * interval_s
        self._clock = clock
        self._lock = Lock()
        self._version = version
        # Switches that a rollout on this machine changes.
        self._rolling: frozenset[str] = frozenset()

    @property
    def names(self) -> tuple[str, ...]:
        """Return the switches."""
        return tuple(self._entries)

    def begin(self, name: str) -> None:
        """Note that a reading of a switch begins."""
        with self._lock:
            self._entries[name].begun_at = self._clock()

    def put(self, name: str, samples: SwitchSamples) -> str | None:
        """Store the samples of a reading that began; return the error of the last reading, None on the first."""
        with self._lock:
            entry = self._entries[name]
            last_error = self._end_reading(entry)
            entry.samples = samples
            entry.sampled_at = self._clock()
            entry.error = "; ".join(samples.missing)
            entry.answered = True
            is_complete = not samples.missing
            # With another version of the program no reading would ever be complete.
            if is_complete or samples.other_program:
                entry.read_at = entry.sampled_at
            return last_error

    def fail(self, name: str, error: str) -> str | None:
        """Note that a reading that began failed; return the error of the last reading, None on the first."""
        with self._lock:
            entry = self._entries[name]
            last_error = self._end_reading(entry)
            entry.failures += 1
            entry.answered = False
            entry.error = error
            # A switch that restarts begins with other counters and another configuration.
            entry.drift_rows = None
            return last_error

    def _end_reading(self, entry: _StoredSwitch) -> str | None:
        """Count a reading that has ended, and return the error of the one before it."""
        if entry.begun_at is not None:
            entry.seconds = self._clock() - entry.begun_at
        entry.begun_at = None
        entry.readings += 1
        return entry.error

    def error(self, name: str) -> str | None:
        """Return what was wrong with the last reading of a switch, None before the first."""
        with self._lock:
            return self._entries[name].error

    def put_drift(self, name: str, rows: int | None) -> None:
        """Take how many rows and lines of a switch differ from the intent; None if that is unknown."""
        with self._lock:
            self._entries[name].drift_rows = rows

    def put_rolling(self, names: frozenset[str]) -> None:
        """Take the switches that a running rollout changes."""
        with self._lock:
            self._rolling = names

    def page(self, name: str) -> str:
        """Return the metrics of one switch. Raises KeyError for an unknown one."""
        with self._lock:
            entry = self._entries[name]
            now = self._clock()
            return exposition((*self._own_samples(name, entry, now), *self._served(entry, now)))

    def all_switches(self) -> str:
        """Return the metrics of all switches, for a file."""
        lines: dict[ScrapedMetric, list[str]] = {}
        with self._lock:
            now = self._clock()
            for name, entry in self._entries.items():
                for metric, text in (*self._own_samples(name, entry, now), *self._served(entry, now)):
                    lines.setdefault(metric, []).append(text)
        return exposition((metric, "".join(texts)) for metric, texts in lines.items())

    def own_page(self) -> str:
        """Return the exporter's own metrics: which switches it reads, how old that is and how long it takes."""
        lines: dict[ScrapedMetric, list[str]] = {}
        lines[metrics.EXPORTER] = [f'{metrics.EXPORTER}{{version="{self._version}"}} 1\n']
        with self._lock:
            now = self._clock()
            for name, entry in self._entries.items():
                for metric, value in self._reading_metrics(entry, now):
                    lines.setdefault(metric, []).append(f'{metric}{{device="{name}"}} {value}\n')
        return exposition((metric, "".join(texts)) for metric, texts in lines.items())

    def _reading_metrics(self, entry: _StoredSwitch, now: float) -> Iterator[tuple[ScrapedMetric, str]]:
        """Yield the metrics of the readings of a switch with their values."""
        up = _is_up(entry, now)
        if up is not None:
            yield metrics.SWITCH_UP, str(int(up))
        if entry.read_at is not None:
            yield metrics.READING_AGE, f"{now - entry.read_at:.3f}"
        yield metrics.READINGS, str(entry.readings)
        yield metrics.FAILED_READINGS, str(entry.failures)
        if entry.readings:
            yield metrics.READING_SECONDS, f"{entry.seconds:.3f}"

    def _own_samples(self, name: str, entry: _StoredSwitch, now: float) -> Iterator[tuple[ScrapedMetric, str]]:
        """Yield the lines of the metrics that are known of a switch even if it does not answer."""
        label = f'{{device="{name}"}}'
        up = _is_up(entry, now)
        if up is not None:
            yield metrics.SWITCH_UP, f"{metrics.SWITCH_UP}{label} {int(up)}\n"
        if entry.read_at is not None:
            yield metrics.READING_AGE, f"{metrics.READING_AGE}{label} {now - entry.read_at:.3f}\n"
        present_states = self._states(name, entry, now)
        lines = []
        for state in metrics.MAINTENANCE_STATES:
            labels = f'{{device="{name}",state="{state}"}}'
            lines.append(f"{metrics.MAINTENANCE}{labels} {int(state in present_states)}\n")
        yield metrics.MAINTENANCE, "".join(lines)
        if entry.drift_rows is not None:
            yield metrics.DRIFT_ROWS, f"{metrics.DRIFT_ROWS}{label} {entry.drift_rows}\n"
        if entry.sampled_at is not None:
            yield metrics.OTHER_PROGRAM, f"{metrics.OTHER_PROGRAM}{label} {int(entry.samples.other_program)}\n"

    def _states(self, name: str, entry: _StoredSwitch, now: float) -> frozenset[str]:
        """Return the states of maintenance of a switch; while it cannot be read, those of the last reading.

        A drained switch may be unplugged for as long as it takes. A rollout ends, and its switch must come back.
        """
        states = entry.samples.maintenance
        if entry.sampled_at is not None and now - entry.sampled_at > max(ROLLING_S, entry.samples.timer_s):
            states -= {ROLLING}
        if name in self._rolling:
            states |= {ROLLING}
        return states

    def _served(self, entry: _StoredSwitch, now: float) -> Iterable[tuple[ScrapedMetric, str]]:
        """Return the lines of the last reading by metric, none if that is too old."""
        if entry.sampled_at is None or now - entry.sampled_at > self._stale_s:
            return ()
        return entry.samples.samples.items()


def _is_up(entry: _StoredSwitch, now: float) -> bool | None:
    """Tell whether a switch answered its last reading; None before the first one has ended."""
    if entry.begun_at is not None and now - entry.begun_at > BOUND_S:
        return False
    if not entry.readings:
        return None
    return entry.answered
