"""Counters of a switch as lines; one that is missing, unreadable or fell alone has none, which is not 0."""

from collections import defaultdict
from collections.abc import Collection, Iterable, Mapping
from typing import Any, NamedTuple

from railweave.acceptance.deltas import counter_delta, integers_of, row_has_restarted
from railweave.acceptance.readings import Answer
from railweave.exporter.lines import LineWriter
from railweave.exporter.model import Samples
from railweave.fabric.node_metrics import ScrapedMetric
from railweave.links.errors import BINS, CORRECTED_BITS, SYMBOL_ERRORS
from railweave.telemetry import metrics

PORTS = "ports"
_QUEUES = "queues"
_GROUPS = "groups"

_OF_PORTS = (
    *(metrics.RECEIVED_BYTES, metrics.SENT_BYTES, metrics.RECEIVE_ERRORS, metrics.RECEIVE_DISCARDS),
    metrics.UNCORRECTABLE,
)
_OF_PRIORITIES = (metrics.PFC_RECEIVED, metrics.PFC_SENT, metrics.PAUSE_SECONDS)
# Of lossy classes packets and marks alone: their drops are how they work.
_OF_QUEUES = (metrics.QUEUE_PACKETS, metrics.ECN_MARKS)
_OF_LOSSLESS_QUEUES = (*_OF_QUEUES, metrics.QUEUE_DROPS, metrics.STORMS, metrics.STORMS_ENDED)
# For error rates where the switch computes none.
_OF_FEC = (*BINS, CORRECTED_BITS, SYMBOL_ERRORS)
_US_PER_S = 1_000_000

CounterRows = Mapping[str, Mapping[str, int]]
"""Counters by name: of ports ``Ethernet0``, of queues and priority groups ``Ethernet0|3``."""


class ReadCounters(NamedTuple):
    """The counters of a reading that are kept for the next one."""

    at: float
    boot: str
    tables: Mapping[str, CounterRows]


class Series(NamedTuple):
    """A counter that is served: its field in a row, its metric, and the line of its sample up to the value."""

    field: str
    metric: str
    start: str


class CounterLines:
    """Writes the counters of the ports of one switch, and of their queues ``numbers``.

    A ``lossless`` priority has the queue and the group of its number.
    """

    def __init__(
        self, writer: LineWriter, ports: Iterable[str], numbers: Collection[int], lossless: Collection[int]
    ) -> None:
        self._writer = writer
        self._series: dict[str, dict[str, list[Series]]] = {PORTS: {}, _QUEUES: {}, _GROUPS: {}}
        for port in ports:
            self._series[PORTS][port] = [self._of(metric, port) for metric in _OF_PORTS]
            for number in numbers:
                name = f"{port}|{number}"
                if number not in lossless:
                    self._series[_QUEUES][name] = [self._of(metric, port, number) for metric in _OF_QUEUES]
                    continue
                self._series[PORTS][port] += [self._of(metric, port, number) for metric in _OF_PRIORITIES]
                self._series[_QUEUES][name] = [self._of(metric, port, number) for metric in _OF_LOSSLESS_QUEUES]
                self._series[_GROUPS][name] = [self._of(metrics.GROUP_DROPS, port, number)]
        self._fields = {*_OF_FEC}
        for rows in self._series.values():
            for series in rows.values():
                self._fields.update(field for field, _, _ in series)

    def _of(self, metric: ScrapedMetric, port: str, number: int | None = None) -> Series:
        field = metric.source.replace("<priority>", str(number))
        return Series(field, metric.name, self._writer.start(metric, port, number))

    def read(self, counters: Mapping[str, Any]) -> ReadCounters | str:
        """Return the counters that are served, or a sentence why there are none."""
        at = counters.get("at")
        if not isinstance(at, int | float) or isinstance(at, bool) or not isinstance(counters.get(PORTS), Mapping):
            return "its answer has no counters"
        tables = {table: self._kept(names, counters.get(table)) for table, names in self._series.items()}
        if not tables[PORTS]:
            return "it counts none of the ports of the design: the address may belong to another switch"
        return ReadCounters(float(at), str(counters.get("boot", "")), tables)

    def _kept(self, names: Iterable[str], rows: object) -> CounterRows:
        """Return the rows with these names, each with the fields that are served or make error rates."""
        kept: dict[str, Mapping[str, int]] = {}
        if not isinstance(rows, Mapping):
            return kept
        for name in names:
            counted = integers_of(rows.get(name))
            if counted:
                kept[name] = {field: value for field, value in counted.items() if field in self._fields}
        return kept

    def lines(self, read: ReadCounters, earlier: ReadCounters | None) -> Samples:
        """Return the lines of a reading; ``earlier`` is the reading before.

        Prometheus itself handles a row that restarted and a counter that wrapped. A counter that fell alone was
        misread: it has no line this time.
        """
        lines: defaultdict[str, list[str]] = defaultdict(list)
        for table, rows in read.tables.items():
            before: CounterRows = {}
            if earlier is not None and earlier.boot == read.boot:
                before = earlier.tables[table]
            for name, row in rows.items():
                served = _without_fallen(before.get(name, row), row)
                for field, metric, start in self._series[table][name]:
                    if field in served:
                        lines[metric].append(f"{start}{_text(metric, served[field])}\n")
        return self._writer.by_metric(lines)


def _text(metric: str, value: int) -> str:
    if metric == metrics.PAUSE_SECONDS.name:
        return repr(value / _US_PER_S)
    return str(value)


def _without_fallen(before: Mapping[str, int], after: Mapping[str, int]) -> Mapping[str, int]:
    """Return a row without the counters that fell, though neither wrapped nor reset with the others of the row."""
    if before == after:
        return after
    fallen = [field for field, value in before.items() if after.get(field, value) < value]
    if not fallen or row_has_restarted(before, after):
        return after
    served = dict(after)
    for field in fallen:
        if counter_delta(field, before[field], after[field]).answer is Answer.INVALID:
            del served[field]
    return served
