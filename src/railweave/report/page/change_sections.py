"""The sections about what happens to a fabric, each with its marks: a plan, a verification, drift, a rollout."""

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any, NamedTuple

from railweave.drawing.leaving import Leaving
from railweave.drawing.marks import Mark, MarkKind, Marks
from railweave.drawing.timeline import WaveSlot, timeline
from railweave.fabric.model import Fabric
from railweave.plan.cables import CableChange, changed_cables
from railweave.plan.capacity import Capacity, capacity
from railweave.plan.drain_planner import WHOLE
from railweave.plan.grouping import first_provisioning, group_changes
from railweave.plan.headline import disruption_label, headline, unprotected
from railweave.plan.model import DeviceState, Plan
from railweave.plan.outcome import outcome_text
from railweave.plan.rollout import Rollout
from railweave.report.changes import FIRST, GLYPHS, devices, effect, provisioned, subject
from railweave.report.page.content import Cell, Drawing, Grid, Part, Section, Sentences, Tone, Words, linked
from railweave.report.page.evidence import Drifted, DriftedRow, FoundCheck, Verified
from railweave.report.plan_parts import disruption_by_role, remarks
from railweave.report.rollouts import IN_DOUBT
from railweave.sonic.delta.change import Disruption, Op
from railweave.wording import compact, counted, percent_text

_MOST_ROWS = 200
_OPS = {Op.ADD: Tone.GOOD, Op.UPDATE: Tone.WARNING, Op.REMOVE: Tone.BAD}
_DISRUPTIONS = {Disruption.NONE: Tone.DIM, Disruption.SESSION: Tone.WARNING}


class MarkedSection(NamedTuple):
    """A section with what it says of devices and cables; ``leaving`` are removed cables, by the devices at their ends,
    to devices that the fabric no longer has."""

    section: Section
    marks: Marks
    leaving: Leaving = ()


def plan_section(fabric: Fabric, plan: Plan, rehearsals: Iterable[Mapping[str, Any]]) -> MarkedSection:
    """Return what a plan does, wave by wave, with what the fabric has left meanwhile; ``rehearsals`` are documents."""
    rehearsals, planned = tuple(rehearsals), _planned(plan)
    parts: list[Part] = [
        Sentences(
            (
                Words(headline(plan)),
                *(Words(f"{one.get('line')} ({one.get('at')})", Tone.DIM) for one in rehearsals),
                *(Words(one.text, Tone.WARNING) for one in remarks(plan, 0)),
            )
        )
    ]
    if plan.deltas:
        parts += [
            _impact(plan),
            *_timeline(fabric, plan, Marks(planned), rehearsals),
            _waves(fabric, plan),
            *_changes(plan),
        ]
    cables = changed_cables(plan)
    if cables:
        parts.append(_cables(cables))
    leaving = tuple(_ends(one) for one in cables if any(name not in fabric.ports_of for name in _ends(one)))
    gone = {name for pair in leaving for name in pair if name not in fabric.ports_of}
    devices = planned | dict.fromkeys(gone, (Mark(MarkKind.REMOVED, "no longer in the intent"),))
    marks = Marks(devices, _planned_cables(fabric, cables))
    return MarkedSection(Section("plan", "Plan", tuple(parts)), marks, leaving)


def _impact(plan: Plan) -> Grid:
    rows = tuple(
        (
            one.role,
            compact(one.devices),
            f"{one.changes:,}",
            Words(one.words, Tone.DIM if one.fresh else _DISRUPTIONS.get(one.disruption, Tone.BAD)),
            ", ".join(method.value for method in one.methods),
        )
        for one in disruption_by_role(plan)
    )
    columns = ("role", "devices", "changes", "worst-case impact", "methods")
    return Grid("What is disturbed", columns, rows, frozenset({2}))


def _timeline(fabric: Fabric, plan: Plan, marks: Marks, rehearsals: Sequence[Mapping[str, Any]]) -> Iterator[Drawing]:
    """Yield the waves as a picture; a rehearsal that went through all of them says how long each took."""
    if not plan.waves:
        return
    devices = [list(wave) for wave in plan.waves]
    whole = (one["waves"] for one in rehearsals if [wave["devices"] for wave in one.get("waves", ())] == devices)
    seconds = [wave["elapsed_s"] for wave in next(whole, ())] or [None] * len(devices)
    slots = [
        WaveSlot(wave, 100 if left is None else left.least_uplink_percent, took)
        for wave, took in zip(plan.waves, seconds, strict=True)
        for left in [_left(fabric, plan, wave)]
    ]
    by = "as long as each took on simulated switches" if seconds[0] is not None else "in their order"
    yield Drawing(f"Waves, {by}", timeline(fabric, slots, marks))


def _out(fabric: Fabric, plan: Plan, wave: Sequence[str]) -> list[str]:
    """Return the switches of a wave that are out of service for a while."""
    return [name for name in wave if plan.devices[name].disruptive and name in fabric.switch_of]


def _left(fabric: Fabric, plan: Plan, wave: Sequence[str]) -> Capacity | None:
    """Return what the fabric has left while a wave is carried out, None where it loses nothing."""
    out = _out(fabric, plan, wave)
    return capacity(fabric, out, unprovisioned=plan.unprovisioned) if out else None


def _waves(fabric: Fabric, plan: Plan) -> Grid:
    rows: list[tuple[Cell, ...]] = []
    for number, wave in enumerate(plan.waves, start=1):
        out, left = _out(fabric, plan, wave), _left(fabric, plan, wave)
        drained = [name for name in wave if plan.devices[name].drain == WHOLE]
        rows.append(
            (
                str(number),
                linked(wave[0]) if len(wave) == 1 else compact(wave),
                f"{sum(len(plan.deltas[name]) for name in wave if name in plan.deltas):,}",
                Words(counted(len(out), "switch"), Tone.BAD) if out else Words("none", Tone.DIM),
                counted(len(drained), "switch") if drained else "",
                "" if left is None else percent_text(left.least_uplink_percent),
                "" if left is None or left.least_paths is None else str(left.least_paths),
                "" if left is None else str(left.rails_out),
            )
        )
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


def _changes(plan: Plan) -> Iterator[Part]:
    if (first := first_provisioning(plan)) is not None:
        yield Sentences((Words(f"{FIRST} of {compact(first.devices)}: {provisioned(first)}"),))
    rows: list[tuple[Cell, ...]] = [
        (
            Words(f"{GLYPHS[group.op]} {subject(group)}", _OPS[group.op]),
            effect(group),
            devices(group),
            Words(disruption_label(group.samples[0], group.disruption), _DISRUPTIONS.get(group.disruption, Tone.BAD)),
            group.method.value,
            group.reason,
        )
        for group in group_changes(plan)
    ]
    columns = ("change", "what becomes of it", "devices", "disruption", "method", "why")
    if rows:
        yield _clipped("Changes; equal ones of several devices once", columns, rows)


def _cables(cables: tuple[CableChange, ...]) -> Grid:
    words = {Op.ADD: "add", Op.UPDATE: "move", Op.REMOVE: "remove"}
    rows: list[tuple[Cell, ...]] = [
        (Words(words[one.op], _OPS[one.op]), one.lower_shown, one.before, one.after) for one in cables
    ]
    return _clipped("Cables", ("do", "end nearer to the GPUs", "from", "to"), rows)


def _planned(plan: Plan) -> dict[str, tuple[Mark, ...]]:
    found: dict[str, tuple[Mark, ...]] = {}
    for name, device in plan.devices.items():
        if device.state is DeviceState.UNREACHABLE and name not in plan.deltas:
            found[name] = (Mark(MarkKind.UNREACHABLE, device.error or "not reachable"),)
        elif name in plan.deltas:
            changes = counted(len(plan.deltas[name]), "change")
            wave = next((number for number, wave in enumerate(plan.waves, start=1) if name in wave), 0)
            when = f" in wave {wave}" if wave else ""
            if device.unprovisioned:
                mark = Mark(MarkKind.ADDED, f"provisioned for the first time{when}")
            elif device.disruptive:
                mark = Mark(MarkKind.DISTURBED, f"{changes}{when}, out of service for a while")
            else:
                dropped = unprotected(plan, (name,))
                mark = Mark(MarkKind.CHANGED, f"{changes}{when}, {dropped or 'without disruption'}")
            found[name] = (mark,)
    return found


def _planned_cables(fabric: Fabric, cables: Iterable[CableChange]) -> dict[tuple[str, str], tuple[Mark, ...]]:
    kinds = {Op.ADD: MarkKind.ADDED, Op.UPDATE: MarkKind.CHANGED, Op.REMOVE: MarkKind.REMOVED}
    counts: Counter[tuple[str, str, MarkKind]] = Counter()
    for one in cables:
        lower, upper = _ends(one)
        known = (name in fabric.ports_of for name in (lower, upper))
        if all(known) or one.op is Op.REMOVE:
            counts[upper, lower, kinds[one.op]] += 1
    found: dict[tuple[str, str], tuple[Mark, ...]] = {}
    for (upper, lower, kind), count in counts.items():
        verb = {MarkKind.ADDED: "added", MarkKind.CHANGED: "moved", MarkKind.REMOVED: "removed"}[kind]
        mark = Mark(kind, f"{counted(count, 'cable')} {verb}")
        found[upper, lower] = (*found.get((upper, lower), ()), mark)
    return found


def _ends(one: CableChange) -> tuple[str, str]:
    """Return the devices at the lower and the upper end of a cable, as it is afterwards if it stays."""
    lower, upper = (end.rpartition(":")[0] for end in (one.lower_after or one.lower, one.after or one.before))
    return lower, upper


def verification_section(fabric: Fabric, found: Verified) -> MarkedSection:
    """Return the checks of a verification that do not hold, and how many of each kind do."""
    failed = found.failed
    made = [check for check in found.checks if not check.skipped]
    said = (
        Words(f"{len(failed):,} of {counted(len(made), 'check')} failed", Tone.BAD)
        if failed
        else Words(f"{counted(len(made), 'check')} passed", Tone.GOOD)
    )
    advice = tuple(Words(one, Tone.WARNING) for one in (*found.advice, *found.warnings))
    parts: list[Part] = [Sentences((said, *advice))]
    kinds = dict.fromkeys(check.kind for check in made)
    counts = Counter((check.kind, check.ok) for check in made)
    passed: list[tuple[Cell, ...]] = [
        (
            kind,
            f"{counts[kind, True]:,}",
            Words(f"{counts[kind, False]:,}", Tone.BAD if counts[kind, False] else Tone.DIM),
        )
        for kind in kinds
    ]
    if failed:
        rows: list[tuple[Cell, ...]] = [
            (linked(one.device), one.kind, one.subject, one.expected, Words(one.actual, Tone.BAD)) for one in failed
        ]
        parts.append(_clipped("Checks that failed", ("device", "check", "subject", "expected", "found"), rows))
    parts.append(Grid("Checks by kind", ("check", "passed", "failed"), tuple(passed), frozenset({1, 2})))
    return MarkedSection(Section("verification", "Verification", tuple(parts)), _failed_marks(fabric, failed))


def _failed_marks(fabric: Fabric, failed: Iterable[FoundCheck]) -> Marks:
    found: dict[str, tuple[Mark, ...]] = {}
    cables: dict[tuple[str, str], tuple[Mark, ...]] = {}
    links = _links_by_port(fabric)
    for one in failed:
        kind = MarkKind.UNREACHABLE if one.kind == "reachable" else MarkKind.FAILED
        mark = Mark(kind, f"{one.kind} {one.subject}: {one.actual}, expected {one.expected}")
        found[one.device] = (*found.get(one.device, ()), mark)
        if (pair := links.get((one.device, one.subject))) is not None:
            cables[pair] = (*cables.get(pair, ()), mark)
    return Marks(found, cables)


def _links_by_port(fabric: Fabric) -> dict[tuple[str, str], tuple[str, str]]:
    """Return the two devices of the cable at every port: (device, port) → (upper, lower)."""
    found = {}
    for link in fabric.links:
        for device, port in ((link.lower, link.lower_port), (link.upper, link.upper_port)):
            found[device, fabric.ports_of[device][port].name] = (link.upper, link.lower)
    return found


def drift_section(found: Drifted) -> MarkedSection:
    """Return how what runs differs from the intent."""
    changes = Counter(one.device for one in found.changes)
    unreached = {name: one.error for name, one in found.devices.items() if one.state == DeviceState.UNREACHABLE}
    waiting = [name for name, one in found.devices.items() if one.state == DeviceState.WAITING]
    if found.drift:
        said = Words(f"{counted(len(found.changes), 'difference')} on {counted(len(changes), 'device')}", Tone.BAD)
    elif waiting:
        said = Words(f"what runs on {compact(waiting)} waits for its confirmation, and may go back", Tone.BAD)
    else:
        said = Words("what runs is what the intent says", Tone.GOOD)
    parts: list[Part] = [Sentences((said,))]
    if found.changes:
        rows = [_drifted(one) for one in found.changes]
        columns = ("device", "row", "field", "runs", "intent", "disruption of its repair")
        parts.append(_clipped("Differences", columns, rows))
    marks = {name: (Mark(MarkKind.DRIFTED, counted(count, "difference")),) for name, count in changes.items()}
    marks |= {name: (Mark(MarkKind.UNREACHABLE, error or "not reachable"),) for name, error in unreached.items()}
    return MarkedSection(Section("drift", "Drift", tuple(parts)), Marks(marks))


def _drifted(one: DriftedRow) -> tuple[Cell, ...]:
    before, after = (_value(each) for each in (one.before, one.after))
    return (linked(one.device), f"{one.table}|{one.key}", one.field or "", before, after, one.disruption)


def _value(value: Any) -> str:
    if isinstance(value, dict):
        return ", ".join(f"{name}={_value(each)}" for name, each in value.items())
    return ",".join(map(str, value)) if isinstance(value, list) else "" if value is None else str(value)


_OUTCOMES = {
    "new": MarkKind.DONE,
    "old": MarkKind.CHANGED,
    "unreachable": MarkKind.UNREACHABLE,
    "broken": MarkKind.FAILED,
    "": MarkKind.FAILED,
}


def rollout_section(rollout: Rollout) -> MarkedSection:
    """Return a rollout as its journal tells it: the end of every device, and every step."""
    state = f"{rollout.state}: {rollout.stopped_by}" if rollout.stopped_by else rollout.state
    tone = Tone.GOOD if rollout.finished else Tone.BAD
    about = f"{rollout.name}, {rollout.kind.value} to {rollout.target or '?'} by {rollout.by or '?'}"
    ends: list[tuple[Cell, ...]] = [
        (str(record.wave or ""), linked(name), outcome_text(record.outcome) or IN_DOUBT, record.step, record.error)
        for name, record in rollout.devices.items()
    ]
    steps: list[tuple[Cell, ...]] = [
        (one.at.replace("T", " ")[:19], one.step, linked(one.device) if one.device else "", one.text)
        for one in rollout.entries
    ]
    parts = (
        Sentences((Words(about), Words(state, tone))),
        _clipped("Devices", ("wave", "device", "outcome", "last step", "error"), ends, frozenset({0})),
        _clipped("Journal", ("time (UTC)", "step", "device", "what happened"), steps),
    )
    return MarkedSection(Section("rollout", "Rollout", parts), Marks(dict(_ended(rollout))))


def _ended(rollout: Rollout) -> Iterator[tuple[str, tuple[Mark, ...]]]:
    for name, record in rollout.devices.items():
        kind = MarkKind.FAILED if record.error else _OUTCOMES.get(record.outcome)
        if kind is not None:
            words = outcome_text(record.outcome) or IN_DOUBT
            yield name, (Mark(kind, f"{words}: {record.error}" if record.error else words),)


def _clipped(
    caption: str, columns: tuple[str, ...], rows: list[tuple[Cell, ...]], numeric: frozenset[int] = frozenset()
) -> Grid:
    hidden = len(rows) - _MOST_ROWS
    more = f"and {hidden:,} more" if hidden > 0 else ""
    return Grid(caption, columns, tuple(rows[:_MOST_ROWS]), numeric, more)
