"""Take a device back together with its wave, before or after it was kept."""

from collections.abc import Mapping

from nornir.core.task import Result, Task

from nornir_railweave.device.device import Attempt, Device, Order
from nornir_railweave.device.restore import roll_back
from nornir_railweave.device.session import session
from nornir_railweave.events import Step


def rollback_device(task: Task, order: Order, attempts: Mapping[str, Attempt], why: str) -> Result:
    """Return the device's ``DeviceOutcome`` after its rollback, by a pending commit or by the last one."""
    name = task.host.name
    with session(task) as opened:
        device = Device(opened, order.jobs[name], order)
        outcome = roll_back(device, attempts[name], why)
    device.say(Step.OUTCOME, outcome.error, outcome=outcome.outcome.value)
    return Result(host=task.host, result=outcome)
