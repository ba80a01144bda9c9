"""Flaps and modules of switches, for `railweave links`; nothing is changed."""

from collections.abc import Collection, Mapping
from dataclasses import dataclass, field
from typing import Any

from nornir.core import Nornir
from nornir.core.task import Result, Task

from nornir_railweave.device.session import DEVICE_ERRORS, error_text, session
from nornir_railweave.target.connect import run_on
from railweave.switch_driver import Capability


@dataclass(frozen=True, slots=True)
class SwitchLinkState:
    """What a driver's ``link_state`` returns; empty where ``error`` says why."""

    state: Mapping[str, Any] = field(default_factory=dict)
    error: str = ""


def read_link_state_of(task: Task) -> Result:
    """Return the ``SwitchLinkState`` of a switch."""
    with session(task) as opened:
        try:
            if not opened.driver.can(Capability.LINK_STATE):
                reading = SwitchLinkState(error=f"the driver {opened.driver.name} reads neither flaps nor modules")
                return Result(host=task.host, result=reading)
            return Result(host=task.host, result=SwitchLinkState(opened.driver.link_state()))
        except DEVICE_ERRORS as fault:
            return Result(host=task.host, result=SwitchLinkState(error=error_text(fault) or type(fault).__name__))


def read_link_states(nr: Nornir, names: Collection[str]) -> dict[str, SwitchLinkState]:
    """Return flaps and modules of the switches ``names``."""
    readings = run_on(nr, names, read_link_state_of)
    return {name: reading or SwitchLinkState(error="not attempted") for name, reading in readings.items()}
