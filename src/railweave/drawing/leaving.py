"""Devices that a plan takes out of a fabric: the picture of the whole shows them though the intent lacks them."""

from collections import Counter
from collections.abc import Collection, Iterable, Iterator

from railweave.drawing.scene import Block, Bundle, Scene, Unit, short
from railweave.fabric.model import Fabric
from railweave.wording import natural_key

SUBTITLE = "no longer in the intent"
Leaving = Collection[tuple[str, str]]
"""Cables that are removed, by the devices at their lower and upper ends, of which the fabric lacks one."""


def with_leaving(scene: Scene, fabric: Fabric, cables: Leaving) -> Scene:
    """Return a picture of ``fabric`` with the devices that these cables lose, each beside those that it was like.

    A device of which nothing in the picture was a neighbor is left out. Where the others of its tier stand in columns
    it has the column of its neighbors, or a new one where these do not agree."""
    block_of = {name: block for block in scene.blocks for name in block.devices}
    ends = {name: [pair for pair in cables if name in pair] for pair in cables for name in pair}
    in_columns = {block.band for block in scene.blocks if block.column is not None}
    added, joined = [], list(scene.bundles)
    for name in sorted(ends.keys() - block_of.keys(), key=natural_key):
        below = [block_of[lower] for lower, upper in ends[name] if upper == name and lower in block_of]
        above = [block_of[upper] for lower, upper in ends[name] if lower == name and upper in block_of]
        if not below and not above:
            continue
        band = min(one.band for one in below) - 1 if below else max(one.band for one in above) + 1
        band = max(0, min(band, len(scene.bands) - 1))
        column = _column(scene, [*below, *above]) if band in in_columns else None
        block = _block(scene, name, short(fabric, name), band, column)
        added.append(block)
        joined += _bundles(block, below, upper=True)
        joined += _bundles(block, above, upper=False)
    own = (SUBTITLE,) if any(one.column == len(scene.columns) for one in added) else ()
    return scene._replace(blocks=(*scene.blocks, *added), bundles=tuple(joined), columns=(*scene.columns, *own))


def _column(scene: Scene, neighbors: Iterable[Block]) -> int:
    """Return the column of all neighbors that have one, or a new one behind the others."""
    found = {one.column for one in neighbors if one.column is not None}
    return found.pop() if len(found) == 1 else len(scene.columns)


def _block(scene: Scene, name: str, title: str, band: int, column: int | None) -> Block:
    like = next(one for one in scene.blocks if one.band == band)
    unit = Unit(title, "", (name,))
    return Block(f"leaving-{name}", title, SUBTITLE, like.level, band, column, (unit,), "")


def _bundles(block: Block, others: list[Block], *, upper: bool) -> Iterator[Bundle]:
    for key, cables in Counter(one.key for one in others).items():
        pair = (block.key, key) if upper else (key, block.key)
        yield Bundle(*pair, cables, (), frozenset(), frozenset())
