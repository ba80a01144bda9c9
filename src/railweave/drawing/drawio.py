"""Pictures as draw.io (diagrams.net) files to edit: every block is a shape, every bundle of cables a connector."""

from collections.abc import Iterator
from typing import NamedTuple
from xml.etree.ElementTree import Element, SubElement, indent, tostring

from railweave.drawing.layout import Box, Line, Picture
from railweave.drawing.palette import LIGHT, level_color

_FRAME_STYLE = (
    f"rounded=1;arcSize=4;dashed=1;html=1;fillColor={LIGHT['frame']};strokeColor={LIGHT['edge']};"
    f"fontColor={LIGHT['dim']};verticalAlign=bottom;align=left;spacingLeft=8;"
)
_TITLE_STYLE = f"text;html=1;fontStyle=1;align=left;verticalAlign=middle;fontColor={LIGHT['dim']};"


def drawio(picture: Picture) -> bytes:
    """Return the picture as an uncompressed draw.io document of one page; UTF-8."""
    document = Element("mxfile", {"host": "railweave"})
    page = SubElement(document, "diagram", {"id": picture.scene.key, "name": picture.scene.title})
    model = SubElement(page, "mxGraphModel", {"grid": "0", "page": "0", "connect": "1", "tooltips": "1"})
    root = SubElement(model, "root")
    # mxGraph requires these two: the root, and the layer that holds every shape.
    SubElement(root, "mxCell", {"id": "0"})
    SubElement(root, "mxCell", {"id": "1", "parent": "0"})
    for cell in _cells(picture):
        root.append(cell)
    indent(document)
    written: bytes = tostring(document, encoding="utf-8", xml_declaration=True)
    return written + b"\n"


def _cells(picture: Picture) -> Iterator[Element]:
    """Yield the shapes from the back to the front: columns, titles, blocks, cables."""
    for number, frame in enumerate(picture.frames):
        rectangle = _Rectangle(frame.x, frame.y, frame.width, frame.height)
        yield _shape(f"frame-{number}", frame.title, _FRAME_STYLE, rectangle)
    for number, label in enumerate((*picture.bands, *picture.remarks)):
        # A label's y is the baseline of its text, a shape's the upper edge.
        yield _shape(f"label-{number}", label.text, _TITLE_STYLE, _Rectangle(label.x, label.y - 14, 110, 20))
    id_of_block = {box.block.key: f"block-{number}" for number, box in enumerate(picture.boxes)}
    for box in picture.boxes:
        yield _box(box, id_of_block[box.block.key], LIGHT[level_color(box.block.level)])
    for number, line in enumerate(picture.lines):
        yield _connector(line, f"cables-{number}", id_of_block)


class _Rectangle(NamedTuple):
    """The place of a shape in pixels: top left corner, width and height."""

    x: float
    y: float
    width: float
    height: float


def _box(box: Box, identifier: str, fill: str) -> Element:
    style = f"rounded=1;whiteSpace=wrap;html=1;fillColor={fill};strokeColor={LIGHT['line']};"
    content = f"<b>{box.block.title}</b><br>{box.block.subtitle}"
    return _shape(identifier, content, style, _Rectangle(box.x, box.y, box.width, box.height))


def _connector(line: Line, identifier: str, id_of_block: dict[str, str]) -> Element:
    """Return a bundle of cables as a connector between the shapes of its blocks."""
    cell = Element(
        "mxCell",
        {
            "id": identifier,
            "value": line.bundle.title,
            "style": f"endArrow=none;html=1;strokeColor={LIGHT['line']};fontSize=10;exitY=1;entryY=0;",
            "edge": "1",
            "parent": "1",
            "source": id_of_block[line.bundle.upper],
            "target": id_of_block[line.bundle.lower],
        },
    )
    SubElement(cell, "mxGeometry", {"relative": "1", "as": "geometry"})
    return cell


def _shape(identifier: str, content: str, style: str, rectangle: _Rectangle) -> Element:
    cell = Element("mxCell", {"id": identifier, "value": content, "style": style, "vertex": "1", "parent": "1"})
    geometry = {name: f"{pixels:.1f}" for name, pixels in rectangle._asdict().items()}
    SubElement(cell, "mxGeometry", {**geometry, "as": "geometry"})
    return cell
