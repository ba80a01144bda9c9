"""The results of ``railweave export`` for a terminal and as JSON."""

from collections.abc import Iterator
from pathlib import Path
from typing import Any

from railweave.export.model import Exported
from railweave.wording import compact, counted


def exported_json(exported: Exported, out: Path | None) -> dict[str, Any]:
    """Return the document of ``export --json``. With ``out`` None no file was written, and their texts are in it."""
    files = []
    for format_name, (file, text) in exported.files.items():
        entry: dict[str, Any] = {"format": format_name, "file": file, "bytes": len(text.encode())}
        if out is None:
            entry["text"] = text
        files.append(entry)
    folder = None
    if out is not None:
        folder = str(out)
    return {
        "fabric": exported.fabric,
        "out": folder,
        "files": files,
        "left_out": [{"node": node, "reason": reason} for node, reason in exported.left_out.items()],
        "without": [{"format": format_name, "reason": reason} for format_name, reason in exported.without.items()],
        "warnings": list(exported.warnings),
    }


def exported_lines(exported: Exported, kind: str, out: Path) -> Iterator[str]:
    """Yield a line on the written files, then a line for each reason why nodes or formats are left out.

    ``kind`` is the name of the format, or ``all``.
    """
    size = sum(len(text.encode()) for _, text in exported.files.values())
    yield f"{out}: {kind} of {exported.fabric}, {counted(len(exported.files), 'file')}, {size / 1000:,.1f} kB"
    nodes_by_reason: dict[str, list[str]] = {}
    for node, reason in exported.left_out.items():
        nodes_by_reason.setdefault(reason, []).append(node)
    for reason, nodes in nodes_by_reason.items():
        yield f"left out: {compact(nodes)}: {reason}"
    for format_name, reason in exported.without.items():
        yield f"not written: {format_name}: {reason}"
