"""The way back of one device: the driver's rollback, then the planned rows one by one, judged by what is read."""

import json

from napalm.base.exceptions import CommitError

from nornir_railweave.device.device import Attempt, Device
from nornir_railweave.device.session import DEVICE_FAULTS, words
from nornir_railweave.device.work import Standing, standing
from nornir_railweave.events import Step
from railweave.plan.outcome import DeviceOutcome, Outcome
from railweave.sonic.delta.delta import inverse
from railweave.sonic.delta.merge import merge_document
from railweave.sonic.document import DocumentError


def undo(device: Device, attempt: Attempt, why: str) -> DeviceOutcome:
    """Bring the earlier configuration back, confirmed or not, and return how that ended; ``why`` is its error."""
    device.say(Step.ROLLING_BACK, why)
    for way in (_roll_back, _restore):
        try:
            way(device, attempt)
        except Exception as fault:
            # Whatever went wrong, what the device holds now is what counts.
            device.say(Step.LOST, words(fault))
        try:
            device.reconnect()
            stands = standing(device.read(), device.work)
            if stands is Standing.OLD:
                return _old(device, attempt, why)
        except (*DEVICE_FAULTS, DocumentError):
            return device.lost(why)
    if stands is Standing.NEW:
        return DeviceOutcome(Outcome.NEW, f"{why}; the earlier configuration could not be restored")
    return DeviceOutcome(
        Outcome.UNREACHABLE,
        f"{why}; the device holds neither configuration in full: `railweave plan` shows what is left",
    )


def undrain_left(device: Device, drained_before: tuple[str, ...]) -> str:
    """Undrain what a rollback left drained; return in words what stays so, empty where traffic is back.

    Raises what the driver raises when the device does not answer.
    """
    if not (set(device.drained()) - set(drained_before)):
        return ""
    device.driver.traffic.undrain()
    left = sorted(set(device.drained()) - set(drained_before))
    return f"still drained: {', '.join(left)}" if left else ""


def _old(device: Device, attempt: Attempt, why: str) -> DeviceOutcome:
    """Return the outcome of a device that is on its earlier configuration, its traffic brought back as well."""
    device.say(Step.ROLLED_BACK)
    left = ""
    if attempt.drained:
        try:
            left = undrain_left(device, attempt.before.drained)
        except Exception as fault:
            left = f"perhaps still drained ({words(fault)})"
    if left:
        return DeviceOutcome(Outcome.OLD, f"{why}; {left}: `railweave undrain {device.work.device}`", drained=True)
    return DeviceOutcome(Outcome.OLD, why)


def _roll_back(device: Device, attempt: Attempt) -> None:
    """Take the commit back where there is one: a device that never left the old configuration needs nothing."""
    driver = device.reconnect()
    last = device.last_commit()
    if not last.pending and standing(device.read(), device.work) is Standing.OLD:
        return
    if last.commit_id and not attempt.made(last):
        # The driver's rollback takes back the last commit, which is somebody else's or an earlier one.
        raise CommitError(f"the last commit, {last.commit_id}, is not the one to take back")
    driver.rollback()


def _restore(device: Device, attempt: Attempt) -> None:
    """Put the named rows and lines back without the driver's own rollback."""
    driver = device.reconnect()
    driver.load_merge_candidate(config=json.dumps(merge_document(inverse(attempt.before.delta))))
    if driver.compare_config():
        driver.commit_config(message=f"{device.order.policy.message} (undone)")
