"""The parts of a plan for a reviewer: disruption by role, waves, what needs attention, what is left untouched."""

from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from itertools import groupby
from typing import NamedTuple

from railweave.fabric.releases import release_warnings
from railweave.plan.cables import CableChange, changed_cables
from railweave.plan.consent import live_port_diagnostics, lowered_mtu, removed_markings
from railweave.plan.drain_planner import WHOLE
from railweave.plan.grouping import shown_changes
from railweave.plan.headline import FRESH_WORDS, impact, unprotected
from railweave.plan.model import DISRUPTION_RANK, DevicePlan, DeviceState, Plan
from railweave.plan.waves import violation_diagnostics
from railweave.report.alert_lines import alert_lines
from railweave.report.reasons import reason_lines
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
    # The worst of all changes of a device.
    disruption: Disruption
    devices: tuple[str, ...]
    # Of all these devices together.
    changes: int
    methods: tuple[Method, ...]
    # Whether they are provisioned for the first time, when they carry no traffic.
    fresh: bool
    # The disruption in words, with the links that lose traffic undrained.
    words: str


def disruption_by_role(plan: Plan) -> tuple[RoleDisruption, ...]:
    """Return the changed devices, gathered by their role and their worst disruption, the worst first.

    Devices that are provisioned for the first time are gathered apart, and come last.
    """
    # By role, worst disruption, and whether the devices are provisioned for the first time.
    names_by_kind: dict[tuple[str, Disruption, bool], list[str]] = {}
    for name, delta in plan.deltas.items():
        worst = max(delta.disruptions, key=DISRUPTION_RANK.__getitem__)
        device = plan.devices[name]
        kind = (device.role, worst, device.difference.unprovisioned)
        names_by_kind.setdefault(kind, []).append(name)
    rows = [
        _role_disruption(plan, role, worst, names, fresh=fresh) for (role, worst, fresh), names in names_by_kind.items()
    ]
    return tuple(sorted(rows, key=lambda row: (row.fresh, -DISRUPTION_RANK[row.disruption], row.role)))


def _role_disruption(plan: Plan, role: str, worst: Disruption, names: Sequence[str], *, fresh: bool) -> RoleDisruption:
    """Return the row of the devices ``names``, which share their role and their worst disruption."""
    words = FRESH_WORDS
    if not fresh:
        words = _impact(plan, worst, names)
    methods = {method for name in names for method in plan.deltas[name].methods}
    return RoleDisruption(
        role=role,
        disruption=worst,
        devices=tuple(names),
        changes=sum(len(shown_changes(plan, name)) for name in names),
        methods=tuple(sorted(methods)),
        fresh=fresh,
        words=words,
    )


def _impact(plan: Plan, worst: Disruption, names: Sequence[str]) -> str:
    """Return the worst-case impact of the changes of some devices in words, and which links lose traffic undrained."""
    undrained = unprotected(plan, names)
    if undrained and worst is Disruption.NONE:
        return undrained
    text = impact(worst, (change for name in names for change in plan.deltas[name]))
    if undrained:
        text += f"; {undrained}"
    return text


@dataclass(frozen=True, slots=True)
class Remark:
    """A line that a reviewer needs beside the changes, with its style for a terminal."""

    text: str
    style: str


def remarks(plan: Plan, most_cables: int) -> tuple[Remark, ...]:
    """Return everything that a reviewer must know beside the changes.

    Moved cables beyond ``most_cables`` are only counted; 0 counts all of them, because a table of cables follows.
    """
    lines = [Remark(line, "bold yellow") for line in _moved_cable_lines(plan, most_cables)]
    without_loss = f"`{command_line('phases', 'BASE')}` shows how to change it without loss"
    for dscp, names in removed_markings(plan):
        text = (
            f"warning: DSCP {dscp} is no longer lossless, or on another priority, on {compact(names)}: GPU nodes that"
            f" send it would lose packets; {without_loss}"
        )
        lines.append(Remark(text, "bold yellow"))
    lines += [Remark(f"warning: {lowered.message}; {without_loss}", "bold yellow") for lowered in lowered_mtu(plan)]
    for diagnostic in (*violation_diagnostics(plan.violations, plan.policy), *live_port_diagnostics(plan)):
        lines.append(Remark(f"{diagnostic.code}: {diagnostic.message}", "bold red"))
    lines += [*_assumed(plan), *device_remarks(plan), *_without_rollback(plan)]
    if plan.gone:
        lines.append(Remark(f"no longer in the intent, left untouched: {compact(plan.gone)}", "yellow"))
    hosts_apply = command_line("hosts", "apply")
    for file in plan.node_files:
        text = f"templates/hosts/ changes {file.name} of {compact(file.nodes)}: `{hosts_apply}` writes it"
        lines.append(Remark(text, "yellow"))
    lines += [Remark(line, "yellow") for line in alert_lines(plan.alerts)]
    return tuple(lines)


def _assumed(plan: Plan) -> Iterator[Remark]:
    """Yield a remark on the devices that are planned as factory-fresh without having answered."""
    names = plan.assumed_fresh
    if not names:
        return
    errors = dict.fromkeys(plan.devices[name].error for name in names)
    text = f"not reachable, planned as factory-fresh because no running neighbor has a link to it: {compact(names)}"
    shown_errors = first_few(errors, _MOST_ERRORS, separator="; ")
    yield Remark(f"{text} ({shown_errors}); a plan to deploy needs their answer", "bold yellow")


_MAINTENANCE = {
    Maintenance.ON: "in maintenance by TSA: {}; `sudo TSB` on a switch ends it",
    Maintenance.NOT_APPLIED: "TSA is set in CONFIG_DB, but FRR announces all routes: {}; run `sudo TSB`, then TSA",
    Maintenance.LEFT: "FRR withholds routes (TSA), but CONFIG_DB says normal: {}; run `sudo TSA`, then TSB",
}


def device_remarks(plan: Plan) -> Iterator[Remark]:
    """Yield remarks on single devices: unreachable, in conflict, an unconfirmed commit, a manual drain."""
    yield from _limit_remarks(plan)
    yield from _unread_remarks(plan)
    for name, device in plan.devices.items():
        yield from _remarks_on(name, device)
    yield from _drained_remarks(plan)
    releases = {name: device.other_release for name, device in plan.devices.items()}
    yield from (Remark(f"warning: {sentence}", "yellow") for sentence in release_warnings(releases))
    yield from _not_applied(plan)
    unanswered = [name for name, device in plan.devices.items() if device.reading.applied_unknown]
    if unanswered:
        text = f"unknown: what SONiC's daemons apply on {compact(unanswered)}: their databases do not answer"
        yield Remark(text, "yellow")
    yield from _ineffective_removals(plan)


def _ineffective_removals(plan: Plan) -> Iterator[Remark]:
    """Yield a remark for each kind of row that stays: no method removes it, or daemons ignore its removal."""
    devices_by_row: dict[tuple[str, str], list[str]] = {}
    for name, device in plan.devices.items():
        for row in device.difference.kept:
            devices_by_row.setdefault((row.place, row.why), []).append(name)
    for (place, why), names in devices_by_row.items():
        yield Remark(f"stays: {place} on {compact(names)}: {why}", "yellow")
    for (place, why), names in _devices_by_reason(plan, keeps).items():
        yield Remark(f"without effect: removal of {place} on {compact(names)}: {why}", "yellow")


def _without_rollback(plan: Plan) -> Iterator[Remark]:
    """Yield a remark for each kind of addition that a rollback cannot undo, because daemons ignore its removal."""
    for (place, why), names in _devices_by_reason(plan, keeps_what_came).items():
        yield Remark(f"no rollback: {place} on {compact(names)}: {why}", "yellow")


class _PlaceReason(NamedTuple):
    """The reason that holds for the changes of a table or field."""

    # The table, followed by the field if a change is of one.
    place: str
    why: str


def _devices_by_reason(plan: Plan, why_of: Callable[[Change], str]) -> dict[_PlaceReason, list[str]]:
    """Return the switches by the reasons of their changes. ``why_of`` returns a reason, or an empty text for none.

    Switches that are provisioned for the first time or reload are left out.
    """
    # Switches of one role often share a delta: the reasons of each are looked up once.
    reasons_by_delta: dict[int, list[_PlaceReason]] = {}
    devices: dict[_PlaceReason, list[str]] = {}
    for name, delta in plan.deltas.items():
        # After a reload every daemon starts from the rows, and ignores none of them.
        if plan.devices[name].difference.unprovisioned or delta.reloads:
            continue
        if id(delta) not in reasons_by_delta:
            reasons_by_delta[id(delta)] = _reasons(delta, why_of)
        for reason in reasons_by_delta[id(delta)]:
            devices.setdefault(reason, []).append(name)
    return devices


def _reasons(delta: Iterable[Change], why_of: Callable[[Change], str]) -> list[_PlaceReason]:
    """Return the reasons of changes in their order, each once; changes without a reason are left out."""
    reasons = []
    for change in delta:
        why = why_of(change)
        if why:
            place = f"{change.table} {change.field or ''}".rstrip()
            reasons.append(_PlaceReason(place, why))
    return list(dict.fromkeys(reasons))


def _limit_remarks(plan: Plan) -> Iterator[Remark]:
    """Yield remarks on the switches that a limited plan may change, and on those that stay behind the intent."""
    if plan.since:
        yield _since_remark(plan)
        return
    if not plan.limit:
        return
    yield Remark(f"limited to {compact(plan.limit)}", "yellow")
    unread = [name for name in plan.behind if plan.devices[name].error]
    changed = [name for name in plan.behind if not plan.devices[name].error]
    if changed:
        yield Remark(f"stay behind, with changes that are not deployed: {compact(changed)}", "yellow")
    if unread:
        yield Remark(f"outside of the limit and not read: {compact(unread)}", "yellow")


def _since_remark(plan: Plan) -> Remark:
    """Return the remark on a plan that read only some switches: the others have the configuration of ``plan.since``."""
    read = compact(plan.limit) or "no switch"
    return Remark(f"read: {read}; not read, with the configuration of {plan.since}: {compact(plan.behind)}", "yellow")


def _unread_remarks(plan: Plan) -> Iterator[Remark]:
    """Yield a remark for each reason why devices could not be read, those that do not answer first."""
    silent: dict[str, str] = {}
    unreadable: dict[str, str] = {}
    for name, device in plan.devices.items():
        # A device planned as factory-fresh without an answer has a remark of its own.
        if device.state is not DeviceState.UNREACHABLE or name in plan.deltas:
            continue
        if device.reading.answered:
            unreadable[name] = device.error
        else:
            silent[name] = device.error
    for line in reason_lines(silent):
        yield Remark(f"unreachable: {line}", "bold red")
    for line in reason_lines(unreadable):
        yield Remark(f"cannot be read: {line}", "bold red")


def _remarks_on(name: str, device: DevicePlan) -> Iterator[Remark]:
    """Yield remarks on one device: its conflicts, broken daemons, and a commit that waits for confirmation."""
    for conflict in device.difference.conflicts:
        yield Remark(f"conflict: {name}: {conflict.claim}: {conflict.reason}", "bold red")
    if device.reading.broken:
        yield Remark(f"broken: {name}: {device.reading.broken}", "bold red")
    if device.reading.pending:
        text = f"waiting: a commit on {name} is not confirmed; it may revert by itself"
        yield Remark(text, "bold yellow")


def _drained_remarks(plan: Plan) -> Iterator[Remark]:
    """Yield remarks on devices that are drained by hand, as a whole or by link, and on maintenance by TSA."""
    whole = [name for name, device in plan.devices.items() if device.difference.drained == WHOLE]
    if whole:
        yield Remark(f"drained by hand: {compact(whole)}; `{command_line('undrain', *whole)}` ends it", "yellow")
    for state, text in _MAINTENANCE.items():
        names = [name for name, device in plan.devices.items() if device.difference.maintenance is state]
        if names:
            yield Remark(text.format(compact(names)), "yellow")
    yield from _drained_link_remarks(plan)


def _drained_link_remarks(plan: Plan) -> Iterator[Remark]:
    """Yield a remark for each switch of which only some links are drained."""
    for name, device in plan.devices.items():
        if device.difference.drained and device.difference.drained != WHOLE:
            peers = ", ".join(device.difference.drained)
            undrain = command_line("undrain", name, target=plan.target)
            yield Remark(f"drained by hand on {name}: {peers}; `{undrain}` ends it", "yellow")


def _not_applied(plan: Plan) -> Iterator[Remark]:
    """Yield a remark with a remedy for each value that daemons did not apply.

    CONFIG_DB has these values as intended, so a deployment would write nothing.
    """
    for name, device in plan.devices.items():
        for unapplied in device.reading.unapplied:
            remedy = taken_again_by(unapplied.row, unapplied.field, unapplied.configured)
            yield Remark(f"not applied: {name}: {unapplied}: {remedy}", "yellow")


def _moved_cable_lines(plan: Plan, most: int) -> tuple[str, ...]:
    """Return a line for each cable to move, up to ``most``, then the commands that move them a few at a time.

    The cables beyond ``most`` are only counted. Without a cable to move there is no line.
    """
    moved = [cable for cable in changed_cables(plan) if cable.op is Op.UPDATE]
    if not moved:
        return ()
    lines = [f"cable to move: {cable.move}" for cable in moved[:most]]
    hidden = len(moved) - len(lines)
    if not most:
        lines.append(f"{counted(len(moved), 'cable')} to move")
    elif hidden:
        lines.append(f"cables to move: {hidden} more, all in the JSON output")
    phases = command_line("phases", "BASE")
    deploy = command_line("deploy", "--from", "BASE")
    return (*lines, f"`{phases}` and `{deploy}` move cables a few at a time, with a work order")


_CABLE_WORDS = {Op.UPDATE: "moved", Op.REMOVE: "removed", Op.ADD: "added"}


def cable_counts(cables: Iterable[CableChange]) -> str:
    """Return the numbers of cables that are moved, removed and added."""
    counts = Counter(cable.op for cable in cables)
    return ", ".join(f"{count:,} {_CABLE_WORDS[op]}" for op, count in counts.items())


def cable_lines(plan: Plan, most: int) -> Iterator[str]:
    """Yield a line for the cables that are removed and one for those that are added; each names the first ``most``."""
    for op in (Op.REMOVE, Op.ADD):
        # A removed cable has an upper end before, an added one after the change.
        ends = [f"{cable.lower} – {cable.before or cable.after}" for cable in changed_cables(plan) if cable.op is op]
        if ends:
            yield f"cables {_CABLE_WORDS[op]}: {len(ends):,}: {first_few(ends, most)}"


def unmanaged(plan: Plan) -> str:
    """Return the numbers of rows and lines that railweave does not own, over all devices; empty without any.

    ``79 rows of 14 tables, 4 FRR lines``: which tables they are is in the JSON output.
    """
    counts: Counter[str] = Counter()
    for device in plan.devices.values():
        counts.update(device.difference.unmanaged or {})
    # FRR's lines are counted as if in a table, whose name is ours and in no CONFIG_DB.
    lines = counts.pop(FRR_TABLE, 0)
    parts = []
    rows = counts.total()
    if rows:
        tables = sum(count > 0 for count in counts.values())
        parts.append(f"{counted(rows, 'row')} of {counted(tables, 'table')}")
    if lines:
        parts.append(counted(lines, "FRR line"))
    return ", ".join(parts)


@dataclass(frozen=True, slots=True)
class _WaveKind:
    """What all waves in one line have in common."""

    role: str
    # The number of devices in each wave.
    devices: int
    # Whether some device of the wave is out of service for a while.
    disruptive: bool
    # Words that end the line; empty if nothing is drained.
    drained: str


def wave_lines(plan: Plan) -> tuple[str, ...]:
    """Return a line for each run of waves of one kind, with their numbers, devices, disruption and drains."""
    lines = []
    first_number = 1
    # Only neighboring waves share a line: the lines are the order of the rollout.
    for kind, run in groupby(plan.waves, key=lambda wave: _wave_kind(plan, wave)):
        waves = list(run)
        lines.append(_wave_line(kind, first_number, waves))
        first_number += len(waves)
    return tuple(lines)


def _wave_line(kind: _WaveKind, first_number: int, waves: Sequence[Sequence[str]]) -> str:
    """Return the line of ``waves``, which are numbered from ``first_number``."""
    names = [name for wave in waves for name in wave]
    line = f"{first_number}"
    if len(waves) > 1:
        last_number = first_number + len(waves) - 1
        line += f"–{last_number}"
    line += f". {compact(names)}"
    if len(names) > 2:
        line += f" ({len(names)})"
    if len(waves) > 1:
        at_a_time = "one"
        if kind.devices > 1:
            at_a_time = str(kind.devices)
        line += f", {at_a_time} at a time"
    if kind.disruptive:
        line += ", disruptive"
    return line + kind.drained


def _wave_kind(plan: Plan, wave: Sequence[str]) -> _WaveKind:
    """Return what a wave has in common with others that share a line; its role is that of its first device."""
    role = ""
    if wave[0] in plan.devices:
        role = plan.devices[wave[0]].role
    known_devices = [plan.devices[name] for name in wave if name in plan.devices]
    return _WaveKind(
        role=role,
        devices=len(wave),
        disruptive=any(device.disruptive for device in known_devices),
        drained=_drained_words(known_devices),
    )


def _drained_words(devices: Iterable[DevicePlan]) -> str:
    """Return what is drained before a wave, to end its line; empty if nothing is."""
    drains = {device.drain for device in devices}
    if drains == {WHOLE}:
        return ", drained first"
    if any(drains):
        return ", with drained links"
    return ""


def drained_lines(plan: Plan) -> tuple[str, ...]:
    """Return a line on the switches that are drained as a whole before their change, and one on those by link."""
    whole = [name for name, device in plan.devices.items() if device.drain == WHOLE]
    by_link = [name for name, device in plan.devices.items() if device.drain and device.drain != WHOLE]
    lines = []
    if whole:
        lines.append(f"drained as a whole before its change: {compact(whole)} ({len(whole)})")
    if by_link:
        sessions = sum(len(plan.devices[name].drain) for name in by_link)
        lines.append(f"drained on the links concerned: {compact(by_link)}, {counted(sessions, 'session')}")
    return tuple(lines)
