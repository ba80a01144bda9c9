"""Draining by hand: read what is drained, drain one switch after the other, undrain."""

from collections.abc import Callable, Collection, Sequence
from dataclasses import replace

from nornir.core import Nornir
from nornir.core.task import Result, Task

from nornir_railweave.checked_driver import CheckedDriver
from nornir_railweave.device.drained_traffic import wait_until_drained
from nornir_railweave.device.session import DEVICE_ERRORS, error_text, session
from nornir_railweave.target.connect import run_on
from nornir_railweave.tasks.holding import Holding
from railweave.diagnostics import Diagnostic
from railweave.plan.away import withheld
from railweave.plan.manual_drain import (
    WHOLE,
    DrainLimits,
    DrainResult,
    DrainTarget,
    check_around,
    neighborhood,
    undrained,
)
from railweave.sonic.delta.diff import maintenance
from railweave.switch_driver import Capability, ConfigReading


def read(nr: Nornir, names: Collection[str], hold: str = "") -> dict[str, DrainResult]:
    """Return what is drained on each of these switches; a result has an error if its switch could not be read.

    ``hold`` is the caller's own hold, which is left out.
    """
    return run_on(nr, names, read_drained, hold=hold)


def drain(
    nr: Nornir,
    targets: Sequence[DrainTarget],
    *,
    wait_s: float,
    packets_per_s: float,
    limits: DrainLimits | None = None,
    holding: Holding | None = None,
) -> tuple[DrainResult, ...]:
    """Drain one switch after the other and wait until each is quiet; stop at the first that fails.

    Return the results of the switches that were tried. ``limits`` is what must stay in service. Each switch is held
    first, by ``holding``: if two operators begin at the same moment, one of them meets the other's hold. The switches
    around it are read right before its drain and again after it, since drivers of other vendors may know no holds.
    Each is waited for at most ``wait_s`` seconds, until its ports carry less than ``packets_per_s``.
    """
    results: list[DrainResult] = []
    for target in targets:
        result = _drain_switch(nr, target, targets, limits, holding)
        if not result.error and wait_s > 0:
            result = _wait_for_quiet(nr, target, result, wait_s, packets_per_s)
        results.append(result)
        if not result.ok:
            break
    if holding is not None:
        holding.release()
    return tuple(results)


def _drain_switch(
    nr: Nornir,
    target: DrainTarget,
    targets: Sequence[DrainTarget],
    limits: DrainLimits | None,
    holding: Holding | None,
) -> DrainResult:
    """Drain one switch unless ``limits`` or somebody else's hold forbids that.

    ``targets`` are all switches that the operator drains. If the limits forbid the drain after it was made, it is
    undone.
    """
    hold = "" if holding is None else holding.name
    blocker = _take_hold(target, holding)
    if not blocker:
        blocker = _limit_reasons(nr, limits, targets, hold)
    if blocker:
        return DrainResult(target.device, error=blocker)
    result: DrainResult = run_on(nr, (target.device,), drain_device, peers=target.peers, hold=hold)[target.device]
    if not result.changed:
        return result
    if holding is not None:
        holding.drained((target.device,))
    # Somebody else may have drained another switch meanwhile.
    blocker = _limit_reasons(nr, limits, targets, hold)
    if blocker:
        return _undo_drain(nr, target, result, blocker)
    return result


def refusal(nr: Nornir, limits: DrainLimits, targets: Sequence[DrainTarget], hold: str = "") -> Sequence[Diagnostic]:
    """Read the switches around ``targets`` and return why these must not be drained; ``hold`` is the caller's own."""
    return check_around(limits, targets, read(nr, neighborhood(limits.fabric, targets), hold))


def _wait_for_quiet(
    nr: Nornir, target: DrainTarget, drained: DrainResult, wait_s: float, packets_per_s: float
) -> DrainResult:
    """Wait until the ports of a drained switch are quiet; return ``drained``, its result, with what still flows."""
    arguments = {"ports": target.ports, "wait_s": wait_s, "packets_per_s": packets_per_s}
    quiet = run_on(nr, (target.device,), wait_until_quiet, **arguments)[target.device]
    return replace(drained, waited=True, flows=quiet.flows, error=quiet.error)


def _take_hold(target: DrainTarget, holding: Holding | None) -> str:
    """Hold a switch that is to be drained; return who else holds it or its registrar, empty for nobody."""
    if holding is None:
        return ""
    return holding.take({target.device: target.peers})


def _limit_reasons(nr: Nornir, limits: DrainLimits | None, targets: Sequence[DrainTarget], hold: str) -> str:
    """Return why ``limits`` forbid draining the targets now; empty if they may be drained."""
    if limits is None:
        return ""
    refused = refusal(nr, limits, targets, hold)
    return "; ".join(f"{diagnostic.message} ({diagnostic.code})" for diagnostic in refused)


def _undo_drain(nr: Nornir, target: DrainTarget, drained: DrainResult, why: str) -> DrainResult:
    """Bring a switch back to what was drained before ``drained``; return its result with the error ``why``."""
    result = run_on(nr, (target.device,), undrain_device)[target.device]
    if drained.before and not result.error:
        result = run_on(nr, (target.device,), drain_device, peers=drained.before)[target.device]
    if result.error:
        return replace(drained, error=f"{why}; and it stays drained: {result.error}")
    return replace(drained, after=result.after, changed=False, error=why)


def undrain(nr: Nornir, names: Sequence[str]) -> tuple[DrainResult, ...]:
    """Undrain these switches; each is tried, whatever the result of the others."""
    results = run_on(nr, names, undrain_device)
    return tuple(results[name] for name in names)


_LONGEST_INTERVAL_S = 2.0
_READINGS = 4


def read_drained(task: Task, *, hold: str = "") -> Result:
    """Return the drained peers of a device as a ``DrainResult``, with an error where they cannot be read.

    It includes the peers that somebody is about to drain, unless under the caller's own ``hold``.
    """
    return _attempt(task, lambda driver: _drained(task, driver, hold))


def drain_device(task: Task, *, peers: tuple[str, ...], hold: str = "") -> Result:
    """Drain ``peers`` until somebody undrains them, and return a ``DrainResult``. Other drained peers stay drained.

    ``hold`` is the id of a hold. A driver that supports holds refuses the drain when that hold has ended.
    """

    def work(driver: CheckedDriver) -> DrainResult:
        before = driver.drained()
        if task.is_dry_run():
            return _drain_rehearsed(task, before, peers)
        driver.drain(
            None if peers == WHOLE else peers,
            revert_in=None,
            message="drained by hand",
            hold=hold if driver.can(Capability.HOLD) else "",
        )
        after = driver.drained()
        error = ""
        remaining = undrained(peers, after)
        if remaining == WHOLE:
            # A device with a BGP instance can be drained as a whole.
            error = "it has no BGP instance"
        elif remaining:
            error = f"it has no BGP session with {', '.join(remaining)}"
        return DrainResult(task.host.name, before, after, before != after, error=error)

    return _attempt(task, work)


def wait_until_quiet(task: Task, *, ports: Collection[str], wait_s: float, packets_per_s: float) -> Result:
    """Wait until these ports are quiet; return a ``DrainResult`` with what still flows."""

    def work(driver: CheckedDriver) -> DrainResult:
        # Even a short wait has several readings.
        interval_s = min(_LONGEST_INTERVAL_S, wait_s / _READINGS)
        flows = wait_until_drained(driver, ports, packets_per_s=packets_per_s, timeout_s=wait_s, interval_s=interval_s)
        return DrainResult(task.host.name, flows=flows)

    return _attempt(task, work)


def undrain_device(task: Task) -> Result:
    """Undrain a device; return a ``DrainResult``."""

    def work(driver: CheckedDriver) -> DrainResult:
        before = driver.drained()
        if task.is_dry_run():
            return _drain_rehearsed(task, before, ())
        driver.undrain()
        after = driver.drained()
        return DrainResult(task.host.name, before, after, before != after)

    return _attempt(task, work)


def _drain_rehearsed(task: Task, before: tuple[str, ...], after: tuple[str, ...]) -> DrainResult:
    """Return the result of a dry run: nothing was drained, and ``changed`` tells whether something would be."""
    return DrainResult(task.host.name, before, before, changed=before != after)


def _drained(task: Task, driver: CheckedDriver, hold: str) -> DrainResult:
    """Return what is drained on a device, and what is held there under another hold than the caller's."""
    peers = driver.drained()
    reading = driver.last_reading
    if reading is None:
        return DrainResult(task.host.name, peers, peers)
    status = reading.status
    result = DrainResult(task.host.name, peers, peers, withheld=_withheld(reading), ends_in_s=status.remaining_s)
    is_held_by_other = status.hold not in ("", hold)
    if not is_held_by_other:
        return result
    ends_in_s = max(result.ends_in_s or 0.0, status.held_s)
    return replace(result, held=status.held, held_by=status.held_by, ends_in_s=ends_in_s)


def _withheld(reading: ConfigReading) -> str:
    """Return why a switch carries no traffic, or may soon carry none, apart from drains; empty for no reason."""
    status = reading.status
    if status.pending and not status.is_drain:
        return status.waits_for
    if status.broken:
        return status.broken
    return withheld(maintenance(reading.running))


def _attempt(task: Task, work: Callable[[CheckedDriver], DrainResult]) -> Result:
    """Run ``work`` on a device and return its result.

    If the device fails, or its driver cannot drain, the result has the error instead.
    """
    name = task.host.name
    with session(task) as opened:
        try:
            driver = opened.driver
            if driver.can(Capability.DRAIN):
                result = work(driver)
            else:
                result = DrainResult(name, error=f"the driver {driver.name} cannot drain", unable=True)
        except DEVICE_ERRORS as fault:
            result = DrainResult(name, error=error_text(fault))
    return Result(host=task.host, result=result, changed=result.changed, diff=_diff(result))


def _diff(result: DrainResult) -> str:
    """Return a line for each BGP peer (``*``: all) that is no longer drained, then for each that is drained now.

    Lines have the form of a configuration's difference.
    """
    removed = [f"-  drained {peer}" for peer in result.before if peer not in result.after]
    added = [f"+  drained {peer}" for peer in result.after if peer not in result.before]
    return "\n".join((*removed, *added))
