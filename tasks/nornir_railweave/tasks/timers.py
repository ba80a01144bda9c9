"""Waiting for the timers of commits that nobody confirmed: what a switch runs is known once they have ended."""

from collections.abc import Collection

from nornir.core import Nornir
from nornir.core.task import Result, Task

from napalm_sonic.clock import Clock
from nornir_railweave.device.device import ReachedDevice
from nornir_railweave.device.restore import revert_commit
from nornir_railweave.device.session import DEVICE_ERRORS, error_text, session
from nornir_railweave.events import Event, Events, Step
from nornir_railweave.target.connect import run_on

_POLL_S = 1.0


def wait_for_timers(nr: Nornir, devices: Collection[str], announce: Events, clock: Clock) -> None:
    """Wait a second for the timers of commits on ``devices``, before these are read again.

    If a switch has lost its timer, its commit is reverted once the deadline has passed.
    """
    announce(Event(Step.WAITING, text=f"for the timers of an interrupted deployment on {', '.join(devices)}"))
    clock.sleep(_POLL_S)
    run_on(nr, devices, revert_expired_commit, announce=announce)


def revert_expired_commit(task: Task, announce: Events) -> Result:
    """Revert a commit whose deadline has passed and that no timer reverts; return whether there was one.

    Before its deadline a commit is left alone, because another session may still confirm it. Drivers without a timer on
    the device have nothing to revert.
    """
    with session(task) as opened:
        device = ReachedDevice(opened, task.host.name, announce, 0)
        try:
            last = device.last_commit()
            if not last.overdue:
                return Result(host=task.host, result=False)
            if task.is_dry_run():
                return Result(host=task.host, result=True, changed=True)
            device.say(Step.ROLLING_BACK, "its timer ended without restoring anything")
            revert_commit(device, last)
        except DEVICE_ERRORS as fault:
            return Result(host=task.host, result=False, failed=True, error=error_text(fault))
    device.say(Step.ROLLED_BACK)
    return Result(host=task.host, result=True, changed=True)
