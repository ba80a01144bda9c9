"""Rollback of one device: ``restore`` brings a device back to a snapshot, whatever failed before.

The switch's own rollback is tried first, because it needs no plan and no client. What is missing then is changed back
row by row. Success is never concluded from an answer or an exception: the device is read in the end.
"""

from collections.abc import Callable, Mapping
from functools import partial
from typing import Any

from napalm.base.exceptions import CommitError

from napalm_sonic.program import new_id
from nornir_railweave.device.device import Attempt, Device, ForestalledError, ReachedDevice, undone
from nornir_railweave.device.reading import awaits_confirmation, running_of
from nornir_railweave.device.session import DEVICE_ERRORS, error_text
from nornir_railweave.events import Step
from railweave.plan.outcome import ConfigState, DeviceOutcome, Outcome
from railweave.sonic.delta.change import Delta
from railweave.sonic.delta.snapshot import Snapshot
from railweave.switch_driver import AppliedChange, CommitStatus, ObserveRequest
from railweave.wording import command_line, first_few

STILL_WAITS = "the end of its commit, which still waits (`railweave-switch recover` on the switch ends it)"
_SHOWN = 5


def _no_refusal(_: CommitStatus) -> None:
    pass


def restore(
    device: ReachedDevice,
    snapshot: Snapshot,
    made: Callable[[CommitStatus], bool],
    message: str,
    refuse: Callable[[CommitStatus], None] = _no_refusal,
) -> tuple[str, ...]:
    """Bring a device back to ``snapshot``; return what is missing of it, empty if the device runs it.

    ``made`` tells whether a commit is the one to revert. ``message`` is that of a commit that changes the device back.
    ``refuse`` is called with the switch's last commit before each step, and may raise to end the rollback. Each step
    names the commit that was judged: a switch refuses it if another commit came meanwhile. Unmanaged rows stay as they
    are.

    Raises what ``refuse`` raises. If the device cannot be read in the end, raises what the driver raises, or
    DocumentError.
    """
    # The switch's own rollback comes first, because it needs no plan and no client.
    attempts = (
        partial(_revert, device, snapshot, made, refuse),
        partial(_change_back, device, snapshot, message, refuse),
    )
    missing: tuple[str, ...] = ()
    for attempt in attempts:
        try:
            device.reconnect()
            attempt()
        except DEVICE_ERRORS as fault:
            # The switch may have done it all the same, so it is read in any case.
            device.say(Step.LOST, error_text(fault))
        last, missing = _result(device, snapshot, made, message)
        if not missing:
            break
        refuse(last)
    return missing


def _result(
    device: ReachedDevice, snapshot: Snapshot, made: Callable[[CommitStatus], bool], message: str
) -> tuple[CommitStatus, tuple[str, ...]]:
    """Read the device again; return its last commit and what is missing of ``snapshot``.

    If nothing is missing, a pending commit with ``message``, which changed the device back, is confirmed. What is
    missing is STILL_WAITS while that commit, or the one to revert, is pending.
    """
    missing = snapshot.missing(running_of(device.reconnect()))
    last = device.last_commit(just_read=True)
    if missing or not last.pending:
        return last, missing
    is_undo = bool(message) and last.message == message
    if is_undo:
        last = _confirmed_undo(device, last)
    if last.pending and (is_undo or made(last)):
        return last, (STILL_WAITS,)
    return last, ()


def _revert(
    device: ReachedDevice,
    snapshot: Snapshot,
    made: Callable[[CommitStatus], bool],
    refuse: Callable[[CommitStatus], None],
) -> None:
    """Let the switch revert its last commit, unless the device runs the snapshot already.

    Raises CommitError if the last commit is not the one to revert.
    """
    last = device.last_commit()
    refuse(last)
    if not last.pending and not snapshot.missing(running_of(device.driver)):
        return
    if last.commit_id and not made(last):
        # It is somebody else's or an earlier one.
        raise CommitError(f"the last commit, {last.commit_id}, is not the one to revert")
    revert_commit(device, last)


def _change_back(
    device: ReachedDevice, snapshot: Snapshot, message: str, refuse: Callable[[CommitStatus], None]
) -> None:
    """Change the device back row by row where it differs from the snapshot, in a commit with ``message``."""
    delta = snapshot.difference(running_of(device.driver)).delta
    # By the same reading: the switch refuses the delta if it has other rows, or another commit, by then.
    refuse(device.last_commit(just_read=True))
    apply_delta(device, delta, message, restores=True)


def _confirmed_undo(device: ReachedDevice, undo: CommitStatus) -> CommitStatus:
    """Confirm ``undo``, the commit that changed the device back; return the device's last commit after that."""
    try:
        device.driver.confirm(undo.commit_id)
    except DEVICE_ERRORS as fault:
        device.say(Step.LOST, error_text(fault))
        device.reconnect()
    return device.last_commit()


def revert_commit(device: ReachedDevice, last: CommitStatus) -> None:
    """Let the switch revert ``last``, its last commit, whether that is pending or confirmed.

    Raises what the driver raises: CommitError if another commit came meanwhile.
    """
    driver = device.driver
    try:
        driver.revert(last.commit_id, pending=last.pending)
    except CommitError:
        # The switch's own timer may have reverted a pending commit just now.
        was_reverted = last.pending and not driver.status().pending
        if not was_reverted:
            raise


def apply_delta(
    device: ReachedDevice,
    delta: Delta,
    message: str,
    revert_in: int | None = None,
    request: ObserveRequest | None = None,
    generation: Mapping[str, Any] | None = None,
    *,
    restores: bool = False,
    commit_id: str = "",
) -> AppliedChange:
    """Apply a delta that was made for the last reading; return the commit, without an id for an empty delta.

    The switch reverts the commit after ``revert_in`` seconds unless it is confirmed; None keeps and saves it at once.
    ``request`` is what the driver's answer includes. ``generation`` is what the switch checks and keeps with the
    commit. A delta that ``restores`` an earlier configuration is not checked against the switch's YANG models. The id
    of the commit is ``commit_id``, or else a new one. Raises what the driver raises.
    """
    if not delta:
        return AppliedChange("")
    return device.driver.apply(
        delta,
        message=message,
        revert_in=revert_in,
        commit_id=commit_id or new_id(),
        request=request,
        generation=generation,
        restores=restores,
    )


def roll_back(device: Device, attempt: Attempt, why: str) -> DeviceOutcome:
    """Restore the configuration of a device from before its job, and undrain it; return the outcome.

    The commit of the job may be pending or confirmed. ``why`` is the reason, with which the outcome's error begins.
    """
    device.say(Step.ROLLING_BACK, why)
    snapshot = device.job.snapshot(attempt.before)
    try:
        message = undone(device.order.policy.message)
        missing = restore(device, snapshot, attempt.made, message, attempt.refuse_forestalled)
        stays_new = bool(missing) and _is_new(device)
    except DEVICE_ERRORS:
        return device.lost(why)
    except ForestalledError as theirs:
        return _left_to_others(device, attempt, theirs, why)
    if missing:
        outcome = Outcome.NEW if stays_new else Outcome.UNREACHABLE
        detail = f"missing: {first_few(missing, _SHOWN)}: `{command_line('plan')}` shows what is left"
        return DeviceOutcome(outcome, f"{why}; the earlier configuration could not be restored, {detail}")
    device.say(Step.ROLLED_BACK)
    broken = device.broken
    if broken:
        return DeviceOutcome(Outcome.BROKEN, f"{why}; the earlier configuration is restored, but {broken}")
    still_drained = _undrain(device, attempt) if attempt.drained else ""
    if still_drained:
        error = f"{why}; {still_drained}: `{command_line('undrain', device.name)}`"
        return DeviceOutcome(Outcome.OLD, error, drained=True)
    return DeviceOutcome(Outcome.OLD, why)


def _is_new(device: Device) -> bool:
    """Tell whether a device keeps its new configuration: it runs it, and no pending commit may revert it."""
    state = device.state()
    pending = awaits_confirmation(device.driver)
    return state is ConfigState.AFTER and not pending


def _left_to_others(device: Device, attempt: Attempt, theirs: ForestalledError, why: str) -> DeviceOutcome:
    """Return the outcome of a device on which somebody else has committed: their commit is left as it is.

    ``why`` is the reason for which the device was to be rolled back.
    """
    try:
        state = device.state()
        pending = awaits_confirmation(device.driver)
    except DEVICE_ERRORS:
        return device.lost(why)
    if state is ConfigState.AFTER and not pending:
        return DeviceOutcome(Outcome.NEW, f"{why}; {theirs}, with what this rollout wanted")
    was_not_changed = not attempt.commit_id
    runs_earlier = state is ConfigState.BEFORE and not pending
    if was_not_changed or runs_earlier:
        return DeviceOutcome(Outcome.OLD, f"{why}; {theirs}, and nothing of this rollout")
    if pending:
        # If their commit is reverted, the device may return to the change of this rollout.
        return DeviceOutcome(Outcome.UNREACHABLE, f"{why}; {theirs}, and it waits for its confirmation")
    # It is not known whether our commit was confirmed before theirs came.
    return DeviceOutcome(Outcome.UNREACHABLE, f"{why}; {theirs}, and it holds neither configuration of this rollout")


def _undrain(device: Device, attempt: Attempt) -> str:
    """Undrain what this rollout drained; return in words what is still drained, empty for nothing."""
    drained_before = set(attempt.before.drained)
    try:
        if set(device.drained()) - drained_before:
            attempt.refuse_forestalled(device.last_commit(just_read=True))
            device.driver.undrain()
        still_drained = sorted(set(device.drained()) - drained_before)
    except ForestalledError:
        # Somebody else drained the device, and will undrain it.
        return ""
    except DEVICE_ERRORS as fault:
        return f"perhaps still drained ({error_text(fault)})"
    if still_drained:
        return f"still drained: {', '.join(still_drained)}"
    return ""
