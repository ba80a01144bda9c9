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
    """Return the SHA-256 of a device's changes in their order. Secrets are not part of it."""
    seen_by_device = []
    for change in changes:
        document = change_json("", change)
        seen_by_device.append({name: document[name] for name in _SEEN_BY_THE_DEVICE})
    text = json.dumps(seen_by_device, sort_keys=True, separators=(",", ":"))
    return hashlib.sha256(text.encode()).hexdigest()


def nothing_to_resume(fabric: str, target: str) -> Diagnostic:
    """Return the error if no rollout of this fabric and target was left unfinished."""
    message = f"nothing to resume: no rollout of {fabric} on {target} was left unfinished"
    return error("RW532", message, fix=_plan_again())


def check_journal_version(rollout: Rollout) -> tuple[Diagnostic, ...]:
    """Return an error if the journal of ``rollout`` has a format that this railweave must not act upon."""
    if rollout.version == FORMAT_VERSION:
        return ()
    which = "newer" if rollout.version > FORMAT_VERSION else "older"
    return (
        error(
            "RW531",
            f"the journal of rollout {rollout.name} has format version {rollout.version}, this railweave reads "
            f"version {FORMAT_VERSION}",
            Where(str(rollout.path)),
            fix=f"use the {which} railweave that wrote it, or {_plan_again()} and "
            f"`{command_line('rollback', '--last')}` rolls back without the journal",
        ),
    )


def check_resume(rollout: Rollout, fabric: str, target: str, intent_sha256: str) -> tuple[Diagnostic, ...]:
    """Return the errors if ``rollout`` cannot be resumed with this fabric, target and intent; nothing if it can."""
    diagnostics = check_journal_version(rollout)
    if diagnostics:
        return diagnostics
    if rollout.alive:
        return (still_running(rollout),)
    reason = _why_nothing_remains(rollout)
    if reason:
        where = Where(str(rollout.path))
        return (error("RW532", f"nothing to resume: {reason}", where, fix=_plan_again()),)
    return check_same_intent(rollout, fabric, target, intent_sha256, "deploy --resume")


def _why_nothing_remains(rollout: Rollout) -> str:
    """Return why ``rollout`` has nothing left to do, as a clause; empty if it may have."""
    if rollout.finished:
        return f"rollout {rollout.name} is {rollout.state}"
    if rollout.never_started:
        return f"rollout {rollout.name} stopped before any device was started"
    if not rollout.devices:
        return f"the journal of rollout {rollout.name} does not say what was planned"
    return ""


def still_running(rollout: Rollout) -> Diagnostic:
    """Return the error that ``rollout`` is still running."""
    return error(
        "RW530",
        f"rollout {rollout.name} is running: {rollout.by or 'another process'} runs it",
        Where(str(rollout.path)),
        fix=f"wait for it to end, or abort it: `railweave rollout abort {rollout.name}`",
    )


def check_same_intent(
    rollout: Rollout, fabric: str, target: str, intent_sha256: str, command: str
) -> tuple[Diagnostic, ...]:
    """Return an error if ``rollout`` was made for another fabric, target or intent.

    ``command`` is the command that is refused, such as ``deploy --resume``.
    """
    where = Where(str(rollout.path))
    if (rollout.fabric, rollout.target) != (fabric, target):
        right_command = f"railweave {command} {rollout.name}"
        if rollout.metadata.intent:
            right_command += f" --intent {rollout.metadata.intent}"
        return (
            error(
                "RW533",
                f"rollout {rollout.name} is of {rollout.fabric} on {rollout.target}, not of {fabric} on {target}",
                where,
                fix=f"`{right_command} --target {rollout.target}`",
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
                f" or deploy the intent as it is now: {_plan_again()}",
            ),
        )
    return ()


def came_after(rollout: Rollout, newer: Rollout) -> Diagnostic:
    """Return the error that the rollout ``newer`` changed devices after ``rollout``."""
    return error(
        "RW535",
        f"rollout {newer.name} ({newer.metadata.kind.value}, {newer.state}) came after {rollout.name}",
        Where(str(rollout.path)),
        fix=_plan_again(),
    )


def differing(rollout: Rollout, plan: Plan) -> tuple[Diagnostic, ...]:
    """Return an error if devices would get other changes by ``plan`` than ``rollout`` planned."""
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
            fix=_plan_again(),
        ),
    )


def _differs(rollout: Rollout, name: str, delta: Delta) -> bool:
    record = rollout.devices.get(name)
    return record is None or record.changes_sha256 != changes_sha256(delta)


def unlike_plan(rollout: Rollout, plan: Plan) -> tuple[str, ...]:
    """Return in what ``rollout`` disagrees with ``plan``: fabric, target, intent, limit, and names of devices.

    The rollout may have fewer devices, since those that did not answer were left out.
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
    """Return ``plan`` with its changed devices in the waves of the rollout. Devices that are done are in no wave."""
    return in_waves(fabric, plan, left_of(rollout.waves, plan.names(DeviceState.CHANGED)))


def left_of(waves: Iterable[Iterable[str]], names: Iterable[str]) -> tuple[tuple[str, ...], ...]:
    """Return the waves with only the devices ``names``; waves that become empty are left out."""
    remaining_names = frozenset(names)
    remaining_waves = []
    for wave in waves:
        remaining_wave = tuple(name for name in wave if name in remaining_names)
        if remaining_wave:
            remaining_waves.append(remaining_wave)
    return tuple(remaining_waves)


def found_done(rollout: Rollout, states: Mapping[str, DeviceState]) -> tuple[str, ...]:
    """Return the devices that the rollout was changing when it was cut off and that are as intended now.

    ``states`` are the present states of the devices.
    """
    return tuple(
        name
        for name, record in rollout.devices.items()
        if record.in_doubt and states.get(name) is DeviceState.UNCHANGED
    )


def check_binding(reviewed: Plan, fresh: Plan, file: str) -> tuple[Diagnostic, ...]:
    """Return the errors if the ``reviewed`` plan in ``file`` cannot be carried out now; nothing if it can.

    ``fresh`` is the plan that was made a moment ago to compare it with.
    """
    where = Where(file, 1, 1)
    fix = f"make the plan again with `{command_line('plan', '-o', file)}`, review it, and deploy that"
    diagnostics = _check_purpose(reviewed, fresh, where, fix)
    if diagnostics:
        return diagnostics
    # From here on one reason is enough: the first explains the others.
    if reviewed.assumed_fresh:
        names = reviewed.assumed_fresh
        message = f"the plan assumes that {first_few(names)} are factory-fresh; their configuration was not read"
        fix = "plan again without --skip-unreachable once these switches answer, review that plan, and deploy it"
        return (error("RW529", message, where, devices=names, fix=fix),)
    reconfigured = _reconfigured_devices(reviewed, fresh)
    if reconfigured:
        message = f"{counted(len(reconfigured), 'device')} changed since this plan was made: {', '.join(reconfigured)}"
        return (error("RW503", message, where, devices=reconfigured, fix=fix),)
    differing_devices = _devices_with_other_changes(reviewed, fresh)
    if differing_devices:
        message = f"this version of railweave plans other changes on {', '.join(differing_devices)}"
        return (error("RW504", message, where, devices=differing_devices, fix=fix),)
    return ()


def _check_purpose(reviewed: Plan, fresh: Plan, where: Where, fix: str) -> tuple[Diagnostic, ...]:
    """Return an error for each of fabric, target, intent and policy that the two plans do not share."""
    diagnostics = []
    for name, reviewed_value, fresh_value in (
        ("fabric", reviewed.fabric, fresh.fabric),
        ("target", reviewed.target, fresh.target),
        ("intent", reviewed.intent_sha256, fresh.intent_sha256),
    ):
        if reviewed_value != fresh_value:
            message = f"the plan was made for {name} {reviewed_value}, not {fresh_value}"
            diagnostics.append(error("RW502", message, where, fix=fix))
    if reviewed.policy != fresh.policy:
        message = f"the plan was made under another rollout policy: {reviewed.policy}; the target has: {fresh.policy}"
        diagnostics.append(error("RW502", message, where, fix=fix))
    return tuple(diagnostics)


def _reconfigured_devices(reviewed: Plan, fresh: Plan) -> tuple[str, ...]:
    """Return the devices whose running configuration changed since the plan was made."""
    names = dict.fromkeys((*reviewed.devices, *fresh.devices))
    # Devices outside of a limit may be deployed by another plan meanwhile.
    return tuple(name for name in names if reviewed.includes(name) and _is_reconfigured(reviewed, fresh, name))


def _is_reconfigured(reviewed: Plan, fresh: Plan, name: str) -> bool:
    """Tell whether the running configuration of a device changed since the ``reviewed`` plan was made."""
    reviewed_device = reviewed.devices.get(name)
    fresh_device = fresh.devices.get(name)
    if reviewed_device is None or fresh_device is None:
        return True
    # Unreachable devices are left to the rollout's rule for them, whatever ran on them.
    if fresh_device.state is DeviceState.UNREACHABLE:
        return False
    # The configuration of a device that could not be read then was never reviewed.
    if reviewed_device.state is DeviceState.UNREACHABLE:
        return True
    if reviewed_device.reading.running_sha256 != fresh_device.reading.running_sha256:
        return True
    return _values_outside_digest(reviewed, name) != _values_outside_digest(fresh, name)


def _values_outside_digest(plan: Plan, name: str) -> list[tuple[str | None, object]]:
    """Return (field, value before the change) of changes in rows that ``running_sha256`` leaves out.

    Rollbacks leave such rows behind. Plans of one intent change them differently only if something else runs there.
    """
    edits = [edit for edit in plan.deltas.get(name, ()) if (edit.table, edit.key) in WITHOUT_ROW]
    return [(edit.field, change_json(name, edit)["before"]) for edit in edits]


def _devices_with_other_changes(reviewed: Plan, fresh: Plan) -> tuple[str, ...]:
    """Return the devices that get other changes for the same running configuration, by other templates or rules."""
    readable = (name for name, device in fresh.devices.items() if device.state is not DeviceState.UNREACHABLE)
    return tuple(name for name in readable if _changes_json(reviewed, name) != _changes_json(fresh, name))


def _changes_json(plan: Plan, name: str) -> list[dict[str, object]]:
    return [change_json(name, change) for change in plan.deltas.get(name, ())]


def _plan_again() -> str:
    """Return the fix for a rollout that cannot be resumed, as a clause."""
    return f"`{command_line('deploy')}` makes a new plan"
