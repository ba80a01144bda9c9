"""The racks of the intent: rows of racks, and which nodes and switches stand where in them.

A range of numbers stands for several names, ``gpu1-32`` or ``pod1-leaf1-8``, with as many digits as the first has
(``r01-12``); ``pod1-spine*`` are all of them, whose numbers may have gaps. Ranges of devices are expanded once the
fabric is designed, because a device's own name may end like a range.
"""

import re
from dataclasses import dataclass
from typing import Annotated, Any

from pydantic import Field

from railweave.fabric.ranges import RANGE
from railweave.intent.keys import Keys, default, key, unset
from railweave.intent.kinds import Kind, Text, Whole, refuse, shown

_METERS = re.compile(r"[0-9]{1,4}(?:\.[0-9]{1,3})?")
_NAME = r"[A-Za-z0-9](?:[A-Za-z0-9._-]{0,62})"
# As many as one entry of nodes may have.
_MOST_OF_A_RANGE = 65_536


@dataclass(frozen=True, slots=True)
class Meters(Kind):
    """A length in meters with up to three decimals, read as millimeters."""

    most_m: int = 1000

    def read(self, value: object) -> int:
        """Return the length in millimeters. A value that is not a length or out of range is refused."""
        text = str(value)
        is_number_or_text = isinstance(value, int | float | str) and not isinstance(value, bool)
        if not is_number_or_text or _METERS.fullmatch(text) is None:
            refuse("RW015", f"{shown(value)} is not a length", f"write meters without a unit, like 0.6{self.or_auto}")
        # By digits: most decimals have no exact float.
        whole, _, decimals = text.partition(".")
        length_mm = int(whole) * 1000 + int(decimals.ljust(3, "0"))
        if length_mm > self.most_m * 1000:
            refuse("RW013", f"{shown(value)} is out of range", f"write a number from 0 to {self.most_m}{self.or_auto}")
        return length_mm

    def form(self) -> dict[str, Any]:
        """Return the bounds of the number."""
        return {"type": "number", "minimum": 0, "maximum": self.most_m}


@dataclass(frozen=True, slots=True)
class Names(Kind):
    """One name or range of names, or a list of them; kept as it is written."""

    what: str = "a name"
    example: str = ""
    pattern: str = _NAME

    def read(self, value: object) -> tuple[str, ...]:
        """Return the names and ranges."""
        if not isinstance(value, list):
            return (self._name(value),)
        if not value:
            refuse("RW012", "the list is empty", f"write {self.what} or a range of them, like `{self.example}`")
        return tuple(map(self._name, value))

    def _name(self, value: object) -> str:
        """Return one name or range as it is written; anything else is refused."""
        fix = f"write {self.what} or a range of them, like `{self.example}`"
        if isinstance(value, int) and not isinstance(value, bool):
            refuse("RW012", f"{shown(value)} is not text", f'write "{value}" in quotes')
        if not isinstance(value, str) or re.fullmatch(self.pattern, value) is None:
            refuse("RW015", f"{shown(value)} is not {self.what}", fix)
        name_range = RANGE.fullmatch(value)
        if name_range is not None and int(name_range["last"]) - int(name_range["first"]) >= _MOST_OF_A_RANGE:
            refuse("RW013", f"{shown(value)} has more than {_MOST_OF_A_RANGE:,} names", "write a smaller range")
        return value

    def form(self) -> dict[str, Any]:
        """Return text, or a list of text."""
        text = {"type": "string", "pattern": f"^{self.pattern}$", "examples": [self.example]}
        return {"anyOf": [text, {"type": "array", "minItems": 1, "items": text}]}


RowName = Annotated[str, Text(what="a name of a row", pattern=_NAME, example="a")]
RackNames = Annotated[tuple[str, ...], Names(what="a name of a rack", example="a1-12")]
DeviceNames = Annotated[
    tuple[str, ...], Names(what="a name of a node or switch", example="gpu1-32", pattern=rf"{_NAME}\*?")
]
SoldLengths = Annotated[tuple[Annotated[int, Whole(least=1, most=10_000)], ...], Field(min_length=1)]


class RackRow(Keys):
    """One row: its racks in their order, and where it is."""

    name: RowName = key("name of the row")
    racks: RackNames = key("its racks in order: names or ranges like a1-12")
    distance_mm: Annotated[int, Meters()] | None = unset(
        "meters from the row before, center to center; required from the second row on", "distance_m"
    )
    start_mm: Annotated[int, Meters()] = default(0, "offset of its first rack along the row, in meters", "start_m")


class Placed(Keys):
    """Nodes or switches of one size, and the racks that they fill one after the other."""

    devices: DeviceNames = key(
        "names or ranges of nodes and switches, like gpu1-32, or all of a name, like pod1-spine*"
    )
    racks: RackNames = key("racks in the order in which they are filled: names or ranges like a1-8")
    per_rack: Annotated[int | None, Whole(least=1, most=100, auto=True)] = default(
        "auto", "how many of them each rack holds; auto spreads them evenly"
    )
    height: Annotated[int | None, Whole(least=1, most=60, auto=True)] = default(
        "auto", "rack units of one of them; auto takes those of a switch's model"
    )
    unit: Annotated[int | None, Whole(least=1, most=100, auto=True)] = default(
        "auto", "lowest rack unit of the first one in each rack, from 1 at the floor; auto takes the lowest free ones"
    )
    power_w: Annotated[int | None, Whole(least=1, most=1_000_000)] = unset(
        "watts that one of them draws at most; left out, those of a switch's model where a source states them"
    )


class TrunkKeys(Keys):
    """Trunks between the racks instead of single fibers."""

    connectors: Annotated[int, Whole(least=2, most=72)] = default(12, "MPO connectors of one trunk")
    cord_m: Annotated[int, Whole(least=1, most=50)] = default(3, "meters of the patch cord at each end")


class Racks(Keys):
    """Where nodes and switches stand: each cable gets the length of its way through the trays."""

    units: Annotated[int, Whole(least=1, most=100)] = key("rack units of one rack")
    power_w: Annotated[int | None, Whole(least=1, most=10_000_000)] = unset("watts that one rack may draw")
    rack_distance_mm: Annotated[int, Meters()] = default(
        0.6, "meters between neighboring racks of a row, center to center", "rack_distance_m"
    )
    tray_mm: Annotated[int | None, Meters(auto=True)] = default(
        "auto", "meters from the lowest rack unit up to the cable trays; auto is the top of the racks", "tray_m"
    )
    slack_mm: Annotated[int, Meters()] = default(
        1, "meters of slack at each end, with the way from the tray to the port", "slack_m"
    )
    trunks: TrunkKeys | None = unset(
        "structured cabling: fibers from rack to rack run in trunks between patch panels, with cords at both ends"
    )
    lengths_m: dict[str, SoldLengths] = Field(
        default={}, description="lengths in meters that your supplier sells, by media id; else those of the catalog"
    )
    rows: Annotated[tuple[RackRow, ...], Field(min_length=1)] = key("the rows, in their order in the hall")
    devices: Annotated[tuple[Placed, ...], Field(min_length=1)] = key("the nodes and switches, all of them")
