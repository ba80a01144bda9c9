"""One reading of a switch for monitoring: state, commit, configuration and counters. Nothing is changed."""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any

from nornir.core.task import Result, Task

from nornir_railweave.checked_driver import CheckedDriver
from nornir_railweave.device.observing import seen_of
from nornir_railweave.device.session import DEVICE_ERRORS, error_text, session
from railweave.plan.observation import Observation
from railweave.switch_driver import Capability, ConfigReading, ObserveRequest, SwitchView

NOTHING_SEEN = Observation()


@dataclass(frozen=True, slots=True)
class SwitchTelemetry:
    """What a switch answered; ``error`` says why the rest is missing."""

    reading: ConfigReading | None = None
    observation: Observation = NOTHING_SEEN
    telemetry: Mapping[str, Any] | None = None
    error: str = ""


class TelemetryReader:
    """Reads switches again and again; an observation is computed only when a switch shows something new."""

    def __init__(self, queues: Iterable[int] = ()) -> None:
        """Prepare to read counters of ports and of these ``queues``, empty: of all."""
        self._request = ObserveRequest(telemetry=True, queues=tuple(queues))
        self._views: dict[str, SwitchView] = {}
        # What was observed in each of these views.
        self._observations: dict[str, Observation] = {}

    def read(self, task: Task) -> Result:
        """Return a ``SwitchTelemetry``. The session stays open for the next reading; after an error it is closed."""
        with session(task) as opened:
            try:
                telemetry = self._read(task.host.name, opened.driver)
            except DEVICE_ERRORS as fault:
                opened.close()
                telemetry = SwitchTelemetry(error=error_text(fault))
        return Result(host=task.host, result=telemetry)

    def _read(self, name: str, driver: CheckedDriver) -> SwitchTelemetry:
        reading = driver.read(self._request)
        view = reading.view
        if view is None:
            view = driver.observe()
        telemetry = reading.telemetry
        if telemetry is None:
            telemetry = dict(_by_parts(driver))
        return SwitchTelemetry(reading, self._observation(name, view), telemetry)

    def _observation(self, name: str, view: SwitchView) -> Observation:
        """Return what a switch shows in ``view``."""
        # A driver returns the same view object while its switch shows the same.
        if self._views.get(name) is not view:
            self._observations[name] = seen_of(view).observation
            self._views[name] = view
        return self._observations[name]


def _by_parts(driver: CheckedDriver) -> Mapping[str, Any]:
    """Return the telemetry of a driver whose readings do not include it, from one method for each part."""
    parts: dict[str, Any] = {}
    if driver.can(Capability.COUNTERS):
        parts["counters"] = driver.all_counters()
    else:
        parts["error"] = f"the driver {driver.name} reads no counters"
    if driver.can(Capability.LINK_STATE):
        parts["link_state"] = driver.link_state()
    return parts
