"""Cables of a running fabric: graded, drained within the limits of a drain, and soaked before they return."""

import json
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from datetime import UTC, datetime
from pathlib import Path
from typing import Any, NamedTuple

from nornir_railweave.tasks.counters import SwitchCounters, read_counters
from nornir_railweave.tasks.link_state import SwitchLinkState, read_link_states
from railweave.api.maintenance.drain import DrainRequest, drain
from railweave.api.project import STATE, Project
from railweave.api.targets.fabric import LiveFabric, live_fabric
from railweave.cabling.cable_names import cable_names
from railweave.cabling.modules import planned_modules
from railweave.catalog.load import load_catalog
from railweave.errors import RailweaveError, UsageError
from railweave.fabric.model import Fabric
from railweave.files import cannot_write, write_private
from railweave.links.grades import Grade
from railweave.links.grading import GradedCable, LinkGrader, LinksReport, Soaked, SwitchLinks
from railweave.links.harm import links_of_cables
from railweave.links.history import (
    Memory,
    Offender,
    memory_document,
    merged_history,
    offenders,
    read_history,
    read_memory,
)
from railweave.links.soak import Soak, SoakReading
from railweave.plan.manual_drain import DrainResult
from railweave.wording import command_line, suggestion

SECONDS = 30.0
"""Seconds between the two readings of `links`."""


def links(
    project: Project, target: str, *, seconds: float = SECONDS, sleep: Callable[[float], None] = time.sleep
) -> LinksReport:
    """Read all switches twice, ``seconds`` apart, and grade every cable; changes nothing on them.

    Samples of poor links are kept in ``.railweave/links`` for their trend, with a line a day for each cable that is
    not of grade A. A switch that cannot be read is named, the others are graded. Raises UsageError, RailweaveError.
    """
    live = live_fabric(project, target, partial=True)
    fabric = live.designed.fabric
    memory = _memory(_folder(fabric) / f"{target}.json")
    catalog = load_catalog()
    grader = LinkGrader(fabric, cable_names(fabric, catalog), memory, planned_modules(fabric, catalog))
    with live.progress():
        readings = _read_twice(live, seconds, sleep)
    cables = tuple(grader.grade(readings.switches))
    repeat_offenders = _remember(fabric, target, memory, cables)
    return LinksReport(
        fabric=fabric.name,
        target=target,
        seconds=seconds,
        cables=cables,
        unread=readings.unread,
        without_optics=readings.without_optics,
        offenders=repeat_offenders,
    )


def _folder(fabric: Fabric) -> Path:
    return STATE / "links" / fabric.name


def _remember(fabric: Fabric, target: str, memory: Memory, cables: Sequence[GradedCable]) -> tuple[Offender, ...]:
    """Write the memory, and the history with today's grades of ``cables``; return the repeat offenders."""
    folder = _folder(fabric)
    today = datetime.now(UTC).date()
    lines = [cable.line(today.isoformat()) for cable in cables if cable.grade is not Grade.A]
    history_file = folder / f"{target}.history.jsonl"
    history = merged_history(read_history(_text(history_file)), lines)
    _write(folder / f"{target}.json", json.dumps(memory_document(memory)))
    _write(history_file, "".join(f"{line.text}\n" for line in history))
    return tuple(offenders(history, today, fabric.policies.links))


class _LinkReadings(NamedTuple):
    """What was read of the links of each switch, and by name why other switches could not be read.

    ``without_optics`` are the read switches whose optics could not be, with the reason.
    """

    switches: dict[str, SwitchLinks]
    unread: dict[str, str]
    without_optics: dict[str, str]


def _read_twice(live: LiveFabric, seconds: float, sleep: Callable[[float], None]) -> _LinkReadings:
    """Read the counters of all switches twice, and their optics once in between."""
    names = [switch.name for switch in live.designed.fabric.switches]
    reachable = [name for name in names if name in live.nornir.inventory.hosts]
    unread = dict.fromkeys(set(names) - set(reachable), "not in the inventory")
    before = read_counters(live.nornir, reachable)
    unread |= _errors(before)
    # A switch that hangs is not waited for again.
    answering = _answering(before)
    states = read_link_states(live.nornir, answering)
    sleep(seconds)
    after = read_counters(live.nornir, answering)
    unread |= _errors(after)
    switches = {}
    for name in _answering(after):
        switches[name] = SwitchLinks(before[name].counters, after[name].counters, _ports_of(states[name].state))
    without_optics = {name: states[name].error for name in switches if states[name].error}
    return _LinkReadings(switches, dict(sorted(unread.items())), without_optics)


def _answering(answers: Mapping[str, SwitchCounters]) -> list[str]:
    return [name for name, answer in answers.items() if not answer.error]


def _ports_of(state: Mapping[str, Any]) -> Mapping[str, Any]:
    """Return the ports of a link state, none where the switch answered in another form."""
    ports = state.get("ports")
    if isinstance(ports, Mapping):
        return ports
    return {}


def drain_links(
    project: Project, target: str, cables: Sequence[str], *, wait_s: float | None = None
) -> tuple[DrainResult, ...] | None:
    """Drain cables one after the other, each within the limits of `drain`; None if the operator declined.

    Raises UsageError for an unknown cable or one to a node, RefusedError if the remaining paths do not suffice.
    """
    fabric = live_fabric(project, target).designed.fabric
    requests = drain_requests(fabric, cables, wait_s)
    results: list[DrainResult] = []
    for request in requests:
        drained = drain(project, target, request)
        if drained is None:
            return None
        results += drained
    return tuple(results)


def drain_requests(fabric: Fabric, cables: Sequence[str], wait_s: float | None = None) -> list[DrainRequest]:
    """Return what to drain for each cable: its ports at the lower switch.

    Raises UsageError for an unknown cable, or the cable of a node.
    """
    links_of = links_of_cables(fabric, cable_names(fabric, load_catalog()))
    requests = []
    # A cable that is named twice is drained once.
    for name in dict.fromkeys(cables):
        if name not in links_of:
            raise _unknown_cable(fabric.name, name, list(links_of))
        # All links of a cable have the same two ends.
        lower = links_of[name][0].lower
        if lower not in fabric.switch_of:
            raise UsageError(
                f"{name} is the cable of a node: take the node out of the scheduler; only links between switches drain"
            )
        ports = tuple(fabric.ports_of[lower][link.lower_port].name for link in links_of[name])
        requests.append(DrainRequest((lower,), ports, wait_s))
    return requests


def soak_links(
    project: Project,
    target: str,
    cables: Sequence[str],
    *,
    readings: int = 5,
    seconds: float = SECONDS,
    sleep: Callable[[float], None] = time.sleep,
) -> LinksReport:
    """Judge cables by several readings, ``seconds`` apart, and report each cable with its worst reading.

    Only the switches at the ends of the cables are read. ``may_return`` of the report names the cables that were
    measured in every reading and never were below grade B. A cable whose error rate varied by more than a decade is of
    grade C at best. A soak that is interrupted judges nothing and changes nothing. Raises UsageError for an unknown
    cable, or without cables or readings.
    """
    if not cables or readings < 1:
        raise UsageError("a soak needs at least one cable and one reading")
    live = live_fabric(project, target, partial=True)
    fabric = live.designed.fabric
    soak = _soak_of(fabric, cables)
    try:
        with live.progress():
            unread, without_optics = _take_readings(live, soak, readings, seconds, sleep)
    except KeyboardInterrupt:
        soak_again = command_line("links", "soak", *cables, target=target)
        project.operator.tell(f"nothing of this soak counts; `{soak_again}` begins another")
        raise
    report = LinksReport(
        fabric=fabric.name,
        target=target,
        seconds=seconds,
        cables=soak.worst(),
        unread=unread,
        without_optics=without_optics,
        soaked=Soaked(soak.readings, soak.unmeasured),
    )
    return replace(report, offenders=_remember_soak(fabric, soak, report))


def _remember_soak(fabric: Fabric, soak: Soak, report: LinksReport) -> tuple[Offender, ...]:
    """Add the readings of a soak to the memory of its target; return the repeat offenders."""
    # Read only now: `links` of a timer may have added to it meanwhile.
    memory = _memory(_folder(fabric) / f"{report.target}.json")
    for port in soak.ports(report.may_return):
        # Samples from before the repair say nothing of the cable now.
        memory.pop(port, None)
    return _remember(fabric, report.target, memory, report.cables)


def _soak_of(fabric: Fabric, cables: Sequence[str]) -> Soak:
    """Return a soak that is not started. Raises UsageError for an unknown cable."""
    catalog = load_catalog()
    names = cable_names(fabric, catalog)
    links_of = links_of_cables(fabric, names)
    for name in cables:
        if name not in links_of:
            raise _unknown_cable(fabric.name, name, list(links_of))
    return Soak(fabric, names, tuple(dict.fromkeys(cables)), planned_modules(fabric, catalog))


def _take_readings(
    live: LiveFabric, soak: Soak, readings: int, seconds: float, sleep: Callable[[float], None]
) -> tuple[dict[str, str], dict[str, str]]:
    """Add readings to a soak, ``seconds`` apart.

    Returns two mappings by the name of a switch: why it could not be read, and why its optics could not be read.
    """
    answering = [name for name in soak.switches if name in live.nornir.inventory.hosts]
    unread = dict.fromkeys(set(soak.switches) - set(answering), "not in the inventory")
    without_optics: dict[str, str] = {}
    # One more, because reading 0 is only what the first one is compared with.
    for number in range(readings + 1):
        if number:
            sleep(seconds)
        counters = read_counters(live.nornir, answering)
        unread |= _errors(counters)
        # A switch that hangs is not waited for again: its cables cannot pass any more.
        answering = _answering(counters)
        states = read_link_states(live.nornir, answering)
        without_optics |= _errors(states)
        ports = {name: _ports_of(state.state) for name, state in states.items()}
        soak.add(SoakReading({name: counters[name].counters for name in answering}, ports))
        # At least one reading is judged, even if no switch answers.
        if number and not answering:
            break
    return dict(sorted(unread.items())), without_optics


def _errors(answers: Mapping[str, SwitchCounters] | Mapping[str, SwitchLinkState]) -> dict[str, str]:
    """Return the errors of the switches that did not answer, by name."""
    return {name: answer.error for name, answer in answers.items() if answer.error}


def _unknown_cable(fabric: str, name: str, names: Sequence[str]) -> UsageError:
    fix = suggestion(name, names) or f"`{command_line('bom', '--labels', 'FILE')}` lists them"
    return UsageError(f"{fabric} has no cable {name}: {fix}".rstrip())


def _memory(path: Path) -> Memory:
    # A damaged file costs the trend of an hour, no more.
    return read_memory(_text(path)) or {}


def _text(path: Path) -> str:
    try:
        return path.read_text(encoding="utf-8")
    except FileNotFoundError:
        return ""
    except (OSError, UnicodeDecodeError) as fault:
        raise RailweaveError(f"{path} cannot be read: {fault}") from fault


def _write(path: Path, text: str) -> None:
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        write_private(path, text.encode())
    except OSError as fault:
        raise RailweaveError(cannot_write(path, fault)) from fault
