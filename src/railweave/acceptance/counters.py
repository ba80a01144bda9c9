"""How much counters grew between two readings: wrapped counters and those that restarted are separate answers.

A counter that falls has wrapped if what it then grew is plausible for its width. If most counters of a row restart,
the row was reset, by a reload or by hand. A counter that falls alone is invalid.
"""

import os
from collections.abc import Collection, Iterator, Mapping
from itertools import compress
from operator import ge, ne
from pathlib import Path
from typing import Any, NamedTuple

import orjson

from railweave.acceptance.counter_names import WATERMARKS, counter_bits, counter_name
from railweave.acceptance.model import AcceptancePlan
from railweave.acceptance.readings import Answer, CounterDelta, CounterRow, RoundCounters
from railweave.diagnostics import Diagnostic, Where, error, warning
from railweave.wording import counted

TABLES = ("ports", "queues", "groups", "nics")
UNREADABLE = 2**64 - 1
"""What ionic and SAI report for a counter that the device could not read: no value, and not a large one."""

_PLAUSIBLE = {32: 2**31, 64: 2**56}
"""The most that a counter grows over a round; a fall that would need more is no wrap. 800 Gb/s need 2^53 byte a day."""
_CLOCK_TOLERANCE_S = 60.0


def counter_delta(name: str, before: int, after: int, *, restarted: bool = False) -> CounterDelta:
    """Return how much a counter grew; ``restarted`` tells that the device reset its counters between the readings.

    A watermark is the value after, because its device keeps the maximum.
    """
    meaning = counter_name(name)
    if meaning is not None and meaning.meaning in WATERMARKS:
        return CounterDelta(after, Answer.OK)
    if restarted:
        return CounterDelta(after, Answer.RESET)
    if after >= before:
        return CounterDelta(after - before, Answer.OK)
    if _has_wrapped(name, before, after):
        return CounterDelta(after + (1 << counter_bits(name)) - before, Answer.WRAP)
    return CounterDelta(0, Answer.INVALID)


def _has_wrapped(name: str, before: int, after: int) -> bool:
    bits = counter_bits(name)
    return before < 1 << bits and after + (1 << bits) - before < _PLAUSIBLE[bits]


def row_has_restarted(before: Mapping[str, int], after: Mapping[str, int]) -> bool:
    """Tell whether most counters of a row that were above 0 fell without a wrap: somebody reset them."""
    # In most rows nothing fell, and a hundred thousand rows of a reading are compared.
    if not any(after.get(name, value) < value for name, value in before.items()):
        return False
    falls = 0
    counted = 0
    for name, value in before.items():
        later = after.get(name)
        meaning = counter_name(name)
        if not value or later is None or (meaning is not None and meaning.meaning in WATERMARKS):
            continue
        counted += 1
        if later < value and not _has_wrapped(name, value, later):
            falls += 1
    return falls > 0 and 2 * falls >= counted


class RowDeltas(Mapping[str, CounterDelta]):
    """The deltas of a row, computed when they are asked for: most of millions of counters are never judged.

    ``before`` and ``after`` are the same object if nothing changed, as in most rows of queues and groups.
    """

    __slots__ = ("after", "before", "grew", "restarted")

    def __init__(
        self, before: dict[str, int], after: dict[str, int], *, restarted: bool = False, grew: bool = False
    ) -> None:
        self.before = before
        self.after = after
        self.restarted = restarted
        # Both readings have the same counters, and none fell.
        self.grew = grew

    def __getitem__(self, name: str) -> CounterDelta:
        return counter_delta(name, self.before[name], self.after[name], restarted=self.restarted)

    def __iter__(self) -> Iterator[str]:
        return (name for name in self.before if name in self.after)

    def __len__(self) -> int:
        return len(self.before.keys() & self.after.keys())


class CounterFile(NamedTuple):
    """A reading of one device: the counters of each row by table; None for a row that is not an object."""

    at: float
    boot: str
    tables: dict[str, dict[str, dict[str, int] | None]]


def read_counter_file(data: bytes, earlier: CounterFile | None = None) -> CounterFile | str:
    """Return the counters in a file, or a sentence why it has none; rows equal to those of ``earlier`` are shared."""
    try:
        document = orjson.loads(data)
    except ValueError:
        return "is not JSON: it may have been cut short"
    if not isinstance(document, dict):
        return "has no counters: expected an object with `device`, `at` and `ports` or `nics`"
    if document.get("error"):
        return f"has no counters: {document['error']}"
    at = document.get("at")
    if not isinstance(at, int | float) or isinstance(at, bool):
        return "does not say when it was read: `at` must be Unix seconds"
    tables = {}
    for table in TABLES:
        if isinstance(document.get(table), dict):
            earlier_rows = earlier.tables.get(table, {}) if earlier is not None else {}
            tables[table] = _checked_rows(document[table], earlier_rows)
    if not tables:
        return "has no counters: none of `ports`, `queues`, `groups`, `nics` is in it"
    return CounterFile(float(at), str(document.get("boot", "")), tables)


def _checked_rows(rows: dict[str, Any], earlier: dict[str, dict[str, int] | None]) -> dict[str, dict[str, int] | None]:
    """Return the counters of the rows of a table; rows that are as in an ``earlier`` reading are shared with it."""
    if rows.keys() != earlier.keys():
        return {name: integers_of(row) for name, row in rows.items()}
    checked = dict(earlier)
    # Most rows of queues and groups never change: they are compared without a step of Python for each.
    changed = compress(rows, map(ne, rows.values(), map(earlier.__getitem__, rows)))
    for name in changed:
        checked[name] = integers_of(rows[name])
    return checked


def integers_of(row: Any) -> dict[str, int] | None:
    """Return the counters of a row, without values that are no integers or not readable; None if it is no row."""
    if not isinstance(row, dict):
        return None
    values = row.values()
    # Whole rows are checked at once, and bool is another type than int: a reading has a hundred thousand rows.
    if not row or ({*map(type, values)} == {int} and min(values) >= 0 and max(values) < UNREADABLE):
        return row
    return _only_integers(row)


def _only_integers(row: dict[str, Any]) -> dict[str, int]:
    return {name: value for name, value in row.items() if type(value) is int and 0 <= value < UNREADABLE}


def read_counters(root: Path, plan: AcceptancePlan, rounds: Collection[str] | None = None) -> Iterator[RoundCounters]:
    """Yield the counters of every round of ``plan`` (or ``rounds`` of it) that has any below ``root/counters``.

    One by one, because a round of 4,096 nodes has millions of counters. A device that one reading lacks is in
    ``unread`` with the reason. Errors among the diagnostics keep rules from being judged.
    """
    expected = [device.name for device in plan.devices] + [node.name for node in plan.nodes]
    last: dict[str, _ReadFile] = {}
    for planned in plan.rounds:
        folder = root / "counters" / planned.id
        if (rounds is None or planned.id in rounds) and folder.is_dir():
            yield _RoundReading(folder, planned.id, last).read(expected)


class _ReadFile(NamedTuple):
    """The bytes of a file, and what they say or why they say nothing."""

    content: bytes
    reading: CounterFile | str

    @property
    def counters(self) -> CounterFile | None:
        """Return the reading if it has any."""
        if isinstance(self.reading, str):
            return None
        return self.reading


class _RoundReading:
    """Reads the two folders of a round; what is wrong is collected in ``diagnostics``.

    ``last`` has the files after the round before by device, and is given those after this round.
    """

    def __init__(self, folder: Path, round_id: str, last: dict[str, _ReadFile]) -> None:
        self.folder = folder
        self.round_id = round_id
        self.last = last
        self.diagnostics: list[Diagnostic] = []
        self.deltas: dict[CounterRow, Mapping[str, CounterDelta]] = {}

    def read(self, expected: list[str]) -> RoundCounters:
        seconds: dict[str, float] = {}
        unread: dict[str, str] = {}
        starts: dict[str, float] = {}
        present: set[str] = set()
        for when in ("before", "after"):
            part = f"{self.folder}/{when}"
            names = os.listdir(part) if os.path.isdir(part) else []
            present.update(name.removesuffix(".json") for name in names if name.endswith(".json"))
        for device in sorted({*expected, *present}):
            file_before = self._file("before", device, self.last.get(device))
            self.last[device] = self._file("after", device, file_before)
            before = file_before.reading
            after = self.last[device].reading
            if isinstance(before, str) or isinstance(after, str):
                unread[device] = "; ".join(text for text in (before, after) if isinstance(text, str))
                continue
            self._compare(device, before, after)
            seconds[device] = after.at - before.at
            starts[device] = before.at
        self._check_clocks(seconds, starts)
        if unread:
            self._report_unread(unread)
        return RoundCounters(self.round_id, self.deltas, seconds, unread, tuple(self.diagnostics))

    def _file(self, when: str, device: str, earlier: _ReadFile | None) -> _ReadFile:
        name = f"{when}/{device}.json"
        try:
            # Without a buffer, and without pathlib: a run of 4,096 nodes has a hundred thousand files.
            with open(f"{self.folder}/{name}", "rb", buffering=0) as file:
                content = file.readall()
        except OSError as fault:
            return _ReadFile(b"", f"{name} cannot be read: {fault.strerror}")
        counters = None
        if earlier is not None:
            counters = earlier.counters
            # `acceptance run` reads a device once between two rounds, and stores the reading for both.
            if counters is not None and earlier.content == content:
                return earlier
        reading = read_counter_file(content, counters)
        if isinstance(reading, str):
            return _ReadFile(content, f"{name} {reading}")
        return _ReadFile(content, reading)

    def _compare(self, device: str, before: CounterFile, after: CounterFile) -> None:
        booted = before.boot != after.boot
        restarted: list[str] = []
        backwards: list[str] = []
        lost: list[str] = []
        for table, rows in before.tables.items():
            later_rows = after.tables.get(table, {})
            for name, row in rows.items():
                deltas = _row_deltas(row, later_rows.get(name), booted=booted)
                if deltas is None:
                    lost.append(name)
                    continue
                self.deltas[CounterRow(device, table, name)] = deltas
                if booted or deltas.grew:
                    continue
                deltas.restarted = row_has_restarted(deltas.before, deltas.after)
                if deltas.restarted:
                    restarted.append(name)
                else:
                    backwards.extend(f"{name} {key}" for key in deltas if deltas[key].answer is Answer.INVALID)
        if booted:
            restarted = [f"all: boot was {before.boot!r}, is {after.boot!r}"]
        self._report_rows(device, restarted, backwards)
        if lost:
            message = f"{device} no longer reports {_few(lost)} after round {self.round_id}"
            self._error("RW927", message, device, "find out why the port or NIC disappeared, and repeat the round")

    def _report_rows(self, device: str, restarted: list[str], backwards: list[str]) -> None:
        if restarted:
            message = f"counters of {device} restarted in round {self.round_id} ({_few(restarted)})"
            self._error("RW928", message, device, "clear no counters and reload no device while tests run; repeat it")
        if backwards:
            message = f"counters of {device} went backwards in round {self.round_id}: {_few(backwards)}"
            self._error("RW928", message, device, "read the counters of the device itself, not differences of them")

    def _check_clocks(self, seconds: Mapping[str, float], starts: Mapping[str, float]) -> None:
        for device, duration in seconds.items():
            if duration <= 0:
                message = f"{device} was read after round {self.round_id} at an earlier time than before it"
                self._error("RW926", message, device, "set the clock (NTP), and repeat the round")
        if not starts:
            return
        middle = sorted(starts.values())[len(starts) // 2]
        for device, start in starts.items():
            if abs(start - middle) > _CLOCK_TOLERANCE_S:
                message = (
                    f"the clock of {device} differs by {start - middle:+,.0f} s from that of most devices,"
                    f" or its counters were read at another time (round {self.round_id})"
                )
                self._error("RW926", message, device, "set the clock (NTP), or read all devices at once; repeat it")

    def _report_unread(self, unread: Mapping[str, str]) -> None:
        first = next(iter(unread))
        message = (
            f"counters of {counted(len(unread), 'device')} are missing in round {self.round_id}: {_few(list(unread))}"
        )
        self.diagnostics.append(
            warning(
                "RW927",
                f"{message} ({unread[first]})",
                Where(str(self.folder)),
                devices=tuple(unread),
                fix="read them before and after each round; rules that need them are not judged",
            )
        )

    def _error(self, code: str, message: str, device: str, fix: str) -> None:
        where = Where(str(self.folder / "after" / f"{device}.json"))
        self.diagnostics.append(error(code, message, where, devices=(device,), fix=fix))


def _row_deltas(before: dict[str, int] | None, after: dict[str, int] | None, *, booted: bool) -> RowDeltas | None:
    """Return the deltas between two readings of a row; None if the later one lacks it."""
    if after is None:
        return None
    if before is after and not booted:
        return RowDeltas(after, after, grew=True)
    if before is None:
        before = {}
    grew = before.keys() == after.keys() and all(map(ge, map(after.__getitem__, before), before.values()))
    return RowDeltas(before, after, restarted=booted, grew=grew and not booted)


def _few(names: list[str]) -> str:
    if len(names) > 3:
        return f"{', '.join(names[:3])} and {len(names) - 3:,} more"
    return ", ".join(names)
