"""Cables of a running fabric: graded, drained within the limits of a drain, and soaked before they return."""

import json
import time
from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import replace
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from nornir_railweave.tasks.counters import SwitchCounters, read_counters
from nornir_railweave.tasks.link_state import read_link_states
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
from railweave.links.grading import GradedCable, LinkGrader, LinksReport, SwitchLinks, worst_reading
from railweave.links.harm import links_of_cables
from railweave.links.history import (
    Memory,
    memory_document,
    merged_history,
    offenders,
    read_history,
    read_memory,
)
from railweave.plan.manual_drain import DrainResult
from railweave.wording import command_line, suggestion

SECONDS = 30.0
"""Seconds between the two readings of `links`."""

_FOLDER = STATE / "links"


def links(
    project: Project, target: str, *, seconds: float = SECONDS, sleep: Callable[[float], None] = time.sleep
) -> LinksReport:
    """Read all switches twice, ``seconds`` apart, and grade every cable; changes nothing on them.

    Samples of poor links are kept in ``.railweave/links`` for their trend, with a line a day for each cable that is
    not of grade A. A switch that cannot be read is named, the others are graded. Raises UsageError, RailweaveError.
    """
    return _graded(project, target, seconds, sleep)


def _graded(
    project: Project, target: str, seconds: float, sleep: Callable[[float], None], repaired: Collection[str] = ()
) -> LinksReport:
    """Return the grades of all cables; ``repaired`` are graded without what was read before."""
    live = live_fabric(project, target, partial=True)
    fabric = live.designed.fabric
    folder = _FOLDER / fabric.name
    memory = _memory(folder / f"{target}.json")
    catalog = load_catalog()
    grader = LinkGrader(fabric, cable_names(fabric, catalog), memory, planned_modules(fabric, catalog))
    grader.forget(repaired)
    with live.progress():
        readings, unread, without_optics = _read_twice(live, seconds, sleep)
    cables = grader.grade(readings)
    now = datetime.now(UTC)
    history_file = folder / f"{target}.history.jsonl"
    history = read_history(_text(history_file))
    day = now.date().isoformat()
    history = merged_history(history, [cable.line(day) for cable in cables if cable.grade is not Grade.A])
    _write(folder / f"{target}.json", json.dumps(memory_document(memory)))
    _write(history_file, "".join(f"{line.text}\n" for line in history))
    repeated = offenders(history, now.date(), fabric.policies.links)
    return LinksReport(fabric.name, target, seconds, tuple(cables), unread, without_optics, tuple(repeated))


def _read_twice(
    live: LiveFabric, seconds: float, sleep: Callable[[float], None]
) -> tuple[dict[str, SwitchLinks], dict[str, str], dict[str, str]]:
    """Return the readings by switch, why others could not be read, and why some have no optics."""
    names = [switch.name for switch in live.designed.fabric.switches]
    reachable = [name for name in names if name in live.nornir.inventory.hosts]
    unread = dict.fromkeys(set(names) - set(reachable), "not in the inventory")
    before = read_counters(live.nornir, reachable)
    # A switch that hangs would be waited for again.
    answering = _answering(before)
    states = read_link_states(live.nornir, answering)
    sleep(seconds)
    after = read_counters(live.nornir, answering)
    unread |= {name: answer.error for name, answer in {**before, **after}.items() if answer.error}
    readings = {}
    for name in _answering(after):
        readings[name] = SwitchLinks(before[name].counters, after[name].counters, _ports_of(states[name].state))
    without_optics = {name: states[name].error for name in readings if states[name].error}
    return readings, dict(sorted(unread.items())), without_optics


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
    """Return what to drain for each cable: its ports at the lower switch. Raises UsageError."""
    links_of = links_of_cables(fabric, cable_names(fabric, load_catalog()))
    requests = []
    for name in dict.fromkeys(cables):
        if name not in links_of:
            raise _unknown(fabric.name, name, list(links_of))
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
    """Read ``cables`` again and again; the report has each with its worst reading.

    A cable whose error rate rose above ten times its lowest gets grade C at least: it is not settled. Raises
    UsageError for an unknown cable.
    """
    reports: list[LinksReport] = []
    for _ in range(readings):
        # Each reading is judged by itself: samples from before the repair say nothing of the cable now.
        report = _graded(project, target, seconds, sleep, cables)
        reports.append(replace(report, cables=_chosen(report, cables)))
    worst = tuple(worst_reading(read) for read in zip(*(report.cables for report in reports), strict=True))
    unread = {name: why for report in reports for name, why in report.unread.items()}
    return replace(reports[-1], cables=worst, unread=unread)


def _chosen(report: LinksReport, cables: Sequence[str]) -> tuple[GradedCable, ...]:
    """Return ``cables`` of a report, each once. Raises UsageError for an unknown one."""
    graded = {cable.cable: cable for cable in report.cables}
    for name in cables:
        if name not in graded:
            raise _unknown(report.fabric, name, list(graded))
    return tuple(graded[name] for name in dict.fromkeys(cables))


def _unknown(fabric: str, name: str, names: Sequence[str]) -> UsageError:
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
