"""What a worker works with: its own project on its own target, and what it has begun on devices."""

import threading
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from nornir.core import Nornir
from nornir.core.task import Result, Task

from napalm_sonic.clock import SYSTEM_CLOCK, Clock
from nornir_railweave.device.device import Attempt
from nornir_railweave.device.jobs import DeviceJob
from nornir_railweave.device.reading import IntendedConfig
from nornir_railweave.rollout.soaking import SoakCheck
from nornir_railweave.target.model import Target
from nornir_railweave.workers.message import ProjectBinding
from railweave.fabric.model import Fabric
from railweave.plan.expectation import WHOLE_FABRIC, VerificationScope

# The most devices of a wave (`wave_size` of `target.rollout`).
_KEPT = 1000


@dataclass(frozen=True, slots=True)
class Begun:
    """A device that this worker has changed, or tried to, for the rollout of one plan."""

    job: DeviceJob
    # No further step comes after this time (seconds of the steady clock): the switch has reverted, or the soak is over.
    until_s: float
    # It has the earlier configuration of the device, with its secrets, so it stays in this process.
    attempt: Attempt = field(repr=False)
    # The last check of a soak: the next one compares its counters.
    looked: SoakCheck | None = None


@dataclass(frozen=True, slots=True)
class Workbench:
    """A project that a worker has read."""

    binding: ProjectBinding
    nornir: Nornir = field(repr=False)
    fabric: Fabric = field(repr=False)
    target: Target
    intended: IntendedConfig = field(repr=False)
    scope: VerificationScope = field(default=WHOLE_FABRIC, repr=False)
    # The names of secrets that cannot be resolved here: it still reads, and refuses to change.
    missing_secrets: tuple[str, ...] = ()
    clock: Clock = SYSTEM_CLOCK
    # What the worker goes on with, by the digest of the plan and the device.
    begun: dict[tuple[str, str], Begun] = field(default_factory=dict, repr=False)
    _locks: dict[str, threading.Lock] = field(default_factory=dict, repr=False)

    def keep(self, plan_digest: str, device: str, begun: Begun) -> None:
        """Keep what was begun on a device; the oldest are forgotten if there are more than any wave has."""
        # Forgotten first, so that the order of the mapping is that of time.
        self.forget(plan_digest, device)
        self.begun[plan_digest, device] = begun
        surplus = max(0, len(self.begun) - _KEPT)
        for oldest in tuple(self.begun)[:surplus]:
            self.begun.pop(oldest, None)

    @property
    def busy(self) -> bool:
        """Forget what is over; tell whether a rollout may still go on with something that was begun here."""
        now_s = self.clock.monotonic()
        for key, begun in tuple(self.begun.items()):
            if begun.until_s < now_s:
                self.begun.pop(key, None)
        return bool(self.begun)

    def forget(self, plan_digest: str, device: str) -> None:
        """Forget a device that has ended."""
        self.begun.pop((plan_digest, device), None)

    def lock(self, device: str) -> threading.Lock:
        """Return the lock that keeps two tasks of one device apart, as they would share its session."""
        return self._locks.setdefault(device, threading.Lock())

    def perform(self, task: Any, device: str, params: Mapping[str, Any]) -> Result:
        """Carry out a Nornir task on one device and return its result. Raises what the task raises."""
        run = Task(task, self.nornir, global_dry_run=False, processors=self.nornir.processors, **params)
        result: Result = run.start(self.nornir.inventory.hosts[device])[0]
        if result.exception is not None:
            raise result.exception
        return result
