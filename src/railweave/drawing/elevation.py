"""The racks of a fabric from the front: row by row, with every node and switch at its rack units."""

from collections.abc import Iterator
from typing import NamedTuple
from xml.sax.saxutils import escape, quoteattr

from railweave.drawing.marks import NO_MARKS, Marks, summary, worst
from railweave.drawing.palette import level_color, mark_color
from railweave.drawing.scene import short
from railweave.fabric.model import Fabric
from railweave.fabric.racks import Rack, Racks
from railweave.wording import counted

RACKS = "racks"
"""The key of the picture of racks."""

_UNIT = 12
"""Height of a rack unit: a name in letters of 8 has to fit in one."""

_WIDTH, _GAP, _TITLE, _MARGIN = 84, 14, 20, 16


class _Standing(NamedTuple):
    """A device in its rack: the level of its tier, None for nodes."""

    name: str
    unit: int
    height: int
    level: int | None


def elevation(fabric: Fabric, racks: Racks, marks: Marks = NO_MARKS) -> str:
    """Return the racks as an element of a page, where a device is a link that opens it."""
    standing = _standing(fabric, racks)
    rows: dict[str, list[Rack]] = {}
    for rack in racks.racks.values():
        rows.setdefault(rack.row, []).append(rack)
    rack_height = racks.units * _UNIT
    parts: list[str] = []
    y = float(_MARGIN)
    for row, members in rows.items():
        parts.append(_text("band", _MARGIN, y + _TITLE, f"row {row}"))
        for place, rack in enumerate(members):
            x = _MARGIN + 60 + place * (_WIDTH + _GAP)
            parts.append(
                f'<rect class="frame" x="{x}" y="{y:g}" width="{_WIDTH}" height="{rack_height}"/>'
                + _text("frame-title", x, y + rack_height + 13, rack.name)
            )
            parts += (_device(fabric, one, x, y + rack_height, marks) for one in standing.get(rack.name, ()))
        y += rack_height + _TITLE + _GAP
    width = _MARGIN * 2 + 60 + max(len(members) for members in rows.values()) * (_WIDTH + _GAP)
    title = f"{counted(len(racks.racks), 'rack')} of {racks.units} rack units"
    return "\n".join(
        (
            f'<svg xmlns="http://www.w3.org/2000/svg" class="picture" viewBox="0 0 {width} {y:g}" width="{width}" '
            f'height="{y:g}" role="group" aria-labelledby="title-racks">',
            f'<title id="title-racks">{escape(title)}</title>',
            *parts,
            "</svg>",
        )
    )


def _standing(fabric: Fabric, racks: Racks) -> dict[str, list[_Standing]]:
    found: dict[str, list[_Standing]] = {}
    for name, place in racks.places.items():
        switch = fabric.switch_of.get(name)
        level = None if switch is None else switch.tier.level
        found.setdefault(place.rack, []).append(_Standing(name, place.unit, place.height, level))
    return found


def _device(fabric: Fabric, one: _Standing, x: float, floor: float, marks: Marks) -> str:
    found = marks.of_devices((one.name,))
    kind = worst(found)
    classes = f"block {level_color(one.level)}" + (f" mark {mark_color(kind)}" if kind else "")
    top = floor - (one.unit - 1 + one.height) * _UNIT
    units = f"unit {one.unit}" if one.height == 1 else f"units {one.unit} to {one.unit + one.height - 1}"
    title = ", ".join(part for part in (one.name, units, summary(found)) if part)
    name = short(fabric, one.name)
    middle = top + one.height * _UNIT / 2 + 3
    return (
        f'<a class="{classes}" href={quoteattr(f"#device-{one.name}")} aria-label={quoteattr(title)}>'
        f'<rect x="{x + 2}" y="{top + 0.5:g}" width="{_WIDTH - 4}" height="{one.height * _UNIT - 1}" rx="2"/>'
        f"{_text('unit', x + _WIDTH / 2, middle, name)}<title>{escape(title)}</title></a>"
    )


def _text(name: str, x: float, y: float, words: str) -> str:
    return f'<text class="{name}" x="{x:g}" y="{y:g}">{escape(words)}</text>'


def described(fabric: Fabric, racks: Racks) -> Iterator[tuple[str, str, str, str]]:
    """Yield every rack: its name, row, devices and free units, for a table."""
    standing = _standing(fabric, racks)
    for rack in racks.racks.values():
        own = standing.get(rack.name, [])
        names = ", ".join(short(fabric, one.name) for one in sorted(own, key=lambda one: -one.unit))
        yield rack.name, rack.row, names, f"{racks.units - sum(one.height for one in own)}"
