"""Carrying on a rollout whose process was lost, or which stopped: revert its unconfirmed commits, and see what is left.

Nothing is concluded from the journal about what a device holds; the journal tells whose the commits are that wait on
the devices, what was planned, and in which order. The devices tell the rest.
"""

from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

from nornir.core import Nornir
from nornir.core.task import Result, Task

from nornir_railweave.device.device import ForestalledError, ReachedDevice
from nornir_railweave.device.reading import IntendedConfig
from nornir_railweave.device.restore import restore
from nornir_railweave.device.session import DEVICE_ERRORS, error_text, session
from nornir_railweave.events import Event, Events, Step
from nornir_railweave.rollout.rollouts import rollouts
from nornir_railweave.target.connect import run_on
from railweave.plan.model import Plan
from railweave.plan.outcome import Outcome
from railweave.plan.resumption import found_done
from railweave.plan.rollout import DeviceRecord, Rollout
from railweave.sonic.delta.snapshot import Snapshot
from railweave.sonic.rows import DeviceConfig
from railweave.switch_driver import CommitStatus
from railweave.wording import first_few


def newest_unfinished(folder: Path, fabric: str, target: str) -> Rollout | None:
    """Return the newest rollout of this fabric and target, if it was not finished; else None.

    One that a finished rollout came after is no longer unfinished: its devices were brought elsewhere since.
    """
    for rollout in rollouts(folder, fabric, target):
        if rollout.finished:
            return None
        if rollout.never_started:
            continue
        if rollout.alive or rollout.devices:
            return rollout
    return None


def newer_change(folder: Path, rollout: Rollout) -> Rollout | None:
    """Return the newest rollout of the same fabric and target that came after ``rollout`` and changed devices."""
    for newer in rollouts(folder, rollout.fabric, rollout.target):
        if newer.name == rollout.name:
            return None
        if newer.changed:
            return newer
    return None


def revert_pending(
    nr: Nornir, rollout: Rollout, intended: IntendedConfig, *, reconnect_s: float, announce: Events
) -> dict[str, str]:
    """Restore what devices held before the commits of ``rollout`` that wait on them; return why that failed, by device.

    Nothing waits on a device that ended new or that the rollout never came to. Devices that the intent no longer has
    cannot be reached and are left out: their own timers revert what waits.
    """
    names = [
        name
        for name, record in rollout.devices.items()
        if record.step and record.outcome != "new" and name in nr.inventory.hosts
    ]
    results = run_on(
        nr, names, revert_pending_commit, rollout=rollout, intended=intended, reconnect_s=reconnect_s, announce=announce
    )
    return {name: str(why) for name, why in results.items() if why}


def write_down_done(rollout: Rollout, plan: Plan, announce: Events) -> None:
    """Tell the journal of devices that are done and of which it does not know, so that they can be rolled back."""
    states = {name: device.state for name, device in plan.devices.items()}
    for name in found_done(rollout, states):
        made = rollout.devices[name].commit_ids
        details = {"commit_id": made[-1] if made else "", "after_sha256": plan.devices[name].reading.running_sha256}
        announce(Event(Step.CONFIRMED, name, "found in its new configuration", details))
        announce(Event(Step.OUTCOME, name, details={"outcome": Outcome.NEW.value}))


_ATTEMPTS = 2


@dataclass(frozen=True, slots=True)
class _Ownership:
    """Which commits of a device are a rollout's: by id or message, else by where the journal ends."""

    rollout: Rollout
    record: DeviceRecord

    def made(self, last: CommitStatus) -> bool:
        """Tell whether a pending commit is the rollout's."""
        if last.commit_id:
            return self.rollout.owns(last.commit_id, last.message)
        return self.record.in_doubt

    def refuse(self, last: CommitStatus) -> None:
        """Raise ForestalledError where somebody else's commit came: then nothing of the rollout waits any more."""
        if last.commit_id and not self.made(last):
            raise ForestalledError(last)


def revert_pending_commit(
    task: Task, rollout: Rollout, intended: Callable[[str], DeviceConfig], reconnect_s: float, announce: Events
) -> Result:
    """Restore what the device held before its pending commit, and undrain it, if these are of ``rollout``.

    A commit of anybody else is left alone: the plan that is made next names it. The result is failed where the device
    could not be freed; the plan reports that too.
    """
    if task.is_dry_run():
        return Result(host=task.host, result="dry run; nothing was done")
    name = task.host.name
    owned = _Ownership(rollout, rollout.devices[name])
    with session(task) as opened:
        device = ReachedDevice(opened, name, announce, reconnect_s)
        for attempt in range(_ATTEMPTS):
            try:
                if attempt:
                    device.reconnect()
                missing = _revert_or_undrain(device, owned, intended)
            except DEVICE_ERRORS as fault:
                why = error_text(fault)
                device.say(Step.LOST, why)
            else:
                why = f"not restored: {first_few(missing)}" if missing else ""
                return Result(host=task.host, result=why, failed=bool(missing))
    return Result(host=task.host, result=why, failed=True)


def _revert_or_undrain(
    device: ReachedDevice, owned: _Ownership, intended: Callable[[str], DeviceConfig]
) -> tuple[str, ...]:
    """Restore what a device held where a commit of the rollout waits, else undrain; return what is missing then."""
    last = device.last_commit()
    if last.pending and owned.made(last):
        device.say(Step.ROLLING_BACK, "its commit was never confirmed")
        # The journal has no rows, only the digest of what the device held.
        before = Snapshot({}, None, intended(device.name), owned.record.before_sha256)
        try:
            missing = restore(device, before, owned.made, "", owned.refuse)
        except ForestalledError:
            return ()
        if not missing:
            device.say(Step.ROLLED_BACK)
        return missing
    if not last.pending and owned.record.drained and device.drained():
        device.driver.undrain()
        device.say(Step.UNDRAINED)
    return ()
