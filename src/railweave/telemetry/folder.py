"""All files of a fabric's monitoring by their paths, and what they come to."""

from collections.abc import Mapping
from typing import NamedTuple

from railweave.catalog.load import Catalog
from railweave.fabric.model import Fabric
from railweave.telemetry.exposition import thresholds_text
from railweave.telemetry.thresholds import Thresholds


class RenderedTelemetry(NamedTuple):
    """The files of a fabric's monitoring, and how many series Prometheus will hold."""

    fabric: str
    # By path within the folder.
    files: Mapping[str, str]
    # Of thresholds.prom.
    thresholds: int


def render_files(fabric: Fabric, catalog: Catalog) -> RenderedTelemetry:
    """Return the files of a fabric's monitoring; equal fabrics give equal bytes."""
    thresholds = Thresholds(fabric, catalog)
    text, samples = thresholds_text(thresholds)
    return RenderedTelemetry(fabric.name, {"thresholds.prom": text}, samples)
