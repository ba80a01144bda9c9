"""The soak of a wave: its devices are looked at for a while after they were confirmed, and a fault ends it at once.

What is seen once may be a session that was just being read; what is seen twice in a row is a fault.
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
    """What was seen: the checks that do not hold, and the counters that the next look is held against."""

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
        """Watch until the time is over; return the fault in a sentence, empty where there was none."""
        rollout = self._order.policy.rollout
        deadline = self._clock.monotonic() + rollout.soak_s
        pause_s = max(rollout.verify_interval_s, rollout.soak_s / _LOOKS)
        checks = self._look({})
        while True:
            # What fails is looked at again soon, and a fault once it fails twice in a row.
            next_s = pause_s
            if any(check.failed for check in checks.values()):
                next_s = rollout.verify_interval_s
            if not self._wait(next_s):
                return ""
            earlier = checks
            checks = self._look(earlier)
            if fault := _fault(earlier, checks):
                return fault
            if self._clock.monotonic() >= deadline and not any(check.failed for check in checks.values()):
                return ""

    def _look(self, last: Mapping[str, SoakCheck]) -> dict[str, SoakCheck]:
        nr = bounded(only(self._nr, self._attempts), self._order.policy.rollout.workers)
        results = nr.run(soak_check, on_failed=True, order=self._order, attempts=self._attempts, last=last)
        checks: dict[str, SoakCheck] = {}
        for name in self._attempts:
            result = results[name][0]
            if isinstance(result.result, SoakCheck):
                checks[name] = result.result
            else:
                checks[name] = _blind(name, result.exception)
        return checks

    def _wait(self, seconds: float) -> bool:
        """Wait for the next look; False where a person wants the rollout to end."""
        until = self._clock.monotonic() + seconds
        while (left := until - self._clock.monotonic()) > 0:
            asked = self._control.asked()
            if asked == ABORT:
                self.cut_short = True
                return False
            if asked == PAUSE and not self._announced_pause:
                self._announced_pause = True
                self._order.announce(Event(Step.PAUSED, text="after the soak of this wave"))
            self._clock.sleep(min(_POLL_S, left))
        return True


def _fault(earlier: Mapping[str, SoakCheck], checks: Mapping[str, SoakCheck]) -> str:
    """Return the checks of the first device that failed twice in a row, in a sentence; empty for none."""
    for name, check in checks.items():
        if check.failed and earlier[name].failed:
            return f"{name}: in the soak of its wave, {sentence(check.failed)}"
    return ""


def _blind(name: str, fault: BaseException | None) -> SoakCheck:
    """Return the look of a device that a mistake of the program, or the loss of a worker, kept from being seen."""
    # So a lost worker shows; every other exception here is a mistake of the program.
    if isinstance(fault, ConnectionError):
        return SoakCheck((unreachable(name, error_text(fault)),))
    why = "not looked at"
    if fault is not None:
        why = error_text(fault)
    return SoakCheck((unreachable(name, f"railweave itself failed here: {why}"),))


def soak_check(task: Task, order: WaveOrder, attempts: Mapping[str, Attempt], last: Mapping[str, SoakCheck]) -> Result:
    """Return a ``SoakCheck``; ``last`` are the looks before, empty at the first one."""
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
    return Result(host=task.host, result=SoakCheck(tuple(check for check in checks if not check.ok), counted))


def _seen(device: Device, *, counting: bool) -> Seen:
    if counting:
        return observe_over(device.driver, 0)
    return Seen(observe(device.driver))
