"""What readers see in the outputs of test tools, for a terminal and as JSON."""

from collections.abc import Mapping
from typing import Any

from rich.console import RenderableType
from rich.text import Text

from railweave.acceptance.readings import Answer, Scalar, ToolReading
from railweave.report.layout import paragraphs, table, verdict


def tool_outputs_json(readings: Mapping[str, ToolReading]) -> dict[str, Any]:
    """Return the document of ``acceptance read --json``."""
    files = [
        {
            "file": name,
            "format": reading.format,
            "answer": reading.answer.value,
            "values": dict(reading.values),
            "remarks": list(reading.remarks),
        }
        for name, reading in readings.items()
    ]
    return {"files": files}


def tool_outputs_view(readings: Mapping[str, ToolReading]) -> RenderableType:
    """Return each file with its answer, its values and what its reader remarks."""
    parts: list[RenderableType] = []
    for name, reading in readings.items():
        parts += _parts(name, reading)
    return paragraphs(*parts)


def _parts(name: str, reading: ToolReading) -> list[RenderableType]:
    """Return the lines of a file: the answer of its reader, a table of its values, and remarks."""
    mark: bool | None = False
    if reading.answer is Answer.OK:
        mark = True
    elif reading.answer is Answer.AMBIGUOUS:
        mark = None
    parts: list[RenderableType] = [verdict(mark, f"{name}: {reading.answer} ({reading.format or 'unknown format'})")]
    if reading.values:
        parts.append(table("name", "value", rows=[(key, _shown(value)) for key, value in reading.values.items()]))
    parts += [Text(f"! {remark}") for remark in reading.remarks]
    return parts


def _shown(value: Scalar) -> str:
    if isinstance(value, tuple):
        return ", ".join(map(str, value))
    if isinstance(value, bool):
        return str(value).lower()
    return str(value)
