"""The counters of one round by meaning: rules never see the name of a counter.

A counter that a row does not have is missing, not 0. Rows whose counters restarted are left out of the round.
"""

from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from functools import cache
from typing import NamedTuple

from railweave.acceptance.counter_names import WATERMARKS, CounterMeaning, counter_name
from railweave.acceptance.counters import RowDeltas
from railweave.acceptance.model import PortEnd
from railweave.acceptance.readings import Answer, CounterDelta, CounterRow, RoundCounters
from railweave.diagnostics import Diagnostic

BYTES = frozenset({CounterMeaning.SENT_BYTES, CounterMeaning.RECEIVED_BYTES})
PORT_TABLES = frozenset({"ports", "nics"})

Counts = Mapping[CounterMeaning, int]
NO_COUNTS: Counts = {}


@dataclass(frozen=True, slots=True)
class RoundTally:
    """What the ports, queues and priority groups of all devices counted in a round."""

    round: str
    # Of switches and, by the name of the host port, of NICs.
    ports: dict[PortEnd, Counts] = field(default_factory=dict)
    # By port, then by the number of the queue or group.
    queues: dict[PortEnd, dict[int, Counts]] = field(default_factory=lambda: defaultdict(dict))
    groups: dict[PortEnd, dict[int, Counts]] = field(default_factory=lambda: defaultdict(dict))
    seconds: Mapping[str, float] = field(default_factory=dict)
    unread: Mapping[str, str] = field(default_factory=dict)
    # Rows whose counters restarted between the readings.
    restarted: list[CounterRow] = field(default_factory=list)
    meanings: set[CounterMeaning] = field(default_factory=set)
    # What was wrong with the files of the counters.
    diagnostics: tuple[Diagnostic, ...] = ()

    def port(self, end: PortEnd) -> Counts:
        """Return the counts of a port, empty if it was not read."""
        return self.ports.get(end, NO_COUNTS)

    def of_device(self, device: str, ends: Iterable[PortEnd]) -> Iterator[tuple[PortEnd, Counts]]:
        """Yield the counts of those of ``ends`` that belong to a device."""
        for end in ends:
            if end.device == device:
                yield end, self.port(end)


def tally(counters: RoundCounters, lossless: frozenset[int]) -> RoundTally:
    """Return the counts of a round; PFC frames are those of the priorities in ``lossless``."""
    counts = RoundTally(
        counters.round, seconds=counters.seconds, unread=counters.unread, diagnostics=counters.diagnostics
    )
    for row, deltas in counters.deltas.items():
        row_counts = _row_counts(deltas, lossless)
        if row_counts is None:
            counts.restarted.append(row)
            continue
        if not row_counts.keys() <= counts.meanings:
            counts.meanings.update(row_counts)
        if row.table in PORT_TABLES:
            counts.ports[PortEnd(row.device, row.name)] = row_counts
            continue
        port, number = _place(row.name)
        if number is not None:
            parts = counts.queues if row.table == "queues" else counts.groups
            parts[PortEnd(row.device, port)][number] = row_counts
    return counts


@cache
def _place(name: str) -> tuple[str, int | None]:
    """Return the port of a queue or group, and its number."""
    port, _, number = name.partition("|")
    return port, int(number) if number.isdecimal() else None


def _row_counts(deltas: Mapping[str, CounterDelta], lossless: frozenset[int]) -> Counts | None:
    if isinstance(deltas, RowDeltas) and deltas.grew:
        return _grown_counts(deltas, lossless)
    counts: dict[CounterMeaning, int] = {}
    for name, meaning in _meant(tuple(deltas), lossless):
        delta = deltas[name]
        if delta.answer is Answer.RESET:
            return None
        if delta.answer is not Answer.INVALID:
            _count(counts, meaning, delta.grown)
    return counts


def _grown_counts(deltas: RowDeltas, lossless: frozenset[int]) -> Counts:
    """Return the counts of a row in which no counter fell; rows that did not change share one value."""
    before = deltas.before
    after = deltas.after
    names = _row_names(tuple(after), lossless)
    if before is after and not any(map(after.__getitem__, names.watermarks)):
        return names.still
    counts = {meaning: after[name] - before[name] for name, meaning in names.alone}
    for name, meaning in names.several:
        _count(counts, meaning, after[name] - before[name])
    for name, meaning in names.peaks:
        # A watermark is its value after.
        counts[meaning] = after[name]
    return counts


def _count(counts: dict[CounterMeaning, int], meaning: CounterMeaning, grown: int) -> None:
    earlier = counts.get(meaning, 0)
    if meaning in BYTES and earlier:
        # ethtool counts the bytes of a NIC twice, in its driver and on the wire.
        counts[meaning] = max(earlier, grown)
    else:
        counts[meaning] = earlier + grown


class _RowNames(NamedTuple):
    """The counters of a row that mean something to a rule; most rows of millions have the same names."""

    # Counters whose growth is all that the row says of a meaning, and those that share one.
    alone: tuple[tuple[str, CounterMeaning], ...]
    several: tuple[tuple[str, CounterMeaning], ...]
    peaks: tuple[tuple[str, CounterMeaning], ...]
    watermarks: tuple[str, ...]
    # The counts of a row that did not change and whose watermarks are 0.
    still: Counts


@cache
def _row_names(names: tuple[str, ...], lossless: frozenset[int]) -> _RowNames:
    meant = _meant(names, lossless)
    uses = Counter(meaning for _, meaning in meant)
    peaks = tuple(entry for entry in meant if entry[1] in WATERMARKS)
    growing = [entry for entry in meant if entry not in peaks]
    alone = tuple(entry for entry in growing if uses[entry[1]] == 1)
    several = tuple(entry for entry in growing if uses[entry[1]] > 1)
    return _RowNames(alone, several, peaks, tuple(name for name, _ in peaks), dict.fromkeys(uses, 0))


@cache
def _meant(names: tuple[str, ...], lossless: frozenset[int]) -> tuple[tuple[str, CounterMeaning], ...]:
    """Return those of ``names`` that mean something to a rule."""
    meant: list[tuple[str, CounterMeaning]] = []
    for name in names:
        entry = counter_name(name)
        if entry is not None and (entry.priority is None or entry.priority in lossless):
            meant.append((name, entry.meaning))
    return tuple(meant)
