"""Every cable's own length and medium, from where its ends stand in the racks.

A cable is as long as the next length that is sold. Links that share a cage share its medium, which the longest of them
decides, and links of one breakout cable share its length.
"""

from collections.abc import Mapping, Sequence
from dataclasses import replace
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


class _Run(NamedTuple):
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
    runs = [
        _Run(
            link,
            ports[link.lower][link.lower_port],
            ports[link.upper][link.upper_port],
            placed.run_mm(link.lower, link.upper),
        )
        for link in fabric.links
    ]
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
    return any(
        name.startswith(f"{other.fabric}-") or any(entry.name == kind for entry in other.nodes)
        for other in intent.others
    )


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


class _Choice:
    """The media of links: the cheapest that links all ends that share cages at the longest of their lengths."""

    def __init__(self, intent: Intent, racks: Racks, catalog: Catalog) -> None:
        self._intent = intent
        self._sold = racks.lengths_m
        self._layers = [*intent.cabling.by_level.items()]
        self._media = catalog.media()
        self._known: dict[_Group, Medium | None] = {}
        self._failed: dict[int, list[tuple[_Group, _Run]]] = {}

    def of_all(self, runs: Sequence[_Run]) -> Mapping[int, Medium]:
        """Return the medium of each link by its number, without those that no medium spans."""
        found: dict[int, Medium] = {}
        for numbers in joined([(run.lower.cage, run.upper.cage) for run in runs]):
            together = [runs[number] for number in numbers]
            longest = max(together, key=lambda run: run.length_mm)
            ends = frozenset((run.lower.end, run.upper.end) for run in together)
            sides = {run.lower.cage for run in together}, {run.upper.cage for run in together}
            group = _Group(ends, longest.link.level, all(len(side) > 1 for side in sides), longest.length_mm)
            if group not in self._known:
                self._known[group] = self._choose(group)
            medium = self._known[group]
            if medium is None:
                self._failed.setdefault(group.level, []).append((group, longest))
            else:
                found.update(dict.fromkeys(numbers, medium))
        return found

    def _candidates(self, level: int) -> list[Medium]:
        wish = self._layers[level][1].media
        return [one for one in self._media if wish in (None, one.id)]

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

    def _blocker(self, level: int, failed: Sequence[tuple[_Group, _Run]], placed: RackLayout) -> Diagnostic:
        group, run = max(failed, key=lambda one: one[1].length_mm)
        link = run.link
        layer, cable = self._layers[level]
        racks = [placed.places[name].rack for name in (link.lower, link.upper)]
        message = f"no medium spans the {run.length_mm / 1000:.1f} m from {link.lower} in rack {racks[0]} to"
        message = f"{message} {link.upper} in rack {racks[1]}: {self._farthest(group)}"
        others = len(failed) - 1
        if others:
            message = f"{message}; {counted(others, 'other link')} of cabling.{layer} cannot be made either"
        fix = "place them nearer to each other" + ("" if cable.media is None else ", or write media: auto")
        if any(one.id in self._sold for one in self._candidates(level)):
            fix = f"{fix}, or list longer cables in racks.lengths_m"
        where = self._intent.where("racks" if cable.media is None else f"cabling.{layer}.media")
        return error("P-4", message, where, fix=fix, devices=(link.lower, link.upper))

    def _farthest(self, group: _Group) -> str:
        """Return in words how far the media go that may link the ends of a group."""
        reaches: dict[Medium, int] = {}
        for medium in self._candidates(group.level):
            lengths_m = self._sold.get(medium.id) or medium.lengths_m
            longest_m = max(lengths_m) if medium.id in self._sold or not medium.length_step_m else None
            reach = self._reach_m(medium, group.ends)
            reaches[medium] = reach if longest_m is None else min(reach, longest_m)
        medium, farthest_m = max(reaches.items(), key=lambda one: one[1])
        if farthest_m < 0:
            return f"{medium.id} does not link their lanes" if len(reaches) == 1 else "none links their lanes"
        return f"{medium.id} is sold and reaches up to {farthest_m} m between them"
