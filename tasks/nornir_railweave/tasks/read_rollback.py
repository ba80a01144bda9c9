"""Read what one device runs and what it keeps of a rollout: the document that rolls its commit back."""

from collections.abc import Callable, Mapping
from typing import Any

from napalm.base.exceptions import CommitError
from nornir.core.task import Result, Task

from nornir_railweave.checked_driver import CheckedDriver
from nornir_railweave.device.device import ReachedDevice
from nornir_railweave.device.models_check import refused_reload
from nornir_railweave.device.session import DEVICE_ERRORS, error_text, session
from nornir_railweave.events import Events, Step
from railweave.plan.lineage import generation_of
from railweave.plan.rollback_checks import DeviceReading
from railweave.plan.rollout import Rollout
from railweave.sonic.delta.change import Delta
from railweave.sonic.delta.digest import running_sha256
from railweave.sonic.delta.snapshot import snapshot_of
from railweave.sonic.rows import DeviceConfig
from railweave.switch_driver import Capability


def read_rollback(task: Task, rollout: Rollout, intended: Callable[[str], DeviceConfig], announce: Events) -> Result:
    """Read what a device runs, and its rollback document of ``rollout``; return a ``DeviceReading``.

    Its error says why the device could not be read.
    """
    with session(task) as opened:
        device = ReachedDevice(opened, task.host.name, announce, 0)
        try:
            reading = _read(device, rollout, intended(device.name))
        except DEVICE_ERRORS as fault:
            device.say(Step.UNREACHABLE, error_text(fault))
            return Result(host=task.host, result=DeviceReading(error=error_text(fault)))
    device.say(Step.READ)
    return Result(host=task.host, result=reading)


def _read(device: ReachedDevice, rollout: Rollout, owned: DeviceConfig) -> DeviceReading:
    """Return what a device runs, and the snapshot from before its commit of ``rollout``.

    ``owned`` is the intended configuration of the device, which tells the rows that railweave manages.
    """
    driver = device.driver
    reading = driver.read()
    running = reading.running
    last = reading.status
    record = rollout.devices[device.name]
    commit_id = record.commit_id
    if not commit_id and rollout.owns(last.commit_id, last.message):
        # The rollout was cut off before its journal could name the commit that was kept.
        commit_id = last.commit_id
    document_id = commit_id
    if not document_id and record.commit_ids:
        document_id = record.commit_ids[-1]
    document, gone = _document(driver, document_id)
    snapshot = None
    delta = Delta()
    if document is not None:
        snapshot = snapshot_of(document, running, owned, record.before_sha256)
        if not last.pending:
            delta = snapshot.difference(running).delta
    # A driver may have read the switch again to find the document.
    latest = driver.last_reading or reading
    return DeviceReading(
        running=running,
        sha256=running_sha256(running, owned),
        pending=last.pending,
        commit_id=commit_id,
        snapshot=snapshot,
        gone=gone,
        blockers=tuple(refused_reload(driver, delta, running, owned)),
        number=generation_of(latest.status.generation).number,
        earlier=generation_of(latest.earlier),
    )


def _document(driver: CheckedDriver, commit_id: str) -> tuple[Mapping[str, Any] | None, str]:
    """Return the document that rolls a commit back, and an empty text; None and the reason if there is no document."""
    if not driver.can(Capability.ROLLBACK_DOCUMENTS):
        return None, "its driver keeps no rollback document of a commit that was kept"
    if not commit_id:
        return None, "no commit of the rollout is known on it"
    try:
        return driver.rollback_document(commit_id), ""
    except CommitError as fault:
        return None, error_text(fault)
