"""The layout of a picture, in pixels: bands above each other, columns beside each other."""

from collections import defaultdict
from collections.abc import Mapping, Sequence
from itertools import pairwise
from math import ceil, sqrt
from typing import NamedTuple

from railweave.drawing.scene import Bundle, DeviceBlock, Scene

MARGIN = 16
"""Pixels around the picture."""
BAND_LABEL = 112
"""Pixels at the left for the titles of bands."""
COLUMN_GAP = 32
BLOCK_GAP = 12

CELL = 11
CELL_STEP = 14
PADDING = 10
TITLE_HEIGHT = 18
SUBTITLE_HEIGHT = 15
# Widths of a character: no font is loaded for a layout, so blocks are as wide as an average letter makes them.
_TITLE_CHAR = 7.2
_SUBTITLE_CHAR = 6.0
_LEAST_WIDTH = 76
_FRAME = 10
_LEGEND_HEIGHT = CELL + PADDING
_LEAST_RISE = 64
_MOST_RISE = 150


class Cell(NamedTuple):
    """A unit of a block as a small square: its top left corner, and its index among the block's units."""

    x: float
    y: float
    unit: int


class Box(NamedTuple):
    """A block with its place: top left corner, width and height."""

    block: DeviceBlock
    x: float
    y: float
    width: float
    height: float
    cells: tuple[Cell, ...]


class Line(NamedTuple):
    """A bundle of cables from ``(x1, y1)`` at the upper block to ``(x2, y2)`` at the lower one."""

    bundle: Bundle
    x1: float
    y1: float
    x2: float
    y2: float


class Label(NamedTuple):
    """Words at a place: left end and baseline."""

    text: str
    x: float
    y: float


class SquareLabel(NamedTuple):
    """A square with what the squares of blocks stand for: its top left corner."""

    text: str
    x: float
    y: float
    # Each square stands for a stripe or pod, otherwise for a device.
    is_part: bool


class Frame(NamedTuple):
    """The outline of a column with its title."""

    title: str
    x: float
    y: float
    width: float
    height: float


class Picture(NamedTuple):
    """A scene with its layout, in pixels."""

    scene: Scene
    width: float
    height: float
    # The titles of the bands, at the left.
    bands: tuple[Label, ...]
    # Descriptions of the cables between two bands that are all alike.
    remarks: tuple[Label, ...]
    # The meaning of the squares in blocks, below everything else.
    squares: tuple[SquareLabel, ...]
    frames: tuple[Frame, ...]
    boxes: tuple[Box, ...]
    lines: tuple[Line, ...]


class _BlockSize(NamedTuple):
    width: float
    height: float


_Sizes = Mapping[str, _BlockSize]
"""The sizes of blocks, by their keys."""


def lay_out(scene: Scene) -> Picture:
    """Return a scene with the places of its blocks, lines and labels in pixels."""
    sizes = {block.key: _size(block) for block in scene.blocks}
    lefts, width = _lefts(scene, sizes)
    tops, height = _tops(scene, sizes)
    bands = [Label(title, MARGIN, tops[band] + TITLE_HEIGHT) for band, title in enumerate(scene.bands)]
    boxes = []
    for block in scene.blocks:
        size = sizes[block.key]
        x = lefts[block.key]
        # Blocks of a band are centered on one line.
        y = tops[block.band] + (_band_height(scene, sizes, block.band) - size.height) / 2
        boxes.append(
            Box(block=block, x=x, y=y, width=size.width, height=size.height, cells=_cells(block, x, y, size.width))
        )
    squares = _squares(scene, height - MARGIN + PADDING / 2)
    if squares:
        height += _LEGEND_HEIGHT
    return Picture(
        scene=scene,
        width=width,
        height=height,
        bands=tuple(bands),
        remarks=tuple(_remarks(scene, tops, sizes)),
        squares=squares,
        frames=tuple(_frames(scene, boxes)),
        boxes=tuple(boxes),
        lines=tuple(_lines(scene.bundles, boxes)),
    )


def _size(block: DeviceBlock) -> _BlockSize:
    """Return the size of a block that has room for its titles and the squares of its units."""
    text_width = max(len(block.title) * _TITLE_CHAR, len(block.subtitle) * _SUBTITLE_CHAR)
    width = max(_LEAST_WIDTH, text_width + 2 * PADDING)
    height: float = PADDING + TITLE_HEIGHT + SUBTITLE_HEIGHT
    if len(block.units) > 1:
        in_row = _cells_in_row(len(block.units))
        # A last row that is not full leaves the block as wide as the rows above it.
        width = max(width, in_row * CELL_STEP + 2 * PADDING)
        height += ceil(len(block.units) / in_row) * CELL_STEP + PADDING / 2
    return _BlockSize(width, height)


def _band_height(scene: Scene, sizes: _Sizes, band: int) -> float:
    """Return the height of the tallest block of a band."""
    return max(sizes[block.key].height for block in scene.blocks if block.band == band)


def _cells_in_row(units: int) -> int:
    """Return the cells of a row, a power of two from 8 to 64: about twice as many as there are rows."""
    twice_the_rows = ceil(sqrt(units * 2))
    next_power_of_two = 1 << (twice_the_rows - 1).bit_length()
    return max(8, min(64, next_power_of_two))


def _cells(block: DeviceBlock, x: float, y: float, width: float) -> tuple[Cell, ...]:
    """Return the units of a block as squares, centered below its titles; none for a block of one unit."""
    count = len(block.units)
    if count == 1:
        return ()
    in_row = _cells_in_row(count)
    # No gap follows the last cell of a row.
    row_width = min(count, in_row) * CELL_STEP - (CELL_STEP - CELL)
    left = x + (width - row_width) / 2
    top = y + PADDING + TITLE_HEIGHT + SUBTITLE_HEIGHT - 1
    cells = []
    for unit in range(count):
        row, column = divmod(unit, in_row)
        cells.append(Cell(left + column * CELL_STEP, top + row * CELL_STEP, unit))
    return tuple(cells)


def _lefts(scene: Scene, sizes: _Sizes) -> tuple[dict[str, float], float]:
    """Return the left end of every block by its key, and the width of the picture."""
    rows: defaultdict[tuple[int | None, int], list[DeviceBlock]] = defaultdict(list)
    for block in scene.blocks:
        rows[block.column, block.band].append(block)
    row_widths = {column_and_band: _row_width(row, sizes) for column_and_band, row in rows.items()}
    column_widths = _column_widths(scene, row_widths)
    columns_width = sum(column_widths) + COLUMN_GAP * max(0, len(column_widths) - 1)
    # Blocks across all columns are centered above these, and may be wider.
    widths_across = [width for (column, _), width in row_widths.items() if column is None]
    inner_width = max([columns_width, *widths_across])

    inner_left = MARGIN + BAND_LABEL + _FRAME
    lefts: dict[str, float] = {}
    for (column, band), row in rows.items():
        row_width = row_widths[column, band]
        if column is None:
            left = inner_left + (inner_width - row_width) / 2
        else:
            # All columns together are centered, and each row within its column.
            column_offset = (inner_width - columns_width) / 2 + sum(column_widths[:column]) + COLUMN_GAP * column
            left = inner_left + column_offset + (column_widths[column] - row_width) / 2
        for block in row:
            lefts[block.key] = left
            left += sizes[block.key].width + BLOCK_GAP
    return lefts, inner_left + inner_width + _FRAME + MARGIN


def _column_widths(scene: Scene, row_widths: Mapping[tuple[int | None, int], float]) -> list[float]:
    """Return the width of each column, that of its widest row or of its title; rows are keyed by column and band."""
    widths = [_title_width(title) for title in scene.columns]
    for (column, _), width in row_widths.items():
        if column is not None:
            widths[column] = max(widths[column], width)
    return widths


def _row_width(blocks: Sequence[DeviceBlock], sizes: _Sizes) -> float:
    return sum(sizes[block.key].width + BLOCK_GAP for block in blocks) - BLOCK_GAP


def line_width(bundle: Bundle) -> float:
    """Return the width of a line in pixels: logarithmic, as bundles have from one to thousands of cables."""
    return 1 + min(3.0, bundle.cables.bit_length() / 3)


def _title_width(title: str) -> float:
    return len(title) * _SUBTITLE_CHAR + 2 * PADDING


def _tops(scene: Scene, sizes: _Sizes) -> tuple[list[float], float]:
    """Return the top of every band, and the height of the picture."""
    tops = []
    y = float(MARGIN + _FRAME)
    band_of = {block.key: block.band for block in scene.blocks}
    for band in range(len(scene.bands)):
        tops.append(y)
        y += _band_height(scene, sizes, band)
        # Many lines between two flat bands would lie on each other.
        crossing = sum(band_of[bundle.upper] == band for bundle in scene.bundles)
        y += min(_MOST_RISE, _LEAST_RISE + 4 * crossing)
    bottom = tops[-1] + _band_height(scene, sizes, len(scene.bands) - 1)
    return tops, bottom + _FRAME + TITLE_HEIGHT + MARGIN


def _remarks(scene: Scene, tops: Sequence[float], sizes: _Sizes) -> list[Label]:
    """Return a label between two neighboring bands that describes their cables, if all bundles there are alike."""
    band_of = {block.key: block.band for block in scene.blocks}
    bundles_between: defaultdict[tuple[int, int], list[Bundle]] = defaultdict(list)
    for bundle in scene.bundles:
        bundles_between[band_of[bundle.upper], band_of[bundle.lower]].append(bundle)
    remarks = []
    for upper, lower in pairwise(range(len(tops))):
        bundles = bundles_between[upper, lower]
        # Cables that a plan removes have no speed and would hide the description of the others.
        titles = {bundle.title for bundle in bundles if bundle.speeds_gbps}
        if len(titles) != 1:
            continue
        text = titles.pop()
        if len(bundles) > 1:
            text += " each"
        bottom = tops[upper] + _band_height(scene, sizes, upper)
        remarks.append(Label(text, MARGIN, (bottom + tops[lower]) / 2 + 4))
    return remarks


def _squares(scene: Scene, top: float) -> tuple[SquareLabel, ...]:
    """Return the legend of the squares in blocks, from left to right; ``top`` is its upper edge."""
    # A block of one unit has no squares.
    parts = {unit.part for block in scene.blocks if len(block.units) > 1 for unit in block.units}
    labels = []
    x = float(MARGIN)
    # Devices have no part, and come first.
    for part in sorted(parts):
        text = f"devices of one {part}" if part else "one device"
        labels.append(SquareLabel(text, x, top, is_part=bool(part)))
        x += CELL + len(text) * _SUBTITLE_CHAR + 2 * PADDING
    return tuple(labels)


def _frames(scene: Scene, boxes: Sequence[Box]) -> list[Frame]:
    """Return the outline of each column, around its boxes and the title below them."""
    frames = []
    for column, title in enumerate(scene.columns):
        in_column = [box for box in boxes if box.block.column == column]
        left = min(box.x for box in in_column) - _FRAME
        top = min(box.y for box in in_column) - _FRAME
        right = max(box.x + box.width for box in in_column) + _FRAME
        bottom = max(box.y + box.height for box in in_column) + _FRAME + TITLE_HEIGHT
        frames.append(Frame(title, left, top, max(right - left, _title_width(title)), bottom - top))
    return frames


def _lines(bundles: Sequence[Bundle], boxes: Sequence[Box]) -> list[Line]:
    """Return the line of each bundle, from the lower edge of its upper box to the upper edge of its lower box."""
    box_of = {box.block.key: box for box in boxes}
    upper_ends = _spread_ends([(bundle.upper, bundle.lower) for bundle in bundles], box_of)
    lower_ends = _spread_ends([(bundle.lower, bundle.upper) for bundle in bundles], box_of)
    lines = []
    for bundle, upper_x, lower_x in zip(bundles, upper_ends, lower_ends, strict=True):
        upper = box_of[bundle.upper]
        lower = box_of[bundle.lower]
        lines.append(Line(bundle, upper_x, upper.y + upper.height, lower_x, lower.y))
    return lines


def _spread_ends(ends: Sequence[tuple[str, str]], box_of: Mapping[str, Box]) -> list[float]:
    """Return the x of the near end of each line; ``ends`` are the keys of its near and its far box.

    The ends are spread over the edge of a box in the order of the far boxes, so that lines do not cross next to it.
    """
    far_centers = []
    lines_of_box: defaultdict[str, list[int]] = defaultdict(list)
    for line, (key, far_key) in enumerate(ends):
        far_box = box_of[far_key]
        far_centers.append(far_box.x + far_box.width / 2)
        lines_of_box[key].append(line)
    xs = [0.0] * len(ends)
    for key, lines in lines_of_box.items():
        box = box_of[key]
        for position, line in enumerate(sorted(lines, key=far_centers.__getitem__), start=1):
            xs[line] = box.x + box.width * position / (len(lines) + 1)
    return xs
