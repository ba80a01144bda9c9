"""The counters of one round by meaning: rules never see the name of a counter.

A counter that a row does not have is missing, not 0. Rows whose counters restarted are left out of the round.
"""

from collections import Counter, defaultdict
from collections.abc import Collection, Mapping
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
    # By port, then by the number of the queue or group; of most ports only those with drops, marks or storms.
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


_SIGNALS = (CounterMeaning.DROPS, CounterMeaning.WRED_DROPS, CounterMeaning.MARKS, CounterMeaning.STORMS)


def tally(counters: RoundCounters, lossless: frozenset[int], watched: Collection[PortEnd] | None = None) -> RoundTally:
    """Return the counts of a round; PFC frames are those of the priorities in ``lossless``.

    Queues are kept as a whole at the ports in ``watched``, without it at all ports. Elsewhere queues, and groups
    everywhere, are kept where they dropped, marked or stormed: the rows of 4,096 nodes would fill gigabytes.
    """
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
        if number is None:
            continue
        end = PortEnd(row.device, port)
        is_queue = row.table == "queues"
        is_watched = is_queue and (watched is None or end in watched)
        if is_watched or any(map(row_counts.get, _SIGNALS)):
            parts = counts.queues if is_queue else counts.groups
            parts[end][number] = row_counts
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
    if before is after:
        return names.still
    counts = {meaning: after[name] - before[name] for name, meaning in names.alone}
    for name, meaning in names.several:
        _count(counts, meaning, after[name] - before[name])
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
    # The counts of a row that did not change.
    still: Counts


@cache
def _row_names(names: tuple[str, ...], lossless: frozenset[int]) -> _RowNames:
    meant = _meant(names, lossless)
    uses = Counter(meaning for _, meaning in meant)
    alone = tuple(entry for entry in meant if uses[entry[1]] == 1)
    several = tuple(entry for entry in meant if uses[entry[1]] > 1)
    return _RowNames(alone, several, dict.fromkeys(uses, 0))


@cache
def _meant(names: tuple[str, ...], lossless: frozenset[int]) -> tuple[tuple[str, CounterMeaning], ...]:
    """Return those of ``names`` that mean something to a rule; none looks at watermarks."""
    meant: list[tuple[str, CounterMeaning]] = []
    for name in names:
        entry = counter_name(name)
        if entry is None or entry.meaning in WATERMARKS:
            continue
        if entry.priority is None or entry.priority in lossless:
            meant.append((name, entry.meaning))
    return tuple(meant)
