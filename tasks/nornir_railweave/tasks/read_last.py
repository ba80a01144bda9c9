"""Ask one device for its last commit: its id, its message, and whether it waits."""

from dataclasses import dataclass

from nornir.core.task import Result, Task

from nornir_railweave.device.session import DEVICE_FAULTS, session, words
from nornir_railweave.events import Event, Events, Step


@dataclass(frozen=True, slots=True)
class LastCommit:
    """A device's last commit; nothing where it knows of none, or keeps no note of commits."""

    commit_id: str = ""
    message: str = ""
    pending: bool = False
    error: str = ""


def read_last(task: Task, announce: Events) -> Result:
    """Return a ``LastCommit``; its error says why a device could not be asked."""
    with session(task) as opened:
        try:
            timer = getattr(opened.driver, "revert_timer", None)
            if timer is None:
                return Result(host=task.host, result=LastCommit())
            status = timer.status()
            # A commit that was taken back is no more; a drain has a message too, and is no commit.
            kept = timer.last_confirmed()
            if not status.pending and kept != status.commit_id:
                return Result(host=task.host, result=LastCommit())
            found = LastCommit(str(status.commit_id), timer.message(), status.pending)
        except DEVICE_FAULTS as fault:
            announce(Event(Step.UNREACHABLE, task.host.name, words(fault)))
            return Result(host=task.host, result=LastCommit(error=words(fault)))
    return Result(host=task.host, result=found)
