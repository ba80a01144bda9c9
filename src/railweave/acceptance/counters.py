"""The counters of devices before and after each round, from their files."""

import os
from collections.abc import Collection, Iterator, Mapping
from pathlib import Path
from typing import NamedTuple

import orjson

from railweave.acceptance.columns import TableReading, read_table, table_growth
from railweave.acceptance.contents import content_of
from railweave.acceptance.model import AcceptancePlan
from railweave.acceptance.readings import RoundCounters, TableGrowth
from railweave.diagnostics import Diagnostic, Where, error, warning
from railweave.wording import counted

TABLES = ("ports", "queues", "groups", "nics")
_CLOCK_TOLERANCE_S = 60.0


class CounterFile(NamedTuple):
    """A reading of one device."""

    at: float
    boot: str
    tables: dict[str, TableReading]


def read_counter_file(data: bytes, earlier: CounterFile | None = None) -> CounterFile | str:
    """Return the counters in a file, or a sentence why it has none; columns are shared with ``earlier``."""
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
            earlier_table = earlier.tables.get(table) if earlier is not None else None
            tables[table] = read_table(document[table], earlier_table)
    if not tables:
        return "has no counters: none of `ports`, `queues`, `groups`, `nics` is in it"
    return CounterFile(float(at), str(document.get("boot", "")), tables)


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
        self.growth: dict[str, dict[str, TableGrowth]] = {}

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
        return RoundCounters(self.round_id, self.growth, seconds, unread, tuple(self.diagnostics))

    def _file(self, when: str, device: str, earlier: _ReadFile | None) -> _ReadFile:
        name = f"{when}/{device}.json"
        try:
            content = content_of(f"{self.folder}/{name}")
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
        tables = self.growth.setdefault(device, {})
        for table, reading in before.tables.items():
            growth = table_growth(reading, after.tables.get(table), booted=booted)
            tables[table] = growth
            restarted += growth.restarted
            backwards += growth.backwards
            lost += growth.lost
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


def _few(names: list[str]) -> str:
    if len(names) > 3:
        return f"{', '.join(names[:3])} and {len(names) - 3:,} more"
    return ", ".join(names)
