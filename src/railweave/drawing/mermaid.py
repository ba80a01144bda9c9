"""Scenes as Mermaid diagrams, which GitHub and GitLab draw in pull requests, issues and wikis."""

from collections.abc import Iterator

from railweave.drawing.marks import NO_MARKS, MarkKind, Marks, worst
from railweave.drawing.palette import LIGHT, mark_color
from railweave.drawing.scene import DeviceBlock, Scene


def mermaid(scene: Scene, marks: Marks = NO_MARKS) -> str:
    """Return the scene as a flow chart, top down; marks color the edge of their devices."""
    return "\n".join(_lines(scene, marks)) + "\n"


def _lines(scene: Scene, marks: Marks) -> Iterator[str]:
    """Yield the lines of the flow chart: blocks outside of columns, columns with their blocks, cables, marks."""
    yield f"%% {scene.title}: {scene.about}"
    yield "flowchart TB"
    id_of = {block.key: f"b{number}" for number, block in enumerate(scene.blocks)}
    for block in scene.blocks:
        if block.column is None:
            yield "  " + _node(block, id_of[block.key])
    for column, title in enumerate(scene.columns):
        yield f'  subgraph c{column}["{_quoted(title)}"]'
        for block in scene.blocks:
            if block.column == column:
                yield "    " + _node(block, id_of[block.key])
        yield "  end"
    for bundle in scene.bundles:
        yield f'  {id_of[bundle.upper]} ---|"{_quoted(bundle.title)}"| {id_of[bundle.lower]}'
    yield from _classes(scene, marks, id_of)


def _node(block: DeviceBlock, identifier: str) -> str:
    label = f"{block.title}<br/>{block.subtitle}" if block.subtitle else block.title
    return f'{identifier}["{_quoted(label)}"]'


def _quoted(text: str) -> str:
    # Mermaid's own entity: a backslash does not escape a quote there.
    return text.replace('"', "#quot;")


def _classes(scene: Scene, marks: Marks, id_of: dict[str, str]) -> Iterator[str]:
    """Yield a class for each kind of mark, and the blocks that have it as their worst one."""
    ids_by_kind: dict[MarkKind, list[str]] = {}
    for block in scene.blocks:
        kind = worst(marks.of_devices(block.devices))
        if kind is not None:
            ids_by_kind.setdefault(kind, []).append(id_of[block.key])
    for kind, ids in ids_by_kind.items():
        yield f"  classDef {kind.value} stroke:{LIGHT[mark_color(kind)]},stroke-width:3px"
        yield f"  class {','.join(ids)} {kind.value}"
