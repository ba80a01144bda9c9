"""The counters of devices before and after each round, from their files."""

import os
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import NamedTuple

from railweave.acceptance.columns import table_growth
from railweave.acceptance.contents import content_of
from railweave.acceptance.counter_files import TABLES, CounterFile, FileReader
from railweave.acceptance.model import AcceptancePlan
from railweave.acceptance.readings import DeviceCounters, TableGrowth
from railweave.diagnostics import Diagnostic, Where, error, warning
from railweave.wording import counted

_CLOCK_TOLERANCE_S = 60.0
_SUFFIX = ".json"


class CountedRounds(NamedTuple):
    """The rounds of a plan that have counters, and the devices whose counters are read."""

    # All devices of the plan, and those that have files but are not in the plan.
    devices: tuple[str, ...]
    # The directory of each round.
    folders: Mapping[str, str]
    # The devices that have files of a round.
    present: Mapping[str, frozenset[str]]
    # The devices of the plan.
    planned: frozenset[str]

    def read(self, devices: Iterable[str]) -> Iterator[DeviceCounters]:
        """Yield the counters of some of the devices in all rounds.

        Device by device, because a device changes little between two readings, and all of 4,096 nodes fill gigabytes.
        """
        for device in devices:
            reader = FileReader()
            for round_id, folder in self.folders.items():
                if device in self.planned or device in self.present[round_id]:
                    yield _DeviceRound(round_id, folder, device).read(reader)


def counted_rounds(root: Path, plan: AcceptancePlan, rounds: Collection[str] | None = None) -> CountedRounds:
    """Return the rounds of ``plan`` that have counters below ``root``; ``rounds`` limits them to some round ids."""
    folders: dict[str, str] = {}
    for planned_round in plan.rounds:
        folder = f"{root}/counters/{planned_round.id}"
        is_asked_for = rounds is None or planned_round.id in rounds
        if is_asked_for and os.path.isdir(folder):
            folders[planned_round.id] = folder
    planned = frozenset(device.name for device in plan.devices) | {node.name for node in plan.nodes}
    present = {round_id: _devices_in(folder) for round_id, folder in folders.items()}
    devices = planned.union(*present.values())
    return CountedRounds(tuple(sorted(devices)), folders, present, planned)


def read_counters(root: Path, plan: AcceptancePlan, rounds: Collection[str] | None = None) -> Iterator[DeviceCounters]:
    """Yield the counters of all devices in the rounds that `counted_rounds` returns, device by device."""
    files = counted_rounds(root, plan, rounds)
    yield from files.read(files.devices)


def _devices_in(folder: str) -> frozenset[str]:
    """Return the devices that have a file before or after a round."""
    devices: set[str] = set()
    for readings in (f"{folder}/before", f"{folder}/after"):
        if os.path.isdir(readings):
            devices.update(name.removesuffix(_SUFFIX) for name in os.listdir(readings) if name.endswith(_SUFFIX))
    return frozenset(devices)


class _DeviceRound:
    """Reads the two files of a device in a round; what is wrong is collected in ``diagnostics``."""

    def __init__(self, round_id: str, folder: str, device: str) -> None:
        self.round = round_id
        self.folder = folder
        self.device = device
        self.diagnostics: list[Diagnostic] = []

    def read(self, reader: FileReader) -> DeviceCounters:
        """Return the counters, or a value with ``unread`` if a file is missing or unreadable.

        ``reader`` has read the files of the device up to this round.
        """
        before = self._file("before", reader)
        after = self._file("after", reader)
        if isinstance(before, str) or isinstance(after, str):
            reasons = "; ".join(reason for reason in (before, after) if isinstance(reason, str))
            return DeviceCounters(self.round, self.device, {}, unread=reasons, folder=self.folder)
        growth = self._growth(before, after)
        return DeviceCounters(
            round=self.round,
            device=self.device,
            growth=growth,
            began=before.at,
            ended=after.at,
            diagnostics=tuple(self.diagnostics),
            folder=self.folder,
        )

    def _file(self, when: str, reader: FileReader) -> CounterFile | str:
        """Return the reading "before" or "after" the round, or a sentence why there is none."""
        name = f"{when}/{self.device}{_SUFFIX}"
        try:
            reading = reader.read(content_of(f"{self.folder}/{name}"))
        except OSError as fault:
            return f"{name} cannot be read: {fault.strerror}"
        if isinstance(reading, str):
            return f"{name} {reading}"
        return reading

    def _growth(self, before: CounterFile, after: CounterFile) -> dict[str, TableGrowth]:
        """Return the growth of every table by its name; reports rows that restarted, went backwards or disappeared."""
        booted = before.boot != after.boot
        tables: dict[str, TableGrowth] = {}
        for table in TABLES:
            if table in before.tables:
                tables[table] = table_growth(before.tables[table], after.tables.get(table), booted=booted)
        if booted:
            self._report_restart([f"all: boot was {before.boot!r}, is {after.boot!r}"])
        else:
            self._report_restart([row for growth in tables.values() for row in growth.restarted])
        backwards = [row for growth in tables.values() for row in growth.backwards]
        if backwards:
            message = f"counters of {self.device} went backwards in round {self.round}: {_few(backwards)}"
            self._error("RW928", message, "read the counters of the device itself, not differences of them")
        lost = [row for growth in tables.values() for row in growth.lost]
        if lost:
            message = f"{self.device} no longer reports {_few(lost)} after round {self.round}"
            self._error("RW927", message, "find out why the port or NIC disappeared, and repeat the round")
        return tables

    def _report_restart(self, rows: list[str]) -> None:
        if rows:
            message = f"counters of {self.device} restarted in round {self.round} ({_few(rows)})"
            self._error("RW928", message, "clear no counters and reload no device while tests run; repeat it")

    def _error(self, code: str, message: str, fix: str) -> None:
        where = Where(f"{self.folder}/after/{self.device}{_SUFFIX}")
        self.diagnostics.append(error(code, message, where, devices=(self.device,), fix=fix))


def round_diagnostics(counters: Sequence[DeviceCounters]) -> Iterator[Diagnostic]:
    """Yield the diagnostics of the counters of all devices in one round.

    They are those of each device, wrong clocks, and one for all devices whose counters are missing. No rule is judged
    in a round with an error.
    """
    for device in counters:
        yield from device.diagnostics
    yield from _clock_errors([device for device in counters if not device.unread])
    reason_of = {device.device: device.unread for device in counters if device.unread}
    if reason_of:
        devices = tuple(reason_of)
        first_reason = reason_of[devices[0]]
        message = f"counters of {counted(len(devices), 'device')} are missing in round {counters[0].round}"
        yield warning(
            "RW927",
            f"{message}: {_few(list(devices))} ({first_reason})",
            Where(counters[0].folder),
            devices=devices,
            fix="read them before and after each round; rules that need them are not judged",
        )


def _clock_errors(counters: Sequence[DeviceCounters]) -> Iterator[Diagnostic]:
    """Yield an error for each device whose clock went backwards, or differs from that of most devices."""
    if not counters:
        return
    for device in counters:
        if device.seconds <= 0:
            message = f"{device.device} was read after round {device.round} at an earlier time than before it"
            yield _error("RW926", message, device, "set the clock (NTP), and repeat the round")
    starts = sorted(device.began for device in counters)
    median_start = starts[len(starts) // 2]
    for device in counters:
        late_s = device.began - median_start
        if abs(late_s) > _CLOCK_TOLERANCE_S:
            message = (
                f"the clock of {device.device} differs by {late_s:+,.0f} s from that of most devices,"
                f" or its counters were read at another time (round {device.round})"
            )
            yield _error("RW926", message, device, "set the clock (NTP), or read all devices at once; repeat it")


def _error(code: str, message: str, counters: DeviceCounters, fix: str) -> Diagnostic:
    where = Where(f"{counters.folder}/after/{counters.device}{_SUFFIX}")
    return error(code, message, where, devices=(counters.device,), fix=fix)


def _few(names: list[str]) -> str:
    """Return the first three names, and how many more there are."""
    if len(names) > 3:
        return f"{', '.join(names[:3])} and {len(names) - 3:,} more"
    return ", ".join(names)
