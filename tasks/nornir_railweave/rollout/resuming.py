"""Resuming a rollout whose process was lost, or which stopped: its unconfirmed commits are reverted first.

The journal tells which pending commits are the rollout's, what was planned, and in which order. What a device runs is
always read from the device.
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
    """Return the newest rollout of this fabric and target that was not finished; None if there is none.

    One that is older than a finished rollout does not count: its devices were changed again since.
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
    """Revert the pending commits of ``rollout``; return the reason for each device where that failed.

    Devices that the intent no longer has cannot be reached and are left out: their own timers revert their commits.
    """
    names: list[str] = []
    for name, record in rollout.devices.items():
        # A device that was not begun, or whose commit was confirmed, has no pending commit of the rollout.
        may_be_pending = record.step and record.outcome != "new"
        if may_be_pending and name in nr.inventory.hosts:
            names.append(name)
    results = run_on(
        nr, names, revert_pending_commit, rollout=rollout, intended=intended, reconnect_s=reconnect_s, announce=announce
    )
    return {name: str(why) for name, why in results.items() if why}


def write_down_done(rollout: Rollout, plan: Plan, announce: Events) -> None:
    """Write into the journal which devices were found in their new configuration, so that they can be rolled back."""
    states = {name: device.state for name, device in plan.devices.items()}
    for name in found_done(rollout, states):
        commit_ids = rollout.devices[name].commit_ids
        details = {
            "commit_id": commit_ids[-1] if commit_ids else "",
            "after_sha256": plan.devices[name].reading.running_sha256,
        }
        announce(Event(Step.CONFIRMED, name, "found in its new configuration", details))
        announce(Event(Step.OUTCOME, name, details={"outcome": Outcome.NEW.value}))


_ATTEMPTS = 2


@dataclass(frozen=True, slots=True)
class _Ownership:
    """Recognizes the commits of a rollout on a device: by id or message, else by the device's last step."""

    rollout: Rollout
    record: DeviceRecord

    def made(self, last: CommitStatus) -> bool:
        """Tell whether a pending commit is the rollout's."""
        if last.commit_id:
            return self.rollout.owns(last.commit_id, last.message)
        return self.record.in_doubt

    def refuse(self, last: CommitStatus) -> None:
        """Raise ForestalledError if the last commit is somebody else's: the rollout has no pending commit then."""
        if last.commit_id and not self.made(last):
            raise ForestalledError(last)


def revert_pending_commit(
    task: Task, rollout: Rollout, intended: Callable[[str], DeviceConfig], reconnect_s: float, announce: Events
) -> Result:
    """Revert the pending commit of a device, or undrain it, if that commit or drain is of ``rollout``.

    Return why that failed, empty for success; the next plan reports it too. Somebody else's commit is left as it is,
    and the next plan names it.
    """
    if task.is_dry_run():
        return Result(host=task.host, result="dry run; nothing was done")
    name = task.host.name
    owned = _Ownership(rollout, rollout.devices[name])
    failure = ""
    with session(task) as opened:
        device = ReachedDevice(opened, name, announce, reconnect_s)
        for attempt in range(_ATTEMPTS):
            try:
                if attempt:
                    device.reconnect()
                missing = _revert_or_undrain(device, owned, intended)
            except DEVICE_ERRORS as fault:
                failure = error_text(fault)
                device.say(Step.LOST, failure)
                continue
            failure = f"not restored: {first_few(missing)}" if missing else ""
            break
    return Result(host=task.host, result=failure, failed=bool(failure))


def _revert_or_undrain(
    device: ReachedDevice, owned: _Ownership, intended: Callable[[str], DeviceConfig]
) -> tuple[str, ...]:
    """Revert the device's pending commit, or end its drain, if that is the rollout's.

    Return what of the earlier configuration is missing after the revert; empty if nothing is.
    """
    last = device.last_commit()
    if last.pending and owned.made(last):
        device.say(Step.ROLLING_BACK, "its commit was never confirmed")
        # The journal has no rows of the earlier configuration, only its digest.
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
