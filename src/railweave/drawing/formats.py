"""The file formats of pictures, by the ending of the file's name."""

from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Final

from railweave.drawing.drawio import drawio
from railweave.drawing.layout import lay_out
from railweave.drawing.marks import Marks
from railweave.drawing.mermaid import mermaid
from railweave.drawing.png import png
from railweave.drawing.scene import Scene
from railweave.drawing.svg import svg
from railweave.drawing.text import text
from railweave.errors import UsageError
from railweave.wording import either

FORMATS: Final[Mapping[str, Callable[[Scene, Marks], bytes]]] = {
    ".svg": lambda scene, marks: svg(lay_out(scene), marks).encode(),
    ".png": lambda scene, marks: png(lay_out(scene), marks),
    ".mmd": lambda scene, marks: mermaid(scene, marks).encode(),
    ".drawio": lambda scene, _: drawio(lay_out(scene)),
    ".txt": lambda scene, _: f"{text(scene)}\n".encode(),
}
"""Writers of a scene by the file's ending; draw.io and text files show no marks."""


def written(scene: Scene, marks: Marks, file: Path) -> bytes:
    """Return a scene with its marks in the format that the ending of ``file`` names.

    Raises UsageError for an ending without a format.
    """
    write = FORMATS.get(file.suffix.lower())
    if write is None:
        raise UsageError(f"{file}: the ending tells the format, and has to be {either(FORMATS)}")
    return write(scene, marks)
