"""The audit log as a table and as JSON: one entry for each deployment, from its two lines."""

import hashlib
from collections import Counter
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any

from rich.console import Group, RenderableType
from rich.text import Text

from railweave.codec import Record
from railweave.plan.outcome import outcome_text
from railweave.report.layout import table
from railweave.wording import compact

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
    """One deployment: its first line in the log, and its last one, which is empty if it never ended."""

    begun: Mapping[str, Any]
    ended: Mapping[str, Any] = field(default_factory=dict)

    @property
    def result(self) -> str:
        """Return the deployment's result; ``not ended`` while it runs, or after it was killed."""
        return str(self.ended.get("result", "not ended"))


@dataclass(frozen=True, slots=True)
class AuditChain:
    """The result of a check of the log."""

    # The number of lines.
    lines: int = 0
    # Lines at the beginning, of a version that did not chain them.
    unchained: int = 0
    # The digest of the last line (SHA-256), empty for an empty log.
    head: str = ""
    # Sentences that name a line, counted from 1.
    faults: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class AuditLog:
    """All entries, oldest first, how many lines could not be read, and whether the chain of the lines is whole."""

    entries: tuple[AuditEntry, ...]
    torn: int = 0
    chain: AuditChain = field(default_factory=AuditChain)


def line_digest(line: bytes) -> str:
    """Return the digest by which the next line names this one; empty for the line before the first."""
    if not line:
        return ""
    return hashlib.sha256(line).hexdigest()


def check_chain(data: bytes, head: str = "") -> AuditChain:
    """Check that each line names the one before it, and that a line of the digest ``head`` is there, if it is given."""
    lines = [line for line in data.split(b"\n") if line]
    # By index: the digest of the line before, empty before the first one, and the digest that the line itself names.
    digests = ["", *map(line_digest, lines)]
    named = [_named(line) for line in lines]
    # Lines that older versions wrote name none.
    chained = next((index for index, digest in enumerate(named) if digest is not None), len(lines))
    faults = [*_chain_faults(chained, named, digests)]
    # A log whose last lines were cut off is a whole chain: only a digest that was kept elsewhere shows it.
    if head and head not in digests[1:]:
        faults.append(f"the line {head} is not there: lines at the end were removed, or changed")
    return AuditChain(len(lines), chained, digests[-1], tuple(faults))


def _chain_faults(begin: int, named: list[str | None], digests: list[str]) -> Iterator[str]:
    """Yield the faults of the chain from index ``begin`` on."""
    for index in range(begin, len(named)):
        if named[index] == digests[index]:
            continue
        if named[index] is not None:
            yield f"line {index + 1} does not follow line {index}: a line was changed, removed or inserted"
        elif not _is_torn(index, named, digests):
            yield f"line {index + 1} is not an entry, or was changed"


def _is_torn(index: int, named: list[str | None], digests: list[str]) -> bool:
    """Whether an invalid line was cut short by a lost machine: then the next line names it as it is."""
    following = index + 1
    return following < len(named) and named[following] == digests[following]


def _named(line: bytes) -> str | None:
    """Return the digest of the line before that a line names, None if it names none."""
    digest = Record.of_line(line).values.get("previous")
    if isinstance(digest, str):
        return digest
    return None


def chain_view(log: AuditLog) -> RenderableType:
    """Return the result of the check of the chain for a terminal."""
    chain = log.chain
    if not chain.lines:
        return Text("no deployments yet")
    head = Text(f"head {chain.head}")
    if chain.faults:
        return Group(*(Text(fault, style="bold red") for fault in chain.faults), head)
    summary = f"the chain of {chain.lines} lines is whole"
    if chain.unchained:
        summary += f", {chain.unchained} older ones without a chain"
    return Group(Text(summary, style="green"), head)


def read_audit(data: bytes, head: str = "") -> AuditLog:
    """Return the entries of a log; a line cut short by a lost machine is counted and left out.

    ``head`` is the digest of a line that must be there.
    """
    # A torn line may end within a character.
    lines = data.decode("utf-8", errors="replace").splitlines()
    begun: dict[str, dict[str, Any]] = {}
    ended: dict[str, dict[str, Any]] = {}
    torn = 0
    for line in filter(None, map(str.strip, lines)):
        record = _record(line)
        if record is None:
            torn += 1
        elif record["event"] == "begun":
            begun[record["id"]] = record
        else:
            ended[record["id"]] = record
    entries = tuple(AuditEntry(record, ended.get(number, {})) for number, record in begun.items())
    return AuditLog(entries, torn, check_chain(data, head))


def _record(line: str) -> dict[str, Any] | None:
    """Return the record in a line, None if it is not one."""
    record = Record.of_line(line).values
    if not (isinstance(record.get("id"), str) and isinstance(record.get("event"), str)):
        return None
    if not _are_outcomes(record.get("devices", {})):
        return None
    return record


def _are_outcomes(devices: object) -> bool:
    """Whether a value read from a log maps devices to texts, as in an entry."""
    if not isinstance(devices, dict):
        return False
    for outcome in devices.values():
        if not isinstance(outcome, dict) or not all(isinstance(text, str) for text in outcome.values()):
            return False
    return True


def audit_json(log: AuditLog) -> dict[str, Any]:
    """Return the document of ``audit --json``: every deployment, oldest first."""
    return {
        "entries": [_entry_json(entry) for entry in log.entries],
        "torn_lines": log.torn,
        "chain": {
            "ok": not log.chain.faults,
            "lines": log.chain.lines,
            "unchained": log.chain.unchained,
            "head": log.chain.head,
            "faults": list(log.chain.faults),
        },
    }


def _entry_json(entry: AuditEntry) -> dict[str, Any]:
    # Both lines have these: the times get names of their own, the others say nothing of the deployment.
    hidden = ("event", "at", "previous")
    record = {**entry.begun, **entry.ended}
    return {
        "began_at": entry.begun.get("at"),
        "ended_at": entry.ended.get("at"),
        **{key: value for key, value in record.items() if key not in hidden},
        "result": entry.result,
    }


def audit_view(log: AuditLog) -> RenderableType:
    """Return the log for a terminal, the latest entry last."""
    if not log.entries:
        return Text("no deployments yet")
    columns = ("when (UTC)", "who", "command", "fabric → target", "intent", "plan", "result", "devices")
    entries = table(*columns, rows=map(_row, log.entries))
    if not log.torn:
        return Group(entries)
    return Group(entries, Text(f"{log.torn} incomplete lines are ignored", style="yellow"))


def _row(entry: AuditEntry) -> tuple[str | Text, ...]:
    begun = entry.begun
    return (
        str(begun.get("at", ""))[:19].replace("T", " "),
        f"{begun.get('user', '?')}@{begun.get('host', '?')}",
        _command(begun),
        f"{begun.get('fabric', '?')} → {begun.get('target', '?')}",
        str(begun.get("intent_sha256", ""))[:8],
        str(begun.get("plan_digest", ""))[:8],
        Text(entry.result, style=_STYLES.get(entry.result, "")),
        _devices(entry),
    )


def _command(begun: Mapping[str, Any]) -> str:
    """Return the command with the switches that it was limited to."""
    command = str(begun.get("command", ""))
    limit = begun.get("limit")
    # A line of the log may be of another version, or changed by hand.
    if not isinstance(limit, list) or not limit:
        return command
    return f"{command} (limit: {compact(map(str, limit))})"


def _devices(entry: AuditEntry) -> str:
    """Return the numbers of devices by outcome, and the names of those with an error."""
    devices: Mapping[str, Mapping[str, str]] = entry.ended.get("devices", {})
    counts = Counter(device.get("outcome", "?") for device in devices.values())
    parts = [f"{count} {outcome_text(outcome)}" for outcome, count in counts.items()]
    failed = [name for name, device in devices.items() if device.get("error")]
    if failed:
        names = ", ".join(failed[:4])
        if len(failed) > 4:
            names += " …"
        parts.append(f"errors: {names}")
    return ", ".join(parts) or str(entry.ended.get("error", ""))
