"""Switches that do not answer yet, planned without being read: growth is reviewed before they are racked.

Only what no running neighbor knows is taken for factory-fresh. Switches that do not answer and are cabled to each other
are judged together: one of them that a neighbor knows may run, and so may those beside it.
"""

from collections.abc import Callable, Iterator, Mapping
from dataclasses import replace

from railweave.fabric.model import Fabric
from railweave.plan.build import Reading
from railweave.sonic.delta.change import Op
from railweave.sonic.delta.diff import diff
from railweave.sonic.delta.subject import SubjectKind
from railweave.sonic.document import RunningConfig
from railweave.sonic.rows import DeviceConfig


def assumed_fresh(
    fabric: Fabric, readings: Mapping[str, Reading], intended: Callable[[str], DeviceConfig]
) -> dict[str, Reading]:
    """Return the readings of switches that were not read and that no neighbor has a link to yet: as factory-fresh.

    Such a reading keeps its error beside the difference. A switch of which no neighbor was read may run anything, and
    stays unread.
    """
    found: dict[str, Reading] = {}
    for group in _silent_groups(fabric, readings):
        around = {far for name in group for far in _neighbors(fabric, name)} - group
        if around and not any(
            _knows(readings[far], name) for far in around for name in group & _neighbors(fabric, far)
        ):
            for name in group:
                fresh = diff(name, RunningConfig({}, ""), intended(name))
                found[name] = replace(readings[name], difference=fresh)
    return found


def _silent_groups(fabric: Fabric, readings: Mapping[str, Reading]) -> Iterator[frozenset[str]]:
    """Yield the switches that were not read, those that are cabled to each other together."""
    left = {name for name, reading in readings.items() if reading.difference is None}
    while left:
        group, edge = set[str](), {min(left)}
        while edge:
            group |= edge
            edge = {far for name in edge for far in _neighbors(fabric, name)} & left - group
        left -= group
        yield frozenset(group)


def _neighbors(fabric: Fabric, name: str) -> frozenset[str]:
    return frozenset(link.far(name) for link in fabric.fabric_links_of(name))


def _knows(reading: Reading, name: str) -> bool:
    """Tell whether a switch that was read runs a row of neighbor ``name``: then its plan adds none."""
    added = reading.difference.delta.about(SubjectKind.NEIGHBOR) if reading.difference is not None else ()
    return not any(one.op is Op.ADD and one.subject.name == name for one in added)
