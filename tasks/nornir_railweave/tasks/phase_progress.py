"""How far the switches have come through the phases of a change: read once each, compared with every phase."""

from collections.abc import Callable, Sequence
from functools import partial

from nornir.core import Nornir
from nornir.core.task import Result, Task

from nornir_railweave.device.reading import running_of
from nornir_railweave.device.session import DEVICE_ERRORS, error_text, session
from nornir_railweave.events import Announcer, Event, Events, Step, silent
from nornir_railweave.target.connect import run_on
from railweave.plan.phase_progress import PhaseProgress
from railweave.sonic.delta.diff import diff
from railweave.sonic.render.configure import Configurator
from railweave.sonic.rows import DeviceConfig


def find_phase_progress(nr: Nornir, stages: Sequence[Configurator], *, events: Events = silent) -> PhaseProgress:
    """Return how far the devices that ``nr`` reaches have come; ``stages`` are the base and the phases in order.

    A device that a stage does not have yet, or has no more, fits it whatever it runs.
    """
    announce = Announcer([events])
    names = tuple(nr.inventory.hosts)
    announce(Event(Step.READING, text=f"reading {len(names)} devices", details={"devices": len(names)}))
    latest_first = tuple(reversed(tuple(enumerate(stages))))

    def candidates(name: str) -> tuple[Candidate, ...]:
        return tuple((number, _wanted(stage, name)) for number, stage in latest_first)

    found = run_on(nr, names, match_phase, candidates=candidates, announce=announce)
    unreadable = {name: one for name, one in found.items() if isinstance(one, str)}
    return PhaseProgress({name: one for name, one in found.items() if name not in unreadable}, unreadable)


def _wanted(stage: Configurator, name: str) -> Callable[[], DeviceConfig] | None:
    switch = stage.fabric.switch_of.get(name)
    return None if switch is None else partial(stage.device, switch)


Candidate = tuple[int, Callable[[], DeviceConfig] | None]
"""A number, and what makes the configuration; None where the device is not intended at all."""


def match_phase(task: Task, candidates: Callable[[str], Sequence[Candidate]], announce: Events) -> Result:
    """Return the number of the first of a device's candidates that it runs, None where it runs none of them; or, as
    text, why it could not be read.

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
            running = running_of(opened.driver)
        except DEVICE_ERRORS as fault:
            announce(Event(Step.UNREACHABLE, name, error_text(fault)))
            # What leaves may be switched off by now.
            return Result(host=task.host, result=newest if leaves else error_text(fault))
    for number, intended in stages:
        if intended is None:
            return Result(host=task.host, result=number)
        found = diff(name, running, intended())
        gone = leaves and found.unprovisioned
        if gone or not (found.delta or found.blockers):
            announce(Event(Step.READ, name))
            return Result(host=task.host, result=newest if gone or number == last else number)
    announce(Event(Step.READ, name))
    return Result(host=task.host, result=None)
