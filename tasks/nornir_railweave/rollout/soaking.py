"""The soak of a wave: its devices are looked at for a while after they were kept, and a fault tells at once.

What is seen once may be a session that was just being read; what is seen twice in a row is a fault.
"""

from collections.abc import Callable, Mapping
from dataclasses import replace

from nornir.core import Nornir

from nornir_railweave.device.device import Attempt, Order
from nornir_railweave.device.gates import sentence
from nornir_railweave.device.session import error_text
from nornir_railweave.events import Event, Step
from nornir_railweave.rollout.control import ABORT, PAUSE
from nornir_railweave.target.connect import only
from nornir_railweave.target.runner import FabricRunner
from nornir_railweave.tasks.watch import Look, watch
from railweave.plan.verification import unreachable

_LOOKS = 6
_POLL_S = 0.5


class Soak:
    """One wave's soak; ``asked`` tells what a person wants, ``cut_short`` whether one ended it before its time."""

    def __init__(
        self, nr: Nornir, order: Order, attempts: Mapping[str, Attempt], asked: Callable[[], str], *, moving: int
    ) -> None:
        self.cut_short = False
        self._nr = nr
        # A switch that went back to what it was before its provisioning announces nothing any more.
        leaving = sum(attempt.before.disconnects for attempt in attempts.values())
        self._order = replace(order, moving=moving + leaving)
        self._clock = order.policy.clock
        self._attempts = attempts
        self._asked = asked
        self._told_pause = False

    def run(self) -> str:
        """Watch until the time is over; return the fault in a sentence, empty where there was none."""
        rollout = self._order.policy.rollout
        ends_at = self._clock.monotonic() + rollout.soak_s
        pause_s = max(rollout.verify_interval_s, rollout.soak_s / _LOOKS)
        looks: dict[str, Look] = {}
        while True:
            before, looks = looks, self._look(looks)
            for name, look in looks.items():
                if look.failed and name in before and before[name].failed:
                    return f"{name}: in the soak of its wave, {sentence(look.failed)}"
            doubt = any(look.failed for look in looks.values())
            if self._clock.monotonic() >= ends_at and not doubt and before:
                return ""
            if not self._wait(rollout.verify_interval_s if doubt else pause_s):
                return ""

    def _look(self, last: Mapping[str, Look]) -> dict[str, Look]:
        runner = FabricRunner(self._order.policy.rollout.workers)
        found = only(self._nr, self._attempts).with_runner(runner)
        results = found.run(watch, on_failed=True, order=self._order, attempts=self._attempts, last=last)
        looks: dict[str, Look] = {}
        for name in self._attempts:
            result = results[name][0]
            looks[name] = result.result if isinstance(result.result, Look) else _blind(name, result.exception)
        return looks

    def _wait(self, seconds: float) -> bool:
        """Wait for the next look; False where a person wants the rollout to end."""
        until = self._clock.monotonic() + seconds
        while (left := until - self._clock.monotonic()) > 0:
            asked = self._asked()
            if asked == ABORT:
                self.cut_short = True
                return False
            if asked == PAUSE and not self._told_pause:
                self._told_pause = True
                self._order.announce(Event(Step.PAUSED, text="after the soak of this wave"))
            self._clock.sleep(min(_POLL_S, left))
        return True


def _blind(name: str, fault: BaseException | None) -> Look:
    """Return the look of a device that a mistake of the program kept from being seen."""
    why = error_text(fault) if fault is not None else "not looked at"
    return Look((unreachable(name, f"railweave itself failed here: {why}"),))
