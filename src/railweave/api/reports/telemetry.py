"""The files of a fabric's monitoring, written into a folder."""

from collections.abc import Mapping
from pathlib import Path

from railweave.api.design.intent import load_configurable
from railweave.api.project import Project
from railweave.api.uncollected import without_collections
from railweave.errors import RailweaveError
from railweave.files import cannot_write, write_private
from railweave.telemetry.folder import RenderedTelemetry, render_files

_READABLE = 0o644


def render_telemetry(project: Project, out: Path) -> RenderedTelemetry:
    """Write thresholds, alert rules and configurations of the monitoring into the folder ``out``, and return them.

    Equal intents give equal bytes. Raises RefusedError with every error of the intent before anything is written, and
    RailweaveError if a file cannot be written; each file is written whole or not at all.
    """
    with without_collections():
        designed = load_configurable(project.intent)
        rendered = render_files(designed.fabric, designed.catalog)
        _write(out, rendered.files)
    return rendered


def _write(out: Path, files: Mapping[str, str]) -> None:
    for name, text in files.items():
        path = out / name
        try:
            path.parent.mkdir(parents=True, exist_ok=True)
            write_private(path, text.encode(), _READABLE)
        except OSError as fault:
            raise RailweaveError(cannot_write(path, fault)) from fault
