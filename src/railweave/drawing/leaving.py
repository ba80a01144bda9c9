"""Devices that a plan removes from a fabric: the picture of the whole shows them though the intent no longer does."""

from collections import Counter
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
    block_of: dict[str, DeviceBlock] = {}
    for block in scene.blocks:
        block_of.update(dict.fromkeys(block.devices, block))
    neighbors: dict[str, _Neighbors] = {}
    for lower, upper in cables:
        if lower in block_of:
            neighbors.setdefault(upper, _Neighbors([], [])).below.append(block_of[lower])
        if upper in block_of:
            neighbors.setdefault(lower, _Neighbors([], [])).above.append(block_of[upper])
    added: list[DeviceBlock] = []
    bundles = list(scene.bundles)
    for name in sorted(neighbors.keys() - block_of.keys(), key=natural_key):
        block = _block(scene, name, short(fabric, name), neighbors[name])
        added.append(block)
        bundles += _bundles(block, neighbors[name])
    columns = scene.columns
    if any(block.column == len(columns) for block in added):
        columns = (*columns, SUBTITLE)
    return scene._replace(blocks=(*scene.blocks, *added), bundles=tuple(bundles), columns=columns)


class _Neighbors(NamedTuple):
    """The blocks at the far ends of a device's removed cables, one for each cable."""

    below: list[DeviceBlock]
    above: list[DeviceBlock]


def _band(scene: Scene, below: Sequence[DeviceBlock], above: Sequence[DeviceBlock]) -> int:
    """Return the band next to that of the neighbors; bands count from the top."""
    if below:
        band = min(block.band for block in below) - 1
    else:
        band = max(block.band for block in above) + 1
    return max(0, min(band, len(scene.bands) - 1))


def _column(scene: Scene, neighbors: Iterable[DeviceBlock]) -> int:
    """Return the column that all neighbors with one share, or a new one behind the others."""
    columns = {block.column for block in neighbors if block.column is not None}
    return columns.pop() if len(columns) == 1 else len(scene.columns)


def _block(scene: Scene, name: str, title: str, neighbors: _Neighbors) -> DeviceBlock:
    band = _band(scene, neighbors.below, neighbors.above)
    like = [block for block in scene.blocks if block.band == band]
    column = None
    if any(block.column is not None for block in like):
        column = _column(scene, [*neighbors.below, *neighbors.above])
    unit = Unit(title, "", (name,))
    # The fabric has no tier for a device that it lacks: the others of the band tell its level, and so its color.
    return DeviceBlock(f"leaving-{name}", title, SUBTITLE, like[0].level, band, column, (unit,), "")


def _bundles(block: DeviceBlock, neighbors: _Neighbors) -> Iterator[Bundle]:
    for key, count in Counter(lower.key for lower in neighbors.below).items():
        yield _bundle(upper=block.key, lower=key, cables=count)
    for key, count in Counter(upper.key for upper in neighbors.above).items():
        yield _bundle(upper=key, lower=block.key, cables=count)


def _bundle(*, upper: str, lower: str, cables: int) -> Bundle:
    return Bundle(upper, lower, cables, speeds_gbps=(), rails=frozenset(), planes=frozenset())
