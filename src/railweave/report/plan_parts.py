"""What a reviewer looks for after a plan's sentence: disruption by role, waves, what needs attention, what stays."""

from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from itertools import groupby

from railweave.fabric.releases import release_warnings
from railweave.plan.cables import CableChange, changed_cables
from railweave.plan.consent import live_port_diagnostics, lowered_mtu, removed_markings
from railweave.plan.drain_planner import WHOLE
from railweave.plan.headline import impact, unprotected
from railweave.plan.model import DISRUPTION_RANK, DevicePlan, DeviceState, Plan
from railweave.plan.waves import violation_diagnostics
from railweave.sonic.delta.change import Change, Disruption, Method, Op
from railweave.sonic.delta.kept import keeps, keeps_what_came
from railweave.sonic.frr.maintenance import Maintenance
from railweave.sonic.rows import FRR_TABLE
from railweave.sonic.taking_again import taken_again_by
from railweave.wording import command_line, compact, counted, first_few

_MOST_ERRORS = 2


@dataclass(frozen=True, slots=True)
class RoleDisruption:
    """The devices of one role that have the same worst-case impact."""

    role: str
    disruption: Disruption
    devices: tuple[str, ...]
    changes: int
    methods: tuple[Method, ...]
    fresh: bool
    words: str
    """The disruption in words."""


def disruption_by_role(plan: Plan) -> tuple[RoleDisruption, ...]:
    """Return the worst disruption of each changed device, gathered by role; the worst first, those that
    are provisioned for the first time last."""
    gathered: dict[tuple[str, Disruption, bool], list[str]] = {}
    changes = plan.deltas
    for name, own in changes.items():
        worst = max(own.disruptions, key=DISRUPTION_RANK.__getitem__)
        device = plan.devices[name]
        gathered.setdefault((device.role, worst, device.unprovisioned), []).append(name)
    rows = [
        RoleDisruption(
            role,
            disruption,
            tuple(names),
            sum(len(changes[name]) for name in names),
            tuple(sorted({one for name in names for one in changes[name].methods})),
            fresh,
            "first provisioning: no traffic yet" if fresh else _impact(plan, disruption, names),
        )
        for (role, disruption, fresh), names in gathered.items()
    ]
    return tuple(sorted(rows, key=lambda row: (row.fresh, -DISRUPTION_RANK[row.disruption], row.role)))


def _impact(plan: Plan, worst: Disruption, names: Sequence[str]) -> str:
    dropped = unprotected(plan, names)
    if dropped and worst is Disruption.NONE:
        return dropped
    meant = impact(worst, (change for name in names for change in plan.deltas[name]))
    return f"{meant}; {dropped}" if dropped else meant


@dataclass(frozen=True, slots=True)
class Remark:
    """What is no change and still matters, in a line with its style for a terminal."""

    text: str
    style: str


def remarks(plan: Plan, most_cables: int) -> tuple[Remark, ...]:
    """Return everything that a reviewer must know beside the changes; beyond ``most_cables`` cables are counted: all of
    them with 0, where a table of the cables follows."""
    marking = (
        f"warning: DSCP {dscp} is no longer lossless, or on another priority, on {compact(devices)}: GPU nodes that"
        f" send it would lose packets; `{command_line('phases', 'BASE')}` shows how to change it without loss"
        for dscp, devices in removed_markings(plan)
    )
    mtu = (
        f"warning: {one.message}; `{command_line('phases', 'BASE')}` shows how to change it without loss"
        for one in lowered_mtu(plan)
    )
    broken = (*violation_diagnostics(plan.violations, plan.policy), *live_port_diagnostics(plan))
    return (
        *(Remark(line, "bold yellow") for line in (*_moved_cable_lines(plan, most_cables), *marking, *mtu)),
        *(Remark(f"{one.code}: {one.message}", "bold red") for one in broken),
        *_assumed(plan),
        *device_remarks(plan),
        *_without_rollback(plan),
        *([Remark(f"no longer in the intent, left untouched: {compact(plan.gone)}", "yellow")] if plan.gone else ()),
    )


def _assumed(plan: Plan) -> Iterator[Remark]:
    if names := plan.assumed_fresh:
        errors = first_few(dict.fromkeys(plan.devices[name].error for name in names), _MOST_ERRORS, separator="; ")
        text = f"not reachable, planned as factory-fresh because no running neighbor has a link to it: {compact(names)}"
        yield Remark(f"{text} ({errors}); a plan to deploy needs their answer", "bold yellow")


_MAINTENANCE = {
    Maintenance.ON: "in maintenance by TSA: {}; `sudo TSB` on a switch ends it",
    Maintenance.NOT_APPLIED: "TSA is set in CONFIG_DB, but FRR announces all routes: {}; run `sudo TSB`, then TSA",
    Maintenance.LEFT: "FRR withholds routes (TSA), but CONFIG_DB says normal: {}; run `sudo TSA`, then TSB",
}


def device_remarks(plan: Plan) -> Iterator[Remark]:
    """Yield what is the matter with single devices: not reached, in conflict, a commit that waits, a drain by hand."""
    for name, device in plan.devices.items():
        yield from _remarks_on(name, device, planned=name in plan.deltas)
    yield from _drained_remarks(plan)
    releases = {name: device.other_release for name, device in plan.devices.items()}
    yield from (Remark(f"warning: {sentence}", "yellow") for sentence in release_warnings(releases))
    yield from _not_applied(plan)
    if names := [name for name, device in plan.devices.items() if device.applied_unknown]:
        yield Remark(
            f"unknown: what SONiC's daemons apply on {compact(names)}: their databases do not answer", "yellow"
        )
    yield from _kept(plan)


def _kept(plan: Plan) -> Iterator[Remark]:
    """Yield what is to go and stays in force: rows without a step, and removals that daemons ignore."""
    staying: dict[tuple[str, str], list[str]] = {}
    for name, device in plan.devices.items():
        for one in device.kept:
            staying.setdefault((one.place, one.why), []).append(name)
    for (place, why), names in staying.items():
        yield Remark(f"stays: {place} on {compact(names)}: {why}", "yellow")
    for (place, why), names in _gathered(plan, keeps).items():
        yield Remark(f"without effect: removal of {place} on {compact(names)}: {why}", "yellow")


def _without_rollback(plan: Plan) -> Iterator[Remark]:
    """Yield what a rollback would not take back, because daemons ignore the removal of what comes."""
    for (place, why), names in _gathered(plan, keeps_what_came).items():
        yield Remark(f"no rollback: {place} on {compact(names)}: {why}", "yellow")


def _gathered(plan: Plan, why_of: Callable[[Change], str]) -> dict[tuple[str, str], list[str]]:
    """Return the devices by table or field of changes of running switches and by what ``why_of`` says of these."""
    places: dict[int, dict[tuple[str, str], None]] = {}
    found: dict[tuple[str, str], list[str]] = {}
    for name, delta in plan.deltas.items():
        if plan.devices[name].unprovisioned or delta.reloads:
            continue  # what a reload boots is what the rows say
        if id(delta) not in places:
            told = ((f"{one.table} {one.field or ''}".rstrip(), why_of(one)) for one in delta)
            places[id(delta)] = dict.fromkeys(pair for pair in told if pair[1])
        for place in places[id(delta)]:
            found.setdefault(place, []).append(name)
    return found


def _remarks_on(name: str, device: DevicePlan, *, planned: bool) -> Iterator[Remark]:
    if device.state is DeviceState.UNREACHABLE and not planned:
        what = "cannot be read" if device.answered else "unreachable"
        yield Remark(f"{what}: {name}: {device.error}", "bold red")
    for one in device.conflicts:
        yield Remark(f"conflict: {name}: {one.claim}: {one.reason}", "bold red")
    if device.broken:
        yield Remark(f"broken: {name}: {device.broken}", "bold red")
    if device.pending:
        text = f"waiting: a commit on {name} is not confirmed; it may revert by itself"
        yield Remark(text, "bold yellow")


def _drained_remarks(plan: Plan) -> Iterator[Remark]:
    whole = [name for name, device in plan.devices.items() if device.drained == WHOLE]
    if whole:
        yield Remark(f"drained by hand: {compact(whole)}; `{command_line('undrain', *whole)}` ends it", "yellow")
    for state, text in _MAINTENANCE.items():
        if names := [name for name, device in plan.devices.items() if device.maintenance is state]:
            yield Remark(text.format(compact(names)), "yellow")
    for name, device in plan.devices.items():
        if device.drained and device.drained != WHOLE:
            peers = ", ".join(device.drained)
            undrain = command_line("undrain", name, target=plan.target)
            yield Remark(f"drained by hand on {name}: {peers}; `{undrain}` ends it", "yellow")


def _not_applied(plan: Plan) -> Iterator[Remark]:
    """Yield what daemons apply that differs from CONFIG_DB: its rows are as intended, so a deployment writes none."""
    for name, device in plan.devices.items():
        for one in device.unapplied:
            remedy = taken_again_by(one.row, one.field, one.configured)
            yield Remark(f"not applied: {name}: {one}: {remedy}", "yellow")


def _moved_cable_lines(plan: Plan, most: int) -> tuple[str, ...]:
    """Return a line for each cable that has to be moved, and how to move them without taking all links of a leaf."""
    moved = [one for one in changed_cables(plan) if one.op is Op.UPDATE]
    if not moved:
        return ()
    lines = [f"cable to move: {one.move}" for one in moved[:most]]
    if not most:
        lines.append(f"{counted(len(moved), 'cable')} to move")
    elif hidden := len(moved) - len(lines):
        lines.append(f"cables to move: {hidden} more, all in the JSON output")
    phases, deploy = command_line("phases", "BASE"), command_line("deploy", "--from", "BASE")
    return (*lines, f"`{phases}` and `{deploy}` move cables a few at a time, with a work order")


_CABLE_WORDS = {Op.UPDATE: "moved", Op.REMOVE: "removed", Op.ADD: "added"}


def cable_counts(cables: Iterable[CableChange]) -> str:
    """Return how many cables are moved, removed and added, by their words."""
    return ", ".join(f"{count:,} {_CABLE_WORDS[op]}" for op, count in Counter(one.op for one in cables).items())


def cable_lines(plan: Plan, most: int) -> Iterator[str]:
    """Yield a line for the cables that are removed and one for those that are added, with the first of them."""
    for op in (Op.REMOVE, Op.ADD):
        if cables := [one for one in changed_cables(plan) if one.op is op]:
            shown = first_few((f"{one.lower} – {one.before or one.after}" for one in cables), most)
            yield f"cables {_CABLE_WORDS[op]}: {len(cables):,}: {shown}"


def unmanaged(plan: Plan) -> str:
    """Return how many rows and lines that railweave does not own stay, over all devices: ``AAA 8, FRR lines 4``."""
    counts: Counter[str] = Counter()
    for device in plan.devices.values():
        counts.update(device.unmanaged or {})
    return ", ".join(f"{'FRR lines' if name == FRR_TABLE else name} {rows}" for name, rows in sorted(counts.items()))


@dataclass(frozen=True, slots=True)
class _Kind:
    """What waves in one line have in common."""

    role: str
    devices: int
    disruptive: bool
    drained: str


def wave_lines(plan: Plan) -> tuple[str, ...]:
    """Return a line for every run of waves of one kind: their numbers, their devices, what is done to them."""
    numbered = list(enumerate(plan.waves, start=1))
    return tuple(_line(kind, list(run)) for kind, run in groupby(numbered, key=lambda one: _kind(plan, one[1])))


def _line(kind: _Kind, run: Sequence[tuple[int, tuple[str, ...]]]) -> str:
    names = [name for _, wave in run for name in wave]
    numbers = f"{run[0][0]}" if len(run) == 1 else f"{run[0][0]}–{run[-1][0]}"
    pace = "" if len(run) == 1 else ", one at a time" if kind.devices == 1 else f", {kind.devices} at a time"
    count = f" ({len(names)})" if len(names) > 2 else ""
    return f"{numbers}. {compact(names)}{count}{pace}{', disruptive' if kind.disruptive else ''}{kind.drained}"


def _kind(plan: Plan, wave: Sequence[str]) -> _Kind:
    first = plan.devices.get(wave[0])
    return _Kind(
        first.role if first is not None else "",
        len(wave),
        any(plan.devices[name].disruptive for name in wave if name in plan.devices),
        _drained(plan, wave),
    )


def _drained(plan: Plan, wave: Iterable[str]) -> str:
    drains = {plan.devices[name].drain for name in wave if name in plan.devices}
    if drains == {WHOLE}:
        return ", drained first"
    return ", with drained links" if any(drains) else ""


def drained_lines(plan: Plan) -> tuple[str, ...]:
    """Return what is drained before its change: whole switches, and links of others."""
    whole = [name for name, device in plan.devices.items() if device.drain == WHOLE]
    partly = [name for name, device in plan.devices.items() if device.drain and device.drain != WHOLE]
    lines = []
    if whole:
        lines.append(f"drained as a whole before its change: {compact(whole)} ({len(whole)})")
    if partly:
        links = sum(len(plan.devices[name].drain) for name in partly)
        lines.append(f"drained on the links concerned: {compact(partly)}, {counted(links, 'session')}")
    return tuple(lines)
