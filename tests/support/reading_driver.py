"""Drivers that only read, for tests of what is made of a reading."""

from typing import Any, cast

from napalm_sonic.program import SwitchProgram
from napalm_sonic.switch_driver import SonicSwitchDriver
from nornir_railweave.checked_driver import CheckedDriver
from railweave.sonic.document import RunningConfig
from railweave.switch_driver import Capability, CommitStatus, ConfigReading, ObserveRequest, SwitchDriver


class ReadingDriver(SwitchDriver):
    """A switch that runs ``running``."""

    capabilities = frozenset({Capability.READ})

    def __init__(self, running: RunningConfig) -> None:
        self.running = running

    def read(self, request: ObserveRequest | None = None) -> ConfigReading:
        return ConfigReading(self.running, CommitStatus(pending=False))


def reading_driver(running: RunningConfig) -> CheckedDriver:
    """Return a driver whose switch runs ``running``, as tasks call it."""
    return CheckedDriver(ReadingDriver(running), "ReadingDriver")


def driver_of(program: SwitchProgram) -> CheckedDriver:
    """Return the driver of a switch of which nothing is asked but its program, as tasks call it."""
    unused = cast("Any", None)
    return CheckedDriver(SonicSwitchDriver(unused, program, unused, unused), "SonicDriver")
