"""Pictures as PNG, drawn by Pillow (the extra ``railweave[png]``), which brings a font of its own."""

import io
from collections.abc import Sequence
from typing import TYPE_CHECKING

from railweave.drawing.layout import CELL, PADDING, SUBTITLE_HEIGHT, TITLE_HEIGHT, Box, Line, Picture, line_width
from railweave.drawing.marks import NO_MARKS, MarkKind, Marks, worst
from railweave.drawing.palette import LIGHT, level_color, mark_color, rail_color
from railweave.errors import RailweaveError

if TYPE_CHECKING:
    from PIL.ImageDraw import ImageDraw

_SCALE = 2
"""Pixels of the file per pixel of the layout: sharp on dense screens and in print."""

_MOST_PIXELS = 12_000
"""The longest side of the file: a large fabric is drawn at a smaller scale."""
_CURVE_STEPS = 24


def png(picture: Picture, marks: Marks = NO_MARKS) -> bytes:
    """Return the picture as PNG; raises RailweaveError without Pillow."""
    try:
        from PIL import Image, ImageDraw
    except ImportError:
        raise RailweaveError(
            "PNG needs Pillow: install railweave[png], or write SVG, which every browser shows"
        ) from None
    # Memory grows with the square of the side.
    scale = min(_SCALE, _MOST_PIXELS / max(picture.width, picture.height))
    image = Image.new("RGB", (round(picture.width * scale), round(picture.height * scale)), LIGHT["paper"])
    _Painter(ImageDraw.Draw(image), scale).paint(picture, marks)
    out = io.BytesIO()
    image.save(out, "PNG", optimize=True)
    return out.getvalue()


class _Painter:
    """Draws on an image; coordinates and sizes are those of the layout."""

    def __init__(self, draw: "ImageDraw", scale: float) -> None:
        from PIL import ImageFont

        self._draw = draw
        self._scale = scale
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
            line_marks = marks.of_cables(devices[line.bundle.upper], devices[line.bundle.lower])
            self._line(line, worst(line_marks))
        for box in picture.boxes:
            self._box(box, LIGHT[level_color(box.block.level)], marks)

    def _box(self, box: Box, fill: str, marks: Marks) -> None:
        block = box.block
        edge = LIGHT["edge"]
        width = 1
        # A block of several units is marked unit by unit, so that a mark says which device it is on.
        if len(block.units) == 1 and (kind := worst(marks.of_devices(block.devices))):
            edge = LIGHT[mark_color(kind)]
            width = 3
        self._rect((box.x, box.y, box.width, box.height), fill, edge, 6, width)
        middle = box.x + box.width / 2
        self._text(middle, box.y + PADDING / 2 + TITLE_HEIGHT - 4, block.title, 12, LIGHT["ink"], "ms")
        baseline = box.y + PADDING / 2 + TITLE_HEIGHT + SUBTITLE_HEIGHT - 4
        self._text(middle, baseline, block.subtitle, 10, LIGHT["dim"], "ms")
        for cell in box.cells:
            place = (cell.x, cell.y, CELL, CELL)
            unit_kind = worst(marks.of_devices(block.units[cell.unit].devices))
            if unit_kind:
                color = LIGHT[mark_color(unit_kind)]
                self._rect(place, color, color, 2)
            else:
                self._rect(place, LIGHT["paper"], LIGHT["line"], 2)

    def _line(self, line: Line, kind: MarkKind | None) -> None:
        if kind:
            color = LIGHT[mark_color(kind)]
            width = 3.5
        else:
            color = LIGHT[rail_color(line.bundle.rails)]
            width = line_width(line.bundle)
        places = [(x * self._scale, y * self._scale) for x, y in _curve(line)]
        self._draw.line(places, fill=color, width=round(width * self._scale), joint="curve")

    def _rect(
        self, place: tuple[float, float, float, float], fill: str, edge: str, radius: int, width: float = 1
    ) -> None:
        left, top, rect_width, rect_height = (pixels * self._scale for pixels in place)
        corners = (left, top, left + rect_width, top + rect_height)
        self._draw.rounded_rectangle(corners, radius * self._scale, fill, edge, round(width * self._scale))

    def _text(self, x: float, y: float, words: str, size: int, color: str, anchor: str) -> None:
        place = (x * self._scale, y * self._scale)
        self._draw.text(place, words, fill=color, font=self._fonts[size], anchor=anchor)


def _curve(line: Line) -> Sequence[tuple[float, float]]:
    """Return points of the cubic Bézier curve of a line, with both handles halfway down."""
    middle = (line.y1 + line.y2) / 2
    points = []
    for step in range(_CURVE_STEPS + 1):
        t = step / _CURVE_STEPS
        # Bernstein polynomials, the weights of start, first handle, second handle and end; as in SVG's path `C`.
        start = (1 - t) ** 3
        handle1 = 3 * (1 - t) ** 2 * t
        handle2 = 3 * (1 - t) * t**2
        end = t**3
        x = (start + handle1) * line.x1 + (handle2 + end) * line.x2
        y = start * line.y1 + (handle1 + handle2) * middle + end * line.y2
        points.append((x, y))
    return points
