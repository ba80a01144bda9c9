"""Switches that do not answer yet, planned without being read, so that growth is reviewed before they are racked.

A switch is assumed factory-fresh only if no running neighbor has a row for it. Switches that do not answer and are
cabled to each other are judged together: if a neighbor knows one of them, it may run, and so may the others.
"""

from collections.abc import Callable, Collection, Iterable, Iterator, Mapping
from dataclasses import replace

from railweave.fabric.model import Fabric
from railweave.plan.model import Reading
from railweave.sonic.delta.change import Op
from railweave.sonic.delta.diff import diff
from railweave.sonic.delta.subject import SubjectKind
from railweave.sonic.document import RunningConfig
from railweave.sonic.rows import DeviceConfig


def assumed_fresh(
    fabric: Fabric, readings: Mapping[str, Reading], intended: Callable[[str], DeviceConfig]
) -> dict[str, Reading]:
    """Return new readings for the unread switches that may be assumed factory-fresh.

    These are the switches that no neighbor is configured for. A new reading has both its error and a difference from
    an empty configuration; ``intended`` returns what a switch should run. If no neighbor of a switch was read, the
    switch may run anything and stays unread.
    """
    fresh: dict[str, Reading] = {}
    for group in _unread_groups(fabric, readings):
        neighbors = _neighbors_of_any(fabric, group) - group
        # Without a neighbor there is no evidence that the switches are new.
        if not neighbors or _is_any_configured(fabric, readings, group, neighbors):
            continue
        for name in group:
            difference = diff(name, RunningConfig({}, ""), intended(name))
            fresh[name] = replace(readings[name], difference=difference)
    return fresh


def _unread_groups(fabric: Fabric, readings: Mapping[str, Reading]) -> Iterator[frozenset[str]]:
    """Yield the groups of unread switches that are cabled to each other, directly or over other unread ones."""
    remaining = {name for name, reading in readings.items() if reading.difference is None}
    while remaining:
        group: set[str] = set()
        new_members = {min(remaining)}
        while new_members:
            group |= new_members
            new_members = _neighbors_of_any(fabric, new_members) & (remaining - group)
        remaining -= group
        yield frozenset(group)


def _neighbors(fabric: Fabric, name: str) -> frozenset[str]:
    return frozenset(link.far(name) for link in fabric.fabric_links_of(name))


def _neighbors_of_any(fabric: Fabric, names: Iterable[str]) -> set[str]:
    """Return the switches that are cabled to at least one of ``names``."""
    neighbors: set[str] = set()
    for name in names:
        neighbors |= _neighbors(fabric, name)
    return neighbors


def _is_any_configured(
    fabric: Fabric, readings: Mapping[str, Reading], group: frozenset[str], neighbors: Iterable[str]
) -> bool:
    """Tell whether a neighbor may run rows for a switch of ``group`` that it is cabled to."""
    return any(_may_know_any(readings[name], group & _neighbors(fabric, name)) for name in neighbors)


def _may_know_any(reading: Reading, names: Collection[str]) -> bool:
    """Tell whether a switch may run a row for one of the neighbors ``names``. One that was not read may."""
    if reading.difference is None:
        return True
    # The plan adds a row only for a neighbor for which the switch has none.
    neighbor_changes = reading.difference.delta.about(SubjectKind.NEIGHBOR)
    added = {change.subject.name for change in neighbor_changes if change.op is Op.ADD}
    return not added.issuperset(names)
