"""Read what one device runs and the document, kept on the device, that takes a rollout's commit back."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any

from napalm.base.exceptions import CommitError
from nornir.core.task import Result, Task

from nornir_railweave.device.reading import running_of
from nornir_railweave.device.session import DEVICE_FAULTS, session, words
from nornir_railweave.events import Event, Events, Step
from railweave.plan.rollout import Rollout
from railweave.sonic.delta.diff import running_sha256
from railweave.sonic.delta.restoring import Goal, goal_of
from railweave.sonic.document import DocumentError, RunningConfig
from railweave.sonic.rows import DeviceConfig


@dataclass(frozen=True, slots=True)
class WayBack:
    """What a device says of a rollout.

    ``commit_id`` is the commit of the rollout that it holds, ``goal`` where its way back leads (None where the file
    is gone: ``gone`` says why). ``last_id`` and ``last_message`` tell of its last commit, whoever made it. ``error``:
    the device could not be read.
    """

    running: RunningConfig | None = field(default=None, repr=False)
    sha256: str = ""
    pending: bool = False
    commit_id: str = ""
    last_id: str = ""
    last_message: str = ""
    goal: Goal | None = None
    gone: str = ""
    error: str = ""


def read_way_back(task: Task, rollout: Rollout, wanted: Callable[[str], DeviceConfig], announce: Events) -> Result:
    """Return a ``WayBack``; its error says why a device could not be read."""
    name = task.host.name
    with session(task) as opened:
        try:
            found = _read(opened.driver, name, rollout, wanted(name))
        except (*DEVICE_FAULTS, DocumentError) as fault:
            announce(Event(Step.UNREACHABLE, name, words(fault)))
            return Result(host=task.host, result=WayBack(error=words(fault)))
    announce(Event(Step.READ, name))
    return Result(host=task.host, result=found)


def _read(driver: Any, name: str, rollout: Rollout, wanted: DeviceConfig) -> WayBack:
    running = running_of(driver)
    record = rollout.devices[name]
    timer = getattr(driver, "revert_timer", None)
    last_id, last_message = ("", "") if timer is None else (str(timer.status().commit_id), timer.message())
    commit_id = record.commit_id
    if not commit_id and rollout.owns(last_id, last_message):
        # The rollout was cut off before its journal could name the commit that was kept.
        commit_id = last_id
    document, gone = _document(driver, commit_id or (record.commit_ids[-1] if record.commit_ids else ""))
    return WayBack(
        running=running,
        sha256=running_sha256(running, wanted),
        pending=bool(driver.has_pending_commit()),
        commit_id=commit_id,
        last_id=last_id,
        last_message=last_message,
        goal=None if document is None else goal_of(document, running),
        gone=gone,
    )


def _document(driver: Any, commit_id: str) -> tuple[Mapping[str, Any] | None, str]:
    ways_back = getattr(driver, "ways_back", None)
    if ways_back is None:
        return None, "its driver keeps no way back of a commit that was kept"
    if not commit_id:
        return None, "no commit of the rollout is known on it"
    try:
        return ways_back.document(commit_id), ""
    except CommitError as fault:
        return None, words(fault)
