"""The length and medium of every cable, from the places of its ends in the racks.

A cable has the next length that is sold. Links that share a cage share its medium, which follows from the longest of
them. Links of one breakout cable share its length.
"""

from collections import defaultdict
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
    """A link with its ends and the length of its way through the trays."""

    link: Link
    lower: DevicePort
    upper: DevicePort
    length_mm: int


def with_racks(intent: Intent, racks: Racks, fabric: Fabric, catalog: Catalog) -> tuple[Fabric, tuple[Diagnostic, ...]]:
    """Return the fabric with every device in its rack, and every link with its own medium and length.

    If a device has no place, or a link no medium, the fabric is returned as it is, with the errors.
    """
    housings = {switch.name: catalog.switch(switch.panel.model).housing for switch in fabric.switches}
    # The catalog has no housings of nodes.
    devices = dict.fromkeys(fabric.host_of) | housings
    rack_layout, diagnostics = place_devices(
        racks, devices, intent.where, lambda name: _is_of_other_fabric(intent, name)
    )
    if rack_layout is None:
        return fabric, diagnostics
    ports = device_ports(fabric, catalog)
    runs = []
    for link in fabric.links:
        lower = ports[link.lower][link.lower_port]
        upper = ports[link.upper][link.upper_port]
        runs.append(_TrayRun(link, lower, upper, rack_layout.run_mm(link.lower, link.upper)))
    choice = _MediaChoice(intent, racks, catalog)
    media = choice.of_all(runs)
    if len(media) < len(runs):
        return fabric, tuple(choice.errors(rack_layout))
    links = [run.link._replace(media=media[number].id) for number, run in enumerate(runs)]
    with_media = replace(fabric, links=tuple(links), racks=rack_layout)
    # Which links share a breakout cable depends on their media.
    lengths_m = _lengths_m(cables_of(with_media, catalog), [run.length_mm for run in runs], racks)
    for number, length_m in enumerate(lengths_m):
        links[number] = links[number]._replace(length_m=length_m)
    return replace(with_media, links=tuple(links)), ()


def _is_of_other_fabric(intent: Intent, name: str) -> bool:
    """Tell whether a name, or a stem with ``*``, is that of devices of another fabric of the intent."""
    kind = name.rstrip("*0123456789")
    for other in intent.others:
        is_switch = name.startswith(f"{other.fabric}-")
        if is_switch or kind in {entry.name for entry in other.nodes}:
            return True
    return False


def _lengths_m(cables: Sequence[CabledLink], runs_mm: Sequence[int], racks: Racks) -> list[int]:
    """Return the length of the cable of each link, in meters.

    ``runs_mm`` are the lengths that the links need, in the order of ``cables``. A breakout cable is as long as the
    longest of its links needs.
    """
    lengths_m = [0] * len(cables)
    for numbers in sharing_plugs(cables):
        medium = cables[numbers[0]].medium
        longest_mm = max(runs_mm[number] for number in numbers)
        sold_m = medium.sold_m(longest_mm, racks.lengths_m.get(medium.id, ()))
        assert sold_m is not None  # noqa: S101  the medium was chosen because it has one
        for number in numbers:
            lengths_m[number] = sold_m
    return lengths_m


class _CageGroup(NamedTuple):
    """What the medium of links that share cages depends on."""

    ends: _Ends
    # The level of the links.
    level: int
    # Several cages at both ends: no cable with fixed ends joins them.
    crosswise: bool
    # The longest of their ways.
    length_mm: int


def _cage_group(runs: Sequence[_TrayRun], longest: _TrayRun) -> _CageGroup:
    """Return what the medium of ``runs`` depends on, which share cages; ``longest`` is the longest of them."""
    ends = frozenset((run.lower.end, run.upper.end) for run in runs)
    lower_cages = {run.lower.cage for run in runs}
    upper_cages = {run.upper.cage for run in runs}
    crosswise = len(lower_cages) > 1 and len(upper_cages) > 1
    return _CageGroup(ends, longest.link.level, crosswise, longest.length_mm)


class _UnlinkedGroup(NamedTuple):
    """Links that share cages and for which there is no medium, with the longest of them."""

    group: _CageGroup
    longest: _TrayRun


class _MediaChoice:
    """The media of links: for links that share cages the cheapest one that joins all their ends and is long enough."""

    def __init__(self, intent: Intent, racks: Racks, catalog: Catalog) -> None:
        self._intent = intent
        self._sold = racks.lengths_m
        # The keys of cabling with their values, by the level of links.
        self._layers = [*intent.cabling.by_level.items()]
        self._media = catalog.media()
        # Many groups are equal, and a choice compares all media.
        self._medium_of: dict[_CageGroup, Medium | None] = {}
        self._unlinked: defaultdict[int, list[_UnlinkedGroup]] = defaultdict(list)

    def of_all(self, runs: Sequence[_TrayRun]) -> Mapping[int, Medium]:
        """Return the medium of each link by its number, without the links for which there is none."""
        media: dict[int, Medium] = {}
        for numbers in joined([(run.lower.cage, run.upper.cage) for run in runs]):
            sharing_runs = [runs[number] for number in numbers]
            longest = max(sharing_runs, key=lambda run: run.length_mm)
            group = _cage_group(sharing_runs, longest)
            if group not in self._medium_of:
                self._medium_of[group] = self._choose(group)
            medium = self._medium_of[group]
            if medium is None:
                self._unlinked[group.level].append(_UnlinkedGroup(group, longest))
            else:
                media.update(dict.fromkeys(numbers, medium))
        return media

    def _candidates(self, level: int) -> list[Medium]:
        """Return the media that the intent allows for links of a level, the cheapest first."""
        _, cabling = self._layers[level]
        return [medium for medium in self._media if cabling.media in (None, medium.id)]

    def _choose(self, group: _CageGroup) -> Medium | None:
        """Return the cheapest medium that is sold long enough and joins all ends of a group, None if none does."""
        candidates = self._candidates(group.level)
        for medium in candidates:
            sold_m = medium.sold_m(group.length_mm, self._sold.get(medium.id, ()))
            if sold_m is None or self._reach_m(medium, group.ends) < sold_m:
                continue
            # A medium that the intent names is used whether or not its ends are fixed.
            is_only_candidate = len(candidates) == 1
            if medium.fiber or not group.crosswise or is_only_candidate:
                return medium
        return None

    @staticmethod
    def _reach_m(medium: Medium, ends: _Ends) -> int:
        return min(reach_m(medium, lower, upper) for lower, upper in ends)

    def errors(self, rack_layout: RackLayout) -> list[Diagnostic]:
        """Return an error for each level that has links without a medium, about the longest of these."""
        return [self._error(level, unlinked, rack_layout) for level, unlinked in sorted(self._unlinked.items())]

    def _error(self, level: int, unlinked: Sequence[_UnlinkedGroup], rack_layout: RackLayout) -> Diagnostic:
        """Return the error that no medium joins these links of a level; it names the longest."""
        group, longest = max(unlinked, key=lambda unlinked_group: unlinked_group.longest.length_mm)
        link = longest.link
        length_m = longest.length_mm / 1000
        layer, cabling = self._layers[level]
        lower_rack = rack_layout.places[link.lower].rack
        upper_rack = rack_layout.places[link.upper].rack
        message = (
            f"no medium spans the {length_m:.1f} m from {link.lower} in rack {lower_rack} to {link.upper}"
            f" in rack {upper_rack}: {self._farthest_medium(group)}"
        )
        other_groups = len(unlinked) - 1
        if other_groups:
            message += f"; {counted(other_groups, 'other link')} of cabling.{layer} cannot be made either"
        fix = "place them nearer to each other"
        path = "racks"
        if cabling.media is not None:
            fix += ", or write media: auto"
            path = f"cabling.{layer}.media"
        if any(medium.id in self._sold for medium in self._candidates(level)):
            fix += ", or list longer cables in racks.lengths_m"
        return error("P-4", message, self._intent.where(path), fix=fix, devices=(link.lower, link.upper))

    def _farthest_medium(self, group: _CageGroup) -> str:
        """Return the medium that reaches farthest between the ends of a group, as a clause."""
        reaches_m = {medium: self._limit_m(medium, group.ends) for medium in self._candidates(group.level)}
        medium, farthest_m = max(reaches_m.items(), key=itemgetter(1))
        if farthest_m >= 0:
            return f"{medium.id} is sold and reaches up to {farthest_m} m between them"
        if len(reaches_m) == 1:
            return f"{medium.id} does not link their lanes"
        return "none links their lanes"

    def _limit_m(self, medium: Medium, ends: _Ends) -> int:
        """Return the greatest length in meters at which a medium is sold and reaches between all ends.

        It is negative if the medium does not join them.
        """
        limit_m = self._reach_m(medium, ends)
        # A medium with a step is made in any length, unless the intent lists the lengths that are sold.
        if medium.id in self._sold or not medium.length_step_m:
            lengths_m = self._sold.get(medium.id) or medium.lengths_m
            limit_m = min(limit_m, max(lengths_m))
        return limit_m
