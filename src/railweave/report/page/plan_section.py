"""The section about a plan, with its marks for the pictures: waves, changes, cables and what is out of service."""

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from itertools import chain
from typing import Any

from railweave.drawing.marks import Mark, MarkKind, Marks
from railweave.drawing.timeline import WaveSlot, timeline
from railweave.fabric.model import Fabric
from railweave.plan.cables import CableChange, changed_cables
from railweave.plan.capacity import Capacity, capacity
from railweave.plan.drain_planner import WHOLE
from railweave.plan.grouping import first_provisioning, group_changes, shown_changes
from railweave.plan.headline import disruption_label, headline, unprotected
from railweave.plan.model import DeviceState, Plan
from railweave.report.changes import FIRST, GLYPHS, devices, effect, provisioned, subject
from railweave.report.page.change_sections import MarkedSection, clipped
from railweave.report.page.content import Cell, Drawing, Grid, Part, Section, Sentences, Tone, Words, linked
from railweave.report.plan_parts import disruption_by_role, remarks
from railweave.sonic.delta.change import Disruption, Op
from railweave.wording import compact, counted, percent_text

_OPS = {Op.ADD: Tone.GOOD, Op.UPDATE: Tone.WARNING, Op.REMOVE: Tone.BAD}
_DISRUPTIONS = {Disruption.NONE: Tone.DIM, Disruption.SESSION: Tone.WARNING}


def plan_section(fabric: Fabric, plan: Plan, rehearsals: Iterable[Mapping[str, Any]]) -> MarkedSection:
    """Return the section about a plan: its changes wave by wave, and the capacity left during each wave.

    Its marks are for the pictures of the page. ``rehearsals`` are the documents of rehearsals of this plan.
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
    # Cables to devices that the fabric no longer has. The pictures get these cables and devices only from here.
    leaving_cables = tuple(ends for ends in map(_ends, cables) if not _has_both(fabric, ends))
    for name in chain.from_iterable(leaving_cables):
        if name not in fabric.ports_of:
            device_marks[name] = (Mark(MarkKind.REMOVED, "no longer in the intent"),)
    marks = Marks(device_marks, _cable_marks(fabric, cables))
    return MarkedSection(Section("plan", "Plan", tuple(parts)), marks, leaving_cables)


def _plan_sentences(plan: Plan, rehearsals: Iterable[Mapping[str, Any]]) -> Iterator[Words]:
    yield Words(headline(plan))
    for rehearsal in rehearsals:
        yield Words(f"{rehearsal.get('line')} ({rehearsal.get('at')})", Tone.DIM)
    for remark in remarks(plan, 0):
        yield Words(remark.text, Tone.WARNING)


def _impact(plan: Plan) -> Grid:
    """Return a table of the worst-case impact on the devices of each role."""
    rows: list[tuple[Cell, ...]] = []
    for role in disruption_by_role(plan):
        tone = _disruption_tone(role.disruption)
        # Before its first provisioning a device carries no traffic to disturb.
        if role.fresh:
            tone = Tone.DIM
        methods = ", ".join(method.value for method in role.methods)
        rows.append((role.role, compact(role.devices), f"{role.changes:,}", Words(role.words, tone), methods))
    columns = ("role", "devices", "changes", "worst-case impact", "methods")
    return Grid("What is disturbed", columns, tuple(rows), numeric=frozenset({2}))


def _disruption_tone(disruption: Disruption) -> Tone:
    return _DISRUPTIONS.get(disruption, Tone.BAD)


def _timeline(fabric: Fabric, plan: Plan, marks: Marks, rehearsals: Sequence[Mapping[str, Any]]) -> Iterator[Drawing]:
    """Yield the picture of the waves, with the times of a rehearsal that went through all of them."""
    if not plan.waves:
        return
    wave_seconds = _rehearsed_seconds(plan, rehearsals)
    if wave_seconds is None:
        caption = "Waves, in their order"
    else:
        caption = "Waves, as long as each took on simulated switches"
    slots = []
    for index, wave in enumerate(plan.waves):
        uplink_percent: float = 100
        capacity_left = _capacity_left(fabric, plan, wave)
        if capacity_left is not None:
            uplink_percent = capacity_left.least_uplink_percent
        duration_s = None
        if wave_seconds is not None:
            duration_s = wave_seconds[index]
        slots.append(WaveSlot(wave, uplink_percent, duration_s))
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
    switches = _out_of_service(fabric, plan, wave)
    if not switches:
        return None
    return capacity(fabric, switches, unprovisioned=plan.unprovisioned)


def _waves(fabric: Fabric, plan: Plan) -> Grid:
    """Return a table of the waves with the capacity that is left during each."""
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
    return clipped("Waves, and what is left of the fabric in each", columns, rows, numeric=frozenset({0, 2, 5, 6, 7}))


def _wave_row(fabric: Fabric, plan: Plan, number: int, wave: Sequence[str]) -> tuple[Cell, ...]:
    """Return the cells of a wave; those of the capacity are empty if no switch is out of service."""
    devices: Cell = compact(wave)
    if len(wave) == 1:
        devices = linked(wave[0])
    changes = sum(len(shown_changes(plan, name)) for name in wave if name in plan.deltas)
    drained_count = sum(plan.devices[name].drain == WHOLE for name in wave)
    drained = ""
    if drained_count:
        drained = counted(drained_count, "switch")
    capacity_left = _capacity_left(fabric, plan, wave)
    if capacity_left is None:
        return str(number), devices, f"{changes:,}", Words("none", Tone.DIM), drained, "", "", ""
    out_of_service = counted(len(_out_of_service(fabric, plan, wave)), "switch")
    paths = ""
    if capacity_left.least_paths is not None:
        paths = str(capacity_left.least_paths)
    return (
        str(number),
        devices,
        f"{changes:,}",
        Words(out_of_service, Tone.BAD),
        drained,
        percent_text(capacity_left.least_uplink_percent),
        paths,
        str(capacity_left.rails_out),
    )


def _changes(plan: Plan) -> Iterator[Part]:
    """Yield a sentence on first provisioning if there is one, then a table of the other changes if there are any."""
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
        yield clipped("Changes; equal ones of several devices once", columns, rows)


def _cables(cables: tuple[CableChange, ...]) -> Grid:
    verbs = {Op.ADD: "add", Op.UPDATE: "move", Op.REMOVE: "remove"}
    rows: list[tuple[Cell, ...]] = [
        (Words(verbs[cable.op], _OPS[cable.op]), cable.lower_shown, cable.before, cable.after) for cable in cables
    ]
    return clipped("Cables", ("do", "end nearer to the GPUs", "from", "to"), rows)


def _plan_marks(plan: Plan) -> dict[str, tuple[Mark, ...]]:
    """Return the mark of each device that the plan changes, and of each that does not answer."""
    wave_of = {name: number for number, wave in enumerate(plan.waves, start=1) for name in wave}
    marks: dict[str, tuple[Mark, ...]] = {}
    for name, device in plan.devices.items():
        if name in plan.deltas:
            marks[name] = (_change_mark(plan, name, wave_of.get(name)),)
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
    """Return the marks of changed cables by the devices at their upper and lower ends."""
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
    """Return the devices at the lower and the upper end of a cable after its change, or before it if it is removed."""
    lower, _, _ = (cable.lower_after or cable.lower).rpartition(":")
    upper, _, _ = (cable.after or cable.before).rpartition(":")
    return lower, upper
