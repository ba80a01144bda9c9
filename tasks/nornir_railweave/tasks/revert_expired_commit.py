"""Take back a commit that was never confirmed on a switch that lost its own timer, by a reboot say."""

from nornir.core.task import Result, Task

from nornir_railweave.device.device import ReachedDevice
from nornir_railweave.device.restore import revert_commit
from nornir_railweave.device.session import DEVICE_ERRORS, error_text, session
from nornir_railweave.events import Events, Step


def revert_expired_commit(task: Task, announce: Events) -> Result:
    """Restore what was there before a commit whose deadline has passed; return whether there was such a commit.

    A commit whose deadline has not passed may be somebody's who is at work, and is left alone. Drivers without a
    timer on the device have nothing to take back.
    """
    with session(task) as opened:
        device = ReachedDevice(opened, task.host.name, announce, 0)
        try:
            if not device.last_commit().overdue:
                return Result(host=task.host, result=False)
            device.say(Step.ROLLING_BACK, "its timer ended without restoring anything")
            revert_commit(device, pending=True)
        except DEVICE_ERRORS as fault:
            return Result(host=task.host, result=False, failed=True, error=error_text(fault))
    device.say(Step.ROLLED_BACK)
    return Result(host=task.host, result=True)
