"""Rollouts for a terminal and as JSON: one line for each, or one rollout step by step."""

from collections import Counter
from collections.abc import Iterable, Sequence
from typing import Any

from rich.console import Group, RenderableType
from rich.table import Table
from rich.text import Text

from railweave.codec import members
from railweave.plan.outcome import outcome_text
from railweave.plan.rollout import DeviceRecord, JournalLine, Rollout, RolloutMetadata
from railweave.report.layout import paragraphs, table
from railweave.report.tables import FittingTable
from railweave.wording import command_line, compact, counted

_STATE_STYLES = {
    "running": "bold cyan",
    "paused": "bold yellow",
    "interrupted": "bold red",
    "stopped": "bold red",
    "done": "green",
    "unchanged": "green",
}
_OUTCOME_STYLES = {
    "new": "green",
    "old": "yellow",
    "unreachable": "bold red",
    "not-attempted": "dim",
    "broken": "bold red",
    "": "bold red",
}
IN_DOUBT = "in doubt"
"""The outcome of a device during which the rollout was cut off."""

_LONGEST_TEXT = 160


def rollouts_json(rollouts: Iterable[Rollout]) -> dict[str, Any]:
    """Return the document of ``rollout list --json``, newest first."""
    return {"rollouts": [_head(rollout) for rollout in rollouts]}


def rollout_json(rollout: Rollout) -> dict[str, Any]:
    """Return the document of ``rollout show --json``: the rollout, its devices, and every step."""
    return {
        **_head(rollout),
        "devices": {name: _device_json(record) for name, record in rollout.devices.items()},
        "steps": [members(entry, "at", "step", "device", "text") for entry in rollout.entries],
    }


def _device_json(record: DeviceRecord) -> dict[str, Any]:
    return {
        **members(record, "wave", "before_sha256", "changes_sha256", "drain"),
        **_or_null(record, "outcome", "step", "error", "commit_id", "after_sha256"),
    }


_HEAD_MEMBERS = ("intent_sha256", "plan_digest", "by", "begun_at", "last_at", "state", "finished", "waves", "torn")


def _head(rollout: Rollout) -> dict[str, Any]:
    """Return the members that the documents of a list and of a single rollout share."""
    document = {
        "rollout": rollout.name,
        **members(rollout.metadata, "kind"),
        **members(rollout, "fabric", "target"),
        **members(rollout.metadata, "intent"),
        **members(rollout, *_HEAD_MEMBERS),
        **_or_null(rollout.metadata, "of", "base", "phase"),
        **_or_null(rollout, "stopped_by"),
        "counts": dict(_counts(rollout)),
        "unread_lines": rollout.unread,
        "unknown_steps": rollout.unknown,
        "journal": str(rollout.path),
    }
    if rollout.metadata.limit:
        document["limit"] = list(rollout.metadata.limit)
    return document


def _or_null(value: Rollout | RolloutMetadata | DeviceRecord, *names: str) -> dict[str, Any]:
    """Return attributes of a value by their names; empty ones are None."""
    return {name: member or None for name, member in members(value, *names).items()}


def _counts(rollout: Rollout) -> Counter[str]:
    return Counter(record.outcome or IN_DOUBT for record in rollout.devices.values())


def rollouts_view(rollouts: Sequence[Rollout], left_out: int = 0) -> RenderableType:
    """Return a table of rollouts, newest first; ``left_out`` counts older ones that are not in it."""
    if not rollouts:
        return Text("no rollouts yet")
    rows = [_rollout_row(rollout) for rollout in rollouts]
    parts: list[RenderableType] = [
        table("rollout", "kind", "fabric → target", "started (UTC)", "state", "devices", rows=rows)
    ]
    if left_out:
        parts.append(Text(f"and {counted(left_out, 'older rollout')}: `railweave rollout list --all`", style="dim"))
    return Group(*parts)


def _rollout_row(rollout: Rollout) -> tuple[str | Text, ...]:
    """Return the cells of a rollout in the table of all rollouts."""
    counts = ", ".join(f"{count} {outcome_text(outcome)}" for outcome, count in _counts(rollout).items())
    return (
        rollout.name,
        rollout.metadata.kind.value,
        _fabric_and_target(rollout),
        _time(rollout.begun_at),
        Text(rollout.state, style=_STATE_STYLES.get(rollout.state, "")),
        counts or "none",
    )


def _fabric_and_target(rollout: Rollout) -> str:
    # Both are in the first line of the journal, which a rollout that ended at once may lack.
    return f"{rollout.fabric or '?'} → {rollout.target or '?'}"


def rollout_view(rollout: Rollout) -> RenderableType:
    """Return one rollout: its head, devices and steps, the gaps of its journal, and the next command."""
    parts: list[RenderableType | Sequence[RenderableType]] = [_about(rollout)]
    if rollout.devices:
        parts.append(_devices(rollout))
    if rollout.entries:
        parts.append(_steps(rollout.entries))
    return paragraphs(*parts, [*(Text(sentence, style="yellow") for sentence in _gaps(rollout)), _next(rollout)])


def _about(rollout: Rollout) -> Table:
    """Return the head of a rollout: a line each for its name, fabric, intent, times and state."""
    kind = rollout.metadata.kind.value
    if rollout.metadata.of:
        kind += f" of {rollout.metadata.of}"
    if rollout.metadata.phase:
        kind += f", phase {rollout.metadata.phase} from {rollout.metadata.base}"
    if rollout.metadata.limit:
        kind += f", limited to {compact(rollout.metadata.limit)}"
    # Eight digits of a digest tell revisions apart, as in Git.
    intent = f"{rollout.metadata.intent} {rollout.intent_sha256[:8]}, plan {rollout.plan_digest[:8]}".lstrip()
    begun = f"{_time(rollout.begun_at)} UTC by {rollout.by or '?'}, last step {_time(rollout.last_at)} UTC"
    state = rollout.state
    if rollout.stopped_by:
        state += f": {rollout.stopped_by}"
    rows = {
        "rollout": Text(f"{rollout.name} ({kind})"),
        "fabric": Text(_fabric_and_target(rollout)),
        "intent": Text(intent),
        "begun": Text(begun),
        "state": Text(state, style=_STATE_STYLES.get(rollout.state, "")),
    }
    grid = Table.grid(padding=(0, 2))
    for name, value in rows.items():
        grid.add_row(Text(name, style="dim"), value)
    return grid


def _devices(rollout: Rollout) -> FittingTable:
    """Return a table of the devices of a rollout, with the outcome and the last step of each."""
    rows = []
    for name, record in rollout.devices.items():
        outcome = outcome_text(record.outcome) or IN_DOUBT
        outcome_cell = Text(outcome, style=_OUTCOME_STYLES.get(record.outcome, ""))
        rows.append((str(record.wave or ""), name, outcome_cell, record.step, record.commit_id, record.error))
    return table("wave", "device", "outcome", "last step", "commit", "error", rows=rows)


def _steps(entries: Iterable[JournalLine]) -> FittingTable:
    rows = ((_time(entry.at, milliseconds=True), entry.device, entry.step, _step_text(entry)) for entry in entries)
    return table("at (UTC)", "device", "step", "what", rows=rows)


def _step_text(entry: JournalLine) -> str:
    """Return the text of a step with its devices, outcome or result, cut to a line of a table."""
    text = entry.text
    # A journal may be of a newer version, so no detail is taken for granted.
    devices = entry.details.get("devices")
    if entry.step == "wave" and isinstance(devices, list):
        text = f"{text}: {compact(map(str, devices))}"
    elif entry.step == "outcome":
        outcome = outcome_text(str(entry.details.get("outcome", "")))
        text = ": ".join(part for part in (outcome, text) if part)
    elif entry.step == "ended":
        text = str(entry.details.get("result", "")) or text
    if len(text) > _LONGEST_TEXT:
        text = text[: _LONGEST_TEXT - 1] + "…"
    return text


def _gaps(rollout: Rollout) -> Iterable[str]:
    """Yield sentences about incomplete parts of the journal."""
    if not rollout.entries:
        yield "the journal is empty: the rollout ended before its first step"
    if rollout.torn:
        yield "the last line is incomplete: the process ended while writing it"
    if rollout.unread:
        verb = "is" if rollout.unread == 1 else "are"
        yield f"{counted(rollout.unread, 'line')} cannot be read and {verb} left out"
    if rollout.unknown:
        yield f"steps of a newer version, ignored: {', '.join(rollout.unknown)}"


def _next(rollout: Rollout) -> Text:
    """Return the commands for a rollout that runs, has finished or was interrupted; empty if it changed nothing."""
    if rollout.alive:
        return Text(f"railweave rollout pause|continue|abort {rollout.name}", style="dim")
    if rollout.finished:
        # A rollout that changed nothing has nothing to roll back.
        rollback = _rollback(rollout) if rollout.changed else ""
        return Text(rollback, style="dim")
    resume = command_line("deploy", "--resume", rollout.name, target=rollout.target)
    return Text(f"{resume}\nor {_rollback(rollout)}", style="dim", no_wrap=True, overflow="ignore")


def _rollback(rollout: Rollout) -> str:
    return command_line("rollback", rollout.name, target=rollout.target)


def _time(at: str, *, milliseconds: bool = False) -> str:
    """Return a time of the journal (ISO 8601, UTC) without its zone."""
    length = len("2000-01-01T00:00:00.000") if milliseconds else len("2000-01-01T00:00:00")
    return at[:length].replace("T", " ") or "?"
