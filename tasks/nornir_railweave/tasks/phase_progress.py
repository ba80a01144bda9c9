"""How far the switches have come through the phases of a change: read once each, compared with every phase."""

from collections.abc import Callable, Sequence
from functools import partial

from nornir.core import Nornir

from nornir_railweave.events import Announcer, Event, Events, Step, silent
from nornir_railweave.target.connect import only
from nornir_railweave.tasks.match_phase import Candidate, match_phase
from railweave.plan.phase_progress import PhaseProgress
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

    results = only(nr, names).run(match_phase, on_failed=True, candidates=candidates, announce=announce)
    latest: dict[str, int | None] = {}
    unreadable: dict[str, str] = {}
    for name in names:
        result = results[name][0]
        if result.exception is not None:
            raise result.exception
        if isinstance(result.result, str):
            unreadable[name] = result.result
        else:
            latest[name] = result.result
    return PhaseProgress(latest, unreadable)


def _wanted(stage: Configurator, name: str) -> Callable[[], DeviceConfig] | None:
    switch = stage.fabric.switch_of.get(name)
    return None if switch is None else partial(stage.device, switch)
