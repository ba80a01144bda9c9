"""Reviewed plans and unfinished rollouts: whether they may still be carried out, and what of them is left.

A plan file binds the intent, the devices' running configuration and the changes. A deployment reads the devices anew
and continues only where all three still hold.

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
"""What makes two changes the same one; reasons and grades of disruption are words about it."""

_SHOWN = 8


def changes_sha256(changes: Iterable[Change]) -> str:
    """Return the digest of a device's changes, in their order; secrets are no part of it."""
    shown = [{name: told[name] for name in _SEEN_BY_THE_DEVICE} for told in (change_json("", one) for one in changes)]
    return hashlib.sha256(json.dumps(shown, sort_keys=True, separators=(",", ":")).encode()).hexdigest()


def nothing_to_resume(fabric: str, target: str) -> Diagnostic:
    """Return that no rollout of this fabric and target was left unfinished."""
    return error("RW532", f"nothing to resume: no rollout of {fabric} on {target} was left unfinished", fix=_afresh())


def of_other_version(rollout: Rollout) -> tuple[Diagnostic, ...]:
    """Return that the journal of ``rollout`` has a format that this railweave must not act upon; nothing where not."""
    if rollout.version == FORMAT_VERSION:
        return ()
    newer = rollout.version > FORMAT_VERSION
    return (
        error(
            "RW531",
            f"the journal of rollout {rollout.name} has format version {rollout.version}, this railweave reads "
            f"version {FORMAT_VERSION}",
            Where(str(rollout.path)),
            fix=f"use the {'newer' if newer else 'older'} railweave that wrote it, or {_afresh()} and "
            f"`{command_line('rollback', '--last')}` rolls back without the journal",
        ),
    )


def check_resume(rollout: Rollout, fabric: str, target: str, intent_sha256: str) -> tuple[Diagnostic, ...]:
    """Return why ``rollout`` cannot be carried on with this fabric, target and intent; nothing where it can."""
    where = Where(str(rollout.path))
    if refused := of_other_version(rollout):
        return refused
    if rollout.alive:
        return (still_running(rollout),)
    if rollout.finished:
        return (error("RW532", f"nothing to resume: rollout {rollout.name} is {rollout.state}", where, fix=_afresh()),)
    if rollout.never_started:
        told = f"nothing to resume: rollout {rollout.name} stopped before any device was started"
        return (error("RW532", told, where, fix=_afresh()),)
    if not rollout.devices:
        told = f"nothing to resume: the journal of rollout {rollout.name} does not say what was planned"
        return (error("RW532", told, where, fix=_afresh()),)
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
        named = f" --intent {rollout.intent}" if rollout.intent else ""
        return (
            error(
                "RW533",
                f"rollout {rollout.name} is of {rollout.fabric} on {rollout.target}, not of {fabric} on {target}",
                where,
                fix=f"`railweave {command} {rollout.name}{named} --target {rollout.target}`",
            ),
        )
    if rollout.intent_sha256 != intent_sha256:
        return (
            error(
                "RW534",
                f"the intent is another than that of rollout {rollout.name} "
                f"({intent_sha256[:8]}, the rollout's is {rollout.intent_sha256[:8]})",
                where,
                fix=f"check out the rollout's revision of {rollout.intent or 'the intent'} and run this again, "
                f"or deploy the intent as it is now: {_afresh()}",
            ),
        )
    return ()


def came_after(rollout: Rollout, newer: Rollout) -> Diagnostic:
    """Return that ``newer`` changed devices after ``rollout``."""
    return error(
        "RW535",
        f"rollout {newer.name} ({newer.kind.value}, {newer.state}) came after {rollout.name}",
        Where(str(rollout.path)),
        fix=_afresh(),
    )


def differing(rollout: Rollout, plan: Plan) -> tuple[Diagnostic, ...]:
    """Return that devices would get other changes now than the rollout planned; nothing where all is as it was."""
    moved = tuple(name for name, delta in plan.deltas.items() if _differs(rollout, name, delta))
    if not moved:
        return ()
    return (
        error(
            "RW535",
            f"{first_few(moved, _SHOWN)}: the changes that are left are other ones than rollout {rollout.name} "
            "planned; the configuration or this version of railweave changed since",
            Where(str(rollout.path)),
            devices=moved,
            fix=_afresh(),
        ),
    )


def _differs(rollout: Rollout, name: str, delta: Delta) -> bool:
    record = rollout.devices.get(name)
    return record is None or record.changes_sha256 != changes_sha256(delta)


def unlike_plan(rollout: Rollout, plan: Plan) -> tuple[str, ...]:
    """Return what the journal of a deployment tells otherwise than ``plan``: fabric, target, intent, or devices.

    It may have fewer devices: those that did not answer were left out.
    """
    about = {
        "fabric": (rollout.fabric, plan.fabric),
        "target": (rollout.target, plan.target),
        "intent": (rollout.intent_sha256, plan.intent_sha256),
    }
    differing = [name for name, (one, other) in about.items() if one != other]
    return (*differing, *(name for name in rollout.devices if _differs(rollout, name, plan.deltas.get(name, Delta()))))


def in_journaled_order(fabric: Fabric, rollout: Rollout, plan: Plan) -> Plan:
    """Return ``plan`` with its devices in the waves of the rollout, without those that are done."""
    return in_waves(fabric, plan, left_of(rollout.waves, plan.names(DeviceState.CHANGED)))


def left_of(waves: Iterable[Iterable[str]], names: Iterable[str]) -> tuple[tuple[str, ...], ...]:
    """Return the waves with these devices alone; waves that become empty are left out."""
    chosen = frozenset(names)
    kept = (tuple(name for name in wave if name in chosen) for wave in waves)
    return tuple(wave for wave in kept if wave)


def found_done(rollout: Rollout, states: Mapping[str, DeviceState]) -> tuple[str, ...]:
    """Return the devices in the middle of which the rollout was cut off and that turn out to be done."""
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
    found: list[Diagnostic] = []
    for name, planned, now in (
        ("fabric", reviewed.fabric, fresh.fabric),
        ("target", reviewed.target, fresh.target),
        ("intent", reviewed.intent_sha256, fresh.intent_sha256),
    ):
        if planned != now:
            found.append(error("RW502", f"this plan is of the {name} {planned}, not {now}", where, fix=again))
    if reviewed.policy != fresh.policy:
        message = f"this plan is of another rollout policy ({reviewed.policy}) than the target's ({fresh.policy})"
        found.append(error("RW502", message, where, fix=again))
    if found:
        return tuple(found)
    if assumed := reviewed.assumed_fresh:
        found.append(
            error(
                "RW529",
                f"this plan takes {first_few(assumed)} for factory-fresh: nobody has read what runs there",
                where,
                devices=assumed,
                fix="plan again without --skip-unreachable once these switches answer, review that plan, and deploy it",
            )
        )
        return tuple(found)
    moved = _moved(reviewed, fresh)
    if moved:
        found.append(
            error(
                "RW503",
                f"{counted(len(moved), 'device')} changed since this plan was made: {', '.join(moved)}",
                where,
                devices=moved,
                fix=again,
            )
        )
        return tuple(found)
    differing = _differing(reviewed, fresh)
    if differing:
        found.append(
            error(
                "RW504",
                f"this version of railweave would make other changes on {', '.join(differing)}",
                where,
                devices=differing,
                fix=again,
            )
        )
    return tuple(found)


def _moved(reviewed: Plan, fresh: Plan) -> tuple[str, ...]:
    """Return the devices whose running configuration is another than when the plan was made.

    A device that can not be reached now is left to the rule for unreachable devices; one that could not be reached
    then and can now was never reviewed.
    """
    names = dict.fromkeys((*reviewed.devices, *fresh.devices))
    return tuple(name for name in names if _has_moved(reviewed, fresh, name))


def _has_moved(reviewed: Plan, fresh: Plan, name: str) -> bool:
    then, now = reviewed.devices.get(name), fresh.devices.get(name)
    if then is None or now is None:
        return True
    if now.state is DeviceState.UNREACHABLE:
        return False
    if then.state is DeviceState.UNREACHABLE or then.running_sha256 != now.running_sha256:
        return True
    return _left_by_rollbacks(reviewed, name) != _left_by_rollbacks(fresh, name)


def _left_by_rollbacks(plan: Plan, name: str) -> list[tuple[str | None, object]]:
    """Return what runs in the rows that the digest leaves out as rollbacks do, as far as the plan changes it.

    Plans of one intent change them otherwise only where something else runs there.
    """
    edits = [one for one in plan.deltas.get(name, ()) if (one.table, one.key) in WITHOUT_ROW]
    return [(edit.field, change_json(name, edit)["before"]) for edit in edits]


def _differing(reviewed: Plan, fresh: Plan) -> tuple[str, ...]:
    """Return the devices for which the same start leads to other changes: another version of templates or rules."""
    planned, now = reviewed.deltas, fresh.deltas
    return tuple(
        name
        for name, device in fresh.devices.items()
        if device.state is not DeviceState.UNREACHABLE
        and [change_json(name, one) for one in planned.get(name, ())]
        != [change_json(name, one) for one in now.get(name, ())]
    )


def _afresh() -> str:
    return f"`{command_line('deploy')}` plans afresh"
