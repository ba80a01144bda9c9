"""Counters of a switch as samples; one that is missing, unreadable or fell alone has none, which is not 0."""

from collections.abc import Iterable, Iterator, Mapping
from typing import Any, NamedTuple

from railweave.acceptance.deltas import counter_delta, integers_of, row_has_restarted
from railweave.acceptance.readings import Answer
from railweave.fabric.node_metrics import ScrapedMetric
from railweave.links.errors import BINS, CORRECTED_BITS, SYMBOL_ERRORS
from railweave.telemetry import metrics

_OF_PORTS: Mapping[str, ScrapedMetric] = {
    metric.source: metric
    for metric in (
        *(metrics.RECEIVED_BYTES, metrics.SENT_BYTES, metrics.RECEIVE_ERRORS, metrics.RECEIVE_DISCARDS),
        metrics.UNCORRECTABLE,
    )
}
_OF_QUEUES: Mapping[str, ScrapedMetric] = {
    metric.source: metric
    for metric in (
        *(metrics.QUEUE_PACKETS, metrics.QUEUE_DROPS, metrics.ECN_MARKS),
        *(metrics.STORMS, metrics.STORMS_ENDED),
    )
}
_OF_GROUPS: Mapping[str, ScrapedMetric] = {metrics.GROUP_DROPS.source: metrics.GROUP_DROPS}
_OF_PRIORITIES = (metrics.PFC_RECEIVED, metrics.PFC_SENT, metrics.PAUSE_SECONDS)
# For error rates where the switch computes none.
_OF_FEC = (*BINS, CORRECTED_BITS, SYMBOL_ERRORS)
_US_PER_S = 1_000_000

CounterRows = Mapping[str, Mapping[str, int]]
"""Counters by table and name, ``ports Ethernet0`` or ``queues Ethernet0|3``."""


class CounterSample(NamedTuple):
    """A sample of a port: its value as text, and the queue, group or priority."""

    metric: ScrapedMetric
    port: str
    value: str
    number: int | None = None


class ReadCounters(NamedTuple):
    """The counters of a reading that are kept for the next one."""

    at: float
    boot: str
    rows: CounterRows


def read_counters(counters: Mapping[str, Any], ports: Iterable[str], queues: Iterable[int]) -> ReadCounters | str:
    """Return the counters of ``ports`` and ``queues`` that are served, or a sentence why there are none."""
    at = counters.get("at")
    tables = [counters.get(table) for table in ("ports", "queues", "groups")]
    if not isinstance(at, int | float) or isinstance(at, bool) or not isinstance(tables[0], Mapping):
        return "its answer has no counters"
    by_port, by_queue, by_group = (table if isinstance(table, Mapping) else {} for table in tables)
    rows: dict[str, Mapping[str, int]] = {}
    numbers = tuple(queues)
    of_port = frozenset((*_OF_PORTS, *_OF_FEC, *_fields_of(numbers)))
    for port in ports:
        _keep(rows, f"ports {port}", by_port.get(port), of_port)
        for number in numbers:
            name = f"{port}|{number}"
            _keep(rows, f"queues {name}", by_queue.get(name), _OF_QUEUES)
            _keep(rows, f"groups {name}", by_group.get(name), _OF_GROUPS)
    if not any(name.startswith("ports ") for name in rows):
        return "it counts none of the ports of the design: the address may belong to another switch"
    return ReadCounters(float(at), str(counters.get("boot", "")), rows)


def _keep(rows: dict[str, Mapping[str, int]], name: str, row: Any, fields: Iterable[str]) -> None:
    """Add the counters of these fields to ``rows``, if the row has any."""
    counted = integers_of(row)
    if not counted:
        return
    rows[name] = {field: counted[field] for field in fields if field in counted}


def _fields_of(priorities: Iterable[int]) -> dict[str, tuple[ScrapedMetric, int]]:
    """Return the fields of a port that count PFC, with metric and priority."""
    return {
        metric.source.replace("<priority>", str(priority)): (metric, priority)
        for priority in priorities
        for metric in _OF_PRIORITIES
    }


def counter_samples(
    read: ReadCounters, earlier: ReadCounters | None, lossless: frozenset[int]
) -> Iterator[CounterSample]:
    """Yield the samples of a reading; PFC and storms of the ``lossless`` priorities, whose queues have their number.

    ``earlier`` is the reading before. Prometheus itself handles a row that restarted and a counter that wrapped. A
    counter that fell alone was misread: it has no sample this time.
    """
    of_priorities = _fields_of(sorted(lossless))
    for name, row in read.rows.items():
        table, _, key = name.partition(" ")
        port, _, digits = key.partition("|")
        served = row
        before = earlier.rows.get(name) if earlier is not None and earlier.boot == read.boot else None
        if before is not None and before != row:
            served = _without_fallen(before, row)
        if table == "ports":
            yield from _of_port(port, served, of_priorities)
        else:
            number = int(digits)
            yield from _of_queue(port, number, served, is_lossless=number in lossless)


def _of_port(
    port: str, row: Mapping[str, int], of_priorities: Mapping[str, tuple[ScrapedMetric, int]]
) -> Iterator[CounterSample]:
    for field, metric in _OF_PORTS.items():
        if field in row:
            yield CounterSample(metric, port, str(row[field]))
    for field, (metric, priority) in of_priorities.items():
        if field not in row:
            continue
        value = row[field]
        if metric is metrics.PAUSE_SECONDS:
            yield CounterSample(metric, port, repr(value / _US_PER_S), priority)
        else:
            yield CounterSample(metric, port, str(value), priority)


def _of_queue(port: str, number: int, row: Mapping[str, int], *, is_lossless: bool) -> Iterator[CounterSample]:
    """Yield the samples of a queue or of a priority group, whose counters have other names."""
    for field, value in row.items():
        metric = _OF_QUEUES.get(field) or _OF_GROUPS.get(field)
        # Of lossy classes marks and packets alone: their drops are how they work.
        if metric is not None and (is_lossless or metric is metrics.QUEUE_PACKETS or metric is metrics.ECN_MARKS):
            yield CounterSample(metric, port, str(value), number)


def _without_fallen(before: Mapping[str, int], after: Mapping[str, int]) -> Mapping[str, int]:
    """Return a row without the counters that fell, though neither wrapped nor reset with the others of the row."""
    fallen = [field for field, value in before.items() if after.get(field, value) < value]
    if not fallen or row_has_restarted(before, after):
        return after
    served = dict(after)
    for field in fallen:
        if counter_delta(field, before[field], after[field]).answer is Answer.INVALID:
            del served[field]
    return served
