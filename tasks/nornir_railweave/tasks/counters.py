"""Counters of switches around other work, such as the rounds of an acceptance test; nothing is changed."""

import time
from collections.abc import Callable, Collection, Mapping
from dataclasses import dataclass, field
from typing import Any

from nornir.core import Nornir
from nornir.core.task import Result, Task

from nornir_railweave.device.session import DEVICE_ERRORS, error_text, session
from nornir_railweave.target.connect import run_on


@dataclass(frozen=True, slots=True)
class SwitchCounters:
    """The counters of a switch, as its driver's ``all_counters`` returns them; empty where ``error`` says why."""

    counters: Mapping[str, Any] = field(default_factory=dict)
    error: str = ""
    # When it answered, in Unix seconds of this machine.
    answered: float = 0.0


Keep = Callable[[Mapping[str, Any]], Mapping[str, Any]]
"""Reduces a reading to what its reader needs; a function of a module, as tasks run in other processes too."""


def _everything(counters: Mapping[str, Any]) -> Mapping[str, Any]:
    return counters


def read_counters_of(task: Task, keep: Keep = _everything) -> Result:
    """Return the ``SwitchCounters`` of a switch, reduced by ``keep``; its session stays open for the next round."""
    with session(task) as opened:
        try:
            counters = keep(opened.driver.all_counters())
            return Result(host=task.host, result=SwitchCounters(counters, "", time.time()))
        except DEVICE_ERRORS as fault:
            # The next reading logs in again.
            opened.close()
            return Result(host=task.host, result=SwitchCounters(error=error_text(fault), answered=time.time()))


def read_counters(nr: Nornir, names: Collection[str], keep: Keep = _everything) -> dict[str, SwitchCounters]:
    """Return the counters of the switches ``names``, as ``keep`` reduces them."""
    readings = run_on(nr, names, read_counters_of, keep=keep)
    return {name: reading or SwitchCounters(error="not attempted") for name, reading in readings.items()}
