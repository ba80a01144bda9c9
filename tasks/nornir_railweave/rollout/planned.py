"""A deployment's work on one device: what the plan says of it, and nothing else."""

from collections.abc import Container
from dataclasses import dataclass
from typing import Any

from nornir_railweave.device.reading import Comparer
from nornir_railweave.device.work import Found
from railweave.plan.document import change_json
from railweave.plan.expectation import Expectation
from railweave.plan.health import Health, gate
from railweave.plan.model import DevicePlan
from railweave.plan.observation import Observation
from railweave.plan.outcome import VerifyCheck
from railweave.sonic.delta.change import Delta
from railweave.sonic.delta.methods import needs_both_ends


@dataclass(frozen=True, slots=True)
class PlannedWork:
    """Bring a device to its wanted configuration by the changes of a plan, which was made a moment ago."""

    compare: Comparer
    expectation: Expectation
    planned: DevicePlan
    delta: Delta

    @property
    def device(self) -> str:
        """Return the device's name."""
        return self.expectation.device

    @property
    def before_sha256(self) -> str:
        """Return the digest that the plan was made with."""
        return self.planned.running_sha256

    @property
    def drain(self) -> tuple[str, ...]:
        """Return what the plan drains."""
        return tuple(getattr(self.planned, "drain", ()))

    def read(self, driver: Any, which: str = "running") -> Found:
        """Compare what the device runs, or boots, with what is wanted."""
        found = self.compare(driver, self.device, which)
        delta = found.difference.delta
        return Found(
            running=found.running,
            sha256=found.sha256,
            delta=delta,
            done=not delta,
            disconnects=found.difference.unprovisioned or needs_both_ends(delta),
            drained=tuple(getattr(found.difference, "drained", ())),
        )

    def moved(self, found: Found) -> str:
        """Return why the device is not as the plan says."""
        if found.sha256 != self.before_sha256:
            return "the device's configuration changed since the plan was made; nothing was done"
        if found.delta != self.delta and _shown(found.delta) != _shown(self.delta):
            return "the changes differ from those of the plan; nothing was done"
        return ""

    def gate(self, seen: Observation, settled: Container[str], held: Health) -> tuple[VerifyCheck, ...]:
        """Return the checks of the intended state, over links to settled devices, and of what held before."""
        return gate(self.expectation, seen, settled, held)


def _shown(delta: Delta) -> list[dict[str, Any]]:
    """Return changes as a plan's file has them, secrets marked: those of a file are not equal to those just made."""
    return [change_json("", change) for change in delta]
