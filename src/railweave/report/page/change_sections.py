"""The sections about what was read or done on switches, with their marks: verification, drift, rollout."""

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from typing import Any, NamedTuple

from railweave.drawing.leaving import Leaving
from railweave.drawing.marks import Mark, MarkKind, Marks
from railweave.fabric.model import Fabric
from railweave.plan.model import DeviceState
from railweave.plan.outcome import outcome_text
from railweave.plan.rollout import Rollout
from railweave.report.page.content import Cell, Grid, Part, Section, Sentences, Tone, Words, linked
from railweave.report.page.evidence import Drifted, DriftedRow, Verified, VerifiedCheck
from railweave.report.rollouts import IN_DOUBT
from railweave.wording import compact, counted

# Rows of a table. A large fabric has a quarter of a million cables and more checks; the JSON documents have them all.
MOST_ROWS = 200


class MarkedSection(NamedTuple):
    """A section with its marks on devices and cables.

    ``leaving`` are removed cables to devices that the fabric no longer has, as the devices at both ends.
    """

    section: Section
    marks: Marks
    leaving: Leaving = ()


def verification_section(fabric: Fabric, verified: Verified) -> MarkedSection:
    """Return the section about a verification: its failed checks, and the numbers of checks by kind."""
    failed = verified.failed
    # A skipped check says nothing about the fabric.
    checks = [check for check in verified.checks if not check.skipped]
    if failed:
        result = Words(f"{len(failed):,} of {counted(len(checks), 'check')} failed", Tone.BAD)
    else:
        result = Words(f"{counted(len(checks), 'check')} passed", Tone.GOOD)
    advice = tuple(Words(sentence, Tone.WARNING) for sentence in (*verified.advice, *verified.warnings))
    parts: list[Part] = [Sentences((result, *advice))]
    if failed:
        parts.append(_failed_checks(failed))
    parts.append(_checks_by_kind(checks))
    return MarkedSection(Section("verification", "Verification", tuple(parts)), _failed_marks(fabric, failed))


def _failed_checks(failed: Iterable[VerifiedCheck]) -> Grid:
    rows: list[tuple[Cell, ...]] = [
        (linked(check.device), check.kind, check.subject, check.expected, Words(check.actual, Tone.BAD))
        for check in failed
    ]
    return clipped("Checks that failed", ("device", "check", "subject", "expected", "found"), rows)


def _checks_by_kind(checks: Sequence[VerifiedCheck]) -> Grid:
    """Return a table of the numbers of checks that passed and failed, by kind."""
    counts = Counter((check.kind, check.ok) for check in checks)
    # In the order of the document, which is that of the verification.
    rows: list[tuple[Cell, ...]] = []
    for kind in dict.fromkeys(check.kind for check in checks):
        failed = counts[kind, False]
        tone = Tone.DIM
        if failed:
            tone = Tone.BAD
        rows.append((kind, f"{counts[kind, True]:,}", Words(f"{failed:,}", tone)))
    return Grid("Checks by kind", ("check", "passed", "failed"), tuple(rows), numeric=frozenset({1, 2}))


def _failed_marks(fabric: Fabric, failed: Iterable[VerifiedCheck]) -> Marks:
    """Return a mark for each failed check on its device, and on the cable if the check is about a port with one."""
    devices: dict[str, tuple[Mark, ...]] = {}
    cables: dict[tuple[str, str], tuple[Mark, ...]] = {}
    ends_of_port = _ends_of_ports(fabric)
    for check in failed:
        kind = MarkKind.FAILED
        if check.kind == "reachable":
            kind = MarkKind.UNREACHABLE
        mark = Mark(kind, f"{check.kind} {check.subject}: {check.actual}, expected {check.expected}")
        devices[check.device] = (*devices.get(check.device, ()), mark)
        # Checks of links and neighbors have the port as their subject.
        ends = ends_of_port.get((check.device, check.subject))
        if ends is not None:
            cables[ends] = (*cables.get(ends, ()), mark)
    return Marks(devices, cables)


def _ends_of_ports(fabric: Fabric) -> dict[tuple[str, str], tuple[str, str]]:
    """Return the two devices of the cable at every port: (device, port) → (upper, lower)."""
    ends_of_port = {}
    for link in fabric.links:
        ends = (link.upper, link.lower)
        ends_of_port[link.lower, fabric.ports_of[link.lower][link.lower_port].name] = ends
        ends_of_port[link.upper, fabric.ports_of[link.upper][link.upper_port].name] = ends
    return ends_of_port


def drift_section(drifted: Drifted) -> MarkedSection:
    """Return the section about the differences between the running configuration and the intent."""
    counts = Counter(row.device for row in drifted.changes)
    waiting = [name for name, device in drifted.devices.items() if device.state == DeviceState.WAITING]
    if drifted.drift:
        result = Words(f"{counted(len(drifted.changes), 'difference')} on {counted(len(counts), 'device')}", Tone.BAD)
    elif waiting:
        result = Words(f"what runs on {compact(waiting)} waits for its confirmation, and may go back", Tone.BAD)
    else:
        result = Words("what runs is what the intent says", Tone.GOOD)
    parts: list[Part] = [Sentences((result,))]
    if drifted.changes:
        rows = [_drifted_row(row) for row in drifted.changes]
        columns = ("device", "row", "field", "runs", "intent", "disruption of its repair")
        parts.append(clipped("Differences", columns, rows))
    return MarkedSection(Section("drift", "Drift", tuple(parts)), _drift_marks(drifted, counts))


def _drift_marks(drifted: Drifted, counts: Mapping[str, int]) -> Marks:
    """Return the marks of devices with differences, counted in ``counts``, and of those that could not be read."""
    marks: dict[str, tuple[Mark, ...]] = {}
    for name, count in counts.items():
        marks[name] = (Mark(MarkKind.DRIFTED, counted(count, "difference")),)
    for name, device in drifted.devices.items():
        if device.state == DeviceState.UNREACHABLE:
            marks[name] = (Mark(MarkKind.UNREACHABLE, device.error or "not reachable"),)
    return Marks(marks)


def _drifted_row(row: DriftedRow) -> tuple[Cell, ...]:
    place = f"{row.table}|{row.key}"
    return linked(row.device), place, row.field or "", _value(row.before), _value(row.after), row.disruption


def _value(value: Any) -> str:
    """Return a value of CONFIG_DB as text: a field, a list of them, or a row of fields."""
    if value is None:
        return ""
    if isinstance(value, dict):
        return ", ".join(f"{name}={_value(field)}" for name, field in value.items())
    if isinstance(value, list):
        return ",".join(map(str, value))
    return str(value)


_OUTCOMES = {
    "new": MarkKind.DONE,
    "old": MarkKind.CHANGED,
    "unreachable": MarkKind.UNREACHABLE,
    "broken": MarkKind.FAILED,
    "": MarkKind.FAILED,
}


def rollout_section(rollout: Rollout) -> MarkedSection:
    """Return the section about a rollout from its journal: the outcome of every device, and every step."""
    about = f"{rollout.name}, {rollout.metadata.kind.value} to {rollout.target or '?'} by {rollout.by or '?'}"
    state = rollout.state
    if rollout.stopped_by:
        state = f"{rollout.state}: {rollout.stopped_by}"
    tone = Tone.BAD
    if rollout.finished:
        tone = Tone.GOOD
    parts = (Sentences((Words(about), Words(state, tone))), _outcomes(rollout), _journal(rollout))
    return MarkedSection(Section("rollout", "Rollout", parts), Marks(_outcome_marks(rollout)))


def _outcomes(rollout: Rollout) -> Grid:
    """Return a table of the devices of a rollout with their outcomes."""
    rows: list[tuple[Cell, ...]] = []
    for name, record in rollout.devices.items():
        # A device has no outcome if the journal ends while it is being changed.
        outcome = outcome_text(record.outcome) or IN_DOUBT
        rows.append((str(record.wave or ""), linked(name), outcome, record.step, record.error))
    return clipped("Devices", ("wave", "device", "outcome", "last step", "error"), rows, numeric=frozenset({0}))


def _journal(rollout: Rollout) -> Grid:
    """Return a table of the steps of a rollout."""
    rows: list[tuple[Cell, ...]] = []
    for entry in rollout.entries:
        # The journal has ISO 8601 with milliseconds and a zone, which is UTC.
        time = entry.at.replace("T", " ")[: len("2000-01-01 00:00:00")]
        device: Cell = linked(entry.device) if entry.device else ""
        rows.append((time, entry.step, device, entry.text))
    return clipped("Journal", ("time (UTC)", "step", "device", "what happened"), rows)


def _outcome_marks(rollout: Rollout) -> dict[str, tuple[Mark, ...]]:
    """Return the mark of every device that the rollout attempted."""
    marks: dict[str, tuple[Mark, ...]] = {}
    for name, record in rollout.devices.items():
        text = outcome_text(record.outcome) or IN_DOUBT
        if record.error:
            marks[name] = (Mark(MarkKind.FAILED, f"{text}: {record.error}"),)
        elif record.outcome in _OUTCOMES:
            marks[name] = (Mark(_OUTCOMES[record.outcome], text),)
    return marks


def clipped(
    caption: str, columns: tuple[str, ...], rows: list[tuple[Cell, ...]], numeric: frozenset[int] = frozenset()
) -> Grid:
    """Return a table of the first ``MOST_ROWS`` rows and how many more there are; ``numeric`` are columns of numbers.

    All changes of a large fabric would make a page that no browser scrolls.
    """
    more = ""
    if len(rows) > MOST_ROWS:
        more = f"and {len(rows) - MOST_ROWS:,} more"
    return Grid(caption, columns, tuple(rows[:MOST_ROWS]), numeric, more)
