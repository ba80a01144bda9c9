"""The audit log as a table and as JSON: one entry a deployment, made of its two lines."""

import hashlib
from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from rich.console import Group, RenderableType
from rich.text import Text

from railweave.jsonable import object_of
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
class AuditChain:
    """What a check of the log found: its lines, the digest of the last one, and what is wrong, by line from 1.

    ``unchained`` are lines at the beginning that a version wrote which did not chain them.
    """

    lines: int = 0
    unchained: int = 0
    head: str = ""
    faults: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class AuditLog:
    """All entries, oldest first, how many lines could not be read, and whether the chain of the lines is whole."""

    entries: tuple[AuditEntry, ...]
    torn: int = 0
    chain: AuditChain = field(default_factory=AuditChain)


def line_digest(line: bytes) -> str:
    """Return the digest by which the next line names this one; empty before the first."""
    return hashlib.sha256(line).hexdigest() if line else ""


def check_chain(data: bytes, head: str = "") -> AuditChain:
    """Check that each line names the one before it, and that a line of the digest ``head`` is there, if it is given."""
    lines = [line for line in data.split(b"\n") if line]
    digests = ["", *map(line_digest, lines)]
    named = [_named(line) for line in lines]
    chained = next((number for number, one in enumerate(named) if one is not None), len(lines))
    faults = [
        f"line {number + 1} is no entry, or was changed" if named[number] is None
        else f"line {number + 1} does not follow line {number}: a line was changed, removed or inserted"
        for number in range(chained, len(lines))
        if named[number] != digests[number] and not (named[number] is None and _is_torn(lines, number, named, digests))
    ]  # fmt: skip
    if head and head not in digests[1:]:
        faults.append(f"the line {head} is not there: lines at the end were removed, or changed")
    return AuditChain(len(lines), chained, digests[-1], tuple(faults))


def _is_torn(lines: list[bytes], number: int, named: list[str | None], digests: list[str]) -> bool:
    """Tell whether a line that is no entry was cut short by a lost machine: the next one knows it as it is."""
    following = number + 1
    return following < len(lines) and named[following] == digests[following]


def _named(line: bytes) -> str | None:
    named = object_of(line).get("previous")
    return named if isinstance(named, str) else None


def chain_view(log: AuditLog) -> RenderableType:
    """Return what the check of the chain found, for a person."""
    chain = log.chain
    if not chain.lines:
        return Text("no deployments yet")
    older = f", {chain.unchained} older ones without a chain" if chain.unchained else ""
    told = [Text(fault, style="bold red") for fault in chain.faults]
    whole = Text(f"the chain of {chain.lines} lines is whole{older}", style="green")
    return Group(*(told or [whole]), Text(f"head {chain.head}"))


def read_audit(data: bytes, head: str = "") -> AuditLog:
    """Return the entries of a log; a line cut short by a lost machine is counted and left out.

    ``head`` is the digest of a line that must be there.
    """
    lines = data.decode("utf-8", errors="replace").splitlines()
    begun: dict[str, dict[str, Any]] = {}
    ended: dict[str, dict[str, Any]] = {}
    torn = 0
    for line in filter(None, map(str.strip, lines)):
        record = _record(line)
        if record is None:
            torn += 1
        else:
            (begun if record["event"] == "begun" else ended)[record["id"]] = record
    return AuditLog(
        tuple(AuditEntry(one, ended.get(number, {})) for number, one in begun.items()), torn, check_chain(data, head)
    )


def _record(line: str) -> dict[str, Any] | None:
    record = object_of(line)
    known = isinstance(record.get("id"), str) and isinstance(record.get("event"), str)
    return record if known and _are_outcomes(record.get("devices", {})) else None


def _are_outcomes(devices: object) -> bool:
    return isinstance(devices, dict) and all(
        isinstance(one, dict) and all(isinstance(text, str) for text in one.values()) for one in devices.values()
    )


def audit_json(log: AuditLog) -> dict[str, Any]:
    """Return the contract of ``audit --json``: all that is known of every deployment, oldest first."""
    hidden = ("event", "at", "previous")
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
        "chain": {
            "ok": not log.chain.faults,
            "lines": log.chain.lines,
            "unchained": log.chain.unchained,
            "head": log.chain.head,
            "faults": list(log.chain.faults),
        },
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
