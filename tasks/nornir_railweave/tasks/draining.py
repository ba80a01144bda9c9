"""Draining by hand: read what is drained, drain one switch after the other, undrain."""

from collections.abc import Callable, Collection, Sequence
from typing import Any

from nornir.core import Nornir
from nornir.core.task import Result, Task

from nornir_railweave.device.drained_traffic import wait_until_drained
from nornir_railweave.device.session import DEVICE_ERRORS, error_text, session
from nornir_railweave.target.connect import run_on
from railweave.plan.manual_drain import WHOLE, DrainResult, DrainTarget, undrained


def read(nr: Nornir, names: Collection[str]) -> dict[str, DrainResult]:
    """Return what is drained on these switches, or why one does not say."""
    return run_on(nr, names, read_drained)


def drain(
    nr: Nornir, targets: Sequence[DrainTarget], *, wait_s: float, packets_per_s: float
) -> tuple[DrainResult, ...]:
    """Drain one switch after the other and wait until each is quiet; the first that is not as asked ends it."""
    results: list[DrainResult] = []
    for target in targets:
        arguments = {"peers": target.peers, "ports": target.ports, "wait_s": wait_s, "packets_per_s": packets_per_s}
        results.append(run_on(nr, (target.device,), drain_device, **arguments)[target.device])
        if not results[-1].ok:
            break
    return tuple(results)


def undrain(nr: Nornir, names: Sequence[str]) -> tuple[DrainResult, ...]:
    """Remove all that drains on these switches; each is tried, whatever the result of the others."""
    done = run_on(nr, names, undrain_device)
    return tuple(done[name] for name in names)


_LONGEST_INTERVAL_S = 2.0
_READINGS = 4


def read_drained(task: Task) -> Result:
    """Return the drained peers of a device as a ``DrainResult``; its error where the device does not say."""
    return _attempt(task, lambda driver: _drained(task, driver))


def drain_device(
    task: Task, *, peers: tuple[str, ...], ports: Collection[str], wait_s: float, packets_per_s: float
) -> Result:
    """Drain these peers until somebody undrains, and wait until their ports are quiet; a ``DrainResult``.

    ``wait_s`` 0 looks at no counter. What is drained already is left as it is.
    """

    def work(driver: Any) -> DrainResult:
        before = driver.traffic.drained()
        driver.traffic.drain(None if peers == WHOLE else peers, revert_in=None, message="drained by hand")
        after = driver.traffic.drained()
        if left := undrained(peers, after):
            missing = "no BGP instance" if left == WHOLE else f"no BGP session with {', '.join(left)}"
            return DrainResult(task.host.name, before, after, before != after, error=f"it has {missing}")
        flows = ""
        if wait_s > 0:
            interval_s = min(_LONGEST_INTERVAL_S, wait_s / _READINGS)
            flows = wait_until_drained(
                driver, ports, packets_per_s=packets_per_s, timeout_s=wait_s, interval_s=interval_s
            )
        return DrainResult(task.host.name, before, after, before != after, wait_s > 0, flows)

    return _attempt(task, work)


def undrain_device(task: Task) -> Result:
    """Remove all that drains on a device; a ``DrainResult``."""

    def work(driver: Any) -> DrainResult:
        before = driver.traffic.drained()
        driver.traffic.undrain()
        after = driver.traffic.drained()
        return DrainResult(task.host.name, before, after, before != after)

    return _attempt(task, work)


def _drained(task: Task, driver: Any) -> DrainResult:
    found = driver.traffic.drained()
    return DrainResult(task.host.name, found, found)


def _attempt(task: Task, work: Callable[[Any], DrainResult]) -> Result:
    name = task.host.name
    with session(task) as opened:
        try:
            driver = opened.driver
            if not hasattr(driver, "traffic"):
                result = DrainResult(name, error=f"the driver {type(driver).__name__} cannot drain")
            else:
                result = work(driver)
        except DEVICE_ERRORS as fault:
            result = DrainResult(name, error=error_text(fault))
    return Result(host=task.host, result=result)
