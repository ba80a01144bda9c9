"""The state of a fabric between deployments, read from its switches and the project's journals."""

from collections.abc import Iterator
from pathlib import Path

from nornir_railweave.rollout.rollouts import leaving_behind, rollouts
from nornir_railweave.target.connect import run_on
from nornir_railweave.tasks.read_status import read_status
from railweave.api.acceptance import last_acceptance
from railweave.api.journal.folder import fetched_journals
from railweave.api.project import Project
from railweave.api.targets.fabric import live_fabric
from railweave.plan.rollout import Rollout
from railweave.plan.status import FabricStatus, SwitchStatus


def status(project: Project, target: str) -> FabricStatus:
    """Return what the switches of ``target`` run, open rollouts, armed revert timers, and drained switches.

    Changes nothing, and may run beside a rollout. A switch that cannot be read has an ``error``; the others are
    returned with their state. Raises UsageError for an unknown target, RailweaveError if the journals cannot be read.
    """
    live = live_fabric(project, target, partial=True)
    fabric = live.designed.fabric
    names = [switch.name for switch in fabric.switches]
    with live.progress():
        reachable = [name for name in names if name in live.nornir.inventory.hosts]
        statuses = run_on(live.nornir, reachable, read_status)
    switches = tuple(statuses.get(name) or SwitchStatus(name, error="not read") for name in names)
    folder = fetched_journals()
    limited = leaving_behind(folder, fabric.name, target, live.designed.intent.sha256)
    unfinished = tuple(_unfinished(folder, fabric.name, target))
    accepted = last_acceptance(fabric.name, live.designed.intent.sha256)
    return FabricStatus(
        fabric=fabric.name, target=target, switches=switches, rollouts=unfinished, limited=limited, accepted=accepted
    )


def _unfinished(folder: Path, fabric: str, target: str) -> Iterator[Rollout]:
    """Yield the rollouts that are not finished, newest first, back to the newest finished one.

    Rollouts that stopped before their first device are left out: there is nothing to resume.
    """
    for rollout in rollouts(folder, fabric, target):
        if rollout.alive:
            yield rollout
        elif rollout.finished:
            return
        elif rollout.devices and not rollout.never_started:
            yield rollout
