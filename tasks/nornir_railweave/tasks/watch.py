"""One look at a device during the soak of its wave: its health and its losses since the last look."""

from collections.abc import Mapping
from dataclasses import dataclass

from nornir.core.task import Result, Task

from napalm_sonic.observed import Counted
from nornir_railweave.device.device import Attempt, Device, Order
from nornir_railweave.device.gates import checks_of
from nornir_railweave.device.observing import Seen, losses_of, observe, observe_over
from nornir_railweave.device.session import DEVICE_ERRORS, error_text, session
from railweave.plan.outcome import VerifyCheck
from railweave.plan.verification import unreachable


@dataclass(frozen=True, slots=True)
class Look:
    """What was seen: the checks that do not hold, and the counters that the next look is held against."""

    failed: tuple[VerifyCheck, ...] = ()
    counted: tuple[Counted, ...] = ()


def watch(task: Task, order: Order, attempts: Mapping[str, Attempt], last: Mapping[str, Look]) -> Result:
    """Return a ``Look``; ``last`` are the looks before, empty at the first one."""
    name = task.host.name
    baseline = attempts[name].baseline
    counted = last[name].counted if name in last else ()
    with session(task) as opened:
        device = Device(opened, order.jobs[name], order)
        try:
            seen = _seen(device, counting=bool(baseline.losses))
            checks = checks_of(device, baseline, seen.observation, losses_of((*counted, *seen.counted)))
            counted = seen.counted
        except DEVICE_ERRORS as fault:
            checks = (unreachable(name, error_text(fault)),)
    return Result(host=task.host, result=Look(tuple(check for check in checks if not check.ok), counted))


def _seen(device: Device, *, counting: bool) -> Seen:
    if counting:
        return observe_over(device.driver, 0, device.order.policy.clock)
    return Seen(observe(device.driver))
