"""Save a device that runs what is intended and would boot something else after a power loss."""

from collections.abc import Mapping
from enum import Enum, auto

from nornir.core.task import Result, Task

from nornir_railweave.device.jobs import DeviceJob
from nornir_railweave.device.saving import UNSAVED, is_saved, save
from nornir_railweave.device.session import DEVICE_ERRORS, session
from nornir_railweave.events import Event, Events, Step


class Saved(Enum):
    """Whether a device boots what it runs: it did, it does now, it does not, or it could not be asked."""

    BEFORE = auto()
    NOW = auto()
    NOT = auto()
    UNKNOWN = auto()


def save_config(task: Task, jobs: Mapping[str, DeviceJob], announce: Events) -> Result:
    """Return a ``Saved``; a device that does not answer is found by the verification that follows."""
    name = task.host.name
    with session(task) as opened:
        try:
            if is_saved(opened.driver, jobs[name]):
                return Result(host=task.host, result=Saved.BEFORE)
            done = save(opened.driver, jobs[name])
        except DEVICE_ERRORS:
            return Result(host=task.host, result=Saved.UNKNOWN)
    announce(Event(Step.SAVED if done else Step.LOST, name, "" if done else UNSAVED))
    return Result(host=task.host, result=Saved.NOW if done else Saved.NOT)
