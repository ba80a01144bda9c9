"""Recording what switches run, boot and show, as a simulated switch can be made to hold it. Nothing is changed."""

from collections.abc import Collection, Mapping
from dataclasses import dataclass, field
from typing import Any

from nornir.core import Nornir
from nornir.core.task import Result, Task

from nornir_railweave.device.observing import observe
from nornir_railweave.device.session import DEVICE_ERRORS, error_text, session, unread_event
from nornir_railweave.events import Announcer, Event, Events, Step, silent
from nornir_railweave.target.connect import run_on
from railweave.plan.observation import Observation
from railweave.sonic.document import RunningConfig, parse_running


@dataclass(frozen=True, slots=True)
class RecordedSwitch:
    """What one switch was read to hold; with an ``error`` it could not be read."""

    running: RunningConfig | None = None
    # None where it cannot be read: the files that a switch boots need more rights than what it runs.
    startup: RunningConfig | None = None
    # As `/etc/sonic/sonic_version.yml` of SONiC says it.
    image: Mapping[str, str] = field(default_factory=dict)
    # What the transaction program on the switch says of the intent that it runs.
    generation: Mapping[str, Any] = field(default_factory=dict, repr=False)
    seen: Observation | None = None
    error: str = ""


def startup_of(printed: str) -> RunningConfig | None:
    """Return the configuration that a switch boots, as its driver ``printed`` it; None if the login may not read it.

    Raises DocumentError if the text is not a configuration.
    """
    startup = parse_running(printed or "{}")
    if startup.is_whole:
        return startup
    return None


def record_switch(task: Task, announce: Events) -> Result:
    """Return a ``RecordedSwitch``: what one switch runs, boots and shows."""
    with session(task) as opened:
        try:
            driver = opened.driver
            reading = driver.read()
            recorded = RecordedSwitch(
                running=reading.running,
                startup=startup_of(driver.printed("startup")),
                image=reading.image,
                generation=reading.status.generation,
                seen=observe(driver),
            )
        except DEVICE_ERRORS as fault:
            announce(unread_event(task.host.name, fault))
            return Result(host=task.host, result=RecordedSwitch(error=error_text(fault)))
    announce(Event(Step.READ, task.host.name))
    return Result(host=task.host, result=recorded)


def record(nr: Nornir, names: Collection[str], *, events: Events = silent) -> dict[str, RecordedSwitch]:
    """Return what the switches ``names`` hold."""
    announce = Announcer([events])
    recorded = run_on(nr, names, record_switch, announce=announce)
    return {name: switch or RecordedSwitch(error="not attempted") for name, switch in recorded.items()}
