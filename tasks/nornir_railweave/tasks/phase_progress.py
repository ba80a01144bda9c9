"""How far the switches have come through the phases of a change: read once each, compared with every phase."""

from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from typing import NamedTuple

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

    A device that is not in the fabric of a stage fits that stage whatever it runs. A device whose commit waits for its
    confirmation is read again until its timer has ended, for at most ``pending_wait_s`` seconds.
    """
    announce = Announcer([events])
    names = tuple(nr.inventory.hosts)
    announce(Event(Step.READING, text=f"reading {len(names)} devices", details={"devices": len(names)}))
    latest_first = tuple(reversed(tuple(enumerate(stages))))

    def candidates(name: str) -> tuple[_PhaseCandidate, ...]:
        return tuple(_PhaseCandidate(number, _intended_of(stage, name)) for number, stage in latest_first)

    def read(devices: Collection[str]) -> dict[str, DevicePhase]:
        return run_on(nr, devices, match_phase, candidates=candidates, announce=announce)

    phases = read(names)
    deadline_s = clock.monotonic() + pending_wait_s
    waiting = _waiting(phases)
    while waiting and clock.monotonic() < deadline_s:
        wait_for_timers(nr, waiting, announce, clock)
        phases |= read(waiting)
        waiting = _waiting(phases)
    return PhaseProgress(
        latest={name: phase.number for name, phase in phases.items() if not (phase.error or phase.pending)},
        unreadable={name: phase.error for name, phase in phases.items() if phase.error},
        waiting=waiting,
    )


def _waiting(phases: Mapping[str, DevicePhase]) -> tuple[str, ...]:
    """Return the devices with a commit that waits for its confirmation."""
    return tuple(name for name, phase in phases.items() if phase.pending)


class _PhaseCandidate(NamedTuple):
    """A phase that a device may have reached."""

    number: int
    # Makes the configuration of the device in that phase; None where the fabric does not have the device.
    intended: Callable[[], DeviceConfig] | None


def _intended_of(stage: Configurator, name: str) -> Callable[[], DeviceConfig] | None:
    """Return the function that makes a device's configuration in a stage; None if the stage lacks the device."""
    switch = stage.fabric.switch_of.get(name)
    if switch is None:
        return None
    return partial(stage.device, switch)


def match_phase(task: Task, candidates: Callable[[str], Sequence[_PhaseCandidate]], announce: Events) -> Result:
    """Return a ``DevicePhase``: the latest phase whose configuration one device runs.

    ``candidates`` gives the phases of a device, the last one first. A device that runs its last intended configuration
    has come to the end, even if later phases do not have the device.
    """
    name = task.host.name
    stages = list(candidates(name))
    newest = stages[0].number
    is_leaving = stages[0].intended is None
    # The phases after a device was taken out have no configuration to compare with.
    while len(stages) > 1 and stages[0].intended is None:
        stages.pop(0)
    with session(task) as opened:
        try:
            driver = opened.driver
            running = running_of(driver)
            pending = awaits_confirmation(driver)
        except DEVICE_ERRORS as fault:
            announce(unread_event(name, fault))
            # A device that was taken out may be switched off.
            if is_leaving:
                return Result(host=task.host, result=DevicePhase(newest))
            return Result(host=task.host, result=DevicePhase(error=error_text(fault)))
    announce(Event(Step.READ, name))
    if pending:
        return Result(host=task.host, result=DevicePhase(pending=True))
    number = _number_of(name, running, stages, is_leaving=is_leaving)
    if stages[0].intended is not None and number == stages[0].number:
        number = newest
    return Result(host=task.host, result=DevicePhase(number))


def _number_of(name: str, running: RunningConfig, stages: Sequence[_PhaseCandidate], *, is_leaving: bool) -> int | None:
    """Return the number of the first of ``stages`` whose configuration a device runs; None for none of them.

    A stage that does not have the device fits whatever it runs. ``is_leaving`` says that the last phase does not have
    the device.
    """
    for stage in stages:
        if stage.intended is None:
            return stage.number
        difference = diff(name, running, stage.intended())
        if is_leaving and difference.unprovisioned:
            # A device that was taken out and reset to its factory configuration has reached the last stage.
            return stages[0].number
        if not (difference.delta or difference.blockers):
            return stage.number
    return None
