"""Carrying on a rollout whose process was lost, or which stopped: free its devices, and see what is left.

Nothing is concluded from the journal about what a device holds; the journal tells whose the commits are that wait on
the devices, what was planned, and in which order. The devices tell the rest.
"""

from pathlib import Path

from nornir.core import Nornir

from nornir_railweave.device.reading import IntendedConfig
from nornir_railweave.events import Event, Events, Step
from nornir_railweave.rollout.rollouts import rollouts
from nornir_railweave.target.connect import run_on
from nornir_railweave.tasks.recover import recover
from railweave.plan.model import Plan
from railweave.plan.outcome import Outcome
from railweave.plan.resumption import found_done
from railweave.plan.rollout import Rollout


def newest_unfinished(folder: Path, fabric: str, target: str) -> Rollout | None:
    """Return the newest rollout of this fabric and target, if it was not finished; else None.

    One that a finished rollout came after is no longer unfinished: its devices were brought elsewhere since.
    """
    for rollout in rollouts(folder, fabric, target):
        if rollout.finished:
            return None
        if rollout.never_started:
            continue
        if rollout.alive or rollout.devices:
            return rollout
    return None


def newer_change(folder: Path, rollout: Rollout) -> Rollout | None:
    """Return the newest rollout of the same fabric and target that came after ``rollout`` and changed devices."""
    for newer in rollouts(folder, rollout.fabric, rollout.target):
        if newer.name == rollout.name:
            return None
        if newer.changed:
            return newer
    return None


def free_devices(
    nr: Nornir, rollout: Rollout, intended: IntendedConfig, *, reconnect_s: float, announce: Events
) -> dict[str, str]:
    """Restore what devices held before the commits of ``rollout`` that wait on them; return why that failed, by device.


    Nothing waits on a device that ended new or that the rollout never came to. Devices that the intent no longer has
    cannot be reached and are left out: their own timers take back what waits.
    """
    names = [
        name
        for name, record in rollout.devices.items()
        if record.step and record.outcome != "new" and name in nr.inventory.hosts
    ]
    results = run_on(nr, names, recover, rollout=rollout, intended=intended, reconnect_s=reconnect_s, announce=announce)
    return {name: str(why) for name, why in results.items() if why}


def write_down_done(rollout: Rollout, plan: Plan, announce: Events) -> None:
    """Tell the journal of devices that are done and of which it does not know, so that they can be rolled back."""
    states = {name: device.state for name, device in plan.devices.items()}
    for name in found_done(rollout, states):
        made = rollout.devices[name].commit_ids
        details = {"commit_id": made[-1] if made else "", "after_sha256": plan.devices[name].running_sha256}
        announce(Event(Step.CONFIRMED, name, "found in its new configuration", details))
        announce(Event(Step.OUTCOME, name, details={"outcome": Outcome.NEW.value}))
