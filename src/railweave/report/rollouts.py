"""Rollouts for a person and as JSON: a line each, or one of them step by step."""

from collections import Counter
from collections.abc import Iterable, Sequence
from typing import Any

from rich.console import Group, RenderableType
from rich.table import Table
from rich.text import Text

from railweave.jsonable import members
from railweave.plan.outcome import outcome_text
from railweave.plan.rollout import DeviceRecord, JournalLine, Rollout
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
"""What is said of a device in the middle of which the rollout was cut off."""

_LONGEST_TEXT = 160


def rollouts_json(found: Iterable[Rollout]) -> dict[str, Any]:
    """Return the contract of ``rollout list --json``, newest first."""
    return {"rollouts": [_head(rollout) for rollout in found]}


def rollout_json(rollout: Rollout) -> dict[str, Any]:
    """Return the contract of ``rollout show --json``: the rollout, its devices, and every step."""
    return {
        **_head(rollout),
        "devices": {
            name: {
                **members(record, "wave", "before_sha256", "changes_sha256", "drain"),
                **_or_null(record, "outcome", "step", "error", "commit_id", "after_sha256"),
            }
            for name, record in rollout.devices.items()
        },
        "steps": [members(entry, "at", "step", "device", "text") for entry in rollout.entries],
    }


_TOLD = (
    *("kind", "fabric", "target", "intent", "intent_sha256", "plan_digest", "by", "begun_at", "last_at"),
    *("state", "finished", "waves", "torn"),
)


def _head(rollout: Rollout) -> dict[str, Any]:
    return {
        "rollout": rollout.name,
        **members(rollout, *_TOLD),
        **_or_null(rollout, "of", "base", "phase", "stopped_by"),
        "counts": dict(_counts(rollout)),
        "unread_lines": rollout.unread,
        "unknown_steps": rollout.unknown,
        "journal": str(rollout.path),
    }


def _or_null(value: Rollout | DeviceRecord, *names: str) -> dict[str, Any]:
    return {name: told or None for name, told in members(value, *names).items()}


def _counts(rollout: Rollout) -> Counter[str]:
    return Counter(record.outcome or IN_DOUBT for record in rollout.devices.values())


def rollouts_view(found: Sequence[Rollout], left_out: int = 0) -> RenderableType:
    """Return a table of rollouts, newest first; ``left_out`` counts older ones that are not shown."""
    if not found:
        return Text("no rollouts yet")
    rows = (
        (
            rollout.name,
            rollout.kind.value,
            f"{rollout.fabric or '?'} → {rollout.target or '?'}",
            _time(rollout.begun_at),
            Text(rollout.state, style=_STATE_STYLES.get(rollout.state, "")),
            ", ".join(f"{count} {outcome_text(outcome)}" for outcome, count in _counts(rollout).items()) or "none",
        )
        for rollout in found
    )
    shown = table("rollout", "kind", "fabric → target", "started (UTC)", "state", "devices", rows=rows)
    more = f"and {counted(left_out, 'older rollout')}: `railweave rollout list --all`" if left_out else ""
    return Group(shown, *([Text(more, style="dim")] if more else []))


def rollout_view(rollout: Rollout) -> RenderableType:
    """Return one rollout: what it is, each device, each step, and what the journal does not tell."""
    return paragraphs(
        _about(rollout),
        _devices(rollout) if rollout.devices else None,
        _steps(rollout.entries) if rollout.entries else None,
        [*(Text(sentence, style="yellow") for sentence in _gaps(rollout)), _next(rollout)],
    )


def _about(rollout: Rollout) -> Table:
    grid = Table.grid(padding=(0, 2))
    of = f" of {rollout.of}" if rollout.of else ""
    if rollout.phase:
        of += f", phase {rollout.phase} from {rollout.base}"
    for name, value in (
        ("rollout", Text(f"{rollout.name} ({rollout.kind.value}{of})")),
        ("fabric", Text(f"{rollout.fabric or '?'} → {rollout.target or '?'}")),
        ("intent", Text(f"{rollout.intent} {rollout.intent_sha256[:8]}, plan {rollout.plan_digest[:8]}".lstrip())),
        (
            "begun",
            Text(f"{_time(rollout.begun_at)} UTC by {rollout.by or '?'}, last step {_time(rollout.last_at)} UTC"),
        ),
        ("state", Text(_state(rollout), style=_STATE_STYLES.get(rollout.state, ""))),
    ):
        grid.add_row(Text(name, style="dim"), value)
    return grid


def _state(rollout: Rollout) -> str:
    return f"{rollout.state}: {rollout.stopped_by}" if rollout.stopped_by else rollout.state


def _devices(rollout: Rollout) -> FittingTable:
    rows = (
        (
            *(str(record.wave or ""), name),
            Text(outcome_text(record.outcome) or IN_DOUBT, style=_OUTCOME_STYLES.get(record.outcome, "")),
            *(record.step, record.commit_id, record.error),
        )
        for name, record in rollout.devices.items()
    )
    return table("wave", "device", "outcome", "last step", "commit", "error", rows=rows)


def _steps(entries: Iterable[JournalLine]) -> FittingTable:
    rows = ((_time(entry.at, milliseconds=True), entry.device, entry.step, _words(entry)) for entry in entries)
    return table("at (UTC)", "device", "step", "what", rows=rows)


def _words(entry: JournalLine) -> str:
    told = entry.text
    devices = entry.details.get("devices")
    if entry.step == "wave" and isinstance(devices, list):
        told = f"{told}: {compact(map(str, devices))}"
    elif entry.step == "outcome":
        told = ": ".join(filter(None, (outcome_text(str(entry.details.get("outcome", ""))), told)))
    elif entry.step == "ended":
        told = str(entry.details.get("result", "")) or told
    return told if len(told) <= _LONGEST_TEXT else told[: _LONGEST_TEXT - 1] + "…"


def _gaps(rollout: Rollout) -> Iterable[str]:
    """Yield what the journal does not tell, in sentences."""
    if not rollout.entries:
        yield "the journal is empty: the rollout ended before its first step"
    if rollout.torn:
        yield "the last line is incomplete: the process ended while writing it"
    if rollout.unread:
        yield f"{counted(rollout.unread, 'line')} cannot be read and {'is' if rollout.unread == 1 else 'are'} left out"
    if rollout.unknown:
        yield f"steps of a newer version, ignored: {', '.join(rollout.unknown)}"


def _next(rollout: Rollout) -> Text:
    if rollout.alive:
        return Text(f"railweave rollout pause|continue|abort {rollout.name}", style="dim")
    if rollout.finished:
        return Text(_rollback(rollout) if rollout.changed else "", style="dim")
    resume = command_line("deploy", "--resume", rollout.name, target=rollout.target)
    return Text(f"{resume}\nor {_rollback(rollout)}", style="dim", no_wrap=True, overflow="ignore")


def _rollback(rollout: Rollout) -> str:
    return command_line("rollback", rollout.name, target=rollout.target)


def _time(at: str, *, milliseconds: bool = False) -> str:
    return at[: 23 if milliseconds else 19].replace("T", " ") or "?"
