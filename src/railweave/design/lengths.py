"""Every cable's own length and medium, from where its ends stand in the racks.

A cable is as long as the next length that is sold. Links that share a cage share its medium, which the longest of them
decides, and links of one breakout cable share its length.
"""

from collections.abc import Mapping, Sequence
from dataclasses import replace
from operator import itemgetter
from typing import NamedTuple

from railweave.cabling.assemblies import joined, sharing_plugs
from railweave.cabling.ends import CabledLink, DevicePort, cables_of, device_ports
from railweave.cabling.media import LaneEnd, reach_m
from railweave.catalog.load import Catalog
from railweave.catalog.media import Medium
from railweave.design.placing import place_devices
from railweave.diagnostics import Diagnostic, error
from railweave.fabric.links import Link
from railweave.fabric.model import Fabric
from railweave.fabric.racks import RackLayout
from railweave.intent.model import Intent
from railweave.intent.racks import Racks
from railweave.wording import counted

_Ends = frozenset[tuple[LaneEnd, LaneEnd]]


class _TrayRun(NamedTuple):
    """A link on its way through the trays: its ends and how long it has to be."""

    link: Link
    lower: DevicePort
    upper: DevicePort
    length_mm: int


def with_racks(intent: Intent, racks: Racks, fabric: Fabric, catalog: Catalog) -> tuple[Fabric, tuple[Diagnostic, ...]]:
    """Return the fabric with every device in its rack and every link at its own length, or why that cannot be."""
    housings = {switch.name: catalog.switch(switch.panel.model).housing for switch in fabric.switches}
    placed, diagnostics = place_devices(
        racks, dict.fromkeys(fabric.host_of) | housings, intent.where, lambda name: _is_beside(intent, name)
    )
    if placed is None:
        return fabric, diagnostics
    ports = device_ports(fabric, catalog)
    runs = []
    for link in fabric.links:
        lower = ports[link.lower][link.lower_port]
        upper = ports[link.upper][link.upper_port]
        runs.append(_TrayRun(link, lower, upper, placed.run_mm(link.lower, link.upper)))
    choice = _Choice(intent, racks, catalog)
    media = choice.of_all(runs)
    if len(media) < len(runs):
        return fabric, tuple(choice.blockers(placed))
    links = tuple(run.link._replace(media=media[number].id) for number, run in enumerate(runs))
    chosen = replace(fabric, links=links, racks=placed)
    lengths_m = _lengths(cables_of(chosen, catalog), [run.length_mm for run in runs], racks)
    measured = (link._replace(length_m=length_m) for link, length_m in zip(links, lengths_m, strict=True))
    return replace(chosen, links=tuple(measured)), ()


def _is_beside(intent: Intent, name: str) -> bool:
    """Tell whether a name, or a stem with ``*``, is of a device of another fabric of the file."""
    kind = name.rstrip("*0123456789")
    for other in intent.others:
        if name.startswith(f"{other.fabric}-") or kind in {entry.name for entry in other.nodes}:
            return True
    return False


def _lengths(cables: Sequence[CabledLink], runs_mm: Sequence[int], racks: Racks) -> list[int]:
    """Return the length of each link's cable in meters: of an assembly the longest of its links'."""
    lengths_m = [0] * len(cables)
    for numbers in sharing_plugs(cables):
        medium = cables[numbers[0]].medium
        sold = medium.sold_m(max(runs_mm[number] for number in numbers), racks.lengths_m.get(medium.id, ()))
        assert sold is not None  # noqa: S101  the medium was chosen because it has one
        for number in numbers:
            lengths_m[number] = sold
    return lengths_m


class _Group(NamedTuple):
    """What decides on the medium of links that share cages: whether cages at both ends are shared crosswise, which no
    cable with fixed ends joins, and the longest of their ways."""

    ends: _Ends
    level: int
    crosswise: bool
    length_mm: int


def _group(runs: Sequence[_TrayRun], longest: _TrayRun) -> _Group:
    ends = frozenset((run.lower.end, run.upper.end) for run in runs)
    lower_cages = {run.lower.cage for run in runs}
    upper_cages = {run.upper.cage for run in runs}
    crosswise = len(lower_cages) > 1 and len(upper_cages) > 1
    return _Group(ends, longest.link.level, crosswise, longest.length_mm)


class _Choice:
    """The media of links: the cheapest that links all ends that share cages at the longest of their lengths."""

    def __init__(self, intent: Intent, racks: Racks, catalog: Catalog) -> None:
        self._intent = intent
        self._sold = racks.lengths_m
        self._layers = [*intent.cabling.by_level.items()]
        self._media = catalog.media()
        # Many groups are alike, and a choice compares all media.
        self._medium_of: dict[_Group, Medium | None] = {}
        self._failed: dict[int, list[tuple[_Group, _TrayRun]]] = {}

    def of_all(self, runs: Sequence[_TrayRun]) -> Mapping[int, Medium]:
        """Return the medium of each link by its number, without those that no medium spans."""
        media: dict[int, Medium] = {}
        for numbers in joined([(run.lower.cage, run.upper.cage) for run in runs]):
            together = [runs[number] for number in numbers]
            longest = max(together, key=lambda run: run.length_mm)
            group = _group(together, longest)
            if group not in self._medium_of:
                self._medium_of[group] = self._choose(group)
            medium = self._medium_of[group]
            if medium is None:
                self._failed.setdefault(group.level, []).append((group, longest))
            else:
                media.update(dict.fromkeys(numbers, medium))
        return media

    def _candidates(self, level: int) -> list[Medium]:
        wish = self._layers[level][1].media
        return [medium for medium in self._media if wish in (None, medium.id)]

    def _choose(self, group: _Group) -> Medium | None:
        candidates = self._candidates(group.level)
        for medium in candidates:
            sold_m = medium.sold_m(group.length_mm, self._sold.get(medium.id, ()))
            if sold_m is None or self._reach_m(medium, group.ends) < sold_m:
                continue
            if medium.fiber or not group.crosswise or len(candidates) == 1:
                return medium
        return None

    @staticmethod
    def _reach_m(medium: Medium, ends: _Ends) -> int:
        return min(reach_m(medium, lower, upper) for lower, upper in ends)

    def blockers(self, placed: RackLayout) -> list[Diagnostic]:
        """Return an error for each layer of links of which some have no medium, about the longest of them."""
        return [self._blocker(level, failed, placed) for level, failed in sorted(self._failed.items())]

    def _blocker(self, level: int, failed: Sequence[tuple[_Group, _TrayRun]], placed: RackLayout) -> Diagnostic:
        group, run = max(failed, key=lambda failure: failure[1].length_mm)
        link = run.link
        layer, cable = self._layers[level]
        racks = [placed.places[name].rack for name in (link.lower, link.upper)]
        message = f"no medium spans the {run.length_mm / 1000:.1f} m from {link.lower} in rack {racks[0]} to"
        message = f"{message} {link.upper} in rack {racks[1]}: {self._farthest(group)}"
        others = len(failed) - 1
        if others:
            message = f"{message}; {counted(others, 'other link')} of cabling.{layer} cannot be made either"
        fix = "place them nearer to each other"
        path = "racks"
        if cable.media is not None:
            fix += ", or write media: auto"
            path = f"cabling.{layer}.media"
        if any(medium.id in self._sold for medium in self._candidates(level)):
            fix = f"{fix}, or list longer cables in racks.lengths_m"
        return error("P-4", message, self._intent.where(path), fix=fix, devices=(link.lower, link.upper))

    def _farthest(self, group: _Group) -> str:
        """Return in words how far the media go that may link the ends of a group."""
        reaches: dict[Medium, int] = {}
        for medium in self._candidates(group.level):
            reaches[medium] = self._reach_m(medium, group.ends)
            # Without a list of its lengths, a medium with a step is made as long as it is needed.
            if medium.id in self._sold or not medium.length_step_m:
                lengths_m = self._sold.get(medium.id) or medium.lengths_m
                reaches[medium] = min(reaches[medium], max(lengths_m))
        medium, farthest_m = max(reaches.items(), key=itemgetter(1))
        if farthest_m < 0 and len(reaches) == 1:
            return f"{medium.id} does not link their lanes"
        if farthest_m < 0:
            return "none links their lanes"
        return f"{medium.id} is sold and reaches up to {farthest_m} m between them"
