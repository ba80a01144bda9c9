"""Rollback of one device: ``restore`` brings a device to a snapshot, whoever asks for it and whatever failed before.

The switch's own rollback goes first, because it needs no plan and no client. What is missing then is changed back row
by row. Nothing is concluded from the text of a command or an exception: what the device holds in the end is read.
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
    """Bring a device back to ``snapshot``; return what is missing of it, empty where the device holds it.

    ``made`` tells whether a commit is the one to revert; ``message`` goes with a further commit. Unmanaged rows stay as
    they are. Raises what the driver raises, and DocumentError, where the device cannot be read in the end. ``refuse``
    is called with the last commit before anything is done and wherever something is missing; what it raises is raised.
    Both ways name the commit that was judged, so a switch on which another one came meanwhile does nothing.
    """
    ways = (
        partial(_revert, device, snapshot, made, refuse),
        partial(_change_back, device, snapshot, message, refuse),
    )
    missing: tuple[str, ...] = ()
    for way in ways:
        try:
            device.reconnect()
            way()
        except DEVICE_ERRORS as fault:
            # Whether the device took it shows in what it holds now.
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

    A commit of ``message`` is confirmed. STILL_WAITS is missing while that one, or the one to revert, may revert.
    """
    missing = snapshot.missing(running_of(device.reconnect()))
    last = device.last_commit(just_read=True)
    if missing or not last.pending:
        return last, missing
    undoes = bool(message) and last.message == message
    if undoes:
        last = _confirmed_undo(device, last)
    if last.pending and (undoes or made(last)):
        return last, (STILL_WAITS,)
    return last, ()


def _revert(
    device: ReachedDevice,
    snapshot: Snapshot,
    made: Callable[[CommitStatus], bool],
    refuse: Callable[[CommitStatus], None],
) -> None:
    """Let the switch undo its last commit, where that is the one to revert and something of the snapshot is missing."""
    last = device.last_commit()
    refuse(last)
    if last.pending or snapshot.missing(running_of(device.driver)):
        if last.commit_id and not made(last):
            # The driver reverts the last commit, which is somebody else's or an earlier one.
            raise CommitError(f"the last commit, {last.commit_id}, is not the one to revert")
        revert_commit(device, last)


def _change_back(
    device: ReachedDevice, snapshot: Snapshot, message: str, refuse: Callable[[CommitStatus], None]
) -> None:
    """Change what is missing of the snapshot, row by row."""
    delta = snapshot.difference(running_of(device.driver)).delta
    # Of the same reading: the switch refuses the delta once its rows are others, or another commit came.
    refuse(device.last_commit(just_read=True))
    apply_delta(device, delta, message, restores=True)


def _confirmed_undo(device: ReachedDevice, undo: CommitStatus) -> CommitStatus:
    """Confirm the commit that changed a device back, whose session was lost before that; return its last commit."""
    try:
        device.driver.confirm(undo.commit_id)
    except DEVICE_ERRORS as fault:
        device.say(Step.LOST, error_text(fault))
        device.reconnect()
    return device.last_commit()


def revert_commit(device: ReachedDevice, last: CommitStatus) -> None:
    """Let the switch revert its pending commit, else roll the last one back, while ``last`` is the last one still.

    Raises what the driver raises.
    """
    driver = device.driver
    try:
        driver.revert(last.commit_id, pending=last.pending)
    except CommitError:
        # The switch's own timer may have struck at this moment; then there is nothing left to revert.
        if not last.pending or driver.status().pending:
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
    """Carry out a delta made for the last reading, as it is; return the commit, without an id for no changes.

    With ``revert_in`` (seconds) the switch reverts it unless it is confirmed. ``request`` is what the driver's answer
    shows, ``generation`` what the switch checks and keeps with it. The switch's models are not asked about what
    ``restores`` an earlier configuration. ``commit_id`` names the commit (empty: a new name). Raises what the driver
    raises.
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
    if broken := device.broken:
        return DeviceOutcome(Outcome.BROKEN, f"{why}; the earlier configuration is restored, but {broken}")
    left = _undrain(device, attempt) if attempt.drained else ""
    if left:
        return DeviceOutcome(Outcome.OLD, f"{why}; {left}: `{command_line('undrain', device.name)}`", drained=True)
    return DeviceOutcome(Outcome.OLD, why)


def _is_new(device: Device) -> bool:
    """Tell whether a device stays in its new configuration; a commit that waits may still go back."""
    state = device.state()
    pending = awaits_confirmation(device.driver)
    return state is ConfigState.AFTER and not pending


def _left_to_others(device: Device, attempt: Attempt, theirs: ForestalledError, why: str) -> DeviceOutcome:
    """Return the outcome of a device on which somebody else's commit came, which is left as it is."""
    try:
        state = device.state()
        pending = awaits_confirmation(device.driver)
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
            device.driver.undrain()
        left = sorted(set(device.drained()) - drained_before)
    except ForestalledError:
        # It is their drain, which they will end.
        return ""
    except DEVICE_ERRORS as fault:
        return f"perhaps still drained ({error_text(fault)})"
    if left:
        return f"still drained: {', '.join(left)}"
    return ""
