"""Look at one device for work on it: what it runs, whether traffic uses it, and which box it is."""

from collections.abc import Collection, Mapping
from dataclasses import dataclass

from nornir.core.task import Result, Task

from nornir_railweave.checked_driver import CheckedDriver
from nornir_railweave.device.drained_traffic import wait_until_drained
from nornir_railweave.device.reading import Comparer, awaits_confirmation
from nornir_railweave.device.session import DEVICE_ERRORS, error_text, session
from railweave.plan.lifecycle import Use
from railweave.switch_driver import Capability


@dataclass(frozen=True, slots=True)
class Inspected:
    """One device; ``error`` says why the rest is not known."""

    provisioned: bool = False
    # How many edits it is away from the intent.
    changes: int = 0
    # A commit waits: the switch may revert what it runs.
    pending: bool = False
    drained: bool = False
    # It distinguishes a replaced switch from the earlier one.
    serial: str = ""
    error: str = ""


def inspect_device(task: Task, compare: Comparer) -> Result:
    """Return an ``Inspected``; ``compare`` compares what the device runs with the intent."""
    with session(task) as opened:
        try:
            driver = opened.driver
            comparison = compare(driver, task.host.name)
            pending = awaits_confirmation(driver)
            inspected = Inspected(
                provisioned=not comparison.difference.unprovisioned,
                changes=len(comparison.difference.delta),
                pending=pending,
                drained=_is_drained(driver),
                serial=driver.serial_number(),
            )
        except DEVICE_ERRORS as fault:
            inspected = Inspected(error=error_text(fault))
    return Result(host=task.host, result=inspected)


def _is_drained(driver: CheckedDriver) -> bool:
    return driver.can(Capability.DRAIN) and bool(driver.drained())


def check_in_use(
    task: Task,
    *,
    ports_of: Mapping[str, Collection[str]],
    hosts_of: Mapping[str, Mapping[str, str]],
    packets_per_s: float,
    timeout_s: float,
    interval_s: float,
) -> Result:
    """Return a ``Use``: whether one switch is in use.

    ``ports_of`` are the ports of each switch's panel. Those that are up are watched until fewer than ``packets_per_s``
    pass each of them, for at most ``timeout_s``. ``hosts_of`` gives the GPU node at each of a switch's ports.
    """
    ports = ports_of[task.host.name]
    hosts = hosts_of[task.host.name]
    with session(task) as opened:
        try:
            driver = opened.driver
            up = [port for port, state in driver.interfaces().items() if state["is_up"]]
            drained = _is_drained(driver)
            busy = wait_until_drained(
                driver,
                [port for port in up if port in ports],
                packets_per_s=packets_per_s,
                timeout_s=timeout_s,
                interval_s=interval_s,
            )
            hosts_up = tuple(host for port, host in hosts.items() if port in up)
            use = Use(drained=drained, busy=busy, hosts_up=hosts_up)
        except DEVICE_ERRORS as fault:
            use = Use(error=error_text(fault))
    return Result(host=task.host, result=use)
