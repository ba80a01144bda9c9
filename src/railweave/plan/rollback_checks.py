"""Whether an earlier rollout can be rolled back, device by device, from what each device says of it."""

from collections.abc import Iterable, Iterator, Mapping, Sequence
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
    """What a device reports about a rollout."""

    # What it runs; None if ``error`` says why it could not be read.
    running: RunningConfig | None = field(default=None, repr=False)
    # The digest of ``running``.
    sha256: str = ""
    # A commit awaits confirmation on it, which refuses the rollback.
    pending: bool = False
    # The commit of the rollout that the device holds.
    commit_id: str = ""
    # What it held before, from its rollback document.
    snapshot: Snapshot | None = None
    # Why there is no snapshot.
    gone: str = ""
    error: str = ""
    # The number of its generation.
    number: int = 0
    # The generation before the commit.
    earlier: Generation = NO_GENERATION
    # Why it would refuse the reload that the snapshot takes.
    blockers: tuple[Blocker, ...] = ()


def deploy_earlier() -> str:
    """Return the fix for a change whose rollback document is not left."""
    return f"deploy the earlier revision of the intent: `{command_line('deploy')}` plans what that takes"


def nothing_to_roll_back(fabric: str, target: str) -> Diagnostic:
    """Return the error if no rollout of this fabric and target changed anything."""
    return error(
        "RW536",
        f"nothing to roll back: this project has no journal of a rollout of {fabric} on {target} that changed a device",
        fix=f"name a rollout of `railweave rollout list`; without its journal: `{command_line('rollback', '--last')}`",
    )


def changed_nothing(rollout: Rollout) -> Diagnostic:
    """Return the error if the rollout left no device in a new configuration."""
    return error(
        "RW536",
        f"nothing to roll back: rollout {rollout.name} left no device changed",
        Where(str(rollout.path)),
        fix="name another rollout of `railweave rollout list`",
    )


def config_state(record: DeviceRecord, reading: DeviceReading) -> ConfigState:
    """Return which configuration of the rollout a device holds.

    It is partial for a device that was not read or on which a commit is pending.
    """
    if reading.running is None or reading.pending:
        return ConfigState.PARTIAL
    if reading.sha256 == record.before_sha256:
        return ConfigState.BEFORE
    if record.after_sha256:
        holds_after = reading.sha256 == record.after_sha256
    else:
        # The journal was cut off before the digest was known: use the switch's record of its last commit.
        holds_after = bool(reading.commit_id)
    return ConfigState.AFTER if holds_after else ConfigState.PARTIAL


def rollback_refusals(
    rollout: Rollout, readings: Mapping[str, DeviceReading], newer: Iterable[Rollout]
) -> tuple[Diagnostic, ...]:
    """Return the errors if ``rollout`` cannot be rolled back; nothing if it can.

    Devices that were not read or on which a commit is pending are left out.
    ``newer`` are the rollouts of the same fabric and target that came after it, newest first.
    """
    partial: list[str] = []
    committed: dict[str, DeviceReading] = {}
    for name, reading in readings.items():
        if reading.running is None or reading.pending:
            continue
        state = config_state(rollout.devices[name], reading)
        if state is ConfigState.PARTIAL:
            partial.append(name)
        elif state is ConfigState.AFTER:
            committed[name] = reading
    return (*_changed_since(rollout, partial, tuple(newer)), *_cannot_restore(rollout, committed))


def _changed_since(rollout: Rollout, names: Iterable[str], newer: Sequence[Rollout]) -> Iterator[Diagnostic]:
    """Yield an error for each newer rollout that changed some of the devices, and one for devices that drifted.

    ``names`` are devices that hold neither configuration of ``rollout``; ``newer`` are rollouts, newest first.
    """
    changed_by: dict[str, list[str]] = {}
    drifted = []
    for name in names:
        newer_rollout = _newest_rollout_of(name, newer)
        if newer_rollout:
            changed_by.setdefault(newer_rollout, []).append(name)
        else:
            drifted.append(name)
    for newer_rollout, changed in changed_by.items():
        fix = f"roll that back first: `{command_line('rollback', newer_rollout)}`"
        yield _refused(rollout, "RW535", changed, f"changed by a newer rollout, {newer_rollout}", fix)
    if drifted:
        yield _refused(rollout, "RW537", drifted, f"changed since rollout {rollout.name}", deploy_earlier())


def _cannot_restore(rollout: Rollout, committed: Mapping[str, DeviceReading]) -> Iterator[Diagnostic]:
    """Yield an error for each device that holds the rollout's configuration and cannot restore the one before it."""
    for name, reading in committed.items():
        reason = _no_snapshot(rollout, reading)
        if reason:
            yield _refused(rollout, "RW539", [name], reason, deploy_earlier())
    for name, reading in committed.items():
        for blocker in reading.blockers:
            yield _refused(rollout, blocker.code, [name], blocker.message, blocker.fix)


def _no_snapshot(rollout: Rollout, reading: DeviceReading) -> str:
    """Return why a device's rollback document does not restore what it held before; empty if it does."""
    if reading.snapshot is None:
        return f"its rollback document is gone: {reading.gone}"
    if reading.running is not None and not reading.snapshot.is_reached_from(reading.running):
        return f"its rollback document does not restore what it ran before rollout {rollout.name}"
    return ""


def _newest_rollout_of(name: str, newer: Iterable[Rollout]) -> str:
    """Return the name of the newest rollout that may have changed a device; empty if none may have.

    ``newer`` are newest first.
    """
    for rollout in newer:
        record = rollout.devices.get(name)
        if record is not None and record.outcome in ("new", "unreachable", ""):
            return rollout.name
    return ""


def _refused(rollout: Rollout, code: str, names: list[str], why: str, fix: str) -> Diagnostic:
    """Return the error that the devices ``names`` keep ``rollout`` from being rolled back."""
    return error(code, f"{first_few(names, _SHOWN)}: {why}", Where(str(rollout.path)), devices=tuple(names), fix=fix)
