"""Read what one device runs and tell which of several intended configurations it is."""

from collections.abc import Callable, Sequence

from nornir.core.task import Result, Task

from nornir_railweave.device.reading import running_of
from nornir_railweave.device.session import DEVICE_ERRORS, error_text, session
from nornir_railweave.events import Event, Events, Step
from railweave.sonic.delta.diff import diff
from railweave.sonic.rows import DeviceConfig

Candidate = tuple[int, Callable[[], DeviceConfig] | None]
"""A number, and what makes the configuration; None where the device is not intended at all."""


def match_phase(task: Task, candidates: Callable[[str], Sequence[Candidate]], announce: Events) -> Result:
    """Return the number of the first of a device's candidates that it runs, None where it runs none of them; or, as
    text, why it could not be read."""
    name = task.host.name
    with session(task) as opened:
        try:
            running = running_of(opened.driver)
        except DEVICE_ERRORS as fault:
            announce(Event(Step.UNREACHABLE, name, error_text(fault)))
            return Result(host=task.host, result=error_text(fault))
    for number, intended in candidates(name):
        if intended is None:
            return Result(host=task.host, result=number)
        found = diff(name, running, intended())
        if not found.delta and not found.blockers:
            announce(Event(Step.READ, name))
            return Result(host=task.host, result=number)
    announce(Event(Step.READ, name))
    return Result(host=task.host, result=None)
