"""Keep what a device was brought to: confirm the commit, which saves it, whatever becomes of the session."""

from collections.abc import Mapping
from typing import Any

from napalm.base.exceptions import CommitError
from nornir.core.task import Result, Task

from nornir_railweave.device.device import Attempt, Device, Order
from nornir_railweave.device.restore import roll_back
from nornir_railweave.device.saving import UNSAVED, is_saved, save
from nornir_railweave.device.session import DEVICE_ERRORS, error_text, session
from nornir_railweave.events import Step
from railweave.plan.outcome import ConfigState, DeviceOutcome, Outcome

_ATTEMPTS = 2


def keep(task: Task, order: Order, attempts: Mapping[str, Attempt]) -> Result:
    """Return the device's ``DeviceOutcome``; the result is failed unless that is ``new`` without an error."""
    name = task.host.name
    with session(task) as opened:
        device = Device(opened, order.jobs[name], order)
        outcome = _confirm(device, attempts[name])
    device.say(Step.OUTCOME, outcome.error, outcome=outcome.outcome.value)
    return Result(host=task.host, result=outcome, failed=not outcome.ok)


def _keep(driver: Any, commit_id: str) -> None:
    """Keep the pending commit; where the switch has named it a moment ago, that one alone and without asking again."""
    changes = getattr(driver, "changes", None)
    if changes is not None and commit_id:
        changes.confirm(commit_id)
    else:
        driver.confirm_commit()


def _confirmed(device: Device, attempt: Attempt, commit_id: str) -> DeviceOutcome:
    device.say(Step.CONFIRMED, commit_id=commit_id, after_sha256=attempt.after_sha256)
    return DeviceOutcome(Outcome.NEW)


def _confirm(device: Device, attempt: Attempt) -> DeviceOutcome:
    """Make the commit permanent; a lost answer is replaced by asking the device."""
    why = ""
    for _ in range(_ATTEMPTS):
        try:
            driver = device.driver
            if attempt.after is not None and driver.changes.confirm(attempt.commit_id, only=attempt.after):
                return _confirmed(device, attempt, attempt.commit_id)
            state = device.state()
            last = device.last_commit(just_read=True)
            if state is not ConfigState.AFTER:
                # A switch that restarted since its verification runs what it had saved, and still waits.
                why = "the device does not hold its new configuration any more"
                break
            if last.pending:
                if last.commit_id and not attempt.made(last):
                    raise CommitError(f"another commit, {last.commit_id}, waits for its confirmation there")
                _keep(driver, last.commit_id)
            elif not (is_saved(driver, device.job) or save(driver, device.job)):
                return DeviceOutcome(Outcome.NEW, UNSAVED)
            return _confirmed(device, attempt, attempt.commit_id or (last.commit_id if attempt.made(last) else ""))
        except DEVICE_ERRORS as fault:
            # Whether the switch took the confirmation is not known by its answer, but by what it runs and waits for.
            why = error_text(fault)
            device.say(Step.LOST, why)
        try:
            device.reconnect()
            if device.state() is not ConfigState.AFTER:
                break
        except DEVICE_ERRORS:
            return device.lost(why)
    return roll_back(device, attempt, f"the commit could not be confirmed: {why}")
