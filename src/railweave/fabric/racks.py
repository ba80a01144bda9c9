"""Racks of a fabric: the place of every node and switch, and the length of a cable between two of them.

Within a rack a cable runs from one device to the other; between racks it rises to the tray above its rack, follows the
row and crosses to the other row, and descends.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import NamedTuple

# A rack unit (EIA-310) in hundredths of a millimeter.
_UNIT_HUNDREDTHS = 4445


class Rack(NamedTuple):
    """A rack of a row; ``along_mm`` and ``across_mm`` are its position in the hall, along the rows and across."""

    name: str
    row: str
    along_mm: int
    across_mm: int


class RackPlace(NamedTuple):
    """The place of a device: ``height`` units from ``unit`` upwards, 1 at the floor; ``power_w`` is an upper bound of
    the power it draws, None if nobody stated it."""

    rack: str
    unit: int
    height: int
    power_w: int | None = None

    @property
    def middle_mm(self) -> float:
        """Return the height of the device's middle above the lowest unit's foot."""
        return (2 * (self.unit - 1) + self.height) * _UNIT_HUNDREDTHS / 200


# As ``intent.racks.TrunkKeys`` states them: the fabric lies below the intent, and does without pydantic.
class Trunks(NamedTuple):
    """Structured cabling between racks: trunks of so many ``connectors``, patch cords of ``cord_m`` meters."""

    connectors: int
    cord_m: int


@dataclass(frozen=True)
class RackLayout:
    """Racks of ``units`` rack units by name, row by row, and the places of all nodes and switches by name.

    ``tray_mm`` is the height of the trays above the lowest unit's foot, ``slack_mm`` the extra length at each end.
    ``trunks`` is None if every fiber is a cable of its own.
    """

    units: int
    tray_mm: int
    slack_mm: int
    racks: Mapping[str, Rack]
    places: Mapping[str, RackPlace]
    trunks: Trunks | None = None

    def run_mm(self, near: str, far: str) -> int:
        """Return the length of a cable between two devices, slack included."""
        near_place = self.places[near]
        far_place = self.places[far]
        if near_place.rack == far_place.rack:
            run = abs(near_place.middle_mm - far_place.middle_mm)
        else:
            near_rack = self.racks[near_place.rack]
            far_rack = self.racks[far_place.rack]
            # Up to the tray, along the row and across to the other one, and down; trays meet at right angles.
            run = abs(self.tray_mm - near_place.middle_mm) + abs(self.tray_mm - far_place.middle_mm)
            run += abs(near_rack.along_mm - far_rack.along_mm) + abs(near_rack.across_mm - far_rack.across_mm)
        return round(run) + 2 * self.slack_mm


def top_mm(units: int) -> int:
    """Return the height of a rack of so many units."""
    return round(units * _UNIT_HUNDREDTHS / 100)
