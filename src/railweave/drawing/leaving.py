"""Devices that a plan removes from a fabric: the picture of the whole shows them though the intent no longer does."""

from collections import Counter, defaultdict
from collections.abc import Collection, Iterable, Iterator, Sequence
from typing import NamedTuple

from railweave.drawing.scene import Bundle, DeviceBlock, Scene, Unit, short
from railweave.fabric.model import Fabric
from railweave.wording import natural_key

SUBTITLE = "no longer in the intent"
Leaving = Collection[tuple[str, str]]
"""Removed cables as the devices at their lower and upper ends; the fabric no longer has one of the two."""


def with_leaving(scene: Scene, fabric: Fabric, cables: Leaving) -> Scene:
    """Return a picture of ``fabric`` with the removed devices at the ends of these cables, in the bands of their tiers.

    A device without a neighbor in the picture is left out. If its tier is in columns, it gets the column of its
    neighbors, or a new column if they are in several.
    """
    block_of = {name: block for block in scene.blocks for name in block.devices}
    neighbors: defaultdict[str, _Neighbors] = defaultdict(lambda: _Neighbors([], []))
    for lower, upper in cables:
        if lower in block_of:
            neighbors[upper].below.append(block_of[lower])
        if upper in block_of:
            neighbors[lower].above.append(block_of[upper])
    added_blocks: list[DeviceBlock] = []
    bundles = list(scene.bundles)
    for name in sorted(neighbors.keys() - block_of.keys(), key=natural_key):
        block = _block(scene, name, short(fabric, name), neighbors[name])
        added_blocks.append(block)
        bundles += _bundles(block, neighbors[name])
    columns = scene.columns
    # The index behind the last column is that of the new one.
    if any(block.column == len(columns) for block in added_blocks):
        columns = (*columns, SUBTITLE)
    return scene._replace(blocks=(*scene.blocks, *added_blocks), bundles=tuple(bundles), columns=columns)


class _Neighbors(NamedTuple):
    """The blocks at the far ends of a device's removed cables, one for each cable."""

    below: list[DeviceBlock]
    above: list[DeviceBlock]


def _band(scene: Scene, below: Sequence[DeviceBlock], above: Sequence[DeviceBlock]) -> int:
    """Return the band of a device: above its lower neighbors, or below its upper ones if it has no lower neighbor."""
    # Bands count from the top.
    if below:
        band = min(block.band for block in below) - 1
    else:
        band = max(block.band for block in above) + 1
    return max(0, min(band, len(scene.bands) - 1))


def _column(scene: Scene, neighbors: Iterable[DeviceBlock]) -> int:
    """Return the column that neighbors in columns share, or a new one behind the others if they share none."""
    columns = {block.column for block in neighbors if block.column is not None}
    if len(columns) == 1:
        return columns.pop()
    return len(scene.columns)


def _block(scene: Scene, name: str, title: str, neighbors: _Neighbors) -> DeviceBlock:
    """Return the block of a removed device in the band next to its neighbors."""
    band = _band(scene, neighbors.below, neighbors.above)
    band_blocks = [block for block in scene.blocks if block.band == band]
    column = None
    if any(block.column is not None for block in band_blocks):
        column = _column(scene, [*neighbors.below, *neighbors.above])
    return DeviceBlock(
        key=f"leaving-{name}",
        title=title,
        subtitle=SUBTITLE,
        # The fabric has no tier for a device that it lacks: it gets the level, and so the color, of its band.
        level=band_blocks[0].level,
        band=band,
        column=column,
        units=(Unit(name=title, opens="", devices=(name,)),),
        opens="",
    )


def _bundles(block: DeviceBlock, neighbors: _Neighbors) -> Iterator[Bundle]:
    for key, count in Counter(lower.key for lower in neighbors.below).items():
        yield _bundle(upper=block.key, lower=key, cables=count)
    for key, count in Counter(upper.key for upper in neighbors.above).items():
        yield _bundle(upper=key, lower=block.key, cables=count)


def _bundle(*, upper: str, lower: str, cables: int) -> Bundle:
    return Bundle(upper, lower, cables, speeds_gbps=(), rails=frozenset(), planes=frozenset())
