"""Ask one device for its last commit: its id, its message, and whether it waits."""

from nornir.core.task import Result, Task

from nornir_railweave.device.device import LastCommit, ReachedDevice
from nornir_railweave.device.session import DEVICE_ERRORS, error_text, session
from nornir_railweave.events import Events, Step


def read_last(task: Task, announce: Events) -> Result:
    """Return a ``LastCommit``, empty where the device knows of none; as text, why a device could not be asked."""
    with session(task) as opened:
        device = ReachedDevice(opened, task.host.name, announce, 0)
        try:
            last = device.last_commit()
        except DEVICE_ERRORS as fault:
            device.say(Step.UNREACHABLE, error_text(fault))
            return Result(host=task.host, result=error_text(fault))
    # A commit that was taken back is no more; a drain has a message too, and is no commit.
    is_commit = last.pending or (last.kept and last.kept == last.commit_id)
    return Result(host=task.host, result=last if is_commit else LastCommit(pending=False))
