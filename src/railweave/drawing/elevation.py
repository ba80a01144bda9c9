"""Front view of the racks of a fabric: row by row, with every node and switch at its rack units."""

from collections.abc import Iterator
from typing import NamedTuple
from xml.sax.saxutils import escape, quoteattr

from railweave.drawing.marks import NO_MARKS, Marks, summary
from railweave.drawing.palette import level_color, mark_class
from railweave.drawing.scene import short
from railweave.fabric.model import Fabric
from railweave.fabric.racks import Rack, RackLayout
from railweave.wording import counted

RACKS = "racks"
"""The key of the picture of racks."""

_UNIT = 12
"""Height of a rack unit in pixels: a name in letters of 8 pixels has to fit in one."""

_WIDTH = 84
_GAP = 14
_TITLE = 20
_MARGIN = 16
_ROW_LABEL = 60


class _PlacedDevice(NamedTuple):
    """A device in its rack; ``unit`` is its lowest rack unit, ``level`` that of its tier, None for nodes."""

    name: str
    unit: int
    height: int
    level: int | None


def elevation(fabric: Fabric, racks: RackLayout, marks: Marks = NO_MARKS) -> str:
    """Return the front view of the racks as an SVG element, where each device is a link that opens it in the page."""
    devices = _devices_by_rack(fabric, racks)
    racks_by_row: dict[str, list[Rack]] = {}
    for rack in racks.racks.values():
        racks_by_row.setdefault(rack.row, []).append(rack)
    rack_height = racks.units * _UNIT
    parts: list[str] = []
    y = float(_MARGIN)
    for row, row_racks in racks_by_row.items():
        parts.append(_text("band", _MARGIN, y + _TITLE, f"row {row}"))
        floor = y + rack_height
        for position, rack in enumerate(row_racks):
            x = _MARGIN + _ROW_LABEL + position * (_WIDTH + _GAP)
            frame = f'<rect class="frame" x="{x}" y="{y:g}" width="{_WIDTH}" height="{rack_height}"/>'
            parts.append(frame + _text("frame-title", x, floor + 13, rack.name))
            parts += (_device(fabric, device, x, floor, marks) for device in devices.get(rack.name, ()))
        y = floor + _TITLE + _GAP
    longest_row = max(len(row_racks) for row_racks in racks_by_row.values())
    width = _MARGIN * 2 + _ROW_LABEL + longest_row * (_WIDTH + _GAP)
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


def _devices_by_rack(fabric: Fabric, racks: RackLayout) -> dict[str, list[_PlacedDevice]]:
    """Return the devices of each rack by its name."""
    devices: dict[str, list[_PlacedDevice]] = {}
    for name, place in racks.places.items():
        switch = fabric.switch_of.get(name)
        level = None if switch is None else switch.tier.level
        device = _PlacedDevice(name, place.unit, place.height, level)
        devices.setdefault(place.rack, []).append(device)
    return devices


def _device(fabric: Fabric, device: _PlacedDevice, x: float, floor: float, marks: Marks) -> str:
    """Return a device as a link; rack units count from the ``floor``, pixels from the top."""
    device_marks = marks.of_devices((device.name,))
    classes = f"block {level_color(device.level)}{mark_class(device_marks)}"
    top = floor - (device.unit - 1 + device.height) * _UNIT
    units = f"unit {device.unit}"
    if device.height > 1:
        units = f"units {device.unit} to {device.unit + device.height - 1}"
    title = ", ".join(part for part in (device.name, units, summary(device_marks)) if part)
    name = short(fabric, device.name)
    name_baseline = top + device.height * _UNIT / 2 + 3
    return (
        f'<a class="{classes}" href={quoteattr(f"#device-{device.name}")} aria-label={quoteattr(title)}>'
        f'<rect x="{x + 2}" y="{top + 0.5:g}" width="{_WIDTH - 4}" height="{device.height * _UNIT - 1}" rx="2"/>'
        f"{_text('unit', x + _WIDTH / 2, name_baseline, name)}<title>{escape(title)}</title></a>"
    )


def _text(css_class: str, x: float, y: float, text: str) -> str:
    return f'<text class="{css_class}" x="{x:g}" y="{y:g}">{escape(text)}</text>'


def described(fabric: Fabric, racks: RackLayout) -> Iterator[tuple[str, str, str, str]]:
    """Yield (name, row, devices from top to bottom, free units) of every rack, as cells of a table."""
    devices = _devices_by_rack(fabric, racks)
    for rack in racks.racks.values():
        from_top = sorted(devices.get(rack.name, []), key=lambda device: -device.unit)
        names = ", ".join(short(fabric, device.name) for device in from_top)
        free = racks.units - sum(device.height for device in from_top)
        yield rack.name, rack.row, names, f"{free}"
