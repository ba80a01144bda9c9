"""Totals of a fabric's racks, and the number of cables in each section of the trays.

A cable follows the tray of the row where its lower end is, to the position of the other end's rack along the rows, and
crosses there to the other row (``fabric.racks``).
"""

from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator
from itertools import pairwise
from typing import NamedTuple

from railweave.bom.trunks import Trunked
from railweave.cabling.assemblies import Assembly
from railweave.fabric.model import Fabric
from railweave.fabric.racks import Rack, RackLayout


class TraySection(NamedTuple):
    """The tray between two racks, neighbors in a row or across two rows, and the number of cables in it."""

    rack: str
    far_rack: str
    cables: int


class RackPair(NamedTuple):
    """Two racks with the number of cables between them and the longest; both are the same for cables within a rack."""

    rack: str
    far_rack: str
    cables: int
    longest_m: int


class RackSummary(NamedTuple):
    """The totals of the racks in use."""

    racks: int
    # Rack units of these racks, taken or free.
    units: int
    taken_units: int
    # In watts, None unless every entry states its power.
    power_w: int | None
    # In the order of the racks in the intent.
    trays: tuple[TraySection, ...]
    # Pairs of racks that cables join, in the same order.
    bundles: tuple[RackPair, ...]

    @property
    def fullest(self) -> TraySection | None:
        """Return the section with the most cables, None if no cable leaves its rack."""
        return max(self.trays, key=lambda section: section.cables, default=None)


def summarize_racks(fabric: Fabric, trunked_bill: Trunked) -> RackSummary | None:
    """Return the totals of a fabric's racks and trays, None if the intent has no racks."""
    racks = fabric.racks
    if racks is None:
        return None
    used_racks = {place.rack for place in racks.places.values()}
    pairs = _rack_pairs(racks, trunked_bill)
    return RackSummary(
        racks=len(used_racks),
        units=len(used_racks) * racks.units,
        taken_units=sum(place.height for place in racks.places.values()),
        power_w=_power_w(racks),
        trays=_trays(racks, pairs),
        bundles=pairs,
    )


def _power_w(racks: RackLayout) -> int | None:
    """Return the power of all entries in watts, None if one does not state it: a partial sum would mislead."""
    total_w = 0
    for place in racks.places.values():
        if place.power_w is None:
            return None
        total_w += place.power_w
    return total_w


def _rack_pairs(racks: RackLayout, trunked_bill: Trunked) -> tuple[RackPair, ...]:
    """Return the pairs of racks that cables or trunks join, with their cables, in the order of the racks."""
    cables: Counter[tuple[str, str]] = Counter()
    longest_m: dict[tuple[str, str], int] = {}
    for assembly in trunked_bill.single:
        for lower, upper in _legs(assembly):
            pair = (racks.places[lower].rack, racks.places[upper].rack)
            cables[pair] += 1
            longest_m[pair] = max(longest_m.get(pair, 0), assembly.length_m)
    for run in trunked_bill.runs:
        pair = (run.rack, run.far_rack)
        cables[pair] += run.trunks
        longest_m[pair] = max(longest_m.get(pair, 0), run.length_m)
    return tuple(RackPair(*pair, cables[pair], longest_m[pair]) for pair in _in_rack_order(racks, cables))


def _in_rack_order(racks: RackLayout, pairs: Iterable[tuple[str, str]]) -> list[tuple[str, str]]:
    """Return pairs of racks sorted by the positions of both in the intent."""
    order = {name: position for position, name in enumerate(racks.racks)}
    return sorted(pairs, key=lambda pair: (order[pair[0]], order[pair[1]]))


def _legs(assembly: Assembly) -> Iterator[tuple[str, str]]:
    """Yield the devices at both ends of each leg of a cable."""
    # A leg joins two cages and may carry several links; the dictionary drops repetitions and keeps the order.
    for lower, upper in {(cable.lower.cage, cable.upper.cage): None for cable in assembly.links}:
        yield lower.device, upper.device


def _trays(racks: RackLayout, pairs: Iterable[RackPair]) -> tuple[TraySection, ...]:
    """Return the sections of the trays that cables between ``pairs`` of racks take, in the order of the racks."""
    rows: defaultdict[str, list[Rack]] = defaultdict(list)
    for rack in racks.racks.values():
        rows[rack.row].append(rack)
    cables_in: Counter[tuple[str, str]] = Counter()
    for pair in pairs:
        # The first rack of a pair is the one nearer to the GPUs, whose row a cable follows.
        for section in _route(rows, racks.racks[pair.rack], racks.racks[pair.far_rack]):
            cables_in[section] += pair.cables
    return tuple(TraySection(*section, cables_in[section]) for section in _in_rack_order(racks, cables_in))


def _route(rows: dict[str, list[Rack]], start: Rack, end: Rack) -> Iterator[tuple[str, str]]:
    """Yield the sections between two racks: those of the row of ``start``, then the crossings from row to row.

    ``rows`` are the racks of each row, in the order of the intent. A section is named by the racks at its ends.
    """
    left_mm, right_mm = sorted((start.along_mm, end.along_mm))
    for rack, next_rack in pairwise(rows[start.row]):
        if rack.along_mm < right_mm and next_rack.along_mm > left_mm:
            yield rack.name, next_rack.name
    row_names = list(rows)
    first, last = sorted((row_names.index(start.row), row_names.index(end.row)))
    for row, next_row in pairwise(row_names[first : last + 1]):
        # Rows are crossed at the position of the other end.
        yield _nearest(rows[row], end).name, _nearest(rows[next_row], end).name


def _nearest(row: list[Rack], rack: Rack) -> Rack:
    return min(row, key=lambda neighbor: abs(neighbor.along_mm - rack.along_mm))
