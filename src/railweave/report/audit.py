"""The audit log as a table and as JSON: one entry a deployment, made of its two lines."""

import json
from collections import Counter
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from typing import Any

from rich.console import Group, RenderableType
from rich.text import Text

from railweave.plan.outcome import outcome_text
from railweave.report.layout import table

_STYLES = {
    "done": "green",
    "unchanged": "green",
    "stopped": "bold red",
    "failed": "bold red",
    "refused": "yellow",
    "not ended": "yellow",
}


@dataclass(frozen=True, slots=True)
class AuditEntry:
    """One deployment: what its first line says, what its last line says, empty where it never ended."""

    begun: Mapping[str, Any]
    ended: Mapping[str, Any] = field(default_factory=dict)

    @property
    def result(self) -> str:
        """Return the deployment's result; ``not ended`` while it runs and where it was killed."""
        return str(self.ended.get("result", "not ended"))


@dataclass(frozen=True, slots=True)
class AuditLog:
    """All entries, oldest first, and how many lines could not be read."""

    entries: tuple[AuditEntry, ...]
    torn: int = 0


def read_audit(lines: Iterable[str]) -> AuditLog:
    """Return the entries that ``lines`` hold; a line cut short by a lost machine is counted and left out."""
    begun: dict[str, dict[str, Any]] = {}
    ended: dict[str, dict[str, Any]] = {}
    torn = 0
    for line in filter(None, map(str.strip, lines)):
        record = _record(line)
        if record is None:
            torn += 1
        else:
            (begun if record["event"] == "begun" else ended)[record["id"]] = record
    return AuditLog(tuple(AuditEntry(one, ended.get(number, {})) for number, one in begun.items()), torn)


def _record(line: str) -> dict[str, Any] | None:
    try:
        record = json.loads(line)
    except (ValueError, RecursionError):
        return None
    known = isinstance(record, dict) and isinstance(record.get("id"), str) and isinstance(record.get("event"), str)
    return record if known and _are_outcomes(record.get("devices", {})) else None


def _are_outcomes(devices: object) -> bool:
    return isinstance(devices, dict) and all(
        isinstance(one, dict) and all(isinstance(text, str) for text in one.values()) for one in devices.values()
    )


def audit_json(log: AuditLog) -> dict[str, Any]:
    """Return the contract of ``audit --json``: all that is known of every deployment, oldest first."""
    hidden = ("event", "at")
    return {
        "entries": [
            {
                "began_at": entry.begun.get("at"),
                "ended_at": entry.ended.get("at"),
                **{key: value for key, value in {**entry.begun, **entry.ended}.items() if key not in hidden},
                "result": entry.result,
            }
            for entry in log.entries
        ],
        "torn_lines": log.torn,
    }


def audit_view(log: AuditLog) -> RenderableType:
    """Return the log for a person, the latest entry last."""
    if not log.entries:
        return Text("no deployments yet")
    columns = ("when (UTC)", "who", "command", "fabric → target", "intent", "plan", "result", "devices")
    torn = [Text(f"{log.torn} incomplete lines are ignored", style="yellow")] if log.torn else []
    return Group(table(*columns, rows=map(_row, log.entries)), *torn)


def _row(entry: AuditEntry) -> tuple[str | Text, ...]:
    begun = entry.begun
    return (
        str(begun.get("at", ""))[:19].replace("T", " "),
        f"{begun.get('user', '?')}@{begun.get('host', '?')}",
        str(begun.get("command", "")),
        f"{begun.get('fabric', '?')} → {begun.get('target', '?')}",
        str(begun.get("intent_sha256", ""))[:8],
        str(begun.get("plan_digest", ""))[:8],
        Text(entry.result, style=_STYLES.get(entry.result, "")),
        _devices(entry),
    )


def _devices(entry: AuditEntry) -> str:
    """Return how many devices had which outcome, and the names of those that something went wrong with."""
    devices: Mapping[str, Mapping[str, str]] = entry.ended.get("devices", {})
    counts = Counter(device.get("outcome", "?") for device in devices.values())
    parts = [f"{count} {outcome_text(outcome)}" for outcome, count in counts.items()]
    wrong = [name for name, device in devices.items() if device.get("error")]
    if wrong:
        parts.append(f"errors: {', '.join(wrong[:4])}{' …' if len(wrong) > 4 else ''}")
    return ", ".join(parts) or str(entry.ended.get("error", ""))
