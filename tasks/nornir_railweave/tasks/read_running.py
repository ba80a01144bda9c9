"""Read what one device runs and return how it differs from what is intended: changes and digests, no configuration."""

from dataclasses import replace
from typing import Any

from napalm.base.exceptions import ConnectionClosedException
from nornir.core.task import Result, Task

from nornir_railweave.device.reading import Comparer, Comparison, damage_of, is_pending
from nornir_railweave.device.session import DEVICE_ERRORS, error_text, session
from nornir_railweave.events import Event, Events, Step
from railweave.diagnostics import Blocker
from railweave.plan.build import Reading
from railweave.sonic.delta.change import Delta


def read_running(task: Task, compare: Comparer, announce: Events) -> Result:
    """Return a ``Reading``; its error says why a device could not be read."""
    name = task.host.name
    with session(task) as opened:
        try:
            try:
                found, pending = _read(opened.driver, compare, name)
            except ConnectionClosedException:
                # A session that broke off says nothing of the device; one more try does.
                found, pending = _read(opened.reconnect(0), compare, name)
        except DEVICE_ERRORS as fault:
            return _unreadable(task, announce, error_text(fault))
    if found.running.frr is None:
        return _unreadable(task, announce, found.difference.blockers[0].message)
    announce(Event(Step.READ, name, f"{len(found.difference.delta)} changes"))
    return Result(host=task.host, result=Reading(found.difference, found.sha256, pending))


def _read(driver: Any, compare: Comparer, name: str) -> tuple[Comparison, bool]:
    found = compare(driver, name)
    if damage := damage_of(driver):
        blocker = Blocker(f"its transaction state is damaged: {damage}", f"railweave recover {name}")
        difference = replace(found.difference, delta=Delta(), blockers=(*found.difference.blockers, blocker))
        found = replace(found, difference=difference)
    return found, is_pending(driver)


def _unreadable(task: Task, announce: Events, why: str) -> Result:
    announce(Event(Step.UNREACHABLE, task.host.name, why))
    return Result(host=task.host, result=Reading(error=why))
