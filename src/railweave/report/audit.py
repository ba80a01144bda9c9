"""The audit log as a table and as JSON: one entry for each deployment, from its two lines."""

import hashlib
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import takewhile
from typing import Any, NamedTuple

from rich.console import Group, RenderableType
from rich.text import Text

from railweave.codec import Record
from railweave.plan.outcome import outcome_text
from railweave.report.layout import table
from railweave.wording import compact

_MOST_NAMES = 4
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
    """Return the digest by which the next line of a log names ``line``; empty for an empty line."""
    if not line:
        return ""
    return hashlib.sha256(line).hexdigest()


def check_chain(data: bytes, head: str = "") -> AuditChain:
    """Check that each line of a log names the digest of the line before it, and return the result.

    ``head`` is the digest of a line that must be in the log; empty if none has to be.
    """
    links: list[_ChainLink] = []
    digest = ""
    for line in filter(None, data.split(b"\n")):
        links.append(_ChainLink(digest, _named_digest(line)))
        digest = line_digest(line)
    unchained = len(list(takewhile(lambda link: link.named_digest is None, links)))
    faults = list(_chain_faults(links, unchained))
    # A log whose last lines were cut off is a whole chain: only a digest that was kept elsewhere shows it.
    digests = [*(link.previous_digest for link in links[1:]), digest]
    if head and head not in digests:
        faults.append(f"the line {head} is not there: lines at the end were removed, or changed")
    return AuditChain(len(links), unchained, digest, tuple(faults))


class _ChainLink(NamedTuple):
    """What ties a line of the log to the line before it."""

    # The digest of the line before, empty for the first line.
    previous_digest: str
    # The digest that the line itself names; None for an invalid line, and for those that older versions wrote.
    named_digest: str | None

    @property
    def is_whole(self) -> bool:
        return self.named_digest == self.previous_digest


def _chain_faults(links: Sequence[_ChainLink], unchained: int) -> Iterator[str]:
    """Yield a sentence for each line behind the first ``unchained`` ones that breaks the chain."""
    for number, link in enumerate(links, start=1):
        if number <= unchained or link.is_whole:
            continue
        if link.named_digest is not None:
            yield f"line {number} does not follow line {number - 1}: a line was changed, removed or inserted"
            continue
        # A line that was cut short by a lost machine is no fault: the next line names it as it is.
        next_links = links[number : number + 1]
        is_torn = any(next_link.is_whole for next_link in next_links)
        if not is_torn:
            yield f"line {number} is not an entry, or was changed"


def _named_digest(line: bytes) -> str | None:
    """Return the digest that a line names for the line before it, or None if it names none."""
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
    """Return the entries of a log, and the result of the check of its chain.

    A line cut short by a lost machine is only counted. ``head`` is the digest of a line that must be in the log.
    """
    # A torn line may end within a character.
    lines = data.decode("utf-8", errors="replace").splitlines()
    first_records: dict[str, dict[str, Any]] = {}
    last_records: dict[str, dict[str, Any]] = {}
    torn = 0
    for line in lines:
        if not line.strip():
            continue
        record = _record(line.strip())
        if record is None:
            torn += 1
        elif record["event"] == "begun":
            first_records[record["id"]] = record
        else:
            last_records[record["id"]] = record
    entries = tuple(AuditEntry(first, last_records.get(run_id, {})) for run_id, first in first_records.items())
    return AuditLog(entries, torn, check_chain(data, head))


def _record(line: str) -> dict[str, Any] | None:
    """Return the record in a line, None if it is not one."""
    record = Record.of_line(line).values
    if not isinstance(record.get("id"), str) or not isinstance(record.get("event"), str):
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
    """Return a deployment for the document: the members of both its lines, with a name for each time."""
    # Both lines of a deployment have these: their times get names of their own, the others do not describe it.
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
    """Return the cells of a deployment in the table; values that its line lacks are ``?`` or empty."""
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
    """Return the numbers of devices by outcome, and the first names of those with an error.

    Without any device it is the error of the deployment, empty if there is none.
    """
    devices: Mapping[str, Mapping[str, str]] = entry.ended.get("devices", {})
    counts = Counter(device.get("outcome", "?") for device in devices.values())
    parts = [f"{count} {outcome_text(outcome)}" for outcome, count in counts.items()]
    failed = [name for name, device in devices.items() if device.get("error")]
    if failed:
        names = ", ".join(failed[:_MOST_NAMES])
        if len(failed) > _MOST_NAMES:
            names += " …"
        parts.append(f"errors: {names}")
    return ", ".join(parts) or str(entry.ended.get("error", ""))
