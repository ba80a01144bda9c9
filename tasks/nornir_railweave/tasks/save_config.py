"""Save a device that runs what is intended and would boot something else after a power loss."""

from collections.abc import Mapping
from contextlib import suppress
from enum import Enum, auto

from napalm.base.exceptions import NapalmException
from nornir.core.task import Result, Task

from nornir_railweave.checked_driver import CheckedDriver
from nornir_railweave.device.jobs import DeviceJob
from nornir_railweave.device.session import DEVICE_ERRORS, session
from nornir_railweave.events import Event, Events, Step
from railweave.sonic.document import DocumentError
from railweave.switch_driver import Capability


class Saved(Enum):
    """Whether a device boots what it runs: it did, it does now, it does not, or it could not be asked."""

    BEFORE = auto()
    NOW = auto()
    NOT = auto()
    UNKNOWN = auto()


def save_config(task: Task, jobs: Mapping[str, DeviceJob], announce: Events) -> Result:
    """Save the running configuration of a device unless it boots that already; return a ``Saved``.

    In a dry run nothing is saved, and ``changed`` tells whether something would be.
    """
    name = task.host.name
    with session(task) as opened:
        try:
            if is_saved(opened.driver, jobs[name]):
                return Result(host=task.host, result=Saved.BEFORE)
            if task.is_dry_run():
                return Result(host=task.host, result=Saved.NOT, changed=True)
            was_saved = save(opened.driver, jobs[name])
        except DEVICE_ERRORS:
            # The verification that follows reports a device that does not answer.
            return Result(host=task.host, result=Saved.UNKNOWN)
    if not was_saved:
        announce(Event(Step.LOST, name, UNSAVED))
        return Result(host=task.host, result=Saved.NOT)
    announce(Event(Step.SAVED, name))
    return Result(host=task.host, result=Saved.NOW, changed=True)


UNSAVED = "the new configuration runs but could not be saved: after a power loss the switch boots the old one"


def is_saved(driver: CheckedDriver, job: DeviceJob) -> bool:
    """Tell whether the device boots the configuration of the job. Raises what the driver raises."""
    try:
        return job.read(driver, "startup").done
    except DocumentError:
        return False


def save(driver: CheckedDriver, job: DeviceJob) -> bool:
    """Save the running configuration if the driver can; return whether the device boots that of the job after it."""
    if driver.can(Capability.SAVE):
        # If saving is refused, such as while a commit waits, the comparison below fails.
        with suppress(NapalmException):
            driver.save()
    return is_saved(driver, job)
