"""Look at one device for work on it: what it runs, whether it is out of traffic, and which box it is."""

from dataclasses import dataclass

from nornir.core.task import Result, Task

from nornir_railweave.device.reading import Comparer
from nornir_railweave.device.session import DEVICE_ERRORS, error_text, session


@dataclass(frozen=True, slots=True)
class Inspected:
    """One device. ``error`` says why the rest is not known; ``changes`` counts how far it is from the intent."""

    provisioned: bool = False
    changes: int = 0
    drained: bool = False
    serial: str = ""
    error: str = ""


def inspect_device(task: Task, compare: Comparer) -> Result:
    """Return an ``Inspected``."""
    with session(task) as opened:
        try:
            driver = opened.driver
            found = compare(driver, task.host.name).difference
            # Drivers other than our own have no way to drain.
            traffic = getattr(driver, "traffic", None)
            seen = Inspected(
                provisioned=not found.unprovisioned,
                changes=len(found.delta),
                drained=bool(traffic.drained()) if traffic is not None else False,
                serial=str(driver.get_facts()["serial_number"]),
            )
        except DEVICE_ERRORS as fault:
            seen = Inspected(error=error_text(fault))
    return Result(host=task.host, result=seen)
