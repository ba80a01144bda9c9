"""How far the switches have come through the phases of a change: read once each, compared with every phase."""

from collections.abc import Callable, Collection, Sequence
from dataclasses import dataclass
from functools import partial

from nornir.core import Nornir
from nornir.core.task import Result, Task

from napalm_sonic.clock import SYSTEM_CLOCK, Clock
from nornir_railweave.device.reading import read_with_commit, running_of
from nornir_railweave.device.session import DEVICE_ERRORS, error_text, session, unread_event
from nornir_railweave.events import Announcer, Event, Events, Step, silent
from nornir_railweave.target.connect import run_on
from nornir_railweave.tasks.timers import wait_for_timers
from railweave.plan.phase_progress import PhaseProgress
from railweave.sonic.delta.diff import diff
from railweave.sonic.render.configure import Configurator
from railweave.sonic.rows import DeviceConfig


@dataclass(frozen=True, slots=True)
class DevicePhase:
    """The last phase whose configuration a device runs, None for none of them; ``error`` says why it could not be read.

    ``pending``: it runs that by a commit which waits for its confirmation.
    """

    number: int | None = None
    error: str = ""
    pending: bool = False


def find_phase_progress(
    nr: Nornir,
    stages: Sequence[Configurator],
    *,
    pending_wait_s: float = 0,
    events: Events = silent,
    clock: Clock = SYSTEM_CLOCK,
) -> PhaseProgress:
    """Return how far the devices that ``nr`` reaches have come; ``stages`` are the base and the phases in order.

    A device that a stage does not have yet, or has no more, fits it whatever it runs. Where a commit waits for its
    confirmation, the device is read again until its timer has ended, for ``pending_wait_s`` at most.
    """
    announce = Announcer([events])
    names = tuple(nr.inventory.hosts)
    announce(Event(Step.READING, text=f"reading {len(names)} devices", details={"devices": len(names)}))
    latest_first = tuple(reversed(tuple(enumerate(stages))))

    def candidates(name: str) -> tuple[Candidate, ...]:
        return tuple((number, _wanted(stage, name)) for number, stage in latest_first)

    def read(wanted: Collection[str]) -> dict[str, DevicePhase]:
        return run_on(nr, wanted, match_phase, candidates=candidates, announce=announce)

    found = wait_for_timers(
        nr,
        read(names),
        is_waiting=lambda one: one.pending,
        read=read,
        wait_s=pending_wait_s,
        announce=announce,
        clock=clock,
    )
    return PhaseProgress(
        latest={name: one.number for name, one in found.items() if not (one.error or one.pending)},
        unreadable={name: one.error for name, one in found.items() if one.error},
        waiting=tuple(name for name, one in found.items() if one.pending),
    )


def _wanted(stage: Configurator, name: str) -> Callable[[], DeviceConfig] | None:
    switch = stage.fabric.switch_of.get(name)
    return None if switch is None else partial(stage.device, switch)


Candidate = tuple[int, Callable[[], DeviceConfig] | None]
"""A number, and what makes the configuration; None where the device is not intended at all."""


def match_phase(task: Task, candidates: Callable[[str], Sequence[Candidate]], announce: Events) -> Result:
    """Return a ``DevicePhase``: the number of the first of a device's candidates that it runs.

    Nothing is intended any more for a device that leaves: it has come to the end with its last configuration.
    """
    name = task.host.name
    stages = list(candidates(name))
    newest = stages[0][0]
    leaves = stages[0][1] is None
    while len(stages) > 1 and stages[0][1] is None:
        stages.pop(0)
    last = stages[0][0]
    with session(task) as opened:
        try:
            driver = opened.driver
            running, pending = read_with_commit(driver, lambda: running_of(driver))
        except DEVICE_ERRORS as fault:
            announce(unread_event(name, fault))
            # What leaves may be switched off by now.
            unread = DevicePhase(newest) if leaves else DevicePhase(error=error_text(fault))
            return Result(host=task.host, result=unread)
    if pending:
        announce(Event(Step.READ, name))
        return Result(host=task.host, result=DevicePhase(pending=True))
    for number, intended in stages:
        if intended is None:
            return Result(host=task.host, result=DevicePhase(number))
        found = diff(name, running, intended())
        gone = leaves and found.unprovisioned
        if gone or not (found.delta or found.blockers):
            announce(Event(Step.READ, name))
            return Result(host=task.host, result=DevicePhase(newest if gone or number == last else number))
    announce(Event(Step.READ, name))
    return Result(host=task.host, result=DevicePhase())
