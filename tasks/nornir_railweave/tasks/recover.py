"""Free one device of what a rollout that was cut off left on it, without waiting for the switch's timer."""

from collections.abc import Callable

from nornir.core.task import Result, Task

from nornir_railweave.device.device import LastCommit, ReachedDevice
from nornir_railweave.device.restore import restore
from nornir_railweave.device.session import DEVICE_ERRORS, error_text, session
from nornir_railweave.events import Events, Step
from railweave.plan.rollout import Rollout
from railweave.sonic.delta.snapshot import Snapshot
from railweave.sonic.rows import DeviceConfig
from railweave.wording import first_few

_ATTEMPTS = 2


def recover(
    task: Task, rollout: Rollout, intended: Callable[[str], DeviceConfig], reconnect_s: float, announce: Events
) -> Result:
    """Restore what the device held before its pending commit, and undrain it, if these are of ``rollout``.

    A commit of anybody else is left alone: the plan that is made next names it. The result is failed where the device
    could not be freed; the plan tells of that too.
    """
    name = task.host.name
    record = rollout.devices[name]

    def made(last: LastCommit) -> bool:
        """Tell whether a pending commit is the rollout's: by its id or message, else by where the journal ends."""
        return rollout.owns(last.commit_id, last.message) if last.commit_id else record.in_doubt

    with session(task) as opened:
        device = ReachedDevice(opened, name, announce, reconnect_s)
        for attempt in range(_ATTEMPTS):
            try:
                if attempt:
                    device.reconnect()
                last = device.last_commit()
                missing: tuple[str, ...] = ()
                if last.pending and made(last):
                    device.say(Step.ROLLING_BACK, "its commit was never confirmed")
                    # The journal has no rows, only the digest of what the device held.
                    before = Snapshot({}, None, intended(name), record.before_sha256)
                    missing = restore(device, before, made, "")
                    if not missing:
                        device.say(Step.ROLLED_BACK)
                elif not last.pending and record.drained and device.drained():
                    device.driver.traffic.undrain()
                    device.say(Step.UNDRAINED)
                why = f"not restored: {first_few(missing)}" if missing else ""
                return Result(host=task.host, result=why, failed=bool(missing))
            except DEVICE_ERRORS as fault:
                why = error_text(fault)
                device.say(Step.LOST, why)
    return Result(host=task.host, result=why, failed=True)
