"""Free one device of what a rollout that was cut off left on it, without waiting for the switch's timer."""

from typing import Any

from napalm.base.exceptions import CommitError
from nornir.core.task import Result, Task

from nornir_railweave.device.session import DEVICE_FAULTS, Session, session, words
from nornir_railweave.events import Event, Events, Step
from railweave.plan.rollout import Rollout

_ATTEMPTS = 2


def recover(task: Task, rollout: Rollout, reconnect_s: float, announce: Events) -> Result:
    """Take back the device's pending commit and temporary drain, if they are of ``rollout``.

    A commit of anybody else is left alone: the plan that is made next names it. The result is failed where the device
    could not be freed; the plan tells of that too.
    """
    name = task.host.name
    with session(task) as opened:
        for attempt in range(_ATTEMPTS):
            try:
                if attempt:
                    opened.reconnect(reconnect_s)
                _free(opened, name, rollout, announce)
                return Result(host=task.host, result="")
            except DEVICE_FAULTS as fault:
                why = words(fault)
                announce(Event(Step.LOST, name, why))
    return Result(host=task.host, result=why, failed=True)


def _free(opened: Session, name: str, rollout: Rollout, announce: Events) -> None:
    driver = opened.driver
    if driver.has_pending_commit():
        if not _is_ours(driver, name, rollout):
            return
        announce(Event(Step.ROLLING_BACK, name, "its commit was never confirmed"))
        try:
            driver.rollback()
        except CommitError:
            # The switch's own timer may have struck at this moment; then there is nothing left to take back.
            if driver.has_pending_commit():
                raise
        announce(Event(Step.ROLLED_BACK, name))
    elif rollout.devices[name].drained and _drained(driver):
        driver.traffic.undrain()
        announce(Event(Step.UNDRAINED, name))


def _is_ours(driver: Any, name: str, rollout: Rollout) -> bool:
    """Tell whether the pending commit is the rollout's: by its id or message, else by where the journal ends."""
    timer = getattr(driver, "revert_timer", None)
    if timer is None:
        return rollout.devices[name].in_doubt
    return rollout.owns(timer.status().commit_id, timer.message())


def _drained(driver: Any) -> bool:
    """Tell whether traffic is led away from the device; never where the driver cannot drain."""
    traffic = getattr(driver, "traffic", None)
    return traffic is not None and bool(traffic.drained())
