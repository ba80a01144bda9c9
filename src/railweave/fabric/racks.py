"""Racks of a fabric: where every node and switch stands, and how long the way of a cable between two of them is.

Within a rack a cable runs from one device to the other; between racks it rises to the tray above its rack, follows the
row and crosses to the other row, and descends. A rack unit is 44.45 mm (EIA-310).
"""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import NamedTuple

_UNIT_HUNDREDTHS = 4445
"""A rack unit in hundredths of a millimeter."""


class Rack(NamedTuple):
    """A rack of a row; ``along_mm`` and ``across_mm`` are where it stands in the hall, along the rows and across."""

    name: str
    row: str
    along_mm: int
    across_mm: int


class RackPlace(NamedTuple):
    """Where a device stands: ``height`` units from ``unit`` upwards, 1 at the floor; ``power_w`` is what it draws at
    most, None where nobody stated it."""

    rack: str
    unit: int
    height: int
    power_w: int | None = None

    @property
    def middle_mm(self) -> float:
        """Return the height of its middle above the lowest unit's foot."""
        return (2 * (self.unit - 1) + self.height) * _UNIT_HUNDREDTHS / 200


class Trunks(NamedTuple):
    """Structured cabling between racks: trunks of so many ``connectors``, patch cords of ``cord_m`` meters."""

    connectors: int
    cord_m: int


@dataclass(frozen=True)
class Racks:
    """Racks of ``units`` rack units by their names, row by row, and the places of all nodes and switches by theirs.

    ``tray_mm`` is the height of the trays above the lowest unit's foot, ``slack_mm`` what a cable has more at each end.
    ``trunks`` is None where every fiber is a cable of its own.
    """

    units: int
    tray_mm: int
    slack_mm: int
    racks: Mapping[str, Rack]
    places: Mapping[str, RackPlace]
    trunks: Trunks | None = None

    def run_mm(self, device: str, other: str) -> int:
        """Return how long a cable between two devices has to be, slack included."""
        near = self.places[device]
        far = self.places[other]
        if near.rack == far.rack:
            way = abs(near.middle_mm - far.middle_mm)
        else:
            # Up to the tray, along the row and across to the other one, and down: trays meet at right angles.
            near_rack = self.racks[near.rack]
            far_rack = self.racks[far.rack]
            way = abs(self.tray_mm - near.middle_mm) + abs(self.tray_mm - far.middle_mm)
            way += abs(near_rack.along_mm - far_rack.along_mm) + abs(near_rack.across_mm - far_rack.across_mm)
        return round(way) + 2 * self.slack_mm


def top_mm(units: int) -> int:
    """Return the height of a rack of so many units."""
    return round(units * _UNIT_HUNDREDTHS / 100)
