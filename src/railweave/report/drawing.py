"""A picture of a fabric in the terminal, and its content as JSON."""

from dataclasses import dataclass
from typing import Any

from rich.console import Console, ConsoleOptions, RenderableType, RenderResult
from rich.text import Text

from railweave.codec import as_json, members
from railweave.drawing.scene import DeviceBlock, Scene
from railweave.drawing.text import MOST_WIDTH, text
from railweave.report.layout import paragraphs


def scene_json(scene: Scene) -> dict[str, Any]:
    """Return the document of ``railweave draw --json``: blocks of devices by band, and the cables between them."""
    return {
        **members(scene, "key", "title", "about", "bands", "columns"),
        "blocks": [_block_json(block) for block in scene.blocks],
        "bundles": [
            {**members(bundle, "upper", "lower", "cables", "speeds_gbps"), **_sorted(bundle.rails, bundle.planes)}
            for bundle in scene.bundles
        ],
    }


def scene_view(scene: Scene) -> RenderableType:
    """Return the picture in text."""
    return paragraphs([Text(scene.title, style="bold"), Text(scene.about, style="dim")], [_Boxes(scene)])


@dataclass(frozen=True, slots=True)
class _Boxes:
    """The boxes of a scene, as many beside each other as the terminal has room for."""

    scene: Scene

    def __rich_console__(self, console: Console, options: ConsoleOptions) -> RenderResult:
        yield Text(text(self.scene, min(MOST_WIDTH, options.max_width)))


def _block_json(block: DeviceBlock) -> dict[str, Any]:
    return {
        **members(block, "key", "title", "subtitle", "level", "band", "column"),
        "units": as_json(block.units),
        **_sorted(block.rails, block.planes),
    }


def _sorted(rails: frozenset[int], planes: frozenset[int]) -> dict[str, list[int]]:
    # JSON has no sets, and the order of a set is not that of the next run.
    return {"rails": sorted(rails), "planes": sorted(planes)}
