"""Pictures as PNG, drawn from their SVG by resvg (the extra ``railweave[png]``) with the font beside this module."""

from importlib.resources import as_file, files
from importlib.resources.abc import Traversable

from railweave.drawing.layout import Picture
from railweave.drawing.marks import NO_MARKS, Marks
from railweave.drawing.svg import svg_literal
from railweave.errors import RailweaveError

FONT = "Inter"
"""The family of the fonts in ``fonts/``; their license, the SIL Open Font License 1.1, is beside them."""

_FONT_FILES = ("Inter-Regular.otf", "Inter-SemiBold.otf")

_SCALE = 2
"""Pixels of the file per pixel of the layout: sharp on dense screens and in print."""

_MOST_PIXELS = 12_000
"""The longest side of the file: a large fabric is drawn at a smaller scale."""


def png(picture: Picture, marks: Marks = NO_MARKS) -> bytes:
    """Return the picture as PNG, in light colors; raises RailweaveError without resvg."""
    try:
        from resvg_py import svg_to_bytes
    except ImportError:
        raise RailweaveError(
            "PNG needs resvg: install railweave[png], or write SVG, which every browser shows"
        ) from None
    # Memory grows with the square of the side.
    scale = min(_SCALE, _MOST_PIXELS / max(picture.width, picture.height))
    with as_file(fonts()) as folder:
        return svg_to_bytes(
            svg_string=svg_literal(picture, marks),
            zoom=scale,
            # The fonts of the machine would make pictures of the same fabric differ.
            skip_system_fonts=True,
            font_files=[str(folder / name) for name in _FONT_FILES],
            font_family=FONT,
            sans_serif_family=FONT,
        )


def fonts() -> Traversable:
    """Return the folder of the fonts."""
    return files("railweave.drawing").joinpath("fonts")
