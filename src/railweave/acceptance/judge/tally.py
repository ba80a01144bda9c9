"""The counters of one round by meaning: rules never see the name of a counter.

A counter that a row does not have is missing, not 0. Rows whose counters restarted are left out of the round.
"""

from collections import defaultdict
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cache, reduce
from itertools import compress
from operator import add

from railweave.acceptance.counter_names import CounterMeaning, counter_name
from railweave.acceptance.model import PortEnd
from railweave.acceptance.readings import Column, DeviceCounters, TableGrowth

BYTES = frozenset({CounterMeaning.SENT_BYTES, CounterMeaning.RECEIVED_BYTES})
NIC_TABLE = "nics"
PORT_TABLES = frozenset({"ports", NIC_TABLE})
# Without a queue or group that counts one of these, its row says nothing about a fault.
_SIGNALS = (CounterMeaning.DROPS, CounterMeaning.WRED_DROPS, CounterMeaning.MARKS, CounterMeaning.STORMS)
_JUDGED = frozenset(_SIGNALS) | {
    *BYTES,
    CounterMeaning.PFC_SENT,
    CounterMeaning.PFC_RECEIVED,
    CounterMeaning.FEC_UNCORRECTABLE,
    CounterMeaning.FEC_CORRECTED,
    CounterMeaning.FEC_CORRECTED_BITS,
    CounterMeaning.ERRORS,
    CounterMeaning.LINK_DOWN,
    CounterMeaning.OUT_OF_SEQUENCE,
    CounterMeaning.RETRANSMISSIONS,
}
"""What rules look at; the rest is only read."""

Counts = Mapping[CounterMeaning, int]
QueueCounts = Mapping[PortEnd, Mapping[int, int]]
"""A counter of each queue, by port and number of the queue."""


@dataclass(frozen=True, slots=True)
class RoundTally:
    """What the ports, queues and priority groups of all devices counted in a round."""

    round: str
    # The place of each port in a column: ports of switches and, by the name of the host port, of NICs.
    places: Mapping[PortEnd, int] = field(default_factory=dict)
    columns: dict[CounterMeaning, list[int | None]] = field(default_factory=dict)
    # Ports and NICs that counted storms.
    storms: dict[PortEnd, int] = field(default_factory=dict)
    # Queues and groups with drops, marks or storms: by port, then by their number.
    queues: dict[PortEnd, dict[int, Counts]] = field(default_factory=lambda: defaultdict(dict))
    groups: dict[PortEnd, dict[int, Counts]] = field(default_factory=lambda: defaultdict(dict))
    # Bytes that the queues of watched ports sent.
    queue_bytes: dict[PortEnd, dict[int, int]] = field(default_factory=lambda: defaultdict(dict))
    # Of rounds in which marks matter: the marks of all queues that count them.
    queue_marks: dict[PortEnd, dict[int, int]] = field(default_factory=lambda: defaultdict(dict))
    # When each device was read, and what was wrong with it; its growth is left out.
    devices: list[DeviceCounters] = field(default_factory=list)
    # Seconds between the readings of devices.
    seconds: dict[str, float] = field(default_factory=dict)
    # Devices that were not read, and those with rows whose counters restarted between the readings.
    incomplete: set[str] = field(default_factory=set)
    meanings: set[CounterMeaning] = field(default_factory=set)
    # The switches that count something, by what it means.
    switches: dict[CounterMeaning, set[str]] = field(default_factory=lambda: defaultdict(set))

    def count(self, end: PortEnd, meaning: CounterMeaning) -> int | None:
        """Return a counter of a port, None if it was not read."""
        column = self.columns.get(meaning, ())
        place = self.places.get(end)
        if place is None or place >= len(column):
            return None
        return column[place]

    def counted(self, end: PortEnd, meaning: CounterMeaning) -> int:
        """Return a counter of a port, 0 if it was not read."""
        return self.count(end, meaning) or 0

    def column(self, places: Sequence[int], meaning: CounterMeaning) -> list[int | None]:
        """Return a counter of the ports at places of the plan, None for those that were not read."""
        column = self.columns.get(meaning)
        if column is None:
            return [None] * len(places)
        return list(map(column.__getitem__, places))


class Tallier:
    """Tallies rounds; the ports of a device get places one after the other, as its files have them."""

    def __init__(
        self,
        lossless: frozenset[int],
        places: dict[PortEnd, int],
        watched: Collection[PortEnd],
        marked: Collection[str],
    ) -> None:
        """Count PFC frames of the priorities in ``lossless``, and the bytes of queues at the ports in ``watched``.

        Of the rounds in ``marked`` the marks of all queues are kept, also where these are 0. ``places`` is filled.
        """
        self.lossless = lossless
        self.places = places
        self.watched = watched
        self.marked = marked
        self.tallies: dict[str, RoundTally] = {}
        self._rows: dict[tuple[str, str], _Rows] = {}

    def add(self, counters: DeviceCounters) -> None:
        """Add what a device counted in a round."""
        counts = self.tallies.get(counters.round)
        if counts is None:
            counts = self.tallies[counters.round] = RoundTally(counters.round, self.places)
        counts.devices.append(counters.without_growth())
        if counters.unread:
            counts.incomplete.add(counters.device)
            return
        counts.seconds[counters.device] = counters.seconds
        for table, growth in counters.growth.items():
            if growth.restarted:
                counts.incomplete.add(counters.device)
            columns = self._meant(growth)
            counts.meanings.update(columns)
            if table != NIC_TABLE:
                for meaning in columns:
                    counts.switches[meaning].add(counters.device)
            rows = self._rows_of(counters.device, table, growth.rows)
            if table in PORT_TABLES:
                self._add_ports(counts, rows, columns)
            elif table == "groups":
                _add_signals(counts.groups, rows, columns)
            else:
                _add_signals(counts.queues, rows, columns)
                _add_numbers(counts.queue_bytes, rows.watched, columns.get(CounterMeaning.SENT_BYTES))
                if counters.round in self.marked:
                    _add_numbers(counts.queue_marks, rows.numbered, columns.get(CounterMeaning.MARKS))

    def _meant(self, growth: TableGrowth) -> dict[CounterMeaning, Column]:
        """Return the columns of a table by what they mean; counters that no row has are missing."""
        meant: dict[CounterMeaning, Column] = {}
        for name, meaning in _meanings(tuple(growth.columns), self.lossless):
            column = growth.columns[name]
            earlier = meant.get(meaning)
            if earlier is not None:
                column = _together(meaning, earlier, column)
            meant[meaning] = column
        return {meaning: column for meaning, column in meant.items() if not _is_missing(column)}

    def _rows_of(self, device: str, table: str, names: tuple[str, ...]) -> "_Rows":
        rows = self._rows.get((device, table))
        if rows is None or (rows.names is not names and rows.names != names):
            rows = _Rows(device, table, names, self.watched)
            self._rows[device, table] = rows
            rows.places = [self.places.setdefault(end, len(self.places)) for end in rows.ends]
            start = min(rows.places, default=0)
            rows.are_together = rows.places == list(range(start, start + len(rows.places)))
        return rows

    def _add_ports(self, counts: RoundTally, rows: "_Rows", columns: Mapping[CounterMeaning, Column]) -> None:
        for meaning, values in columns.items():
            if meaning is CounterMeaning.STORMS:
                counts.storms.update(zip(compress(rows.ends, values), filter(None, values), strict=True))
                continue
            column = counts.columns.setdefault(meaning, [])
            if len(column) < len(self.places):
                column.extend([None] * (len(self.places) - len(column)))
            if rows.are_together and rows.places:
                column[rows.places[0] : rows.places[-1] + 1] = values
                continue
            for place, value in zip(rows.places, values, strict=True):
                column[place] = value

    def finished(self, rounds: Iterable[str], ends: Iterable[PortEnd]) -> dict[str, RoundTally]:
        """Return the tallies of those rounds that were read, in their order; ``ends`` get places, too."""
        for end in ends:
            self.places.setdefault(end, len(self.places))
        tallies = {name: self.tallies[name] for name in rounds if name in self.tallies}
        for counts in tallies.values():
            for column in counts.columns.values():
                column.extend([None] * (len(self.places) - len(column)))
        return tallies


def _is_missing(column: Column) -> bool:
    # Most have a value in their first row.
    return not column or (column[0] is None and column.count(None) == len(column))


class _Rows:
    """The rows of a table of a device, which are the same in most readings."""

    def __init__(self, device: str, table: str, names: tuple[str, ...], watched: Collection[PortEnd]) -> None:
        self.names = names
        # Of the ports, none for queues and groups.
        self.ends: list[PortEnd] = []
        self.places: list[int] = []
        self.are_together = False
        # Places of queues and groups with their port and number.
        self.numbered: list[tuple[int, PortEnd, int]] = []
        self.watched: list[tuple[int, PortEnd, int]] = []
        if table in PORT_TABLES:
            self.ends = [PortEnd(device, name) for name in names]
            return
        for place, name in enumerate(names):
            port, _, number = name.partition("|")
            if number.isdecimal():
                self.numbered.append((place, PortEnd(device, port), int(number)))
        self.watched = [row for row in self.numbered if row[1] in watched]


def _add_signals(
    parts: dict[PortEnd, dict[int, Counts]], rows: _Rows, columns: Mapping[CounterMeaning, Column]
) -> None:
    """Add the queues or groups that dropped, marked or stormed."""
    signals = [columns[meaning] for meaning in _SIGNALS if meaning in columns and any(columns[meaning])]
    if not signals:
        return
    for place, end, number in rows.numbered:
        if any(column[place] for column in signals):
            parts[end][number] = _row(columns, place)


def _row(columns: Mapping[CounterMeaning, Column], place: int) -> Counts:
    counts: dict[CounterMeaning, int] = {}
    for meaning, column in columns.items():
        value = column[place]
        if value is not None:
            counts[meaning] = value
    return counts


def _add_numbers(
    parts: dict[PortEnd, dict[int, int]], rows: Iterable[tuple[int, PortEnd, int]], column: Column | None
) -> None:
    """Add a counter of queues that have it."""
    if column is None:
        return
    for place, end, number in rows:
        value = column[place]
        if value is not None:
            parts[end][number] = value


def _together(meaning: CounterMeaning, first: Column, second: Column) -> Column:
    """Return what two counters with one meaning say of each row."""
    # ethtool counts the bytes of a NIC twice, in its driver and on the wire.
    combine = max if meaning in BYTES else add
    try:
        return tuple(map(combine, first, second))
    except TypeError:
        pass
    both: list[int | None] = []
    for values in zip(first, second, strict=True):
        present = [value for value in values if value is not None]
        both.append(reduce(combine, present) if present else None)
    return tuple(both)


@cache
def _meanings(names: tuple[str, ...], lossless: frozenset[int]) -> tuple[tuple[str, CounterMeaning], ...]:
    """Return those of ``names`` that a rule looks at."""
    meant: list[tuple[str, CounterMeaning]] = []
    for name in names:
        entry = counter_name(name)
        if entry is None or entry.meaning not in _JUDGED:
            continue
        if entry.priority is None or entry.priority in lossless:
            meant.append((name, entry.meaning))
    return tuple(meant)
