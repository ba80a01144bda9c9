"""The result of ``railweave telemetry render`` for a terminal and as JSON."""

from pathlib import Path
from typing import Any

from railweave.telemetry.folder import RenderedTelemetry
from railweave.wording import counted


def telemetry_json(rendered: RenderedTelemetry, out: Path) -> dict[str, Any]:
    """Return the document of ``telemetry render --json``."""
    return {
        "fabric": rendered.fabric,
        "out": str(out),
        "files": [{"file": name, "bytes": size} for name, size in rendered.files.items()],
        "rules": {"alerts": rendered.alerts, "recording": rendered.recording},
        "series": {"thresholds": rendered.thresholds, "scraped": rendered.scraped},
    }


def telemetry_view(rendered: RenderedTelemetry, out: Path) -> str:
    """Return what was written where, with the numbers of rules and of series."""
    kilobytes = sum(rendered.files.values()) / 1000
    return "\n".join(
        [
            f"{out}: monitoring of {rendered.fabric}, {counted(len(rendered.files), 'file')}, {kilobytes:,.1f} kB",
            f"  rules: {counted(rendered.alerts, 'alert')}, {counted(rendered.recording, 'recorded expression')}",
            f"  series: {rendered.thresholds:,} thresholds, at most {rendered.scraped:,} from switches and NICs",
        ]
    )
