"""The results of ``railweave export`` for a terminal and as JSON."""

from collections.abc import Iterator
from pathlib import Path
from typing import Any

from railweave.export.model import Exported
from railweave.wording import compact, counted


def exported_json(exported: Exported, out: Path | None) -> dict[str, Any]:
    """Return the document of ``export --json``. With ``out`` None no file was written, and their texts are in it."""
    files = []
    for kind, (file, text) in exported.files.items():
        entry: dict[str, Any] = {"format": kind, "file": file, "bytes": len(text.encode())}
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
        "without": [{"format": kind, "reason": reason} for kind, reason in exported.without.items()],
        "warnings": list(exported.warnings),
    }


def exported_lines(exported: Exported, kind: str, out: Path) -> Iterator[str]:
    """Yield a line on the files of the format ``kind`` in ``out``, then a line for each reason to leave things out."""
    size = sum(len(text.encode()) for _, text in exported.files.values())
    yield f"{out}: {kind} of {exported.fabric}, {counted(len(exported.files), 'file')}, {size / 1000:,.1f} kB"
    nodes_by_reason: dict[str, list[str]] = {}
    for node, why in exported.left_out.items():
        nodes_by_reason.setdefault(why, []).append(node)
    for why, nodes in nodes_by_reason.items():
        yield f"left out: {compact(nodes)}: {why}"
    for name, why in exported.without.items():
        yield f"not written: {name}: {why}"
