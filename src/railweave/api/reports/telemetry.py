"""The files of a fabric's monitoring, written into a folder."""

from collections.abc import Iterable
from pathlib import Path

from railweave.api.design.intent import load_configurable
from railweave.api.project import Project
from railweave.api.uncollected import without_collections
from railweave.errors import RailweaveError
from railweave.files import cannot_write, write_private_parts
from railweave.telemetry.exposition import ThresholdsText
from railweave.telemetry.folder import RenderedTelemetry, monitoring_files, scraped_series
from railweave.telemetry.rules.registry import ALERTS, RECORDING
from railweave.telemetry.thresholds import Thresholds

_READABLE = 0o644


def render_telemetry(project: Project, out: Path) -> RenderedTelemetry:
    """Write thresholds, alert rules and configurations of the monitoring into the folder ``out``, and return them.

    Equal intents give equal bytes. Raises RefusedError with every error of the intent before anything is written, and
    RailweaveError if a file cannot be written; each file is written whole or not at all.
    """
    with without_collections():
        designed = load_configurable(project.intent)
        thresholds = Thresholds(designed.fabric, designed.catalog)
        lines = ThresholdsText(thresholds)
        sizes = {"thresholds.prom": _write(out / "thresholds.prom", lines)}
        for name, text in monitoring_files(thresholds).items():
            sizes[name] = _write(out / name, (text,))
        scraped = scraped_series(thresholds)
    return RenderedTelemetry(
        fabric=designed.fabric.name,
        files=sizes,
        thresholds=lines.samples,
        scraped=scraped,
        alerts=len(ALERTS),
        recording=len(RECORDING),
    )


def _write(path: Path, texts: Iterable[str]) -> int:
    """Write a file from the parts of its text, and return its size in bytes."""
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        write_private_parts(path, (text.encode() for text in texts), _READABLE)
        return path.stat().st_size
    except OSError as fault:
        raise RailweaveError(cannot_write(path, fault)) from fault
