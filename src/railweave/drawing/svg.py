"""Pictures as SVG: elements of a page that use its style sheet, or files that follow the viewer's light or dark."""

from collections.abc import Iterable, Iterator, Mapping
from importlib.resources import files
from types import MappingProxyType
from xml.sax.saxutils import escape, quoteattr

from railweave.drawing.layout import (
    CELL,
    PADDING,
    SUBTITLE_HEIGHT,
    TITLE_HEIGHT,
    Box,
    Cell,
    Line,
    Picture,
    SquareLabel,
    line_width,
)
from railweave.drawing.marks import NO_MARKS, Mark, Marks, summary
from railweave.drawing.palette import LIGHT, level_color, literal, mark_class, rail_color, rules, variables
from railweave.drawing.scene import DeviceBlock

BundleClasses = Mapping[tuple[str, str], str]
"""Classes by the keys of the blocks that a bundle of cables joins, the upper one first."""


def svg(picture: Picture, marks: Marks = NO_MARKS) -> str:
    """Return the picture as an SVG file of its own."""
    return f'<?xml version="1.0" encoding="UTF-8"?>\n{_svg(picture, marks, style(), linked=False)}\n'


def svg_literal(picture: Picture, marks: Marks = NO_MARKS) -> str:
    """Return the picture as an SVG file in light colors for renderers without CSS variables and media queries."""
    return _svg(picture, marks, literal("\n".join(_sheets()), LIGHT), linked=False)


def svg_element(picture: Picture, marks: Marks = NO_MARKS, classes: BundleClasses = MappingProxyType({})) -> str:
    """Return the picture as an element of a page: blocks, units and cables are links to the fragment they open.

    ``classes`` are further classes of bundles of cables, which the style sheet of the page colors.
    """
    return _svg(picture, marks, "", classes, linked=True)


def style() -> str:
    """Return the style sheet of pictures."""
    return "\n".join((variables(), *_sheets()))


def _sheets() -> tuple[str, ...]:
    """Return the rules of the style sheet, which name colors by variables."""
    sheets = files("railweave.drawing")
    picture = sheets.joinpath("picture.css").read_text(encoding="utf-8")
    marks = sheets.joinpath("marks.css").read_text(encoding="utf-8")
    # Marks come last: they override the stroke of a block or line of the same specificity.
    return picture, rules(), marks


def _svg(
    picture: Picture, marks: Marks, sheet: str, classes: BundleClasses = MappingProxyType({}), *, linked: bool
) -> str:
    """Return the SVG element of a picture. With ``linked`` it is for a page, otherwise it has a background."""
    scene = picture.scene
    title_id = f"title-{scene.key}"
    # A screen reader does not read what is inside an `img`, so a picture with links is a group.
    role = "group" if linked else "img"
    width = f"{picture.width:g}"
    height = f"{picture.height:g}"
    parts = [
        f'<svg xmlns="http://www.w3.org/2000/svg" class="picture" viewBox="0 0 {width} {height}" '
        f'width="{width}" height="{height}" role="{role}" aria-labelledby={quoteattr(title_id)}>',
        f"<title id={quoteattr(title_id)}>{escape(scene.title)}: {escape(scene.about)}</title>",
    ]
    if sheet:
        parts.append(f"<style>{sheet}</style>")
    if not linked:
        parts.append(f'<rect class="paper" width="{width}" height="{height}"/>')
    parts += [part for part in _Drawer(picture, marks, classes, linked=linked).parts() if part]
    parts.append("</svg>")
    return "\n".join(parts)


class _Drawer:
    """The elements of one picture."""

    def __init__(self, picture: Picture, marks: Marks, classes: BundleClasses, *, linked: bool) -> None:
        self._picture = picture
        self._marks = marks
        self._bundle_classes = classes
        self._linked = linked
        self._devices = {box.block.key: box.block.devices for box in picture.boxes}

    def parts(self) -> Iterator[str]:
        """Yield the elements from the back to the front: SVG paints them in the order of the file."""
        for frame in self._picture.frames:
            yield _rect("frame", frame.x, frame.y, frame.width, frame.height, 10)
            yield _text("frame-title", frame.x + 10, frame.y + frame.height - 8, frame.title)
        for band in self._picture.bands:
            yield _text("band", band.x, band.y, band.text)
        for remark in self._picture.remarks:
            yield _text("remark", remark.x, remark.y, remark.text)
        for line in self._picture.lines:
            yield self._line(line)
        for box in self._picture.boxes:
            yield self._box(box)
            for cell in box.cells:
                yield self._cell(cell, box.block)
        for label in self._picture.squares:
            yield _square(label)

    def _line(self, line: Line) -> str:
        """Return a bundle of cables as a curve that leaves both blocks vertically."""
        bundle = line.bundle
        uppers = self._devices[bundle.upper]
        lowers = self._devices[bundle.lower]
        marks = self._marks.of_cables(uppers, lowers)
        title = f"{bundle.title}, {_devices_text(uppers)} to {_devices_text(lowers)}"
        if marks:
            title += f": {summary(marks)}"
        # A curve that leaves both blocks vertically.
        middle = (line.y1 + line.y2) / 2
        path = f"M{line.x1:.1f} {line.y1:.1f}C{line.x1:.1f} {middle:.1f} {line.x2:.1f} {middle:.1f} "
        path += f"{line.x2:.1f} {line.y2:.1f}"
        content = f'<path d="{path}" stroke-width="{line_width(bundle):.1f}"/><title>{escape(title)}</title>'
        # The page's table of cables does not have those that a plan removes.
        opens = f"cables={bundle.upper}~{bundle.lower}" if bundle.speeds_gbps else ""
        classes = _classes("line", rail_color(bundle.rails), marks)
        bundle_class = self._bundle_classes.get((bundle.upper, bundle.lower))
        if bundle_class:
            classes += f" {bundle_class}"
        # Thousands of cables are left out of the tab order; the keyboard reaches them in the table.
        return self._element(classes, opens, content, title, bundle.rails, bundle.planes, is_in_tab_order=False)

    def _box(self, box: Box) -> str:
        """Return a block with its title and subtitle; its units are separate elements."""
        block = box.block
        marks = self._marks.of_devices(block.devices)
        middle = box.x + box.width / 2
        title_baseline = box.y + PADDING / 2 + TITLE_HEIGHT - 4
        title = ", ".join(part for part in (block.title, block.subtitle, summary(marks)) if part)
        content = (
            _rect("", box.x, box.y, box.width, box.height, 6)
            + _text("name", middle, title_baseline, block.title)
            + _text("detail", middle, title_baseline + SUBTITLE_HEIGHT, block.subtitle)
            + f"<title>{escape(title)}</title>"
        )
        # A block of several units is marked unit by unit, so that a mark says which device it is on.
        box_marks = marks if len(block.units) == 1 else ()
        classes = _classes("block", level_color(block.level), box_marks)
        return self._element(classes, block.opens, content, title, block.rails, block.planes)

    def _cell(self, cell: Cell, block: DeviceBlock) -> str:
        """Return a unit of a block as a small square."""
        unit = block.units[cell.unit]
        marks = self._marks.of_devices(unit.devices)
        title = ", ".join(part for part in (unit.name, summary(marks)) if part)
        content = _rect("", cell.x, cell.y, CELL, CELL, 2) + f"<title>{escape(title)}</title>"
        element = "cell part" if unit.part else "cell"
        classes = _classes(element, level_color(block.level), marks)
        return self._element(classes, unit.opens, content, title, block.rails, block.planes)

    def _element(
        self,
        classes: str,
        opens: str,
        content: str,
        title: str,
        rails: frozenset[int],
        planes: frozenset[int],
        *,
        is_in_tab_order: bool = True,
    ) -> str:
        """Return a group with this content. In a page it is a link to the fragment ``opens``, unless that is empty.

        In a page the element also has its rails and planes, by which the page filters.
        """
        if not self._linked:
            return f'<g class="{classes}">{content}</g>'
        data = ""
        if rails:
            data += f' data-rails="{_numbers(rails)}"'
        if planes:
            data += f' data-planes="{_numbers(planes)}"'
        if not opens:
            return f'<g class="{classes}"{data}>{content}</g>'
        tab_order = "" if is_in_tab_order else ' tabindex="-1"'
        attributes = f'class="{classes}" href={quoteattr("#" + opens)} aria-label={quoteattr(title)}{tab_order}{data}'
        return f"<a {attributes}>{content}</a>"


def _classes(element: str, color: str, marks: Iterable[Mark]) -> str:
    return f"{element} {color}{mark_class(marks)}"


def _square(label: SquareLabel) -> str:
    """Return a square as in a block, with its meaning beside it."""
    classes = "cell part" if label.is_part else "cell"
    square = f'<g class="{classes}">{_rect("", label.x, label.y, CELL, CELL, 2)}</g>'
    return square + _text("remark", label.x + CELL + 6, label.y + CELL - 1.5, label.text)


def _numbers(numbers: frozenset[int]) -> str:
    return " ".join(map(str, sorted(numbers)))


def _devices_text(names: tuple[str, ...]) -> str:
    """Return the name of a single device, or the number of several."""
    return names[0] if len(names) == 1 else f"{len(names)} devices"


def _rect(css_class: str, x: float, y: float, width: float, height: float, radius: int) -> str:
    class_attribute = f'class="{css_class}" ' if css_class else ""
    return f'<rect {class_attribute}x="{x:.1f}" y="{y:.1f}" width="{width:.1f}" height="{height:.1f}" rx="{radius}"/>'


def _text(css_class: str, x: float, y: float, text: str) -> str:
    """Return a text as an element, empty for an empty text."""
    if not text:
        return ""
    return f'<text class="{css_class}" x="{x:.1f}" y="{y:.1f}">{escape(text)}</text>'
