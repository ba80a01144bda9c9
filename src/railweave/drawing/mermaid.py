"""Scenes as Mermaid diagrams, which GitHub and GitLab draw in pull requests, issues and wikis."""

from collections.abc import Iterator

from railweave.drawing.marks import NO_MARKS, MarkKind, Marks, worst
from railweave.drawing.palette import LIGHT, mark_color
from railweave.drawing.scene import DeviceBlock, Scene


def mermaid(scene: Scene, marks: Marks = NO_MARKS) -> str:
    """Return the scene as a flow chart, top down; marks color the edge of their devices."""
    return "\n".join(_lines(scene, marks)) + "\n"


def _lines(scene: Scene, marks: Marks) -> Iterator[str]:
    yield f"%% {scene.title}: {scene.about}"
    yield "flowchart TB"
    identifier = {block.key: f"b{number}" for number, block in enumerate(scene.blocks)}
    across = [block for block in scene.blocks if block.column is None]
    for block in across:
        yield "  " + _node(block, identifier[block.key])
    for column, title in enumerate(scene.columns):
        yield f'  subgraph c{column}["{_quoted(title)}"]'
        for block in scene.blocks:
            if block.column == column:
                yield "    " + _node(block, identifier[block.key])
        yield "  end"
    for bundle in scene.bundles:
        yield f'  {identifier[bundle.upper]} ---|"{_quoted(bundle.title)}"| {identifier[bundle.lower]}'
    yield from _classes(scene, marks, identifier)


def _node(block: DeviceBlock, identifier: str) -> str:
    words = f"{block.title}<br/>{block.subtitle}" if block.subtitle else block.title
    return f'{identifier}["{_quoted(words)}"]'


def _quoted(text: str) -> str:
    # Mermaid's own entity: a backslash does not escape a quote there.
    return text.replace('"', "#quot;")


def _classes(scene: Scene, marks: Marks, identifier: dict[str, str]) -> Iterator[str]:
    marked: dict[MarkKind, list[str]] = {}
    for block in scene.blocks:
        if kind := worst(marks.of_devices(block.devices)):
            marked.setdefault(kind, []).append(identifier[block.key])
    for mark, blocks in marked.items():
        yield f"  classDef {mark.value} stroke:{LIGHT[mark_color(mark)]},stroke-width:3px"
        yield f"  class {','.join(blocks)} {mark.value}"
