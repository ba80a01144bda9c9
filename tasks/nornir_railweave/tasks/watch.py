"""One look at a device during the soak of its wave: its health and its losses since the last look."""

from collections.abc import Mapping
from dataclasses import dataclass

from nornir.core.task import Result, Task

from nornir_railweave.device.device import Attempt, Device, Order
from nornir_railweave.device.gates import check_once, losses_since
from nornir_railweave.device.observing import count_losses
from nornir_railweave.device.session import DEVICE_FAULTS, session, words
from railweave.plan.observation import Counters
from railweave.plan.outcome import VerifyCheck
from railweave.plan.verification import unreachable


@dataclass(frozen=True, slots=True)
class Look:
    """What was seen: the checks that do not hold, and the counters that the next look is held against."""

    failed: tuple[VerifyCheck, ...] = ()
    counters: Counters | None = None


def watch(task: Task, order: Order, attempts: Mapping[str, Attempt], last: Mapping[str, Look]) -> Result:
    """Return a ``Look``; ``last`` are the looks before, empty at the first one."""
    name = task.host.name
    baseline = attempts[name].baseline
    counters = last[name].counters if name in last else None
    with session(task) as opened:
        device = Device(opened, order.jobs[name], order)
        try:
            checks = check_once(device, baseline)
            if counters is not None:
                checks += losses_since(device, baseline, counters)
            counters = count_losses(device.driver, order.policy.clock) if baseline.losses else None
        except DEVICE_FAULTS as fault:
            checks = (unreachable(name, words(fault)),)
    return Result(host=task.host, result=Look(tuple(check for check in checks if not check.ok), counters))
