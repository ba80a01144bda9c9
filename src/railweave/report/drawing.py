"""A picture of a fabric in the terminal, and its content as JSON."""

from typing import Any

from rich.console import RenderableType
from rich.text import Text

from railweave.drawing.scene import Block, Scene
from railweave.drawing.text import text
from railweave.jsonable import as_json, members
from railweave.report.layout import paragraphs


def scene_json(scene: Scene) -> dict[str, Any]:
    """Return the document of ``railweave draw --json``: blocks of devices by band, and the cables between them."""
    return {
        **members(scene, "key", "title", "about", "bands", "columns"),
        "blocks": [_block_json(one) for one in scene.blocks],
        "bundles": [
            {**members(one, "upper", "lower", "cables", "speeds_gbps"), **_sorted(one.rails, one.planes)}
            for one in scene.bundles
        ],
    }


def scene_view(scene: Scene) -> RenderableType:
    """Return the picture in text."""
    return paragraphs([Text(scene.title, style="bold"), Text(scene.about, style="dim")], [Text(text(scene))])


def _block_json(block: Block) -> dict[str, Any]:
    return {
        **members(block, "key", "title", "subtitle", "level", "band", "column"),
        "units": as_json(block.units),
        **_sorted(block.rails, block.planes),
    }


def _sorted(rails: frozenset[int], planes: frozenset[int]) -> dict[str, list[int]]:
    return {"rails": sorted(rails), "planes": sorted(planes)}
