"""Read what one device runs and tell which of several wanted configurations it is."""

from collections.abc import Callable, Sequence

from nornir.core.task import Result, Task

from nornir_railweave.device.reading import running_of
from nornir_railweave.device.session import DEVICE_FAULTS, session, words
from nornir_railweave.events import Event, Events, Step
from railweave.sonic.delta.diff import diff
from railweave.sonic.document import DocumentError
from railweave.sonic.rows import DeviceConfig

Candidate = tuple[int, Callable[[], DeviceConfig] | None]
"""A number, and what makes the configuration; None where the device is not wanted at all."""


def match_phase(task: Task, candidates: Callable[[str], Sequence[Candidate]], announce: Events) -> Result:
    """Return the number of the first of a device's candidates that it runs, None where it runs none of them; or, as
    text, why it could not be read."""
    name = task.host.name
    with session(task) as opened:
        try:
            running = running_of(opened.driver)
        except (*DEVICE_FAULTS, DocumentError) as fault:
            announce(Event(Step.UNREACHABLE, name, words(fault)))
            return Result(host=task.host, result=words(fault))
    for number, wanted in candidates(name):
        if wanted is None:
            return Result(host=task.host, result=number)
        found = diff(name, running, wanted())
        if not found.delta and not found.refusals:
            announce(Event(Step.READ, name))
            return Result(host=task.host, result=number)
    announce(Event(Step.READ, name))
    return Result(host=task.host, result=None)
