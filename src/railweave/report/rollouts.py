"""Rollouts for a person and as JSON: a line each, or one of them step by step."""

from collections import Counter
from collections.abc import Iterable, Sequence
from typing import Any

from rich import box
from rich.console import Group, RenderableType
from rich.table import Table
from rich.text import Text

from railweave.plan.outcome import outcome_text
from railweave.plan.rollout import DeviceRecord, Entry, Rollout
from railweave.wording import compact, counted

_STATE_STYLES = {
    "running": "bold cyan",
    "paused": "bold yellow",
    "interrupted": "bold red",
    "stopped": "bold red",
    "done": "green",
    "unchanged": "green",
}
_OUTCOME_STYLES = {"new": "green", "old": "yellow", "unreachable": "bold red", "not-attempted": "dim", "": "bold red"}
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
        "devices": {name: _device(record) for name, record in rollout.devices.items()},
        "steps": [
            {"at": entry.at, "step": entry.step, "device": entry.device, "text": entry.text}
            for entry in rollout.entries
        ],
    }


def _head(rollout: Rollout) -> dict[str, Any]:
    return {
        "rollout": rollout.name,
        "kind": rollout.kind.value,
        "of": rollout.of or None,
        "base": rollout.base or None,
        "phase": rollout.phase or None,
        "fabric": rollout.fabric,
        "target": rollout.target,
        "intent": rollout.intent,
        "intent_sha256": rollout.intent_sha256,
        "plan_digest": rollout.plan_digest,
        "by": rollout.by,
        "begun_at": rollout.begun_at,
        "last_at": rollout.last_at,
        "state": rollout.state,
        "finished": rollout.finished,
        "stopped_by": rollout.stopped_by or None,
        "counts": dict(_counts(rollout)),
        "waves": [list(wave) for wave in rollout.waves],
        "torn": rollout.torn,
        "unread_lines": rollout.unread,
        "unknown_steps": list(rollout.unknown),
        "journal": str(rollout.path),
    }


def _device(record: DeviceRecord) -> dict[str, Any]:
    return {
        "wave": record.wave,
        "outcome": record.outcome or None,
        "step": record.step or None,
        "error": record.error or None,
        "commit_id": record.commit_id or None,
        "before_sha256": record.before_sha256,
        "after_sha256": record.after_sha256 or None,
        "changes_sha256": record.changes_sha256,
        "drain": list(record.drain),
    }


def _counts(rollout: Rollout) -> Counter[str]:
    return Counter(record.outcome or IN_DOUBT for record in rollout.devices.values())


def rollouts_view(found: Sequence[Rollout], left_out: int = 0) -> RenderableType:
    """Return a table of rollouts, newest first; ``left_out`` counts older ones that are not shown."""
    if not found:
        return Text("no rollouts yet")
    table = _table("rollout", "kind", "fabric → target", "started (UTC)", "state", "devices")
    for rollout in found:
        table.add_row(
            rollout.name,
            rollout.kind.value,
            f"{rollout.fabric or '?'} → {rollout.target or '?'}",
            _time(rollout.begun_at),
            Text(rollout.state, style=_STATE_STYLES.get(rollout.state, "")),
            ", ".join(f"{count} {outcome_text(outcome)}" for outcome, count in _counts(rollout).items()) or "none",
        )
    parts: list[RenderableType] = [table]
    if left_out:
        parts.append(Text(f"and {counted(left_out, 'older rollout')}: `railweave rollout list --all`", style="dim"))
    return Group(*parts)


def rollout_view(rollout: Rollout) -> RenderableType:
    """Return one rollout: what it is, each device, each step, and what the journal does not tell."""
    parts: list[RenderableType] = [_about(rollout), Text()]
    if rollout.devices:
        parts += [_devices(rollout), Text()]
    if rollout.entries:
        parts += [_steps(rollout.entries), Text()]
    parts += [Text(sentence, style="yellow") for sentence in _gaps(rollout)]
    parts.append(_next(rollout))
    return Group(*parts)


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


def _devices(rollout: Rollout) -> Table:
    table = _table("wave", "device", "outcome", "last step", "commit", "error")
    for name, record in rollout.devices.items():
        table.add_row(
            str(record.wave or ""),
            name,
            Text(outcome_text(record.outcome) or IN_DOUBT, style=_OUTCOME_STYLES.get(record.outcome, "")),
            record.step,
            record.commit_id,
            Text(record.error),
        )
    return table


def _steps(entries: Iterable[Entry]) -> Table:
    """Return every step with its time; a wave's devices stand in its line."""
    table = _table("at (UTC)", "device", "step", "what")
    for entry in entries:
        table.add_row(_time(entry.at, milliseconds=True), entry.device, entry.step, Text(_words(entry)))
    return table


def _words(entry: Entry) -> str:
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
    """Return what can be done now."""
    if rollout.alive:
        return Text(f"railweave rollout pause|continue|abort {rollout.name}", style="dim")
    if rollout.finished:
        return Text(f"railweave rollback {rollout.name}" if rollout.changed else "", style="dim")
    return Text(f"railweave deploy --resume {rollout.name}, or railweave rollback {rollout.name}", style="dim")


def _table(*columns: str) -> Table:
    table = Table(box=box.SIMPLE_HEAD, padding=(0, 1), pad_edge=False, show_edge=False)
    for column in columns:
        table.add_column(column, overflow="fold")
    return table


def _time(at: str, *, milliseconds: bool = False) -> str:
    return at[: 23 if milliseconds else 19].replace("T", " ") or "?"
