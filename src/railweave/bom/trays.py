"""The racks of a fabric in sum, and how many cables lie in each section of the trays.

A cable follows the tray of the row of its end nearer to the GPUs, as far as the rack of its other end stands along the
rows, and crosses there to the other row (``fabric.racks``).
"""

from collections import Counter
from collections.abc import Iterator
from itertools import pairwise
from typing import NamedTuple

from railweave.bom.trunks import Trunked
from railweave.cabling.assemblies import Assembly
from railweave.fabric.model import Fabric
from railweave.fabric.racks import Rack, Racks


class TraySection(NamedTuple):
    """The tray between two racks: neighbors of a row, or of two rows where cables cross, and the cables in it."""

    rack: str
    far_rack: str
    cables: int


class Bundle(NamedTuple):
    """All cables between two racks, within one where both are the same, and the longest of them."""

    rack: str
    far_rack: str
    cables: int
    longest_m: int


class RackSummary(NamedTuple):
    """Racks in use with their rack units, and those that are taken; ``power_w`` is None where some entry states none.

    ``trays`` are the sections in the order of the racks, ``bundles`` the pairs of racks that cables join."""

    racks: int
    units: int
    taken_units: int
    power_w: int | None
    trays: tuple[TraySection, ...]
    bundles: tuple[Bundle, ...]

    @property
    def fullest(self) -> TraySection | None:
        """Return the section with the most cables, None where no cable leaves its rack."""
        return max(self.trays, key=lambda one: one.cables, default=None)


def summarize_racks(fabric: Fabric, bought: Trunked) -> RackSummary | None:
    """Return the racks and trays of a fabric, None where the intent has no racks."""
    racks = fabric.racks
    if racks is None:
        return None
    used = {place.rack for place in racks.places.values()}
    draws = [place.power_w for place in racks.places.values()]
    stated = [draw for draw in draws if draw is not None]
    pairs: Counter[tuple[str, str]] = Counter()
    longest: dict[tuple[str, str], int] = {}
    for one in bought.single:
        for lower, upper in _legs(one):
            pair = racks.places[lower].rack, racks.places[upper].rack
            pairs[pair] += 1
            longest[pair] = max(longest.get(pair, 0), one.length_m)
    for run in bought.runs:
        pair = run.rack, run.far_rack
        pairs[pair] += run.trunks
        longest[pair] = max(longest.get(pair, 0), run.length_m)
    order = {name: place for place, name in enumerate(racks.racks)}
    return RackSummary(
        racks=len(used),
        units=len(used) * racks.units,
        taken_units=sum(place.height for place in racks.places.values()),
        power_w=sum(stated) if len(stated) == len(draws) else None,
        trays=_trays(racks, pairs),
        bundles=tuple(
            Bundle(*pair, pairs[pair], longest[pair])
            for pair in sorted(pairs, key=lambda one: (order[one[0]], order[one[1]]))
        ),
    )


def _legs(one: Assembly) -> Iterator[tuple[str, str]]:
    """Yield the devices at both ends of each leg of a cable; a breakout cable has one for each cage."""
    for lower, upper in {(cable.lower.cage, cable.upper.cage): None for cable in one.links}:
        yield lower.device, upper.device


def _trays(racks: Racks, pairs: Counter[tuple[str, str]]) -> tuple[TraySection, ...]:
    rows: dict[str, list[Rack]] = {}
    for rack in racks.racks.values():
        rows.setdefault(rack.row, []).append(rack)
    sections: Counter[tuple[str, str]] = Counter()
    for (lower, upper), cables in pairs.items():
        for section in _way(rows, racks.racks[lower], racks.racks[upper]):
            sections[section] += cables
    order = {name: place for place, name in enumerate(racks.racks)}
    placed = sorted(sections.items(), key=lambda one: (order[one[0][0]], order[one[0][1]]))
    return tuple(TraySection(*section, cables) for section, cables in placed)


def _way(rows: dict[str, list[Rack]], start: Rack, end: Rack) -> Iterator[tuple[str, str]]:
    """Yield the sections between two racks: those of the row of ``start``, then the crossings from row to row."""
    first, last = sorted((start.along_mm, end.along_mm))
    for one, following in pairwise(rows[start.row]):
        if one.along_mm < last and following.along_mm > first:
            yield one.name, following.name
    names = list(rows)
    a, b = sorted((names.index(start.row), names.index(end.row)))
    for row, across in pairwise(names[a : b + 1]):
        yield _nearest(rows[row], end).name, _nearest(rows[across], end).name


def _nearest(row: list[Rack], rack: Rack) -> Rack:
    return min(row, key=lambda one: abs(one.along_mm - rack.along_mm))
