"""How far the switches have come through the phases of a change: read once each, compared with every phase."""

from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass
from functools import partial

from nornir.core import Nornir
from nornir.core.task import Result, Task

from napalm_sonic.clock import SYSTEM_CLOCK, Clock
from nornir_railweave.device.reading import awaits_confirmation, running_of
from nornir_railweave.device.session import DEVICE_ERRORS, error_text, session, unread_event
from nornir_railweave.events import Announcer, Event, Events, Step, silent
from nornir_railweave.target.connect import run_on
from nornir_railweave.tasks.timers import wait_for_timers
from railweave.plan.phases.progress import PhaseProgress
from railweave.sonic.delta.diff import diff
from railweave.sonic.document import RunningConfig
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

    phases = read(names)
    deadline_s = clock.monotonic() + pending_wait_s
    while (waiting := _waiting(phases)) and clock.monotonic() < deadline_s:
        wait_for_timers(nr, waiting, announce, clock)
        phases |= read(waiting)
    return PhaseProgress(
        latest={name: phase.number for name, phase in phases.items() if not (phase.error or phase.pending)},
        unreadable={name: phase.error for name, phase in phases.items() if phase.error},
        waiting=_waiting(phases),
    )


def _waiting(phases: Mapping[str, DevicePhase]) -> tuple[str, ...]:
    """Return the devices with a commit that waits for its confirmation."""
    return tuple(name for name, phase in phases.items() if phase.pending)


def _wanted(stage: Configurator, name: str) -> Callable[[], DeviceConfig] | None:
    switch = stage.fabric.switch_of.get(name)
    if switch is None:
        return None
    return partial(stage.device, switch)


Candidate = tuple[int, Callable[[], DeviceConfig] | None]
"""A number, and what makes the configuration; None where the device is not intended at all."""


def match_phase(task: Task, candidates: Callable[[str], Sequence[Candidate]], announce: Events) -> Result:
    """Return a ``DevicePhase``: the number of the first of a device's candidates that it runs.

    Nothing is intended any more for a device that leaves: it has come to the end with its last configuration.
    """
    name = task.host.name
    stages = list(candidates(name))
    newest = stages[0][0]
    is_leaving = stages[0][1] is None
    while len(stages) > 1 and stages[0][1] is None:
        stages.pop(0)
    with session(task) as opened:
        try:
            driver = opened.driver
            running = running_of(driver)
            pending = awaits_confirmation(driver)
        except DEVICE_ERRORS as fault:
            announce(unread_event(name, fault))
            # What leaves may be switched off by now.
            if is_leaving:
                return Result(host=task.host, result=DevicePhase(newest))
            return Result(host=task.host, result=DevicePhase(error=error_text(fault)))
    announce(Event(Step.READ, name))
    if pending:
        return Result(host=task.host, result=DevicePhase(pending=True))
    number = _number_of(name, running, stages, is_leaving=is_leaving)
    # A device that does not change any more after a phase has come to the end with it.
    last_number, last_intended = stages[0]
    if number == last_number and last_intended is not None:
        number = newest
    return Result(host=task.host, result=DevicePhase(number))


def _number_of(name: str, running: RunningConfig, stages: Sequence[Candidate], *, is_leaving: bool) -> int | None:
    """Return the number of the first stage whose configuration runs, None for none of them."""
    for number, intended in stages:
        if intended is None:
            return number
        difference = diff(name, running, intended())
        if is_leaving and difference.unprovisioned:
            # It was taken out and is as it came from the factory: that is the last stage.
            return stages[0][0]
        if not (difference.delta or difference.blockers):
            return number
    return None
