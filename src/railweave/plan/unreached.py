"""Switches that do not answer yet, planned without being read, so that growth is reviewed before they are racked.

A switch is assumed factory-fresh only if no running neighbor has a row for it. Switches that do not answer and are
cabled to each other are judged together: if a neighbor knows one of them, it may run, and so may the others.
"""

from collections.abc import Callable, Collection, Iterator, Mapping
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
    """Return the readings of switches that were not read and that no neighbor has a link to yet: as factory-fresh.

    Such a reading keeps its error beside the difference. If no neighbor of a switch was read, the switch may run
    anything and stays unread.
    """
    fresh: dict[str, Reading] = {}
    for group in _silent_groups(fabric, readings):
        around = set().union(*(_neighbors(fabric, name) for name in group)) - group
        if not around or any(_knows_any(readings[far], group & _neighbors(fabric, far)) for far in around):
            continue
        for name in group:
            difference = diff(name, RunningConfig({}, ""), intended(name))
            fresh[name] = replace(readings[name], difference=difference)
    return fresh


def _silent_groups(fabric: Fabric, readings: Mapping[str, Reading]) -> Iterator[frozenset[str]]:
    """Yield the switches that were not read, those that are cabled to each other together."""
    left = {name for name, reading in readings.items() if reading.difference is None}
    while left:
        group: set[str] = set()
        edge = {min(left)}
        while edge:
            group |= edge
            edge = set().union(*(_neighbors(fabric, name) for name in edge)) & left - group
        left -= group
        yield frozenset(group)


def _neighbors(fabric: Fabric, name: str) -> frozenset[str]:
    return frozenset(link.far(name) for link in fabric.fabric_links_of(name))


def _knows_any(reading: Reading, names: Collection[str]) -> bool:
    """Tell whether a switch runs a row of one of these neighbors; one that was not read may."""
    if reading.difference is None:
        return True
    added = {
        change.subject.name for change in reading.difference.delta.about(SubjectKind.NEIGHBOR) if change.op is Op.ADD
    }
    # Its plan adds a row only for a neighbor that it does not know.
    return not added.issuperset(names)
