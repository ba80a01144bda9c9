"""A scene as text, for a terminal: a row of boxes a band, and between two bands what joins them."""

from collections.abc import Iterator, Sequence
from itertools import pairwise

from railweave.drawing.scene import Block, Bundle, Scene
from railweave.wording import compact, counted

MOST_WIDTH = 100
"""Characters of a line of a picture."""
_BAND_WIDTH = 14


def text(scene: Scene, width: int = MOST_WIDTH) -> str:
    """Return the scene in lines of at most ``width`` characters; a band that does not fit is one box that counts its
    devices."""
    rows = [[block for block in scene.blocks if block.band == band] for band in range(len(scene.bands))]
    lines = list(_band(scene.bands[0], rows[0], width))
    for (upper, lower), title in zip(pairwise(rows), scene.bands[1:], strict=True):
        lines += _joint(scene.bundles, upper, lower)
        lines += _band(title, lower, width)
    return "\n".join(line.rstrip() for line in lines)


def _band(title: str, blocks: Sequence[Block], width: int) -> Iterator[str]:
    boxes = [_box(block.title, block.subtitle) for block in blocks]
    if _BAND_WIDTH + sum(len(box[0]) + 1 for box in boxes) > width:
        names = [unit.name for block in blocks for unit in block.units]
        devices = sum(len(block.devices) for block in blocks)
        boxes = [_box(f"{devices:,} {title}", compact(names, 3))]
    for number, parts in enumerate(zip(*boxes, strict=True)):
        yield f"{title if number == 1 else '':{_BAND_WIDTH}}{' '.join(parts)}"


def _box(title: str, subtitle: str) -> tuple[str, ...]:
    inside = max(len(title), len(subtitle)) + 2
    lines = [title.center(inside), *([subtitle.center(inside)] if subtitle else [" " * inside])]
    return f"┌{'─' * inside}┐", *(f"│{line}│" for line in lines), f"└{'─' * inside}┘"


def _joint(bundles: Sequence[Bundle], upper: Sequence[Block], lower: Sequence[Block]) -> Iterator[str]:
    ends = {block.key for block in upper}, {block.key for block in lower}
    own = [one for one in bundles if one.upper in ends[0] and one.lower in ends[1]]
    titles = sorted({one.title for one in own})
    if len(titles) == 1:
        said = titles[0] if len(own) == 1 else f"{len(own)} pairs, each {titles[0]}"
    else:
        said = f"{counted(sum(one.cables for one in own), 'cable')}"
    yield f"{'':{_BAND_WIDTH}}  │ {said}"
