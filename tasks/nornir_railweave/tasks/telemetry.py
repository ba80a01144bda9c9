"""One reading of a switch for monitoring: state, commit, configuration and counters. Nothing is changed."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from nornir.core.task import Result, Task

from nornir_railweave.checked_driver import CheckedDriver
from nornir_railweave.device.observing import seen_of
from nornir_railweave.device.session import DEVICE_ERRORS, error_text, session
from railweave.plan.observation import Observation
from railweave.switch_driver import Capability, ConfigReading, ObserveRequest

_EVERYTHING = ObserveRequest(telemetry=True)


NOTHING_SEEN = Observation()


@dataclass(frozen=True, slots=True)
class SwitchTelemetry:
    """What a switch answered; ``error`` says why the rest is missing."""

    reading: ConfigReading | None = None
    observation: Observation = NOTHING_SEEN
    telemetry: Mapping[str, Any] | None = None
    error: str = ""


def read_telemetry(task: Task) -> Result:
    """Return a ``SwitchTelemetry``; the session stays open for the next reading, which begins anew after an error."""
    with session(task) as opened:
        try:
            telemetry = _read(opened.driver)
        except DEVICE_ERRORS as fault:
            opened.close()
            telemetry = SwitchTelemetry(error=error_text(fault))
    return Result(host=task.host, result=telemetry)


def _read(driver: CheckedDriver) -> SwitchTelemetry:
    reading = driver.read(_EVERYTHING)
    if reading.view is not None:
        observation = seen_of(reading.view).observation
    else:
        observation = seen_of(driver.observe()).observation
    telemetry = reading.telemetry
    if telemetry is None:
        telemetry = dict(_by_parts(driver))
    return SwitchTelemetry(reading, observation, telemetry)


def _by_parts(driver: CheckedDriver) -> Mapping[str, Any]:
    """Return what a driver answers that does not answer everything together."""
    parts: dict[str, Any] = {}
    if driver.can(Capability.COUNTERS):
        parts["counters"] = driver.all_counters()
    else:
        parts["error"] = f"the driver {driver.name} reads no counters"
    if driver.can(Capability.LINK_STATE):
        parts["link_state"] = driver.link_state()
    return parts
