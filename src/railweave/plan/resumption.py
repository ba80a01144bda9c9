"""Reviewed plans and unfinished rollouts: whether they may still be carried out, and what is left to do.

A plan file binds the intent, the devices' running configuration and the changes. A deployment reads the devices again
and continues only if all three still match.

A resumed rollout does what was planned and reviewed, nothing else: the intent is the same file, and every device that
still holds its old configuration gets exactly the changes that the journal has the digest of, in the journal's order.
"""

import hashlib
import json
from collections.abc import Iterable, Mapping

from railweave.diagnostics import Diagnostic, Where, error
from railweave.fabric.model import Fabric
from railweave.plan.build import in_waves
from railweave.plan.document import change_json
from railweave.plan.model import DeviceState, Plan
from railweave.plan.rollout import FORMAT_VERSION, Rollout
from railweave.sonic.delta.change import Change, Delta
from railweave.sonic.neutral import WITHOUT_ROW
from railweave.wording import command_line, counted, first_few

_SEEN_BY_THE_DEVICE = ("op", "table", "key", "field", "before", "after", "method")
"""The keys that identify a change: a newer railweave may word the reason, or grade the disruption, differently."""

_SHOWN = 8


def changes_sha256(changes: Iterable[Change]) -> str:
    """Return the digest of a device's changes, in their order; secrets are no part of it."""
    seen_by_device = []
    for change in changes:
        document = change_json("", change)
        seen_by_device.append({name: document[name] for name in _SEEN_BY_THE_DEVICE})
    text = json.dumps(seen_by_device, sort_keys=True, separators=(",", ":"))
    return hashlib.sha256(text.encode()).hexdigest()


def nothing_to_resume(fabric: str, target: str) -> Diagnostic:
    """Return that no rollout of this fabric and target was left unfinished."""
    return error("RW532", f"nothing to resume: no rollout of {fabric} on {target} was left unfinished", fix=_afresh())


def of_other_version(rollout: Rollout) -> tuple[Diagnostic, ...]:
    """Return that the journal of ``rollout`` has a format that this railweave must not act upon; nothing where not."""
    if rollout.version == FORMAT_VERSION:
        return ()
    which = "newer" if rollout.version > FORMAT_VERSION else "older"
    return (
        error(
            "RW531",
            f"the journal of rollout {rollout.name} has format version {rollout.version}, this railweave reads "
            f"version {FORMAT_VERSION}",
            Where(str(rollout.path)),
            fix=f"use the {which} railweave that wrote it, or {_afresh()} and "
            f"`{command_line('rollback', '--last')}` rolls back without the journal",
        ),
    )


def check_resume(rollout: Rollout, fabric: str, target: str, intent_sha256: str) -> tuple[Diagnostic, ...]:
    """Return why ``rollout`` cannot be resumed with this fabric, target and intent; nothing if it can."""
    refused = of_other_version(rollout)
    if refused:
        return refused
    if rollout.alive:
        return (still_running(rollout),)
    reason = ""
    if rollout.finished:
        reason = f"rollout {rollout.name} is {rollout.state}"
    elif rollout.never_started:
        reason = f"rollout {rollout.name} stopped before any device was started"
    elif not rollout.devices:
        reason = f"the journal of rollout {rollout.name} does not say what was planned"
    if reason:
        where = Where(str(rollout.path))
        return (error("RW532", f"nothing to resume: {reason}", where, fix=_afresh()),)
    return of_another(rollout, fabric, target, intent_sha256, "deploy --resume")


def still_running(rollout: Rollout) -> Diagnostic:
    """Return that the rollout is running."""
    return error(
        "RW530",
        f"rollout {rollout.name} is running: {rollout.by or 'another process'} runs it",
        Where(str(rollout.path)),
        fix=f"wait for it to end, or abort it: `railweave rollout abort {rollout.name}`",
    )


def of_another(rollout: Rollout, fabric: str, target: str, intent_sha256: str, command: str) -> tuple[Diagnostic, ...]:
    """Return that ``rollout`` is of another fabric, target or intent than those at hand."""
    where = Where(str(rollout.path))
    if (rollout.fabric, rollout.target) != (fabric, target):
        right = f"railweave {command} {rollout.name}"
        if rollout.metadata.intent:
            right += f" --intent {rollout.metadata.intent}"
        return (
            error(
                "RW533",
                f"rollout {rollout.name} is of {rollout.fabric} on {rollout.target}, not of {fabric} on {target}",
                where,
                fix=f"`{right} --target {rollout.target}`",
            ),
        )
    if rollout.intent_sha256 != intent_sha256:
        return (
            error(
                "RW534",
                f"the intent has changed since rollout {rollout.name} "
                f"(now {intent_sha256[:8]}, then {rollout.intent_sha256[:8]})",
                where,
                fix=f"check out the rollout's revision of {rollout.metadata.intent or 'the intent'} and run this again,"
                f" or deploy the intent as it is now: {_afresh()}",
            ),
        )
    return ()


def came_after(rollout: Rollout, newer: Rollout) -> Diagnostic:
    """Return that ``newer`` changed devices after ``rollout``."""
    return error(
        "RW535",
        f"rollout {newer.name} ({newer.metadata.kind.value}, {newer.state}) came after {rollout.name}",
        Where(str(rollout.path)),
        fix=_afresh(),
    )


def differing(rollout: Rollout, plan: Plan) -> tuple[Diagnostic, ...]:
    """Return the error for devices that would get other changes now than the rollout planned."""
    changed = tuple(name for name, delta in plan.deltas.items() if _differs(rollout, name, delta))
    if not changed:
        return ()
    return (
        error(
            "RW535",
            f"{first_few(changed, _SHOWN)}: the remaining changes differ from what rollout {rollout.name} planned; "
            "the configuration or the version of railweave has changed since",
            Where(str(rollout.path)),
            devices=changed,
            fix=_afresh(),
        ),
    )


def _differs(rollout: Rollout, name: str, delta: Delta) -> bool:
    record = rollout.devices.get(name)
    return record is None or record.changes_sha256 != changes_sha256(delta)


def unlike_plan(rollout: Rollout, plan: Plan) -> tuple[str, ...]:
    """Return where the journal of a deployment disagrees with ``plan``: fabric, target, intent, or devices.

    It may have fewer devices: those that did not answer were left out.
    """
    differences = []
    if rollout.fabric != plan.fabric:
        differences.append("fabric")
    if rollout.target != plan.target:
        differences.append("target")
    if rollout.intent_sha256 != plan.intent_sha256:
        differences.append("intent")
    if rollout.metadata.limit != plan.limit:
        differences.append("limit")
    devices = (name for name in rollout.devices if _differs(rollout, name, plan.deltas.get(name, Delta())))
    return (*differences, *devices)


def in_journaled_order(fabric: Fabric, rollout: Rollout, plan: Plan) -> Plan:
    """Return ``plan`` with its devices in the waves of the rollout, without those that are done."""
    return in_waves(fabric, plan, left_of(rollout.waves, plan.names(DeviceState.CHANGED)))


def left_of(waves: Iterable[Iterable[str]], names: Iterable[str]) -> tuple[tuple[str, ...], ...]:
    """Return the waves with these devices alone; waves that become empty are left out."""
    chosen = frozenset(names)
    kept = (tuple(name for name in wave if name in chosen) for wave in waves)
    return tuple(wave for wave in kept if wave)


def found_done(rollout: Rollout, states: Mapping[str, DeviceState]) -> tuple[str, ...]:
    """Return the devices that were being changed when the rollout was cut off and that have the intended state now."""
    return tuple(
        name
        for name, record in rollout.devices.items()
        if record.in_doubt and states.get(name) is DeviceState.UNCHANGED
    )


def check_binding(reviewed: Plan, fresh: Plan, file: str) -> tuple[Diagnostic, ...]:
    """Return why the ``reviewed`` plan of ``file`` can not be carried out now; nothing where it can.

    ``fresh`` is the plan of the same intent and target made a moment ago.
    """
    where = Where(file, 1, 1)
    again = f"make the plan again with `{command_line('plan', '-o', file)}`, review it, and deploy that"
    of_another_intent = _of_another_intent(reviewed, fresh, where, again)
    if of_another_intent:
        return of_another_intent
    # From here on one reason is enough: the first explains the others.
    if reviewed.assumed_fresh:
        names = reviewed.assumed_fresh
        message = f"the plan assumes that {first_few(names)} are factory-fresh; their configuration was not read"
        fix = "plan again without --skip-unreachable once these switches answer, review that plan, and deploy it"
        return (error("RW529", message, where, devices=names, fix=fix),)
    moved = _moved(reviewed, fresh)
    if moved:
        message = f"{counted(len(moved), 'device')} changed since this plan was made: {', '.join(moved)}"
        return (error("RW503", message, where, devices=moved, fix=again),)
    differing = _differing(reviewed, fresh)
    if differing:
        message = f"this version of railweave plans other changes on {', '.join(differing)}"
        return (error("RW504", message, where, devices=differing, fix=again),)
    return ()


def _of_another_intent(reviewed: Plan, fresh: Plan, where: Where, fix: str) -> tuple[Diagnostic, ...]:
    """Return the errors for a plan of another fabric, target, intent or policy."""
    diagnostics = [
        error("RW502", f"the plan was made for {name} {planned}, not {now}", where, fix=fix)
        for name, planned, now in (
            ("fabric", reviewed.fabric, fresh.fabric),
            ("target", reviewed.target, fresh.target),
            ("intent", reviewed.intent_sha256, fresh.intent_sha256),
        )
        if planned != now
    ]
    if reviewed.policy != fresh.policy:
        message = f"the plan was made under another rollout policy: {reviewed.policy}; the target has: {fresh.policy}"
        diagnostics.append(error("RW502", message, where, fix=fix))
    return tuple(diagnostics)


def _moved(reviewed: Plan, fresh: Plan) -> tuple[str, ...]:
    """Return the devices whose running configuration changed since the plan was made."""
    names = dict.fromkeys((*reviewed.devices, *fresh.devices))
    # What a limit leaves out may be deployed by another plan meanwhile.
    return tuple(name for name in names if reviewed.includes(name) and _has_moved(reviewed, fresh, name))


def _has_moved(reviewed: Plan, fresh: Plan, name: str) -> bool:
    then = reviewed.devices.get(name)
    now = fresh.devices.get(name)
    if then is None or now is None:
        return True
    # The rule for unreachable devices decides, whatever ran on them.
    if now.state is DeviceState.UNREACHABLE:
        return False
    # What a device runs that could not be read then was never reviewed.
    if then.state is DeviceState.UNREACHABLE or then.reading.running_sha256 != now.reading.running_sha256:
        return True
    return _left_by_rollbacks(reviewed, name) != _left_by_rollbacks(fresh, name)


def _left_by_rollbacks(plan: Plan, name: str) -> list[tuple[str | None, object]]:
    """Return the values before the change in rows that ``running_sha256`` leaves out.

    Rollbacks leave such rows behind. Plans of one intent change them differently only if something else runs there.
    """
    edits = [edit for edit in plan.deltas.get(name, ()) if (edit.table, edit.key) in WITHOUT_ROW]
    return [(edit.field, change_json(name, edit)["before"]) for edit in edits]


def _differing(reviewed: Plan, fresh: Plan) -> tuple[str, ...]:
    """Return the devices for which the same start leads to other changes: another version of templates or rules."""
    readable = (name for name, device in fresh.devices.items() if device.state is not DeviceState.UNREACHABLE)
    return tuple(name for name in readable if _changes_json(reviewed, name) != _changes_json(fresh, name))


def _changes_json(plan: Plan, name: str) -> list[dict[str, object]]:
    return [change_json(name, change) for change in plan.deltas.get(name, ())]


def _afresh() -> str:
    return f"`{command_line('deploy')}` makes a new plan"
