"""The sections about changes of a fabric, with their marks for the pictures: plan, verification, drift, rollout."""

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from itertools import chain
from typing import Any, NamedTuple

from railweave.drawing.leaving import Leaving
from railweave.drawing.marks import Mark, MarkKind, Marks
from railweave.drawing.timeline import WaveSlot, timeline
from railweave.fabric.model import Fabric
from railweave.plan.cables import CableChange, changed_cables
from railweave.plan.capacity import Capacity, capacity
from railweave.plan.drain_planner import WHOLE
from railweave.plan.grouping import first_provisioning, group_changes, shown_changes
from railweave.plan.headline import disruption_label, headline, unprotected
from railweave.plan.model import DeviceState, Plan
from railweave.plan.outcome import outcome_text
from railweave.plan.rollout import Rollout
from railweave.report.changes import FIRST, GLYPHS, devices, effect, provisioned, subject
from railweave.report.page.content import Cell, Drawing, Grid, Part, Section, Sentences, Tone, Words, linked
from railweave.report.page.evidence import Drifted, DriftedRow, Verified, VerifiedCheck
from railweave.report.plan_parts import disruption_by_role, remarks
from railweave.report.rollouts import IN_DOUBT
from railweave.sonic.delta.change import Disruption, Op
from railweave.wording import compact, counted, percent_text

# Rows of a table. A large fabric has a quarter of a million cables and more checks; the JSON documents have them all.
_MOST_ROWS = 200
_OPS = {Op.ADD: Tone.GOOD, Op.UPDATE: Tone.WARNING, Op.REMOVE: Tone.BAD}
_DISRUPTIONS = {Disruption.NONE: Tone.DIM, Disruption.SESSION: Tone.WARNING}


class MarkedSection(NamedTuple):
    """A section with its marks on devices and cables.

    ``leaving`` are removed cables to devices that the fabric no longer has, as the devices at both ends.
    """

    section: Section
    marks: Marks
    leaving: Leaving = ()


def plan_section(fabric: Fabric, plan: Plan, rehearsals: Iterable[Mapping[str, Any]]) -> MarkedSection:
    """Return the changes of a plan wave by wave, with the capacity left during each.

    ``rehearsals`` are the documents of rehearsals of this plan.
    """
    rehearsals = tuple(rehearsals)
    device_marks = _plan_marks(plan)
    parts: list[Part] = [Sentences(tuple(_plan_sentences(plan, rehearsals)))]
    if plan.deltas:
        parts += [
            _impact(plan),
            *_timeline(fabric, plan, Marks(device_marks), rehearsals),
            _waves(fabric, plan),
            *_changes(plan),
        ]
    cables = changed_cables(plan)
    if cables:
        parts.append(_cables(cables))
    leaving = tuple(pair for pair in map(_ends, cables) if not _has_both(fabric, pair))
    for name in chain.from_iterable(leaving):
        if name not in fabric.ports_of:
            device_marks[name] = (Mark(MarkKind.REMOVED, "no longer in the intent"),)
    marks = Marks(device_marks, _cable_marks(fabric, cables))
    return MarkedSection(Section("plan", "Plan", tuple(parts)), marks, leaving)


def _plan_sentences(plan: Plan, rehearsals: Iterable[Mapping[str, Any]]) -> Iterator[Words]:
    yield Words(headline(plan))
    for rehearsal in rehearsals:
        yield Words(f"{rehearsal.get('line')} ({rehearsal.get('at')})", Tone.DIM)
    for remark in remarks(plan, 0):
        yield Words(remark.text, Tone.WARNING)


def _impact(plan: Plan) -> Grid:
    rows: list[tuple[Cell, ...]] = []
    for role in disruption_by_role(plan):
        tone = _disruption_tone(role.disruption)
        # Before its first provisioning a device carries no traffic to disturb.
        if role.fresh:
            tone = Tone.DIM
        methods = ", ".join(method.value for method in role.methods)
        rows.append((role.role, compact(role.devices), f"{role.changes:,}", Words(role.words, tone), methods))
    columns = ("role", "devices", "changes", "worst-case impact", "methods")
    return Grid("What is disturbed", columns, tuple(rows), frozenset({2}))


def _disruption_tone(disruption: Disruption) -> Tone:
    return _DISRUPTIONS.get(disruption, Tone.BAD)


def _timeline(fabric: Fabric, plan: Plan, marks: Marks, rehearsals: Sequence[Mapping[str, Any]]) -> Iterator[Drawing]:
    """Yield the picture of the waves, with the times of a rehearsal that went through all of them."""
    if not plan.waves:
        return
    seconds = _rehearsed_seconds(plan, rehearsals)
    if seconds is None:
        caption = "Waves, in their order"
    else:
        caption = "Waves, as long as each took on simulated switches"
    slots = []
    for number, wave in enumerate(plan.waves):
        percent: float = 100
        left = _capacity_left(fabric, plan, wave)
        if left is not None:
            percent = left.least_uplink_percent
        slots.append(WaveSlot(wave, percent, seconds[number] if seconds else None))
    yield Drawing(caption, timeline(fabric, slots, marks))


def _rehearsed_seconds(plan: Plan, rehearsals: Iterable[Mapping[str, Any]]) -> list[float] | None:
    """Return the duration of each wave in the first rehearsal with the same waves; None without one."""
    planned = [list(wave) for wave in plan.waves]
    for rehearsal in rehearsals:
        waves = rehearsal.get("waves", ())
        if [wave["devices"] for wave in waves] == planned:
            return [wave["elapsed_s"] for wave in waves]
    return None


def _out_of_service(fabric: Fabric, plan: Plan, wave: Sequence[str]) -> list[str]:
    """Return the switches of a wave that are out of service for a while."""
    return [name for name in wave if plan.devices[name].disruptive and name in fabric.switch_of]


def _capacity_left(fabric: Fabric, plan: Plan, wave: Sequence[str]) -> Capacity | None:
    """Return the capacity left during a wave, None if no switch is out of service."""
    out = _out_of_service(fabric, plan, wave)
    if not out:
        return None
    return capacity(fabric, out, unprovisioned=plan.unprovisioned)


def _waves(fabric: Fabric, plan: Plan) -> Grid:
    rows = [_wave_row(fabric, plan, number, wave) for number, wave in enumerate(plan.waves, start=1)]
    columns = (
        "wave",
        "devices",
        "changes",
        "out of service",
        "drained first",
        "uplinks left",
        "paths left",
        "rails out",
    )
    return _clipped("Waves, and what is left of the fabric in each", columns, rows, frozenset({0, 2, 5, 6, 7}))


def _wave_row(fabric: Fabric, plan: Plan, number: int, wave: Sequence[str]) -> tuple[Cell, ...]:
    devices: Cell = compact(wave)
    if len(wave) == 1:
        devices = linked(wave[0])
    changes = sum(len(shown_changes(plan, name)) for name in wave if name in plan.deltas)
    drained = [name for name in wave if plan.devices[name].drain == WHOLE]
    drained_text = ""
    if drained:
        drained_text = counted(len(drained), "switch")
    out = _out_of_service(fabric, plan, wave)
    left = _capacity_left(fabric, plan, wave)
    if left is None:
        return str(number), devices, f"{changes:,}", Words("none", Tone.DIM), drained_text, "", "", ""
    return (
        str(number),
        devices,
        f"{changes:,}",
        Words(counted(len(out), "switch"), Tone.BAD),
        drained_text,
        percent_text(left.least_uplink_percent),
        "" if left.least_paths is None else str(left.least_paths),
        str(left.rails_out),
    )


def _changes(plan: Plan) -> Iterator[Part]:
    first = first_provisioning(plan)
    if first is not None:
        yield Sentences((Words(f"{FIRST} of {compact(first.devices)}: {provisioned(first)}"),))
    rows: list[tuple[Cell, ...]] = []
    for group in group_changes(plan):
        change = Words(f"{GLYPHS[group.op]} {subject(group)}", _OPS[group.op])
        label = disruption_label(group.samples[0], group.disruption)
        disruption = Words(label, _disruption_tone(group.disruption))
        rows.append((change, effect(group), devices(group), disruption, group.method.value, group.reason))
    columns = ("change", "result", "devices", "disruption", "method", "why")
    if rows:
        yield _clipped("Changes; equal ones of several devices once", columns, rows)


def _cables(cables: tuple[CableChange, ...]) -> Grid:
    verbs = {Op.ADD: "add", Op.UPDATE: "move", Op.REMOVE: "remove"}
    rows: list[tuple[Cell, ...]] = [
        (Words(verbs[cable.op], _OPS[cable.op]), cable.lower_shown, cable.before, cable.after) for cable in cables
    ]
    return _clipped("Cables", ("do", "end nearer to the GPUs", "from", "to"), rows)


def _plan_marks(plan: Plan) -> dict[str, tuple[Mark, ...]]:
    waves: dict[str, int] = {}
    for number, wave in enumerate(plan.waves, start=1):
        waves.update(dict.fromkeys(wave, number))
    marks: dict[str, tuple[Mark, ...]] = {}
    for name, device in plan.devices.items():
        if name in plan.deltas:
            marks[name] = (_change_mark(plan, name, waves.get(name)),)
        elif device.state is DeviceState.UNREACHABLE:
            marks[name] = (Mark(MarkKind.UNREACHABLE, device.error or "not reachable"),)
    return marks


def _change_mark(plan: Plan, name: str, wave: int | None) -> Mark:
    """Return the mark of a device with changes; ``wave`` is None for one that no wave includes."""
    device = plan.devices[name]
    when = ""
    if wave is not None:
        when = f" in wave {wave}"
    if device.difference.unprovisioned:
        return Mark(MarkKind.ADDED, f"provisioned for the first time{when}")
    changes = counted(len(shown_changes(plan, name)), "change")
    if device.disruptive:
        return Mark(MarkKind.DISTURBED, f"{changes}{when}, out of service for a while")
    disruption = unprotected(plan, (name,)) or "without disruption"
    return Mark(MarkKind.CHANGED, f"{changes}{when}, {disruption}")


_CableMarks = dict[tuple[str, str], tuple[Mark, ...]]
_CABLE_MARKS = {
    Op.ADD: (MarkKind.ADDED, "added"),
    Op.UPDATE: (MarkKind.CHANGED, "moved"),
    Op.REMOVE: (MarkKind.REMOVED, "removed"),
}


def _cable_marks(fabric: Fabric, cables: Iterable[CableChange]) -> _CableMarks:
    # Two devices have one line in a picture, however many cables join them.
    counts: Counter[tuple[str, str, Op]] = Counter()
    for cable in cables:
        lower, upper = _ends(cable)
        # The pictures have no line to a device that the fabric lacks, unless the cable is one that it loses.
        if cable.op is Op.REMOVE or _has_both(fabric, (lower, upper)):
            counts[upper, lower, cable.op] += 1
    marks: _CableMarks = {}
    for (upper, lower, op), count in counts.items():
        kind, verb = _CABLE_MARKS[op]
        mark = Mark(kind, f"{counted(count, 'cable')} {verb}")
        marks[upper, lower] = (*marks.get((upper, lower), ()), mark)
    return marks


def _has_both(fabric: Fabric, ends: tuple[str, str]) -> bool:
    lower, upper = ends
    return lower in fabric.ports_of and upper in fabric.ports_of


def _ends(cable: CableChange) -> tuple[str, str]:
    """Return the devices at the lower and the upper end of a cable, after the change unless it removes the cable."""
    lower, _, _ = (cable.lower_after or cable.lower).rpartition(":")
    upper, _, _ = (cable.after or cable.before).rpartition(":")
    return lower, upper


def verification_section(fabric: Fabric, verified: Verified) -> MarkedSection:
    """Return the failed checks of a verification, and the number of passed and failed ones of each kind."""
    failed = verified.failed
    # A skipped check says nothing about the fabric.
    made = [check for check in verified.checks if not check.skipped]
    if failed:
        result = Words(f"{len(failed):,} of {counted(len(made), 'check')} failed", Tone.BAD)
    else:
        result = Words(f"{counted(len(made), 'check')} passed", Tone.GOOD)
    advice = tuple(Words(sentence, Tone.WARNING) for sentence in (*verified.advice, *verified.warnings))
    parts: list[Part] = [Sentences((result, *advice))]
    if failed:
        parts.append(_failed_checks(failed))
    parts.append(_checks_by_kind(made))
    return MarkedSection(Section("verification", "Verification", tuple(parts)), _failed_marks(fabric, failed))


def _failed_checks(failed: Iterable[VerifiedCheck]) -> Grid:
    rows: list[tuple[Cell, ...]] = [
        (linked(check.device), check.kind, check.subject, check.expected, Words(check.actual, Tone.BAD))
        for check in failed
    ]
    return _clipped("Checks that failed", ("device", "check", "subject", "expected", "found"), rows)


def _checks_by_kind(checks: Sequence[VerifiedCheck]) -> Grid:
    counts = Counter((check.kind, check.ok) for check in checks)
    # In the order of the document, which is that of the verification.
    rows: list[tuple[Cell, ...]] = []
    for kind in dict.fromkeys(check.kind for check in checks):
        failed = counts[kind, False]
        tone = Tone.DIM
        if failed:
            tone = Tone.BAD
        rows.append((kind, f"{counts[kind, True]:,}", Words(f"{failed:,}", tone)))
    return Grid("Checks by kind", ("check", "passed", "failed"), tuple(rows), frozenset({1, 2}))


def _failed_marks(fabric: Fabric, failed: Iterable[VerifiedCheck]) -> Marks:
    devices: dict[str, tuple[Mark, ...]] = {}
    cables: dict[tuple[str, str], tuple[Mark, ...]] = {}
    links = _links_by_port(fabric)
    for check in failed:
        kind = MarkKind.FAILED
        if check.kind == "reachable":
            kind = MarkKind.UNREACHABLE
        mark = Mark(kind, f"{check.kind} {check.subject}: {check.actual}, expected {check.expected}")
        devices[check.device] = (*devices.get(check.device, ()), mark)
        # Checks of links and neighbors have the port as their subject.
        pair = links.get((check.device, check.subject))
        if pair is not None:
            cables[pair] = (*cables.get(pair, ()), mark)
    return Marks(devices, cables)


def _links_by_port(fabric: Fabric) -> dict[tuple[str, str], tuple[str, str]]:
    """Return the two devices of the cable at every port: (device, port) → (upper, lower)."""
    pairs = {}
    for link in fabric.links:
        pair = (link.upper, link.lower)
        pairs[link.lower, fabric.ports_of[link.lower][link.lower_port].name] = pair
        pairs[link.upper, fabric.ports_of[link.upper][link.upper_port].name] = pair
    return pairs


def drift_section(drifted: Drifted) -> MarkedSection:
    """Return the differences between the running configuration and the intent."""
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
        parts.append(_clipped("Differences", columns, rows))
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
    """Return a rollout from its journal: the outcome of every device, and every step."""
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
    rows: list[tuple[Cell, ...]] = []
    for name, record in rollout.devices.items():
        # A device has no outcome if the journal ends while it is being changed.
        outcome = outcome_text(record.outcome) or IN_DOUBT
        rows.append((str(record.wave or ""), linked(name), outcome, record.step, record.error))
    return _clipped("Devices", ("wave", "device", "outcome", "last step", "error"), rows, frozenset({0}))


def _journal(rollout: Rollout) -> Grid:
    rows: list[tuple[Cell, ...]] = []
    for entry in rollout.entries:
        # The journal has ISO 8601 with milliseconds and a zone, which is UTC.
        time = entry.at.replace("T", " ")[: len("2000-01-01 00:00:00")]
        device: Cell = linked(entry.device) if entry.device else ""
        rows.append((time, entry.step, device, entry.text))
    return _clipped("Journal", ("time (UTC)", "step", "device", "what happened"), rows)


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


def _clipped(
    caption: str, columns: tuple[str, ...], rows: list[tuple[Cell, ...]], numeric: frozenset[int] = frozenset()
) -> Grid:
    """Return a table of the first rows: the changes of a large fabric would make a page that no browser scrolls."""
    more = ""
    if len(rows) > _MOST_ROWS:
        more = f"and {len(rows) - _MOST_ROWS:,} more"
    return Grid(caption, columns, tuple(rows[:_MOST_ROWS]), numeric, more)
