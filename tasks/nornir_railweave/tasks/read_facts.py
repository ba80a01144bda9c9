"""Read what one device runs, as the facts that are kept of it."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from napalm.base.exceptions import ConnectionClosedException
from nornir.core.task import Result, Task

from nornir_railweave.device.session import DEVICE_ERRORS, error_text, session
from nornir_railweave.events import Event, Events, Step


@dataclass(frozen=True, slots=True)
class FactReading:
    """What was read of a device, as text; empty where it was not, and ``error`` says why."""

    text: str = ""
    error: str = ""


def read_facts(task: Task, keep: Callable[[str], str], announce: Events) -> Result:
    """Return a ``FactReading``; ``keep`` makes the facts of the configuration document that the device prints."""
    name = task.host.name
    with session(task) as opened:
        try:
            try:
                text = keep(_printed(opened.driver))
            except ConnectionClosedException:
                # A session that broke off says nothing of the device; one more try does.
                text = keep(_printed(opened.reconnect(0)))
        except DEVICE_ERRORS as fault:
            announce(Event(Step.UNREACHABLE, name, error_text(fault)))
            return Result(host=task.host, result=FactReading(error=error_text(fault)))
    announce(Event(Step.READ, name))
    return Result(host=task.host, result=FactReading(text))


def _printed(driver: Any) -> str:
    return str(driver.get_config(retrieve="running")["running"])
