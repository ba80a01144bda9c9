"""Devices that a plan removes from a fabric: the picture of the whole shows them though the intent no longer does."""

from collections import Counter
from collections.abc import Collection, Iterable, Sequence

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
    cables_of: dict[str, list[tuple[str, str]]] = {}
    for lower, upper in cables:
        cables_of.setdefault(lower, []).append((lower, upper))
        cables_of.setdefault(upper, []).append((lower, upper))
    bands_with_columns = {block.band for block in scene.blocks if block.column is not None}
    added: list[DeviceBlock] = []
    bundles = list(scene.bundles)
    for name in sorted(cables_of.keys() - block_of.keys(), key=natural_key):
        below = [block_of[lower] for lower, upper in cables_of[name] if upper == name and lower in block_of]
        above = [block_of[upper] for lower, upper in cables_of[name] if lower == name and upper in block_of]
        if not below and not above:
            continue
        band = _band(scene, below, above)
        column = None
        if band in bands_with_columns:
            column = _column(scene, [*below, *above])
        block = _block(scene, name, short(fabric, name), band, column)
        added.append(block)
        for key, count in _count_by_key(below):
            bundles.append(_bundle(upper=block.key, lower=key, cables=count))
        for key, count in _count_by_key(above):
            bundles.append(_bundle(upper=key, lower=block.key, cables=count))
    columns = scene.columns
    if any(block.column == len(columns) for block in added):
        columns = (*columns, SUBTITLE)
    return scene._replace(blocks=(*scene.blocks, *added), bundles=tuple(bundles), columns=columns)


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


def _block(scene: Scene, name: str, title: str, band: int, column: int | None) -> DeviceBlock:
    # The fabric has no tier for a device that it lacks: the others of the band tell its level, and so its color.
    level = next(block.level for block in scene.blocks if block.band == band)
    unit = Unit(title, "", (name,))
    return DeviceBlock(f"leaving-{name}", title, SUBTITLE, level, band, column, (unit,), "")


def _count_by_key(blocks: Iterable[DeviceBlock]) -> Iterable[tuple[str, int]]:
    return Counter(block.key for block in blocks).items()


def _bundle(*, upper: str, lower: str, cables: int) -> Bundle:
    return Bundle(upper, lower, cables, speeds_gbps=(), rails=frozenset(), planes=frozenset())
