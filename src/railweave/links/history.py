"""What a project remembers of cables: samples of poor links for their trend, and a line a day for each grade below A.

Samples are a JSON file that each command replaces. The history is JSON Lines, a cable and day each; the worst grade of
the day stays.
"""

import json
from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import date, timedelta
from typing import Any, NamedTuple

from railweave.fabric.link_policy import LinkPolicy
from railweave.links.grades import Grade
from railweave.links.trend import Sample, kept

_VERSION = 1


class TransitionCount(NamedTuple):
    """How often a port went up or down since its switch booted, at a time in Unix seconds."""

    at: float
    value: int


@dataclass(slots=True)
class PortMemory:
    """What is remembered of one port."""

    samples: list[Sample] = field(default_factory=list)
    # One for each change of the counter.
    transitions: list[TransitionCount] = field(default_factory=list)
    # In Unix seconds; before that the port was repaired, so it flapped. Not kept in the file.
    since: float = 0.0


Memory = dict[str, PortMemory]
"""By ``DEVICE:PORT``."""


def memory_document(memory: Mapping[str, PortMemory]) -> dict[str, Any]:
    """Return the JSON form of a memory; ports without anything to remember are left out."""
    ports = {}
    for name, port in sorted(memory.items()):
        if port.samples or port.transitions:
            samples = [[round(sample.at, 1), float(f"{sample.bit_error_rate:.4g}")] for sample in kept(port.samples)]
            ports[name] = {"samples": samples, "transitions": [list(change) for change in port.transitions]}
    return {"version": _VERSION, "ports": ports}


def read_memory(text: str) -> Memory | None:
    """Return the memory of a file; None if it is damaged or of another version."""
    try:
        document = json.loads(text)
        if document["version"] != _VERSION:
            return None
        memory = {}
        for name, port in document["ports"].items():
            samples = [Sample(float(at), float(rate)) for at, rate in port["samples"]]
            transitions = [TransitionCount(float(at), int(count)) for at, count in port["transitions"]]
            memory[name] = PortMemory(samples, transitions)
    except (ValueError, TypeError, KeyError, AttributeError):
        return None
    return memory


def flaps_within(port: PortMemory, at: float, transitions: int, hours: float) -> int:
    """Note the switch's count of transitions at a time, and return how often the link went down within ``hours``."""
    # A count below the last one is that of a switch that booted: nothing is known of what was before.
    if port.transitions and transitions < port.transitions[-1].value:
        port.transitions.clear()
    if not port.transitions or port.transitions[-1].value != transitions:
        port.transitions.append(TransitionCount(at, transitions))
    start = at - hours * 3600
    # The window begins with the last count before it; older ones are dropped.
    while len(port.transitions) > 1 and port.transitions[1].at <= start:
        del port.transitions[0]
    # Down and up are a transition each (portsorch.cpp).
    return (transitions - port.transitions[0].value + 1) // 2


class HistoryLine(NamedTuple):
    """A cable on a day on which it was not of grade A."""

    day: str
    cable: str
    grade: Grade
    reasons: tuple[str, ...]
    # The serial numbers of its modules.
    serials: tuple[str, ...]

    @property
    def text(self) -> str:
        """Return the line of the file."""
        return json.dumps(
            {"day": self.day, "cable": self.cable, "grade": self.grade.value, "reasons": self.reasons,
             "serials": self.serials},
            ensure_ascii=False,
        )  # fmt: skip


def read_history(text: str) -> list[HistoryLine]:
    """Return the lines of a history file; damaged lines, such as one that was cut short, are left out."""
    lines = []
    for line in text.splitlines():
        try:
            row = json.loads(line)
            day = date.fromisoformat(row["day"]).isoformat()
            grade = Grade(row["grade"])
            lines.append(HistoryLine(day, str(row["cable"]), grade, tuple(row["reasons"]), tuple(row["serials"])))
        except (ValueError, TypeError, KeyError):
            continue
    return lines


def merged_history(history: Sequence[HistoryLine], today: Iterable[HistoryLine]) -> list[HistoryLine]:
    """Return the history with today's lines. Of a cable and day it has one line, that with the worst grade."""
    merged = {(line.day, line.cable): line for line in history}
    for line in today:
        earlier = merged.get((line.day, line.cable))
        if earlier is None or line.grade >= earlier.grade:
            merged[line.day, line.cable] = line
    return list(merged.values())


class Offender(NamedTuple):
    """A cable or optic that is in the history on many days."""

    # ``cable`` or ``optic``.
    kind: str
    # The name of the cable, or the serial number of the optic.
    name: str
    days: int
    # Of an optic, the cables that it was in.
    cables: tuple[str, ...]


def offenders(history: Iterable[HistoryLine], today: date, policy: LinkPolicy) -> list[Offender]:
    """Return the cables and optics that are in the history on many of the last days, those on most days first.

    The window and the number of days are those of ``policy``.
    """
    first_day = (today - timedelta(days=policy.offender_window_days - 1)).isoformat()
    # By the kind and the name of a part.
    days_of: dict[tuple[str, str], set[str]] = defaultdict(set)
    cables_of: dict[tuple[str, str], set[str]] = defaultdict(set)
    for line in history:
        if not first_day <= line.day <= today.isoformat():
            continue
        optics = [("optic", serial) for serial in line.serials]
        for part in (("cable", line.cable), *optics):
            days_of[part].add(line.day)
            cables_of[part].add(line.cable)
    repeat_offenders = []
    for part, days in days_of.items():
        if len(days) >= policy.offender_days:
            kind, name = part
            repeat_offenders.append(Offender(kind, name, len(days), tuple(sorted(cables_of[part]))))
    return sorted(repeat_offenders, key=lambda offender: (-offender.days, offender.kind, offender.name))
