"""The soak of a wave: its devices are checked for a while after they were confirmed, and a fault ends it at once.

A check that fails once may have caught a session in the middle of a change; one that fails twice in a row is a fault.
"""

from collections.abc import Mapping
from dataclasses import dataclass

from nornir.core import Nornir
from nornir.core.task import Result, Task

from nornir_railweave.device.device import Attempt, Device, WaveOrder
from nornir_railweave.device.gates import checks_of, sentence
from nornir_railweave.device.observing import Seen, losses_of, observe, observe_over
from nornir_railweave.device.session import DEVICE_ERRORS, error_text, session
from nornir_railweave.events import Event, Step
from nornir_railweave.rollout.control import ABORT, PAUSE, Control
from nornir_railweave.target.connect import only
from nornir_railweave.target.runner import bounded
from railweave.plan.outcome import VerifyCheck
from railweave.plan.verification import unreachable
from railweave.switch_driver import PortCounters

_LOOKS = 6
_POLL_S = 0.5


@dataclass(frozen=True, slots=True)
class SoakCheck:
    """One reading of a device: the checks that failed, and the counters with which the next ones are compared."""

    failed: tuple[VerifyCheck, ...] = ()
    counted: tuple[PortCounters, ...] = ()


class Soak:
    """One wave's soak; ``control`` has a person's requests, ``cut_short`` tells whether one ended it early."""

    def __init__(self, nr: Nornir, order: WaveOrder, attempts: Mapping[str, Attempt], control: Control) -> None:
        self.cut_short = False
        self._nr = nr
        self._order = order
        self._clock = order.policy.clock
        self._attempts = attempts
        self._control = control
        self._announced_pause = False

    def run(self) -> str:
        """Check the devices until the soak is over, or the operator aborts the rollout.

        Return the first fault in a sentence, empty for none.
        """
        rollout = self._order.policy.rollout
        deadline_s = self._clock.monotonic() + rollout.soak_s
        pause_s = max(rollout.verify_interval_s, rollout.soak_s / _LOOKS)
        checks = self._check_wave({})
        while True:
            # A device that failed is checked again soon, also after the deadline.
            next_pause_s = rollout.verify_interval_s if _any_failed(checks) else pause_s
            if not self._wait(next_pause_s):
                return ""
            last_checks = checks
            checks = self._check_wave(last_checks)
            fault = _fault(last_checks, checks)
            if fault:
                return fault
            if self._clock.monotonic() >= deadline_s and not _any_failed(checks):
                return ""

    def _check_wave(self, last: Mapping[str, SoakCheck]) -> dict[str, SoakCheck]:
        """Check all devices of the wave once; ``last`` are their checks before, empty at first."""
        nr = bounded(only(self._nr, self._attempts), self._order.policy.rollout.workers)
        results = nr.run(soak_check, on_failed=True, order=self._order, attempts=self._attempts, last=last)
        checks: dict[str, SoakCheck] = {}
        for name in self._attempts:
            result = results[name][0]
            if isinstance(result.result, SoakCheck):
                checks[name] = result.result
            else:
                checks[name] = _unread_check(name, result.exception)
        return checks

    def _wait(self, seconds: float) -> bool:
        """Wait ``seconds`` for the next reading; return False if the operator aborts the rollout meanwhile."""
        until_s = self._clock.monotonic() + seconds
        remaining_s = seconds
        while remaining_s > 0:
            request = self._control.asked()
            if request == ABORT:
                self.cut_short = True
                return False
            if request == PAUSE and not self._announced_pause:
                self._announced_pause = True
                self._order.announce(Event(Step.PAUSED, text="after the soak of this wave"))
            self._clock.sleep(min(_POLL_S, remaining_s))
            remaining_s = until_s - self._clock.monotonic()
        return True


def _any_failed(checks: Mapping[str, SoakCheck]) -> bool:
    return any(check.failed for check in checks.values())


def _fault(last_checks: Mapping[str, SoakCheck], checks: Mapping[str, SoakCheck]) -> str:
    """Return the checks of the first device that failed twice in a row, in a sentence; empty for none."""
    for name, check in checks.items():
        if check.failed and last_checks[name].failed:
            return f"{name}: in the soak of its wave, {sentence(check.failed)}"
    return ""


def _unread_check(name: str, fault: BaseException | None) -> SoakCheck:
    """Return the failed check of a device whose task raised ``fault``, or was not attempted (None)."""
    # A ConnectionError is the loss of a worker; every other exception here is a mistake of the program.
    if isinstance(fault, ConnectionError):
        return SoakCheck((unreachable(name, error_text(fault)),))
    why = "not looked at"
    if fault is not None:
        why = error_text(fault)
    return SoakCheck((unreachable(name, f"railweave itself failed here: {why}"),))


def soak_check(task: Task, order: WaveOrder, attempts: Mapping[str, Attempt], last: Mapping[str, SoakCheck]) -> Result:
    """Check a device once and return a ``SoakCheck``; ``last`` are the checks before, empty at first.

    A device that does not answer fails the check. Ports are checked for losses if they were before the change, and only
    if the last check has counters to compare with.
    """
    name = task.host.name
    baseline = attempts[name].baseline
    counted: tuple[PortCounters, ...] = ()
    if name in last:
        counted = last[name].counted
    with session(task) as opened:
        device = Device(opened, order.jobs[name], order)
        try:
            reading = _read(device, counting=bool(baseline.losses))
            # The losses since the last reading; None in the first one.
            losses = losses_of((*counted, *reading.counted))
            checks = checks_of(device, baseline, reading.observation, losses)
            counted = reading.counted
        except DEVICE_ERRORS as fault:
            checks = (unreachable(name, error_text(fault)),)
    failed = tuple(check for check in checks if not check.ok)
    return Result(host=task.host, result=SoakCheck(failed, counted))


def _read(device: Device, *, counting: bool) -> Seen:
    """Return what a device shows, with its counters once if ``counting``."""
    if counting:
        return observe_over(device.driver, 0)
    return Seen(observe(device.driver))
