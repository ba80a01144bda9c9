"""Where everything of a picture stands, in pixels: bands above each other, columns beside each other."""

from collections import defaultdict
from collections.abc import Mapping, Sequence
from itertools import pairwise
from math import ceil, sqrt
from operator import itemgetter
from typing import NamedTuple

from railweave.drawing.scene import Block, Bundle, Scene

MARGIN, BAND_LABEL, COLUMN_GAP, BLOCK_GAP = 16, 112, 32, 12
"""Pixels around the picture, for the titles of bands, between columns and between blocks."""

CELL, CELL_STEP, PADDING = 11, 14, 10
TITLE_HEIGHT, SUBTITLE_HEIGHT = 18, 15
_TITLE_CHAR, _SUBTITLE_CHAR = 7.2, 6.0
_LEAST_WIDTH, _FRAME = 76, 10
_LEAST_RISE, _MOST_RISE = 64, 150


class Cell(NamedTuple):
    """A unit of a block as a small square: its top left corner, its number among the block's units."""

    x: float
    y: float
    unit: int


class Box(NamedTuple):
    """A block with its place: top left corner, width and height."""

    block: Block
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


class Frame(NamedTuple):
    """The outline of a column with its title."""

    title: str
    x: float
    y: float
    width: float
    height: float


class Picture(NamedTuple):
    """A scene with places: ``bands`` are titles at the left, ``remarks`` what the cables between two bands are."""

    scene: Scene
    width: float
    height: float
    bands: tuple[Label, ...]
    remarks: tuple[Label, ...]
    frames: tuple[Frame, ...]
    boxes: tuple[Box, ...]
    lines: tuple[Line, ...]


def lay_out(scene: Scene) -> Picture:
    """Return the picture of a scene."""
    sizes = {block.key: _size(block) for block in scene.blocks}
    lefts, width = _lefts(scene, sizes)
    tops, height = _tops(scene, sizes)
    boxes = []
    for block in scene.blocks:
        own_width, own_height = sizes[block.key]
        # Blocks of a band stand on one line.
        tallest = max(sizes[one.key][1] for one in scene.blocks if one.band == block.band)
        x, y = lefts[block.key], tops[block.band] + (tallest - own_height) / 2
        boxes.append(Box(block, x, y, own_width, own_height, _cells(block, x, y, own_width)))
    return Picture(
        scene,
        width,
        height,
        tuple(Label(title, MARGIN, tops[band] + TITLE_HEIGHT) for band, title in enumerate(scene.bands)),
        tuple(_remarks(scene, tops, sizes)),
        tuple(_frames(scene, boxes)),
        tuple(boxes),
        tuple(_lines(scene.bundles, boxes)),
    )


def _size(block: Block) -> tuple[float, float]:
    words = max(len(block.title) * _TITLE_CHAR, len(block.subtitle) * _SUBTITLE_CHAR)
    width = max(_LEAST_WIDTH, words + 2 * PADDING)
    height: float = PADDING + TITLE_HEIGHT + SUBTITLE_HEIGHT
    if len(block.units) > 1:
        a_row = _cells_in_row(len(block.units))
        width = max(width, a_row * CELL_STEP + 2 * PADDING)
        height += ceil(len(block.units) / a_row) * CELL_STEP + PADDING / 2
    return width, height


def _cells_in_row(units: int) -> int:
    return max(8, min(64, 1 << (ceil(sqrt(units * 2)) - 1).bit_length()))


def _cells(block: Block, x: float, y: float, width: float) -> tuple[Cell, ...]:
    count = len(block.units)
    if count == 1:
        return ()
    a_row = _cells_in_row(count)
    left = x + (width - min(count, a_row) * CELL_STEP + CELL_STEP - CELL) / 2
    top = y + PADDING + TITLE_HEIGHT + SUBTITLE_HEIGHT - PADDING / 2
    return tuple(
        Cell(left + (place % a_row) * CELL_STEP, top + (place // a_row) * CELL_STEP, place) for place in range(count)
    )


def _lefts(scene: Scene, sizes: Mapping[str, tuple[float, float]]) -> tuple[dict[str, float], float]:
    """Return the left end of every block, and the width of the picture."""
    rows: defaultdict[tuple[int | None, int], list[Block]] = defaultdict(list)
    for block in scene.blocks:
        rows[block.column, block.band].append(block)
    wide = {place: sum(sizes[one.key][0] + BLOCK_GAP for one in row) - BLOCK_GAP for place, row in rows.items()}
    of_column: list[float] = [
        max([_title_width(title), *(wide[place] for place in rows if place[0] == column)])
        for column, title in enumerate(scene.columns)
    ]
    columns = sum(of_column) + COLUMN_GAP * max(0, len(of_column) - 1)
    whole: float = max([columns, *(width for (column, _), width in wide.items() if column is None)])
    begin = MARGIN + BAND_LABEL + _FRAME
    lefts: dict[str, float] = {}
    for (column, band), row in rows.items():
        room = whole if column is None else of_column[column]
        before = 0.0 if column is None else (whole - columns) / 2 + sum(of_column[:column]) + COLUMN_GAP * column
        left = begin + before + (room - wide[column, band]) / 2
        for block in row:
            lefts[block.key] = left
            left += sizes[block.key][0] + BLOCK_GAP
    return lefts, begin + whole + _FRAME + MARGIN


def _title_width(title: str) -> float:
    return len(title) * _SUBTITLE_CHAR + 2 * PADDING


def _tops(scene: Scene, sizes: Mapping[str, tuple[float, float]]) -> tuple[list[float], float]:
    """Return the top of every band, and the height of the picture; between bands is the more room the more lines."""
    tops, y = [], float(MARGIN + _FRAME)
    band_of = {block.key: block.band for block in scene.blocks}
    for band in range(len(scene.bands)):
        tops.append(y)
        crossing = sum(band_of[one.upper] == band for one in scene.bundles)
        y += max(sizes[one.key][1] for one in scene.blocks if one.band == band)
        y += min(_MOST_RISE, _LEAST_RISE + 4 * crossing)
    last = tops[-1] + max(sizes[one.key][1] for one in scene.blocks if one.band == len(scene.bands) - 1)
    return tops, last + _FRAME + TITLE_HEIGHT + MARGIN


def _remarks(scene: Scene, tops: Sequence[float], sizes: Mapping[str, tuple[float, float]]) -> list[Label]:
    """Return what all lines between two bands are, where they are all alike."""
    band_of = {block.key: block.band for block in scene.blocks}
    found = []
    for upper, lower in pairwise(range(len(tops))):
        own = [one for one in scene.bundles if (band_of[one.upper], band_of[one.lower]) == (upper, lower)]
        titles = {one.title for one in own if one.speeds_gbps}
        if len(titles) == 1:
            text = titles.pop() + (" each" if len(own) > 1 else "")
            bottom = tops[upper] + max(sizes[one.key][1] for one in scene.blocks if one.band == upper)
            found.append(Label(text, MARGIN, (bottom + tops[lower]) / 2 + 4))
    return found


def _frames(scene: Scene, boxes: Sequence[Box]) -> list[Frame]:
    found = []
    for column, title in enumerate(scene.columns):
        own = [box for box in boxes if box.block.column == column]
        left, top = min(box.x for box in own) - _FRAME, min(box.y for box in own) - _FRAME
        width = max(max(box.x + box.width for box in own) + _FRAME - left, _title_width(title))
        height = max(box.y + box.height for box in own) + _FRAME + TITLE_HEIGHT - top
        found.append(Frame(title, left, top, width, height))
    return found


def _lines(bundles: Sequence[Bundle], boxes: Sequence[Box]) -> list[Line]:
    """Return the lines; their ends are spread over the edge of a box in the order of the far boxes."""
    box_of = {box.block.key: box for box in boxes}
    center = {key: box.x + box.width / 2 for key, box in box_of.items()}
    ends: dict[tuple[str, int], float] = {}
    for own, far in ((0, 1), (1, 0)):
        met: defaultdict[str, list[tuple[float, int]]] = defaultdict(list)
        for number, bundle in enumerate(bundles):
            pair = (bundle.upper, bundle.lower)
            met[pair[own]].append((center[pair[far]], number))
        for key, others in met.items():
            box = box_of[key]
            for place, (_, number) in enumerate(sorted(others, key=itemgetter(0))):
                ends[("upper", "lower")[own], number] = box.x + box.width * (place + 1) / (len(others) + 1)
    return [
        Line(
            bundle,
            ends["upper", number],
            box_of[bundle.upper].y + box_of[bundle.upper].height,
            ends["lower", number],
            box_of[bundle.lower].y,
        )
        for number, bundle in enumerate(bundles)
    ]
