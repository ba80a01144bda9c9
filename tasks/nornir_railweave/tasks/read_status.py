"""Read the state of one device between deployments: its commit, its revert timer, its drains. Changes nothing."""

from nornir.core.task import Result, Task

from nornir_railweave.checked_driver import CheckedDriver
from nornir_railweave.device.session import DEVICE_ERRORS, error_text, session
from railweave.plan.status import SwitchStatus
from railweave.sonic.delta.diff import maintenance
from railweave.switch_driver import Capability


def read_status(task: Task) -> Result:
    """Return a ``SwitchStatus``; its error says why a device could not be read.

    It takes no lock of the device, so a rollout may run meanwhile.
    """
    name = task.host.name
    with session(task) as opened:
        try:
            status = _read(opened.driver, name)
        except DEVICE_ERRORS as fault:
            status = SwitchStatus(name, error=error_text(fault) or type(fault).__name__)
    return Result(host=task.host, result=status)


def _read(driver: CheckedDriver, name: str) -> SwitchStatus:
    drained: tuple[str, ...] = ()
    if driver.can(Capability.DRAIN):
        drained = driver.drained()
    reading = driver.last_reading or driver.read()
    return SwitchStatus(name, commit=reading.status, drained=drained, maintenance=maintenance(reading.running))
