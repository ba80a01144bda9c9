"""Whether an earlier rollout can be rolled back, device by device, from what each device says of it."""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field

from railweave.diagnostics import Blocker, Diagnostic, Where, error
from railweave.plan.model import NO_GENERATION, Generation
from railweave.plan.outcome import ConfigState
from railweave.plan.rollout import DeviceRecord, Rollout
from railweave.sonic.delta.snapshot import Snapshot
from railweave.sonic.document import RunningConfig
from railweave.wording import command_line, first_few

_SHOWN = 8


@dataclass(frozen=True, slots=True)
class DeviceReading:
    """What a device says of a rollout.

        ``running`` is what it runs, None where ``error`` says why it could not be read, ``sha256`` its digest.
    ``pending``: a commit waits on it, which the plan refuses. ``commit_id`` is the commit of the rollout that it
    holds, ``snapshot`` what it held before, as its rollback document says; where that is None, ``gone`` says why.
    ``number`` is that of its generation, and ``earlier`` the generation before the commit. ``blockers`` say why the
    switch would refuse the reload that the snapshot takes.
    """

    running: RunningConfig | None = field(default=None, repr=False)
    sha256: str = ""
    pending: bool = False
    commit_id: str = ""
    snapshot: Snapshot | None = None
    gone: str = ""
    error: str = ""
    number: int = 0
    earlier: Generation = NO_GENERATION
    blockers: tuple[Blocker, ...] = ()


def deploy_earlier() -> str:
    """Return the fix where no rollback document of a change is left."""
    return f"deploy the earlier revision of the intent: `{command_line('deploy')}` plans what that takes"


def nothing_to_roll_back(fabric: str, target: str) -> Diagnostic:
    """Return that no rollout of this fabric and target changed anything."""
    return error(
        "RW536",
        f"nothing to roll back: no rollout of {fabric} on {target} that this project has a journal of changed a device",
        fix=f"name a rollout of `railweave rollout list`; without its journal: `{command_line('rollback', '--last')}`",
    )


def changed_nothing(rollout: Rollout) -> Diagnostic:
    """Return that the rollout left no device in a new configuration."""
    return error(
        "RW536",
        f"nothing to roll back: rollout {rollout.name} left no device changed",
        Where(str(rollout.path)),
        fix="name another rollout of `railweave rollout list`",
    )


def config_state(record: DeviceRecord, reading: DeviceReading) -> ConfigState:
    """Return what a device holds of the rollout that ``record`` is of; one that cannot be worked on is partial."""
    if reading.running is None or reading.pending:
        return ConfigState.PARTIAL
    if reading.sha256 == record.before_sha256:
        return ConfigState.BEFORE
    # Where its journal was cut before it could tell, what the switch knows of its last commit has to do.
    after = reading.sha256 == record.after_sha256 if record.after_sha256 else bool(reading.commit_id)
    return ConfigState.AFTER if after else ConfigState.PARTIAL


def rollback_refusals(
    rollout: Rollout, readings: Mapping[str, DeviceReading], newer: Iterable[Rollout]
) -> tuple[Diagnostic, ...]:
    """Return why ``rollout`` cannot be rolled back, by device; nothing where it can.

    ``newer`` are the rollouts of the same fabric and target that came after it, newest first.
    """
    newer = tuple(newer)
    read = {name: one for name, one in readings.items() if one.running is not None and not one.pending}
    states = {name: config_state(rollout.devices[name], one) for name, one in read.items()}
    moved = [name for name, state in states.items() if state is ConfigState.PARTIAL]
    touched = {name: by for name in moved if (by := _touched_by(name, newer))}
    found: list[Diagnostic] = []
    for by in dict.fromkeys(touched.values()):
        names = [name for name, one in touched.items() if one == by]
        fix = f"roll that back first: `{command_line('rollback', by)}`"
        found.append(_refused(rollout, "RW535", names, f"changed by a newer rollout, {by}", fix))
    drifted = [name for name in moved if name not in touched]
    if drifted:
        found.append(_refused(rollout, "RW537", drifted, f"changed since rollout {rollout.name}", deploy_earlier()))
    found += [
        _refused(rollout, "RW539", [name], why, deploy_earlier())
        for name, state in states.items()
        if state is ConfigState.AFTER and (why := _no_snapshot(rollout, read[name]))
    ]
    found += [
        _refused(rollout, one.code, [name], one.message, one.fix)
        for name, state in states.items()
        if state is ConfigState.AFTER
        for one in read[name].blockers
    ]
    return tuple(found)


def _no_snapshot(rollout: Rollout, reading: DeviceReading) -> str:
    """Return why what is kept on a device does not restore what it held before, empty where it does."""
    if reading.snapshot is None:
        return f"its rollback document is gone: {reading.gone}"
    if reading.running is not None and not reading.snapshot.is_reached_from(reading.running):
        return f"its rollback document does not restore what it ran before rollout {rollout.name}"
    return ""


def _touched_by(name: str, newer: Iterable[Rollout]) -> str:
    """Return the newest rollout that changed a device, empty where none did."""
    for rollout in newer:
        record = rollout.devices.get(name)
        if record is not None and record.outcome in ("new", "unreachable", ""):
            return rollout.name
    return ""


def _refused(rollout: Rollout, code: str, names: list[str], why: str, fix: str) -> Diagnostic:
    return error(code, f"{first_few(names, _SHOWN)}: {why}", Where(str(rollout.path)), devices=tuple(names), fix=fix)
