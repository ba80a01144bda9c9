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
    """Confirm the commit of one device, or roll it back if that fails; return its ``DeviceOutcome``.

    The result is failed unless the outcome is ``new`` without an error.
    """
    name = task.host.name
    attempt = attempts[name]
    if task.is_dry_run():
        return _dry_run(task, Outcome.OLD)
    with session(task) as opened:
        device = Device(opened, order.jobs[name], order)
        outcome = _confirm(device, attempt)
    device.say_outcome(outcome)
    changed = outcome.outcome is Outcome.NEW
    return ChangeResult(task.host, attempt.before.delta, outcome, changed=changed, failed=not outcome.ok)


def _dry_run(task: Task, outcome: Outcome) -> Result:
    """Return the result of a dry run, in which the device keeps its commit as it is."""
    return Result(host=task.host, result=DeviceOutcome(outcome, "dry run; nothing was done"), changed=False)


def _confirmed(device: Device, attempt: Attempt, commit_id: str) -> DeviceOutcome:
    device.say(Step.CONFIRMED, commit_id=commit_id, after_sha256=attempt.after_sha256)
    return DeviceOutcome(Outcome.NEW)


def _confirm(device: Device, attempt: Attempt) -> DeviceOutcome:
    """Make the commit permanent and return the outcome.

    It is tried once more if an answer is lost. If that fails too, or the device no longer runs the commit, the device
    is rolled back.
    """
    why = ""
    for _ in range(_ATTEMPTS):
        try:
            outcome = _confirm_once(device, attempt)
        except DEVICE_ERRORS as fault:
            # The switch may have confirmed all the same; the next attempt reads whether the commit still waits.
            why = error_text(fault)
            device.say(Step.LOST, why)
        else:
            if outcome is not None:
                return outcome
            why = "the device no longer runs its new configuration"
            break
        try:
            device.reconnect()
            state = device.state()
        except DEVICE_ERRORS:
            return device.lost(why)
        if state is not ConfigState.AFTER:
            break
    return roll_back(device, attempt, f"the commit could not be confirmed: {why}")


def _confirm_once(device: Device, attempt: Attempt) -> DeviceOutcome | None:
    """Confirm the commit if the device runs what was verified; return the outcome, None if it runs something else.

    Raises what the driver raises, and CommitError if another commit waits for its confirmation.
    """
    driver = device.driver
    # One command, without another reading: the switch itself compares what it runs with what was verified.
    if attempt.after is not None and driver.confirm(attempt.commit_id, only=attempt.after):
        return _confirmed(device, attempt, attempt.commit_id)
    state = device.state()
    last = device.last_commit(just_read=True)
    if state is not ConfigState.AFTER:
        # For example a switch that restarted since: it runs what it had saved, and the commit still waits.
        return None
    is_own = attempt.made(last)
    if last.pending:
        if last.commit_id and not is_own:
            raise CommitError(f"another commit, {last.commit_id}, waits for its confirmation there")
        driver.confirm(last.commit_id)
    elif not _ensure_saved(device):
        # It was confirmed before: the answer was lost, or it was not saved then.
        return DeviceOutcome(Outcome.NEW, UNSAVED)
    commit_id = last.commit_id if is_own else ""
    return _confirmed(device, attempt, commit_id)


def _ensure_saved(device: Device) -> bool:
    """Save the configuration unless it is saved; tell whether it is now."""
    return is_saved(device.driver, device.job) or save(device.driver, device.job)


def rollback_device(task: Task, order: WaveOrder, attempts: Mapping[str, Attempt], why: str) -> Result:
    """Roll the device back, whether its commit is pending or confirmed; return its ``DeviceOutcome``.

    ``why`` is the reason of the rollback, and becomes the error of the outcome.
    """
    name = task.host.name
    attempt = attempts[name]
    if task.is_dry_run():
        return _dry_run(task, Outcome.NEW)
    with session(task) as opened:
        device = Device(opened, order.jobs[name], order)
        outcome = roll_back(device, attempt, why)
    device.say_outcome(outcome)
    changed = outcome.outcome is Outcome.OLD
    return ChangeResult(task.host, inverse(attempt.before.delta), outcome, changed=changed)


def assess_device(task: Task, order: WaveOrder, why: str) -> Result:
    """Return the ``DeviceOutcome`` of a device whose task failed by a mistake of the program, as it is read now.

    ``why`` is the mistake. A commit of this rollout that waits there is rolled back first: nobody has verified it.
    """
    name = task.host.name
    with session(task) as opened:
        device = Device(opened, order.jobs[name], order)
        try:
            outcome = _assess(device, why)
        except DEVICE_ERRORS as fault:
            outcome = DeviceOutcome(Outcome.UNREACHABLE, f"{why}; and it cannot be read: {error_text(fault)}")
    device.say_outcome(outcome)
    return Result(host=task.host, result=outcome)


def _assess(device: Device, why: str) -> DeviceOutcome:
    """Revert the rollout's pending commit, if any; return the outcome by what the device runs then.

    The error of the outcome begins with ``why``.
    """
    last = device.last_commit()
    # The message is compared, as the id of the commit is lost with its task.
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
