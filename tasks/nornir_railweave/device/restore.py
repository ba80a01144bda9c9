"""Rollback of one device: ``restore`` brings a device to a snapshot, whoever asks for it and whatever failed before.

The switch's own rollback goes first, because it needs no plan and no client. What is missing then is changed back row
by row. Nothing is concluded from the text of a command or an exception: what the device holds in the end is read.
"""

import json
from collections.abc import Callable, Mapping
from typing import Any

from napalm.base.exceptions import CommitError

from napalm_sonic.commit import Applied
from napalm_sonic.observed import Look
from nornir_railweave.device.device import Attempt, Device, ForestalledError, LastCommit, ReachedDevice, undone
from nornir_railweave.device.reading import broken_of, read_with_commit, running_of, switch_program
from nornir_railweave.device.session import DEVICE_ERRORS, error_text
from nornir_railweave.events import Step
from railweave.plan.outcome import ConfigState, DeviceOutcome, Outcome
from railweave.sonic.delta.change import Delta
from railweave.sonic.delta.merge import merge_document
from railweave.sonic.delta.snapshot import Snapshot
from railweave.wording import command_line, first_few

STILL_WAITS = "the end of its commit, which still waits (`railweave-switch recover` on the switch ends it)"
_SHOWN = 5


def _no_refusal(_: LastCommit) -> None:
    pass


def restore(
    device: ReachedDevice,
    snapshot: Snapshot,
    made: Callable[[LastCommit], bool],
    message: str,
    refuse: Callable[[LastCommit], None] = _no_refusal,
) -> tuple[str, ...]:
    """Bring a device back to ``snapshot``; return what is missing of it, nothing where the device holds it.

    ``made`` tells whether a commit is the one to revert; ``message`` goes with a further commit. What is not ours stays
    as it is. Raises what the driver raises, and DocumentError, where the device cannot be read in the end, and,
    before anything is done and wherever something is missing, what ``refuse`` raises for the last commit. Both ways
    name the commit that was judged, so a switch on which another one came meanwhile does nothing.
    """

    def revert() -> None:
        last = device.last_commit()
        refuse(last)
        if last.pending or snapshot.missing(running_of(device.driver)):
            if last.commit_id and not made(last):
                # The driver reverts the last commit, which is somebody else's or an earlier one.
                raise CommitError(f"the last commit, {last.commit_id}, is not the one to revert")
            revert_commit(device, last)

    def change_back() -> None:
        delta = snapshot.difference(running_of(device.driver)).delta
        # Of the same reading: the switch refuses the delta once its rows are others, or another commit came.
        refuse(device.last_commit(just_read=True))
        apply_delta(device, delta, message, restores=True)

    missing: tuple[str, ...] = ()
    for way in (revert, change_back):
        try:
            device.reconnect()
            way()
        except DEVICE_ERRORS as fault:
            # What the device holds now is what counts.
            device.say(Step.LOST, error_text(fault))
        missing = snapshot.missing(running_of(device.reconnect()))
        last = device.last_commit(just_read=True)
        undoes = bool(message) and last.message == message
        if not missing and last.pending and undoes:
            last = _kept(device, last)
        if not missing and last.pending and (undoes or made(last)):
            missing = (STILL_WAITS,)
        if not missing:
            break
        refuse(last)
    return missing


def _kept(device: ReachedDevice, undo: LastCommit) -> LastCommit:
    """Confirm the commit that changed a device back, whose session was lost before that; return its last commit."""
    try:
        confirm_pending(device.driver, undo.commit_id)
    except DEVICE_ERRORS as fault:
        device.say(Step.LOST, error_text(fault))
        device.reconnect()
    return device.last_commit()


def confirm_pending(driver: Any, commit_id: str) -> None:
    """Confirm the pending commit; that one alone where the switch has named it a moment ago."""
    changes = getattr(driver, "changes", None)
    if changes is not None and commit_id:
        changes.confirm(commit_id)
    else:
        driver.confirm_commit()


def revert_commit(device: ReachedDevice, last: LastCommit) -> None:
    """Let the switch revert its pending commit, else roll the last one back; raises what the driver raises.

    Our own driver's switch does that only while ``last`` is the last commit still.
    """
    driver = device.driver
    try:
        if switch_program(driver) is None:
            driver.rollback()
        else:
            driver.changes.revert(last.commit_id, pending=last.pending)
    except CommitError:
        # The switch's own timer may have struck at this moment; then there is nothing left to revert.
        if not last.pending or driver.has_pending_commit():
            raise


def apply_delta(
    device: ReachedDevice,
    delta: Delta,
    message: str,
    revert_in: int | None = None,
    look: Look | None = None,
    generation: Mapping[str, Any] | None = None,
    *,
    restores: bool = False,
    commit_id: str = "",
) -> Applied:
    """Carry out a delta made for what was read last, as it is; return the commit, without an id for no changes.

    With ``revert_in`` (seconds) the switch reverts it unless it is confirmed. ``look`` is what our driver's answer
    shows, ``generation`` what the switch checks and keeps with it. The switch's YANG models are not asked about what
    ``restores`` an earlier configuration. ``commit_id`` names the commit on a switch of our own driver. Raises what the
    driver raises.
    """
    driver = device.driver
    if switch_program(driver) is not None:
        if not delta:
            return Applied("")
        applied: Applied = driver.changes.apply(
            delta,
            message=message,
            revert_in=revert_in,
            look=look,
            generation=generation,
            restores=restores,
            commit_id=commit_id,
        )
        return applied
    driver.load_merge_candidate(config=json.dumps(merge_document(delta)))
    if not driver.compare_config():
        driver.discard_config()
        return Applied("")
    driver.commit_config(message=message, revert_in=revert_in)
    return Applied(device.last_commit().commit_id)


def roll_back(device: Device, attempt: Attempt, why: str) -> DeviceOutcome:
    """Restore what a device held before its job, its traffic included, confirmed or not; ``why`` is the error."""
    device.say(Step.ROLLING_BACK, why)
    snapshot = device.job.snapshot(attempt.before)
    try:
        message = undone(device.order.policy.message)
        missing = restore(device, snapshot, attempt.made, message, attempt.refuse_forestalled)
        unchanged = bool(missing) and _is_new(device)
    except DEVICE_ERRORS:
        return device.lost(why)
    except ForestalledError as theirs:
        return _left_to_others(device, attempt, theirs, why)
    if missing:
        outcome = Outcome.NEW if unchanged else Outcome.UNREACHABLE
        left = f"missing: {first_few(missing, _SHOWN)}: `{command_line('plan')}` shows what is left"
        return DeviceOutcome(outcome, f"{why}; the earlier configuration could not be restored, {left}")
    device.say(Step.ROLLED_BACK)
    if broken := broken_of(device.driver):
        return DeviceOutcome(Outcome.BROKEN, f"{why}; the earlier configuration is restored, but {broken}")
    left = _undrain(device, attempt) if attempt.drained else ""
    if left:
        return DeviceOutcome(Outcome.OLD, f"{why}; {left}: `{command_line('undrain', device.name)}`", drained=True)
    return DeviceOutcome(Outcome.OLD, why)


def _is_new(device: Device) -> bool:
    """Tell whether a device stays in its new configuration; a commit that waits may still go back."""
    state, pending = read_with_commit(device.driver, device.state)
    return state is ConfigState.AFTER and not pending


def _left_to_others(device: Device, attempt: Attempt, theirs: ForestalledError, why: str) -> DeviceOutcome:
    """Return the outcome of a device on which somebody else's commit came, which is left as it is."""
    try:
        state, pending = read_with_commit(device.driver, device.state)
    except DEVICE_ERRORS:
        return device.lost(why)
    if state is ConfigState.AFTER and not pending:
        return DeviceOutcome(Outcome.NEW, f"{why}; {theirs}, with what this rollout wanted")
    # A commit of theirs that still waits may go back to what this rollout left.
    if not attempt.commit_id or (state is ConfigState.BEFORE and not pending):
        return DeviceOutcome(Outcome.OLD, f"{why}; {theirs}, and nothing of this rollout")
    if pending:
        return DeviceOutcome(Outcome.UNREACHABLE, f"{why}; {theirs}, and it waits for its confirmation")
    # Whether ours was confirmed before theirs came is not known any more.
    return DeviceOutcome(Outcome.UNREACHABLE, f"{why}; {theirs}, and it holds neither configuration of this rollout")


def _undrain(device: Device, attempt: Attempt) -> str:
    """Undrain what a rollback left drained; return in words what stays so, empty where traffic is back."""
    drained_before = set(attempt.before.drained)
    try:
        if set(device.drained()) - drained_before:
            attempt.refuse_forestalled(device.last_commit(just_read=True))
            device.driver.traffic.undrain()
        left = sorted(set(device.drained()) - drained_before)
    except ForestalledError:
        return ""  # their drain, which they will end
    except DEVICE_ERRORS as fault:
        return f"perhaps still drained ({error_text(fault)})"
    return f"still drained: {', '.join(left)}" if left else ""
