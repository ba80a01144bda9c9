"""A picture as PNG, drawn by Pillow (the extra ``railweave[png]``), whose own font needs none of the machine's."""

import io
from collections.abc import Sequence
from typing import TYPE_CHECKING

from railweave.drawing.layout import CELL, PADDING, SUBTITLE_HEIGHT, TITLE_HEIGHT, Box, Line, Picture
from railweave.drawing.marks import NO_MARKS, MarkKind, Marks, worst
from railweave.drawing.palette import LIGHT, level_color, mark_color, rail_color
from railweave.errors import RailweaveError

if TYPE_CHECKING:
    from PIL.ImageDraw import ImageDraw

_SCALE = 2
"""Pixels of the file per pixel of the layout: sharp on dense screens and in print."""

_MOST_PIXELS = 12_000
_CURVE_STEPS = 24


def png(picture: Picture, marks: Marks = NO_MARKS) -> bytes:
    """Return the picture as PNG; raises RailweaveError without Pillow."""
    try:
        from PIL import Image, ImageDraw
    except ImportError:
        raise RailweaveError(
            "PNG needs Pillow: install railweave[png], or write SVG, which every browser shows"
        ) from None
    scale = min(_SCALE, _MOST_PIXELS / max(picture.width, picture.height))
    image = Image.new("RGB", (round(picture.width * scale), round(picture.height * scale)), LIGHT["paper"])
    _Painter(ImageDraw.Draw(image), scale).paint(picture, marks)
    out = io.BytesIO()
    image.save(out, "PNG", optimize=True)
    return out.getvalue()


class _Painter:
    """Draws on an image; places and sizes are those of the layout."""

    def __init__(self, draw: "ImageDraw", scale: float) -> None:
        from PIL import ImageFont

        self._draw, self._scale = draw, scale
        self._fonts = {size: ImageFont.load_default(size * scale) for size in (10, 12)}

    def paint(self, picture: Picture, marks: Marks) -> None:
        for frame in picture.frames:
            self._rect((frame.x, frame.y, frame.width, frame.height), LIGHT["frame"], LIGHT["edge"], 10)
            self._text(frame.x + 10, frame.y + frame.height - 8, frame.title, 10, LIGHT["dim"], "ls")
        for band in picture.bands:
            self._text(band.x, band.y, band.text, 12, LIGHT["dim"], "ls")
        for remark in picture.remarks:
            self._text(remark.x, remark.y, remark.text, 10, LIGHT["dim"], "ls")
        devices = {box.block.key: box.block.devices for box in picture.boxes}
        for line in picture.lines:
            ends = devices[line.bundle.upper], devices[line.bundle.lower]
            self._line(line, worst(marks.of_cables(*ends)))
        for box in picture.boxes:
            self._box(box, LIGHT[level_color(box.block.level)], marks)

    def _box(self, box: Box, fill: str, marks: Marks) -> None:
        single = len(box.block.units) == 1
        kind = worst(marks.of_devices(box.block.devices)) if single else None
        edge, width = (LIGHT[mark_color(kind)], 3) if kind else (LIGHT["edge"], 1)
        self._rect((box.x, box.y, box.width, box.height), fill, edge, 6, width)
        middle = box.x + box.width / 2
        self._text(middle, box.y + PADDING / 2 + TITLE_HEIGHT - 4, box.block.title, 12, LIGHT["ink"], "ms")
        below = box.y + PADDING / 2 + TITLE_HEIGHT + SUBTITLE_HEIGHT - 4
        self._text(middle, below, box.block.subtitle, 10, LIGHT["dim"], "ms")
        for cell in box.cells:
            found = worst(marks.of_devices(box.block.units[cell.unit].devices))
            colors = (LIGHT[mark_color(found)],) * 2 if found else (LIGHT["paper"], LIGHT["line"])
            self._rect((cell.x, cell.y, CELL, CELL), *colors, 2)

    def _line(self, line: Line, kind: MarkKind | None) -> None:
        color = LIGHT[mark_color(kind) if kind else rail_color(line.bundle.rails)]
        width = 3.5 if kind else 1 + min(3.0, line.bundle.cables.bit_length() / 3)
        places = [(x * self._scale, y * self._scale) for x, y in _curve(line)]
        self._draw.line(places, fill=color, width=round(width * self._scale), joint="curve")

    def _rect(
        self, place: tuple[float, float, float, float], fill: str, edge: str, radius: int, width: float = 1
    ) -> None:
        x, y, wide, high = (one * self._scale for one in place)
        corners = (x, y, x + wide, y + high)
        self._draw.rounded_rectangle(corners, radius * self._scale, fill, edge, round(width * self._scale))

    def _text(self, x: float, y: float, words: str, size: int, color: str, anchor: str) -> None:
        place = (x * self._scale, y * self._scale)
        self._draw.text(place, words, fill=color, font=self._fonts[size], anchor=anchor)


def _curve(line: Line) -> Sequence[tuple[float, float]]:
    """Return points of the cubic Bézier curve of a line, with both handles halfway down."""
    middle = (line.y1 + line.y2) / 2
    found = []
    for step in range(_CURVE_STEPS + 1):
        t = step / _CURVE_STEPS
        a, b, c, d = (1 - t) ** 3, 3 * (1 - t) ** 2 * t, 3 * (1 - t) * t**2, t**3
        found.append(((a + b) * line.x1 + (c + d) * line.x2, a * line.y1 + (b + c) * middle + d * line.y2))
    return found
