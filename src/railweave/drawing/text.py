"""Scenes as text for a terminal: each band is a row of boxes, with the number of cables between two bands."""

from collections.abc import Iterator, Sequence
from itertools import pairwise
from typing import NamedTuple

from railweave.drawing.scene import Bundle, DeviceBlock, Scene
from railweave.wording import compact, counted

MOST_WIDTH = 100
"""Characters of a line of a picture."""
_BAND_WIDTH = 14


def text(scene: Scene, width: int = MOST_WIDTH) -> str:
    """Return the scene in lines of at most ``width`` characters; a band too wide becomes one box with a count."""
    rows = [[block for block in scene.blocks if block.band == band] for band in range(len(scene.bands))]
    lines = list(_band(scene.bands[0], rows[0], width))
    for (upper, lower), title in zip(pairwise(rows), scene.bands[1:], strict=True):
        lines += _joint(scene.bundles, upper, lower)
        lines += _band(title, lower, width)
    return "\n".join(line.rstrip() for line in lines)


def _band(title: str, blocks: Sequence[DeviceBlock], width: int) -> Iterator[str]:
    """Yield the lines of a band: its title at the left, then its boxes, or one box if they are too wide together."""
    boxes = [_box(block.title, block.subtitle) for block in blocks]
    boxes_width = sum(len(box.top) + 1 for box in boxes)
    if _BAND_WIDTH + boxes_width > width:
        names = [unit.name for block in blocks for unit in block.units]
        devices = sum(len(block.devices) for block in blocks)
        boxes = [_box(f"{devices:,} {title}", compact(names, 3))]
    # The band's title is level with the titles of its boxes.
    labels = _BoxLines(top="", title=title, subtitle="", bottom="")
    for label, *parts in zip(labels, *boxes, strict=True):
        yield f"{label:{_BAND_WIDTH}}{' '.join(parts)}"


class _BoxLines(NamedTuple):
    """The lines of a box; all are as wide as the first."""

    top: str
    title: str
    subtitle: str
    bottom: str


def _box(title: str, subtitle: str) -> _BoxLines:
    width = max(len(title), len(subtitle)) + 2
    border = "─" * width
    return _BoxLines(f"┌{border}┐", f"│{title.center(width)}│", f"│{subtitle.center(width)}│", f"└{border}┘")


def _joint(bundles: Sequence[Bundle], upper: Sequence[DeviceBlock], lower: Sequence[DeviceBlock]) -> Iterator[str]:
    """Yield the line between two bands: the cables that join their blocks."""
    upper_keys = {block.key for block in upper}
    lower_keys = {block.key for block in lower}
    joining = [bundle for bundle in bundles if bundle.upper in upper_keys and bundle.lower in lower_keys]
    yield f"{'':{_BAND_WIDTH}}  │ {_cables_text(joining)}"


def _cables_text(bundles: Sequence[Bundle]) -> str:
    """Return the cables between two bands: their number, or one description if all bundles are alike."""
    titles = {bundle.title for bundle in bundles}
    if len(titles) != 1:
        return counted(sum(bundle.cables for bundle in bundles), "cable")
    (title,) = titles
    if len(bundles) > 1:
        return f"{len(bundles)} pairs, each {title}"
    return title
