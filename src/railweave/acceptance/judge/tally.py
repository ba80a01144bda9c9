"""The counters of one round by meaning: rules never see the name of a counter.

A counter that a row does not have is missing, not 0. Rows whose counters restarted are left out of the round.
"""

from array import array
from collections import defaultdict
from collections.abc import Collection, Iterable, Mapping, MutableSequence, Sequence
from dataclasses import dataclass, field, replace
from functools import cache
from itertools import compress
from operator import add
from typing import NamedTuple, cast

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


class QueueColumn(NamedTuple):
    """A counter of the queues of one device."""

    # The place of each queue among the values, by its port and number.
    places: Mapping[PortEnd, Mapping[int, int]]
    values: Column

    def at(self, end: PortEnd) -> dict[int, int]:
        """Return the counter of those queues of a port that were read, by their number."""
        counts: dict[int, int] = {}
        for number, place in self.places.get(end, {}).items():
            value = self.values[place]
            if value is not None:
                counts[number] = value
        return counts


_NO_QUEUES = QueueColumn({}, ())


@dataclass(frozen=True, slots=True)
class RoundTally:
    """What the ports, queues and priority groups of all devices counted in a round."""

    round: str
    # The place of each port in a column: ports of switches and, by the name of the host port, of NICs.
    places: Mapping[PortEnd, int] = field(default_factory=dict)
    columns: dict[CounterMeaning, MutableSequence[int | None]] = field(default_factory=dict)
    # Ports and NICs that counted storms.
    storms: dict[PortEnd, int] = field(default_factory=dict)
    # Queues and groups with drops, marks or storms: by port, then by their number.
    queues: dict[PortEnd, dict[int, Counts]] = field(default_factory=lambda: defaultdict(dict))
    groups: dict[PortEnd, dict[int, Counts]] = field(default_factory=lambda: defaultdict(dict))
    # Bytes that the queues of watched ports sent, by device.
    queue_bytes: dict[str, QueueColumn] = field(default_factory=dict)
    # Of rounds in which marks matter: the marks of all queues that count them.
    queue_marks: dict[str, QueueColumn] = field(default_factory=dict)
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

    def total(self, places: Sequence[int], meaning: CounterMeaning) -> int | None:
        """Return the sum of a counter over the ports at ``places``; None if one of them was not read."""
        column = self.columns.get(meaning)
        if column is None:
            return None
        try:
            return sum(map(cast("Sequence[int]", column).__getitem__, places))
        except TypeError:
            return None

    def packed(self) -> "RoundTally":
        """Return the tally without its places, and with columns that pass quickly from process to process."""
        columns = {meaning: _packed(column) for meaning, column in self.columns.items()}
        return replace(self, places={}, columns=columns)

    def extend(self, other: "RoundTally", start: int) -> None:
        """Add the tally of other devices, whose ports have the places from ``start`` on."""
        for meaning, other_column in other.columns.items():
            column = self.columns.setdefault(meaning, [])
            # Devices before them may lack the counter.
            column.extend([None] * (start - len(column)))
            column.extend(other_column)
        self.storms.update(other.storms)
        self.queues.update(other.queues)
        self.groups.update(other.groups)
        self.queue_bytes.update(other.queue_bytes)
        self.queue_marks.update(other.queue_marks)
        self.devices.extend(other.devices)
        self.seconds.update(other.seconds)
        self.incomplete.update(other.incomplete)
        self.meanings.update(other.meanings)
        for meaning, switches in other.switches.items():
            self.switches[meaning] |= switches

    def bytes_of_queues(self, end: PortEnd) -> dict[int, int]:
        """Return the bytes that queues of a watched port sent, by their number."""
        return self.queue_bytes.get(end.device, _NO_QUEUES).at(end)

    def marks_of_queues(self, end: PortEnd) -> dict[int, int]:
        """Return the marks of the queues of a port, by their number; empty in rounds in which they do not matter."""
        return self.queue_marks.get(end.device, _NO_QUEUES).at(end)

    def column(self, places: Sequence[int], meaning: CounterMeaning) -> list[int | None]:
        """Return a counter of the ports at ``places``, with None for those that were not read."""
        column = self.columns.get(meaning)
        if column is None:
            return [None] * len(places)
        return list(map(column.__getitem__, places))


class TallyPart(NamedTuple):
    """What some of the devices counted."""

    # In the order of their places.
    ends: tuple[PortEnd, ...]
    tallies: Sequence[RoundTally]


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

        The marks of all queues are kept for the rounds in ``marked``, also if they are 0. ``places`` is filled with the
        place of each port.
        """
        self.lossless = lossless
        self.places = places
        self.watched = watched
        self.marked = marked
        self.tallies: dict[str, RoundTally] = {}
        self._rows: dict[tuple[str, str], _Rows] = {}

    def _tally(self, round_id: str) -> RoundTally:
        """Return the tally of a round, which is made if the round is new."""
        if round_id not in self.tallies:
            self.tallies[round_id] = RoundTally(round_id, self.places)
        return self.tallies[round_id]

    def add(self, counters: DeviceCounters) -> None:
        """Add the counters of a device in a round."""
        tally = self._tally(counters.round)
        tally.devices.append(counters.without_growth())
        if counters.unread:
            tally.incomplete.add(counters.device)
            return
        tally.seconds[counters.device] = counters.seconds
        for table, growth in counters.growth.items():
            self._add_table(tally, counters.device, table, growth)

    def _add_table(self, tally: RoundTally, device: str, table: str, growth: TableGrowth) -> None:
        """Add the growth of a table of a device to the tally of a round."""
        if growth.restarted:
            # What was counted before the restart is lost.
            tally.incomplete.add(device)
        columns = self._columns_by_meaning(growth)
        tally.meanings.update(columns)
        if table != NIC_TABLE:
            for meaning in columns:
                tally.switches[meaning].add(device)
        rows = self._rows_of(device, table, growth.rows)
        if table in PORT_TABLES:
            self._add_ports(tally, rows, columns)
        elif table == "groups":
            _add_signals(tally.groups, rows, columns)
        else:
            _add_signals(tally.queues, rows, columns)
            _add_queues(tally.queue_bytes, rows.watched, columns.get(CounterMeaning.SENT_BYTES))
            if tally.round in self.marked:
                _add_queues(tally.queue_marks, rows.queues, columns.get(CounterMeaning.MARKS))

    def _columns_by_meaning(self, growth: TableGrowth) -> dict[CounterMeaning, Column]:
        """Return the columns of a table by what they mean, without counters that no row has."""
        columns: dict[CounterMeaning, Column] = {}
        for name, meaning in _meanings(tuple(growth.columns), self.lossless):
            column = growth.columns[name]
            if meaning in columns:
                column = _combined(meaning, columns[meaning], column)
            columns[meaning] = column
        return {meaning: column for meaning, column in columns.items() if not _is_missing(column)}

    def _rows_of(self, device: str, table: str, names: tuple[str, ...]) -> "_Rows":
        """Return the rows of a table, and give new ports their places.

        They are those of the last reading if the names are the same, as almost always.
        """
        rows = self._rows.get((device, table))
        # Readings of a device share the tuple of their names, so most comparisons are by identity.
        if rows is None or (rows.names is not names and rows.names != names):
            rows = _Rows(device, table, names, self.watched)
            self._rows[device, table] = rows
            rows.places = [self.places.setdefault(end, len(self.places)) for end in rows.ends]
            start = min(rows.places, default=0)
            rows.are_together = rows.places == list(range(start, start + len(rows.places)))
        return rows

    def _add_ports(self, tally: RoundTally, rows: "_Rows", columns: Mapping[CounterMeaning, Column]) -> None:
        """Set the values of ports in the columns of the tally; storms are kept apart."""
        for meaning, values in columns.items():
            if meaning is CounterMeaning.STORMS:
                tally.storms.update(zip(compress(rows.ends, values), filter(None, values), strict=True))
                continue
            column = tally.columns.setdefault(meaning, [])
            if len(column) < len(self.places):
                column.extend([None] * (len(self.places) - len(column)))
            if rows.are_together and rows.places:
                # One assignment of all rows, for speed.
                column[rows.places[0] : rows.places[-1] + 1] = values
                continue
            for place, value in zip(rows.places, values, strict=True):
                column[place] = value

    def part(self) -> "TallyPart":
        """Return what was added, for another tallier."""
        return TallyPart(tuple(self.places), [counts.packed() for counts in self.tallies.values()])

    def add_part(self, part: "TallyPart") -> None:
        """Add what another tallier counted of devices that this one has not."""
        start = len(self.places)
        self.places.update(zip(part.ends, range(start, start + len(part.ends)), strict=True))
        for counts in part.tallies:
            self._tally(counts.round).extend(counts, start)

    def finished(self, rounds: Iterable[str], ends: Iterable[PortEnd]) -> dict[str, RoundTally]:
        """Return the tallies of those rounds that were read, in their order; ``ends`` get places, too."""
        for end in ends:
            self.places.setdefault(end, len(self.places))
        tallies = {name: self.tallies[name] for name in rounds if name in self.tallies}
        for counts in tallies.values():
            for column in counts.columns.values():
                column.extend([None] * (len(self.places) - len(column)))
        return tallies


def _packed(column: MutableSequence[int | None]) -> MutableSequence[int | None]:
    """Return a column as an array of eight bytes a row, or the column itself if a row has no value."""
    try:
        return cast("MutableSequence[int | None]", array("Q", cast("Sequence[int]", column)))
    except (TypeError, OverflowError):
        return column


def _is_missing(column: Column) -> bool:
    # Most have a value in their first row.
    return not column or (column[0] is None and column.count(None) == len(column))


class _NumberedRow(NamedTuple):
    """A row of a table of queues or priority groups."""

    # Its place in the table.
    place: int
    end: PortEnd
    # Of the queue or group.
    number: int


class _Queues:
    """Some of the queues of a device."""

    def __init__(self, device: str, queues: Sequence[_NumberedRow]) -> None:
        self.device = device
        # In the table.
        self.table_places = [queue.place for queue in queues]
        # In a column of these queues alone (`QueueColumn.places`).
        self.column_places: dict[PortEnd, dict[int, int]] = defaultdict(dict)
        for place, queue in enumerate(queues):
            self.column_places[queue.end][queue.number] = place


class _Rows:
    """The rows of a table of a device, which are the same in most readings."""

    def __init__(self, device: str, table: str, names: tuple[str, ...], watched: Collection[PortEnd]) -> None:
        self.names = names
        # The ports, none in a table of queues or groups.
        self.ends: list[PortEnd] = []
        # The places of the ports in columns of the tally, and whether these follow each other.
        self.places: list[int] = []
        self.are_together = False
        # The queues or groups, none in a table of ports.
        self.numbered: list[_NumberedRow] = []
        if table in PORT_TABLES:
            self.ends = [PortEnd(device, name) for name in names]
        else:
            for place, name in enumerate(names):
                port, _, number = name.partition("|")
                if number.isdecimal():
                    self.numbered.append(_NumberedRow(place, PortEnd(device, port), int(number)))
        self.queues = _Queues(device, self.numbered)
        self.watched = _Queues(device, [row for row in self.numbered if row.end in watched])


def _add_signals(
    counts_of_ports: dict[PortEnd, dict[int, Counts]], rows: _Rows, columns: Mapping[CounterMeaning, Column]
) -> None:
    """Add the counters of the queues or groups that dropped, marked or stormed, by port and number."""
    signals = [columns[meaning] for meaning in _SIGNALS if meaning in columns and any(columns[meaning])]
    if not signals:
        return
    for place, end, number in rows.numbered:
        if any(column[place] for column in signals):
            counts_of_ports[end][number] = _counts_at(columns, place)


def _counts_at(columns: Mapping[CounterMeaning, Column], place: int) -> Counts:
    counts: dict[CounterMeaning, int] = {}
    for meaning, column in columns.items():
        value = column[place]
        if value is not None:
            counts[meaning] = value
    return counts


def _add_queues(columns: dict[str, QueueColumn], queues: _Queues, column: Column | None) -> None:
    """Add the column of a counter for some queues of a device; nothing if it has no such counter or queue."""
    if column is not None and queues.table_places:
        values = tuple(map(column.__getitem__, queues.table_places))
        columns[queues.device] = QueueColumn(queues.column_places, values)


def _combined(meaning: CounterMeaning, first: Column, second: Column) -> Column:
    """Return two counters of one meaning as one: their sum, or of bytes the larger. A row that has neither has None."""
    # ethtool counts the bytes of a NIC twice, in its driver and on the wire.
    combine = max if meaning in BYTES else add
    try:
        return tuple(map(combine, first, second))
    except TypeError:
        # Some row lacks a counter.
        pass
    values: list[int | None] = []
    for first_value, second_value in zip(first, second, strict=True):
        if first_value is None:
            values.append(second_value)
        elif second_value is None:
            values.append(first_value)
        else:
            values.append(combine(first_value, second_value))
    return tuple(values)


@cache
def _meanings(names: tuple[str, ...], lossless: frozenset[int]) -> tuple[tuple[str, CounterMeaning], ...]:
    """Return the counters among ``names`` that a rule looks at, with their meaning.

    Counters of PFC are left out for priorities that are not ``lossless``.
    """
    meanings: list[tuple[str, CounterMeaning]] = []
    for name in names:
        entry = counter_name(name)
        if entry is None or entry.meaning not in _JUDGED:
            continue
        if entry.priority is None or entry.priority in lossless:
            meanings.append((name, entry.meaning))
    return tuple(meanings)
