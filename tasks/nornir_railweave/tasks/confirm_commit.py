"""End the change of one device: confirm its commit, which saves it, or roll it back with its wave.

Whatever happens to the session, the device is asked what it holds.
"""

from collections.abc import Mapping

from napalm.base.exceptions import CommitError
from nornir.core.task import Result, Task

from nornir_railweave.device.device import Attempt, Device, WaveOrder
from nornir_railweave.device.reading import awaits_confirmation
from nornir_railweave.device.restore import revert_commit, roll_back
from nornir_railweave.device.session import DEVICE_ERRORS, error_text, session
from nornir_railweave.events import Step
from nornir_railweave.tasks.change_result import ChangeResult
from nornir_railweave.tasks.save_config import UNSAVED, is_saved, save
from railweave.plan.outcome import ConfigState, DeviceOutcome, Outcome
from railweave.sonic.delta.delta import inverse

_ATTEMPTS = 2


def confirm_commit(task: Task, order: WaveOrder, attempts: Mapping[str, Attempt]) -> Result:
    """Return the device's ``DeviceOutcome``; the result is failed unless that is ``new`` without an error."""
    name = task.host.name
    attempt = attempts[name]
    if task.is_dry_run():
        return _dry_run(task, Outcome.OLD)
    with session(task) as opened:
        device = Device(opened, order.jobs[name], order)
        outcome = _confirm(device, attempt)
    device.say(Step.OUTCOME, outcome.error, outcome=outcome.outcome.value)
    changed = outcome.outcome is Outcome.NEW
    return ChangeResult(task.host, attempt.before.delta, outcome, changed=changed, failed=not outcome.ok)


def _dry_run(task: Task, outcome: Outcome) -> Result:
    """Return that a commit was left as it is."""
    return Result(host=task.host, result=DeviceOutcome(outcome, "dry run; nothing was done"), changed=False)


def _confirmed(device: Device, attempt: Attempt, commit_id: str) -> DeviceOutcome:
    device.say(Step.CONFIRMED, commit_id=commit_id, after_sha256=attempt.after_sha256)
    return DeviceOutcome(Outcome.NEW)


def _confirm(device: Device, attempt: Attempt) -> DeviceOutcome:
    """Make the commit permanent; a lost answer is replaced by asking the device."""
    why = ""
    for _ in range(_ATTEMPTS):
        try:
            outcome = _confirm_once(device, attempt)
            if outcome is not None:
                return outcome
            why = "the device no longer runs its new configuration"
            break
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


def _confirm_once(device: Device, attempt: Attempt) -> DeviceOutcome | None:
    """Confirm the commit while the device runs what was verified; None where it runs something else."""
    driver = device.driver
    # One command, without reading again: the switch compares what it runs with what was verified.
    if attempt.after is not None and driver.confirm(attempt.commit_id, only=attempt.after):
        return _confirmed(device, attempt, attempt.commit_id)
    state = device.state()
    last = device.last_commit(just_read=True)
    if state is not ConfigState.AFTER:
        # A switch that restarted since its verification runs what it had saved, and still waits.
        return None
    is_own = attempt.made(last)
    if not last.pending:
        # Its confirmation went through and the answer was lost, or it was confirmed and not saved.
        if not _ensure_saved(device):
            return DeviceOutcome(Outcome.NEW, UNSAVED)
    elif last.commit_id and not is_own:
        raise CommitError(f"another commit, {last.commit_id}, waits for its confirmation there")
    else:
        driver.confirm(last.commit_id)
    if is_own:
        return _confirmed(device, attempt, last.commit_id)
    return _confirmed(device, attempt, "")


def _ensure_saved(device: Device) -> bool:
    """Save the configuration unless it is saved; tell whether it is now."""
    return is_saved(device.driver, device.job) or save(device.driver, device.job)


def rollback_device(task: Task, order: WaveOrder, attempts: Mapping[str, Attempt], why: str) -> Result:
    """Return the device's ``DeviceOutcome`` after its rollback, by a pending commit or by the last one."""
    name = task.host.name
    attempt = attempts[name]
    if task.is_dry_run():
        return _dry_run(task, Outcome.NEW)
    with session(task) as opened:
        device = Device(opened, order.jobs[name], order)
        outcome = roll_back(device, attempt, why)
    device.say(Step.OUTCOME, outcome.error, outcome=outcome.outcome.value)
    changed = outcome.outcome is Outcome.OLD
    return ChangeResult(task.host, inverse(attempt.before.delta), outcome, changed=changed)


def assess_device(task: Task, order: WaveOrder, why: str) -> Result:
    """Return the ``DeviceOutcome`` of a device on which the program made a mistake, by reading it; ``why`` names that.

    A commit of this rollout that waits there is rolled back first: nobody has verified it.
    """
    name = task.host.name
    with session(task) as opened:
        device = Device(opened, order.jobs[name], order)
        try:
            outcome = _read(device, why)
        except DEVICE_ERRORS as fault:
            outcome = DeviceOutcome(Outcome.UNREACHABLE, f"{why}; and it cannot be read: {error_text(fault)}")
    device.say(Step.OUTCOME, outcome.error, outcome=outcome.outcome.value)
    return Result(host=task.host, result=outcome)


def _read(device: Device, why: str) -> DeviceOutcome:
    last = device.last_commit()
    # By its message: the id of a commit whose task failed may not be known.
    if last.pending and last.message == device.order.policy.message:
        revert_commit(device, last)
    state = device.state()
    pending = awaits_confirmation(device.driver)
    if pending:
        return DeviceOutcome(
            Outcome.UNREACHABLE,
            f"{why}; a commit waits for its confirmation there, and the switch rolls it back by itself within "
            f"{device.revert_in_s} s",
        )
    if state is ConfigState.PARTIAL:
        return DeviceOutcome(Outcome.UNREACHABLE, f"{why}; the device holds neither configuration in full")
    if state is ConfigState.AFTER:
        return DeviceOutcome(Outcome.NEW, why)
    return DeviceOutcome(Outcome.OLD, why)
