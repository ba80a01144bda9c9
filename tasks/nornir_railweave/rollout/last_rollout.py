"""The last rollout without its journal, from what every switch knows of its last commit.

Journals may be lost with the machine that wrote them. Each commit's message names its rollout, and each switch keeps
its rollback document, so the rollout can be found and rolled back. The checks that passed before it are lost with the
journal: those that pass now must pass after the rollback.
"""

from collections.abc import Mapping
from pathlib import Path

from nornir.core import Nornir
from nornir.core.task import Result, Task

from nornir_railweave.device.device import ReachedDevice
from nornir_railweave.device.session import DEVICE_ERRORS, error_text, session
from nornir_railweave.events import Event, Events, Step
from nornir_railweave.target.connect import run_on
from railweave.diagnostics import error
from railweave.errors import RefusedError
from railweave.fabric.model import Fabric
from railweave.plan.rollback_checks import deploy_earlier
from railweave.plan.rollout import NAME, DeviceRecord, Rollout, RolloutKind
from railweave.switch_driver import CommitStatus
from railweave.wording import command_line


def last_rollout(
    nr: Nornir, fabric: Fabric, *, target: str, intent_sha256: str, announce: Events, name: str = ""
) -> Rollout:
    """Return the newest rollout that the switches of ``fabric`` know of, or the one of this ``name``.

    Raises RefusedError if no switch knows of one, or if a switch cannot be asked: it might know of a newer one.
    """
    devices = [switch.name for switch in fabric.switches]
    announce(Event(Step.READING, text=f"reading {len(devices)} devices", details={"devices": len(devices)}))
    results = run_on(nr, devices, read_last, announce=announce)
    commits = {device: result for device, result in results.items() if isinstance(result, CommitStatus)}
    silent = tuple(device for device in devices if device not in commits)
    if silent:
        message = f"{', '.join(silent)} could not be asked for the last commit, which may be a newer rollout's"
        rollback = command_line("rollback", "ROLLOUT")
        fix = f"make the devices reachable, or roll back by the rollout's journal: `{rollback}`"
        raise RefusedError([error("RW536", message, devices=silent, fix=fix)])
    return _rollout(commits, name, fabric.name, target, intent_sha256)


def _rollout(commits: Mapping[str, CommitStatus], name: str, fabric: str, target: str, intent_sha256: str) -> Rollout:
    """Return the rollout of this name, or else the newest one, by the last commit of each switch.

    Without a name, raises RefusedError if no commit names a rollout. With one, the rollout may be without devices.
    """
    rollout_of = {device: _rollout_of(commit.message, fabric) for device, commit in commits.items()}
    # Names begin with the time, so the last one is the newest.
    rollout_name = name or max(rollout_of.values(), default="")
    devices = [device for device, rollout in rollout_of.items() if rollout and rollout == rollout_name]
    if not devices and not name:
        message = f"nothing to roll back: no switch of {fabric} on {target} has a rollout's change as its last commit"
        raise RefusedError([error("RW536", message, fix=deploy_earlier())])
    return Rollout(
        name=rollout_name,
        path=Path(),
        fabric=fabric,
        target=target,
        intent_sha256=intent_sha256,
        devices={device: _record(commits[device]) for device in devices},
        stopped=True,
    )


def _record(commit: CommitStatus) -> DeviceRecord:
    """Return what a journal would say about a device whose last commit is ``commit``."""
    if commit.pending:
        return DeviceRecord(commit_ids=(commit.commit_id,), step=Step.APPLIED.value)
    return DeviceRecord(
        commit_id=commit.commit_id, commit_ids=(commit.commit_id,), step=Step.CONFIRMED.value, outcome="new"
    )


def _rollout_of(message: str, fabric: str) -> str:
    """Return the rollout of this fabric that a commit's message names; empty if it names none, or is of a rollback."""
    words = message.split()
    if RolloutKind.ROLLBACK.value in words:
        return ""
    for word in words:
        named = NAME.match(word)
        if named and named["fabric"] == fabric:
            return word
    return ""


def read_last(task: Task, announce: Events) -> Result:
    """Return the ``CommitStatus`` of a device's last commit; a text with the reason if the device could not be read.

    The status is without an id unless the commit is pending or was confirmed.
    """
    with session(task) as opened:
        device = ReachedDevice(opened, task.host.name, announce, 0)
        try:
            last = device.last_commit()
        except DEVICE_ERRORS as fault:
            device.say(Step.UNREACHABLE, error_text(fault))
            return Result(host=task.host, result=error_text(fault))
    # Neither a drain nor a commit that was rolled back is confirmed under its id.
    was_confirmed = bool(last.kept) and last.kept == last.commit_id
    if not last.pending and not was_confirmed:
        last = CommitStatus(pending=False)
    return Result(host=task.host, result=last)
