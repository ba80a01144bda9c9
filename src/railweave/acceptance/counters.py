"""How much counters grew between two readings: wrapped counters and those that restarted are separate answers.

A counter that falls has wrapped if what it then grew is plausible for its width. If most counters of a row restart,
the row was reset, by a reload or by hand. A counter that falls alone is invalid.
"""

from collections.abc import Iterator, Mapping
from operator import ge
from pathlib import Path
from typing import NamedTuple

import orjson

from railweave.acceptance.counter_names import WATERMARKS, CounterMeaning, counter_bits, counter_name
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
    """The deltas of a row, computed when they are asked for: most of millions of counters are never judged."""

    __slots__ = ("_after", "_before", "restarted")

    def __init__(self, before: dict[str, int], after: dict[str, int], *, restarted: bool) -> None:
        self._before = before
        self._after = after
        self.restarted = restarted

    def __getitem__(self, name: str) -> CounterDelta:
        return counter_delta(name, self._before[name], self._after[name], restarted=self.restarted)

    def __iter__(self) -> Iterator[str]:
        return (name for name in self._before if name in self._after)

    def __len__(self) -> int:
        return len(self._before.keys() & self._after.keys())


def grown_by_meaning(
    row: Mapping[str, CounterDelta], meaning: CounterMeaning, priority: int | None = None
) -> CounterDelta | None:
    """Return the delta of a meaning in a row, the largest of several names; None if the row has none of them.

    ``priority`` selects the counters of one PFC priority; without it, those of all priorities count together.
    """
    by_priority: dict[int | None, CounterDelta] = {}
    for name in row:
        entry = counter_name(name)
        if entry is not None and entry.meaning is meaning and priority in (None, entry.priority):
            delta = row[name]
            by_priority[entry.priority] = max(delta, by_priority.get(entry.priority, delta))
    if not by_priority:
        return None
    # Drivers count the same event under a priority and for the whole port.
    whole = by_priority.pop(None, CounterDelta(0, Answer.OK))
    answers = {delta.answer: delta for delta in by_priority.values() if delta.answer is not Answer.OK}
    total = CounterDelta(sum(delta.grown for delta in by_priority.values()), next(iter(answers), Answer.OK))
    return max(whole, total)


class CounterFile(NamedTuple):
    """A reading of one device, ``tables`` as in the file with integers alone."""

    at: float
    boot: str
    tables: dict[str, dict[str, dict[str, int]]]


def read_counter_file(data: bytes) -> CounterFile | str:
    """Return the counters in a file, or a sentence why it has none. Counters that are no integers are left out."""
    try:
        document = orjson.loads(data)
    except ValueError:
        return "is not JSON: it may have been cut short"
    if not isinstance(document, dict):
        return "has no counters: expected an object with `device`, `at` and `ports` or `nics`"
    at = document.get("at")
    if not isinstance(at, int | float) or isinstance(at, bool):
        return "does not say when it was read: `at` must be Unix seconds"
    tables: dict[str, dict[str, dict[str, int]]] = {}
    for table in TABLES:
        rows = document.get(table)
        if isinstance(rows, dict):
            tables[table] = {name: _integers(row) for name, row in rows.items() if isinstance(row, dict)}
    if not tables:
        return "has no counters: none of `ports`, `queues`, `groups`, `nics` is in it"
    return CounterFile(float(at), str(document.get("boot", "")), tables)


_INT = {int}


def _integers(row: dict[str, object]) -> dict[str, int]:
    if set(map(type, row.values())) <= _INT and (not row or _in_range(row)):
        return row  # type: ignore[return-value]
    return {name: value for name, value in row.items() if type(value) is int and 0 <= value < UNREADABLE}


def _in_range(row: dict[str, object]) -> bool:
    return min(row.values()) >= 0 and max(row.values()) < UNREADABLE  # type: ignore[type-var, operator]


def read_counters(root: Path, plan: AcceptancePlan) -> tuple[tuple[RoundCounters, ...], tuple[Diagnostic, ...]]:
    """Return the counters of every round of ``plan`` that has any below ``root/counters``, and what is wrong with them.

    A device that one reading lacks is in ``unread`` with the reason. Errors keep rules from being judged.
    """
    expected = [device.name for device in plan.devices] + [node.name for node in plan.nodes]
    rounds: list[RoundCounters] = []
    diagnostics: list[Diagnostic] = []
    for planned in plan.rounds:
        folder = root / "counters" / planned.id
        if folder.is_dir():
            reading = _RoundReading(folder, planned.id)
            rounds.append(reading.read(expected))
            diagnostics.extend(reading.diagnostics)
    return tuple(rounds), tuple(diagnostics)


class _RoundReading:
    """Reads the two folders of a round; what is wrong is collected in ``diagnostics``."""

    def __init__(self, folder: Path, round_id: str) -> None:
        self.folder = folder
        self.round_id = round_id
        self.diagnostics: list[Diagnostic] = []
        self.deltas: dict[CounterRow, Mapping[str, CounterDelta]] = {}

    def read(self, expected: list[str]) -> RoundCounters:
        seconds: dict[str, float] = {}
        unread: dict[str, str] = {}
        starts: dict[str, float] = {}
        present = {path.stem for path in (*self.folder.glob("before/*.json"), *self.folder.glob("after/*.json"))}
        for device in sorted({*expected, *present}):
            before = self._file("before", device)
            after = self._file("after", device)
            if isinstance(before, str) or isinstance(after, str):
                unread[device] = "; ".join(text for text in (before, after) if isinstance(text, str))
                continue
            self._compare(device, before, after)
            seconds[device] = after.at - before.at
            starts[device] = before.at
        self._check_clocks(seconds, starts)
        if unread:
            self._report_unread(unread)
        return RoundCounters(self.round_id, self.deltas, seconds, unread)

    def _file(self, when: str, device: str) -> CounterFile | str:
        path = self.folder / when / f"{device}.json"
        try:
            reading = read_counter_file(path.read_bytes())
        except OSError as fault:
            return f"{when}/{device}.json cannot be read: {fault.strerror}"
        if isinstance(reading, str):
            return f"{when}/{device}.json {reading}"
        return reading

    def _compare(self, device: str, before: CounterFile, after: CounterFile) -> None:
        booted = before.boot != after.boot
        restarted: list[str] = []
        backwards: list[str] = []
        lost: list[str] = []
        for table, rows in before.tables.items():
            later_rows = after.tables.get(table, {})
            for name, row in rows.items():
                later = later_rows.get(name)
                if later is None:
                    lost.append(name)
                    continue
                deltas = RowDeltas(row, later, restarted=booted)
                self.deltas[CounterRow(device, table, name)] = deltas
                if booted or _only_grew(row, later):
                    continue
                deltas.restarted = row_has_restarted(row, later)
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


def _only_grew(before: dict[str, int], after: dict[str, int]) -> bool:
    # Most rows of queues and groups never change.
    if before == after:
        return True
    if before.keys() == after.keys():
        return all(map(ge, map(after.__getitem__, before), before.values()))
    return all(after[name] >= value for name, value in before.items() if name in after)


def _few(names: list[str]) -> str:
    if len(names) > 3:
        return f"{', '.join(names[:3])} and {len(names) - 3:,} more"
    return ", ".join(names)
