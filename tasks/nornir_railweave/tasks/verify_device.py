"""Read one device and compare it with what the fabric needs."""

from collections.abc import Callable, Container

from nornir.core.task import Result, Task

from napalm_sonic.clock import SYSTEM_CLOCK, Clock
from nornir_railweave.device.observing import observe
from nornir_railweave.device.session import DEVICE_ERRORS, error_text, session
from nornir_railweave.events import Event, Events, Step, silent
from railweave.plan.expectation import Expectation
from railweave.plan.verification import EVERYONE, check_device, unreachable

_ATTEMPTS = 2


def verify_device(
    task: Task,
    *,
    expectation: Callable[[str], Expectation],
    settled: Container[str] = EVERYONE,
    timeout_s: float = 0,
    interval_s: float = 1,
    announce: Events = silent,
    clock: Clock = SYSTEM_CLOCK,
) -> Result:
    """Return the checks of one device as a tuple of ``VerifyCheck``; reads again until all hold or time is up.

    A device that does not answer twice in a row is not waited for.
    """
    expected = expectation(task.host.name)
    deadline = clock.monotonic() + timeout_s
    silent_reads = 0
    with session(task) as opened:
        while True:
            try:
                checks = check_device(expected, observe(opened.driver), settled)
                silent_reads = 0
            except DEVICE_ERRORS as fault:
                opened.close()
                checks = (unreachable(task.host.name, error_text(fault)),)
                silent_reads += 1
            over = silent_reads >= _ATTEMPTS or clock.monotonic() + interval_s > deadline
            wrong = sum(not check.ok for check in checks)
            if over or not wrong:
                step = Step.UNREACHABLE if silent_reads else Step.VERIFIED
                announce(Event(step, task.host.name, f"{wrong} of {len(checks)} checks fail" if wrong else ""))
                return Result(host=task.host, result=checks)
            clock.sleep(interval_s)
