"""Pictures of a fabric, for readers, wikis and pull requests."""

from pathlib import Path

from railweave.api.design.intent import load_countable
from railweave.api.project import Project
from railweave.drawing.formats import written
from railweave.drawing.marks import NO_MARKS
from railweave.drawing.scene import Scene
from railweave.drawing.views import FABRIC, scene_of
from railweave.errors import RailweaveError
from railweave.files import cannot_write, write_private

_READABLE = 0o644


def draw(project: Project, *, of: str = FABRIC, out: Path | None = None) -> Scene:
    """Return what a picture shows, and write it into ``out``, in the format that the ending names: SVG, PNG, Mermaid
    (``.mmd``), draw.io or text.

    ``of`` is ``fabric``, ``pod-1``, ``stripe-3`` or a device. Raises RefusedError with every error of the intent,
    UsageError for what the fabric does not have or an unknown ending, RailweaveError where the file cannot be written.
    """
    scene = scene_of(load_countable(project.intent).fabric, of)
    if out is not None:
        content = written(scene, NO_MARKS, out)
        try:
            write_private(out, content, _READABLE)
        except OSError as exc:
            raise RailweaveError(cannot_write(out, exc)) from exc
    return scene
