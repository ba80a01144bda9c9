"""Collecting facts: what the devices of a fabric run, one document each."""

from collections.abc import Callable, Collection
from dataclasses import dataclass

from napalm.base.exceptions import ConnectionClosedException
from nornir.core import Nornir
from nornir.core.task import Result, Task

from nornir_railweave.device.session import DEVICE_ERRORS, error_text, session, unread_event
from nornir_railweave.events import Announcer, Event, Events, Step, silent
from nornir_railweave.target.connect import run_on


@dataclass(frozen=True, slots=True)
class FactReading:
    """What was read of a device, as text; empty where it was not, and ``error`` says why."""

    text: str = ""
    error: str = ""


def read_facts(task: Task, keep: Callable[[str], str], announce: Events) -> Result:
    """Return a ``FactReading``; ``keep`` reduces the configuration document of the device to the facts."""
    name = task.host.name
    with session(task) as opened:
        try:
            try:
                text = keep(opened.driver.printed("running"))
            except ConnectionClosedException:
                # A session may have timed out since the last task, so it is tried once more.
                text = keep(opened.reconnect(0).printed("running"))
        except DEVICE_ERRORS as fault:
            announce(unread_event(name, fault))
            return Result(host=task.host, result=FactReading(error=error_text(fault)))
    announce(Event(Step.READ, name))
    return Result(host=task.host, result=FactReading(text))


def collect(
    nr: Nornir, names: Collection[str], keep: Callable[[str], str], *, events: Events = silent
) -> dict[str, FactReading]:
    """Return the facts of the devices ``names``; ``keep`` reduces each device's configuration document to them."""
    announce = Announcer([events])
    announce(Event(Step.READING, text=f"reading {len(names)} devices", details={"devices": len(names)}))
    readings = run_on(nr, names, read_facts, keep=keep, announce=announce)
    return {name: reading or FactReading(error="not attempted") for name, reading in readings.items()}
