"""Which configuration a device has after a mistake of the program in the middle of its task."""

from nornir.core.task import Result, Task

from nornir_railweave.device.device import Device, Order
from nornir_railweave.device.restore import revert_commit
from nornir_railweave.device.session import DEVICE_ERRORS, error_text, session
from nornir_railweave.events import Step
from railweave.plan.outcome import ConfigState, DeviceOutcome, Outcome


def assess_device(task: Task, order: Order, why: str) -> Result:
    """Return the ``DeviceOutcome`` that reading the device gives; ``why`` is its error.

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
    if last.pending and last.message == device.order.policy.message:
        revert_commit(device, pending=True)
    state = device.state()
    if device.driver.has_pending_commit():
        return DeviceOutcome(
            Outcome.UNREACHABLE,
            f"{why}; a commit waits for its confirmation there, and the switch takes it back by itself within "
            f"{device.revert_in_s} s",
        )
    if state is ConfigState.PARTIAL:
        return DeviceOutcome(Outcome.UNREACHABLE, f"{why}; the device holds neither configuration in full")
    return DeviceOutcome(Outcome.NEW if state is ConfigState.AFTER else Outcome.OLD, why)
