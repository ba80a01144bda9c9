"""A reading of a switch for monitoring, and the metrics that it gives."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from railweave.fabric.node_metrics import ScrapedMetric
from railweave.plan.observation import Observation
from railweave.sonic.document import RunningConfig
from railweave.switch_driver import CommitStatus

Samples = Mapping[ScrapedMetric, str]
"""The lines of each metric, which the format wants together."""


@dataclass(frozen=True, slots=True)
class MonitoredReading:
    """What a switch answered: its state, its last commit, its configuration and ``ConfigReading.telemetry``."""

    observation: Observation
    status: CommitStatus
    running: RunningConfig = field(repr=False)
    telemetry: Mapping[str, Any] = field(repr=False)

    def part(self, name: str, *keys: str) -> Mapping[str, Any]:
        """Return an object of the telemetry by its path; empty if it is missing or not an object."""
        value: Any = self.telemetry.get(name)
        for key in keys:
            if not isinstance(value, Mapping):
                return {}
            value = value.get(key)
        if isinstance(value, Mapping):
            return value
        return {}


@dataclass(frozen=True, slots=True)
class SwitchSamples:
    """The metrics of one reading."""

    samples: Samples
    # States of maintenance that the switch is in.
    maintenance: frozenset[str] = frozenset()
    # Sentences: parts of the reading that are missing. Such a reading is not complete.
    missing: tuple[str, ...] = ()
    # Another version of the program answered on the switch.
    other_program: bool = False
    # The seconds of the switch's revert timer: a rollout may keep the switch out of service for as long.
    timer_s: float = 0.0
