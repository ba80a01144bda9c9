"""Take back a commit that was never confirmed on a switch that lost its own timer, by a reboot say."""

from nornir.core.task import Result, Task

from nornir_railweave.device.session import DEVICE_FAULTS, session, words
from nornir_railweave.events import Event, Events, Step


def take_back(task: Task, announce: Events) -> Result:
    """Restore what was there before a commit whose deadline has passed; return whether there was such a commit.

    A commit whose deadline has not passed may be somebody's who is at work, and is left alone. Drivers without a
    timer on the device have nothing to take back.
    """
    name = task.host.name
    with session(task) as opened:
        try:
            timer = getattr(opened.driver, "revert_timer", None)
            if timer is None or not timer.status().overdue:
                return Result(host=task.host, result=False)
            announce(Event(Step.ROLLING_BACK, name, "its timer ended without restoring anything"))
            opened.driver.rollback()
        except DEVICE_FAULTS as fault:
            return Result(host=task.host, result=False, failed=True, error=words(fault))
    announce(Event(Step.ROLLED_BACK, name))
    return Result(host=task.host, result=True)
