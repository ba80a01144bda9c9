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
        # The series of each row of a table.
        self._series: dict[str, dict[str, list[Series]]] = {PORTS: {}, _QUEUES: {}, _GROUPS: {}}
        # The fields of rows that are kept.
        self._fields = {*_OF_FEC}
        for port in ports:
            self._add_series(PORTS, port, _OF_PORTS, port)
            for number in numbers:
                name = f"{port}|{number}"
                if number in lossless:
                    self._add_series(PORTS, port, _OF_PRIORITIES, port, number)
                    self._add_series(_QUEUES, name, _OF_LOSSLESS_QUEUES, port, number)
                    self._add_series(_GROUPS, name, (metrics.GROUP_DROPS,), port, number)
                else:
                    self._add_series(_QUEUES, name, _OF_QUEUES, port, number)

    def _add_series(
        self, table: str, row: str, row_metrics: Iterable[ScrapedMetric], port: str, number: int | None = None
    ) -> None:
        """Serve metrics of a row, labeled with its port and the ``number`` of its queue, group or priority, if any."""
        series = self._series[table].setdefault(row, [])
        for metric in row_metrics:
            field = metric.source.replace("<priority>", str(number))
            series.append(Series(field, metric.name, self._writer.start(metric, port, number)))
            self._fields.add(field)

    def read(self, counters: Mapping[str, Any]) -> ReadCounters | str:
        """Return the counters that are served, or a sentence why there are none."""
        at: Any = counters.get("at")
        # A bool is an int for Python.
        has_time = isinstance(at, int | float) and not isinstance(at, bool)
        has_ports = isinstance(counters.get(PORTS), Mapping)
        if not has_time or not has_ports:
            return "its answer has no counters"
        tables = {table: self._served_rows(names, counters.get(table)) for table, names in self._series.items()}
        if not tables[PORTS]:
            return "it counts none of the ports of the design: the address may belong to another switch"
        return ReadCounters(float(at), str(counters.get("boot", "")), tables)

    def _served_rows(self, names: Iterable[str], rows: object) -> CounterRows:
        """Return the rows with these names, each with the fields that are served or from which error rates follow."""
        served: dict[str, Mapping[str, int]] = {}
        if not isinstance(rows, Mapping):
            return served
        for name in names:
            counters = integers_of(rows.get(name))
            if counters:
                served[name] = {field: value for field, value in counters.items() if field in self._fields}
        return served

    def lines(self, read: ReadCounters, earlier: ReadCounters | None) -> Samples:
        """Return the lines of a reading by metric; ``earlier`` is the reading before, None for the first one.

        Prometheus itself handles a row that restarted and a counter that wrapped. A counter that fell alone was
        misread: it has no line this time.
        """
        lines: defaultdict[str, list[str]] = defaultdict(list)
        for table, rows in read.tables.items():
            earlier_rows: CounterRows = {}
            # After a boot counters begin at 0, and smaller values are right.
            if earlier is not None and earlier.boot == read.boot:
                earlier_rows = earlier.tables[table]
            for name, row in rows.items():
                served = _without_fallen(earlier_rows.get(name, row), row)
                for field, metric, start in self._series[table][name]:
                    if field in served:
                        lines[metric].append(f"{start}{_text(metric, served[field])}\n")
        return self._writer.by_metric(lines)


def _text(metric: str, value: int) -> str:
    """Return a value as Prometheus reads it, times in seconds."""
    if metric == metrics.PAUSE_SECONDS.name:
        return repr(value / _US_PER_S)
    return str(value)


def _without_fallen(before: Mapping[str, int], after: Mapping[str, int]) -> Mapping[str, int]:
    """Return a row without the counters that fell alone.

    A counter that wrapped is kept, and so is one that was reset together with the others of its row.
    """
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
