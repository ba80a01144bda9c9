"""A picture as SVG: for a page, whose styles it takes, or a file of its own that follows the viewer's light or dark."""

from collections.abc import Iterable, Iterator
from importlib.resources import files
from xml.sax.saxutils import escape, quoteattr

from railweave.drawing.layout import CELL, PADDING, SUBTITLE_HEIGHT, TITLE_HEIGHT, Box, Line, Picture
from railweave.drawing.marks import NO_MARKS, Mark, Marks, summary, worst
from railweave.drawing.palette import level_color, mark_color, rail_color, rules, variables


def svg(picture: Picture, marks: Marks = NO_MARKS) -> str:
    """Return the picture as an SVG file of its own."""
    return f'<?xml version="1.0" encoding="UTF-8"?>\n{_svg(picture, marks, style(), linked=False)}\n'


def svg_element(picture: Picture, marks: Marks = NO_MARKS) -> str:
    """Return the picture as an element of a page: blocks, units and cables are links to ``#`` and what they open."""
    return _svg(picture, marks, "", linked=True)


def style() -> str:
    """Return the style sheet of pictures."""
    sheets = files("railweave.drawing")
    shape, marked = (sheets.joinpath(name).read_text(encoding="utf-8") for name in ("picture.css", "marks.css"))
    return "\n".join((variables(), shape, rules(), marked))


def _svg(picture: Picture, marks: Marks, sheet: str, *, linked: bool) -> str:
    scene = picture.scene
    drawer = _Drawer(picture, marks, linked=linked)
    own = f"title-{scene.key}"
    parts = [
        f'<svg xmlns="http://www.w3.org/2000/svg" class="picture" viewBox="0 0 {picture.width:g} {picture.height:g}" '
        f'width="{picture.width:g}" height="{picture.height:g}" '
        f'role="{"group" if linked else "img"}" aria-labelledby={quoteattr(own)}>',
        f"<title id={quoteattr(own)}>{escape(scene.title)}: {escape(scene.about)}</title>",
        f"<style>{sheet}</style>" if sheet else "",
        "" if linked else f'<rect class="paper" width="{picture.width:g}" height="{picture.height:g}"/>',
        *drawer.parts(),
        "</svg>",
    ]
    return "\n".join(part for part in parts if part)


class _Drawer:
    """The elements of one picture."""

    def __init__(self, picture: Picture, marks: Marks, *, linked: bool) -> None:
        self._picture, self._marks, self._linked = picture, marks, linked
        self._devices = {box.block.key: box.block.devices for box in picture.boxes}

    def parts(self) -> Iterator[str]:
        """Yield what is drawn, from the back to the front."""
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
            yield from self._box(box)

    def _line(self, line: Line) -> str:
        bundle = line.bundle
        uppers, lowers = self._devices[bundle.upper], self._devices[bundle.lower]
        marks = self._marks.of_cables(uppers, lowers)
        own = rail_color(bundle.rails)
        title = f"{bundle.title}, {_ends(uppers)} to {_ends(lowers)}" + (f": {summary(marks)}" if marks else "")
        width = 1 + min(3.0, bundle.cables.bit_length() / 3)
        middle = (line.y1 + line.y2) / 2
        path = f"M{line.x1:.1f} {line.y1:.1f}C{line.x1:.1f} {middle:.1f} {line.x2:.1f} {middle:.1f} "
        path += f"{line.x2:.1f} {line.y2:.1f}"
        drawn = f'<path d="{path}" stroke-width="{width:.1f}"/><title>{escape(title)}</title>'
        opens = f"cables={bundle.upper}~{bundle.lower}" if bundle.speeds_gbps else ""
        return self._link(_classes("line", own, marks), opens, drawn, title, bundle.rails, bundle.planes, tabbed=False)

    def _box(self, box: Box) -> Iterator[str]:
        block = box.block
        marks = self._marks.of_devices(block.devices)
        middle = box.x + box.width / 2
        title = ", ".join(part for part in (block.title, block.subtitle, summary(marks)) if part)
        drawn = (
            _rect("", box.x, box.y, box.width, box.height, 6)
            + _text("name", middle, box.y + PADDING / 2 + TITLE_HEIGHT - 4, block.title)
            + _text("detail", middle, box.y + PADDING / 2 + TITLE_HEIGHT + SUBTITLE_HEIGHT - 4, block.subtitle)
            + f"<title>{escape(title)}</title>"
        )
        own = _classes("block", level_color(block.level), marks if len(block.units) == 1 else ())
        yield self._link(own, block.opens, drawn, title, block.rails, block.planes)
        for cell in box.cells:
            unit = block.units[cell.unit]
            found = self._marks.of_devices(unit.devices)
            title = ", ".join(part for part in (unit.name, summary(found)) if part)
            drawn = _rect("", cell.x, cell.y, CELL, CELL, 2) + f"<title>{escape(title)}</title>"
            own = _classes("cell", level_color(block.level), found)
            yield self._link(own, unit.opens, drawn, title, block.rails, block.planes)

    def _link(
        self,
        classes: str,
        opens: str,
        drawn: str,
        title: str,
        rails: frozenset[int],
        planes: frozenset[int],
        *,
        tabbed: bool = True,
    ) -> str:
        """Return an element, as a link in a page; what is of some rails or planes alone says so, for filters."""
        if not self._linked:
            return f'<g class="{classes}">{drawn}</g>'
        data = (f' data-rails="{_numbers(rails)}"' if rails else "") + (
            f' data-planes="{_numbers(planes)}"' if planes else ""
        )
        if not opens:
            return f'<g class="{classes}"{data}>{drawn}</g>'
        order = "" if tabbed else ' tabindex="-1"'
        return (
            f'<a class="{classes}" href={quoteattr("#" + opens)} aria-label={quoteattr(title)}{order}{data}>{drawn}</a>'
        )


def _classes(element: str, own: str, marks: Iterable[Mark]) -> str:
    kind = worst(marks)
    return " ".join(part for part in (element, own, f"mark {mark_color(kind)}" if kind else "") if part)


def _numbers(numbers: frozenset[int]) -> str:
    return " ".join(map(str, sorted(numbers)))


def _ends(names: tuple[str, ...]) -> str:
    return names[0] if len(names) == 1 else f"{len(names)} devices"


def _rect(name: str, x: float, y: float, width: float, height: float, radius: int) -> str:
    own = f'class="{name}" ' if name else ""
    return f'<rect {own}x="{x:.1f}" y="{y:.1f}" width="{width:.1f}" height="{height:.1f}" rx="{radius}"/>'


def _text(name: str, x: float, y: float, words: str) -> str:
    return f'<text class="{name}" x="{x:.1f}" y="{y:.1f}">{escape(words)}</text>' if words else ""
