"""A device's running configuration against the intended one, through a NAPALM driver."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any

from napalm_sonic.decoding import decoding
from nornir_railweave.checked_driver import CheckedDriver
from railweave.fabric.model import Fabric
from railweave.fabric.releases import running_release
from railweave.sonic.delta.delta import Sharing
from railweave.sonic.delta.diff import ConfigComparison, compare
from railweave.sonic.document import RunningConfig, parse_running
from railweave.sonic.render.secret_rows import as_running
from railweave.sonic.rows import DeviceConfig
from railweave.switch_driver import ConfigReading

IntendedConfig = Callable[[str], DeviceConfig]
"""A device's name to its intended configuration, called in the worker of that device."""


@dataclass(frozen=True, slots=True)
class Comparer:
    """Compares the devices of one fabric."""

    fabric: Fabric = field(repr=False)
    intended: IntendedConfig = field(repr=False)
    # Unmanaged rows on our ports are removed; without it they block the plan.
    remove_conflicting: bool = False
    # The intended configurations refer to secrets that are not resolved here: running values count as equal.
    unresolved: bool = False
    # Gives equal deltas of the devices one object.
    sharing: Sharing | None = field(default=None, repr=False)

    def __call__(self, driver: CheckedDriver, name: str, which: str = "running") -> ConfigComparison:
        """Return how the running (or ``startup``) configuration of device ``name`` differs from the intended one.

        Raises what the driver raises, and DocumentError if its answer is not a configuration.
        """
        return self._compared(name, running_of(driver, which))

    def changes(self, name: str, running: RunningConfig) -> int | None:
        """Return how many rows and FRR lines of a configuration differ from the intended one; None if that is unknown.

        Raises DocumentError if it is not a configuration.
        """
        difference = self._compared(name, running).difference
        if difference.blockers:
            return None
        return len(difference.delta)

    def _compared(self, name: str, running: RunningConfig) -> ConfigComparison:
        """Return how a configuration of device ``name`` differs from the intended one."""
        intended = self.intended(name)
        if self.unresolved:
            intended = as_running(intended, running)
        platform = self.fabric.switch_of[name].panel.platform or None
        with decoding("its configuration"):
            return compare(
                name,
                running,
                intended,
                platform=platform,
                remove_conflicting=self.remove_conflicting,
                sharing=self.sharing,
            )


def running_of(driver: CheckedDriver, which: str = "running") -> RunningConfig:
    """Return a configuration of a device: what it runs, what it boots (``startup``), or its ``last`` reading.

    Raises what the driver raises, and DocumentError if its answer is not a configuration.
    """
    if which == "startup":
        return parse_running(driver.printed(which))
    return reading_of(driver, which).running


def reading_of(driver: CheckedDriver, which: str = "running") -> ConfigReading:
    """Return the ``last`` reading if that is asked for and there is one, else a new reading."""
    if which == "last":
        last_reading = driver.last_reading
        if last_reading is not None:
            return last_reading
    return driver.read()


def awaits_confirmation(driver: CheckedDriver) -> bool:
    """Tell whether a commit waits for its confirmation on a device that was just read."""
    # The status of that reading: a timer cannot end between the two.
    reading = driver.last_reading
    if reading is not None:
        return reading.status.pending
    return driver.status().pending


def generation_in(reading: ConfigReading | None) -> Mapping[str, Any]:
    """Return the generation of the intent that a device says it runs; empty if it says nothing about it."""
    if reading is None:
        return {}
    return reading.status.generation


def release_in(reading: ConfigReading | None) -> str:
    """Return the SONiC release that a device runs; empty if it is not known."""
    if reading is None:
        return ""
    return running_release(reading.image)
