"""Drift for a person, for a program, and as markdown for a pipeline's summary."""

from collections.abc import Iterable
from typing import Any

from rich import box
from rich.console import Group, RenderableType
from rich.table import Table
from rich.text import Text

from railweave.plan.document import plan_json
from railweave.plan.drift import Drift, Ignored, IgnoreRule, remarks
from railweave.plan.grouping import ChangeGroup, group_changes
from railweave.plan.model import DeviceState
from railweave.report.diagnostics import diagnostics_json
from railweave.report.groups import devices, effect, subject
from railweave.report.markdown import LIMIT_CHARS, cell, code, table
from railweave.report.plan_summary import hand_drained_lines
from railweave.sonic.delta.change import Op
from railweave.wording import compact, counted

_WORDS = {Op.ADD: "missing", Op.UPDATE: "differs", Op.REMOVE: "extra"}
_STYLES = {Op.ADD: "green", Op.UPDATE: "yellow", Op.REMOVE: "red"}
_MOST_LINES = 120


def drift_json(drift: Drift) -> dict[str, Any]:
    """Return the contract of ``drift --json``; ``changes`` are what would mend it, as in a plan."""
    plan = plan_json(drift.plan)
    return {
        "fabric": plan["fabric"],
        "target": plan["target"],
        "intent_sha256": plan["intent_sha256"],
        "drift": drift.found,
        "devices": {
            name: {key: device[key] for key in ("state", "role", "unprovisioned", "pending", "conflicts", "error")}
            for name, device in plan["devices"].items()
        },
        "changes": plan["changes"],
        "summary": plan["summary"],
        "ignored": [{**_rule_json(one.rule), "changes": one.changes} for one in drift.ignored],
        "expired": [_rule_json(rule) for rule in drift.expired],
        "idle": [_rule_json(rule) for rule in drift.idle],
        **diagnostics_json(remarks(drift)),
    }


def _rule_json(rule: IgnoreRule) -> dict[str, Any]:
    return {
        "table": rule.table,
        "key": rule.key,
        "field": rule.field,
        "device": rule.device,
        "reason": rule.reason,
        "until": rule.until.isoformat(),
    }


def headline(drift: Drift) -> str:
    """Return one sentence that says whether the fabric runs as intended."""
    plan = drift.plan
    drifted = [name for name, one in plan.devices.items() if one.conflicts or one.state is DeviceState.CHANGED]
    read = len(plan.devices) - len(drift.unread)
    tail = f"; {compact(drift.unread)} could not be read" if drift.unread else ""
    if not drift.found:
        verb = "runs" if read == 1 else "run"
        return f"{plan.fabric}: no drift, {counted(read, 'device')} {verb} as intended{tail}."
    count = plan.summary.total + sum(len(one.conflicts) for one in plan.devices.values())
    return f"{plan.fabric}: drift, {counted(count, 'difference')} on {len(drifted)} of {read} devices{tail}."


def drift_view(drift: Drift) -> RenderableType:
    """Return drift for a person: the sentence, the groups, what is ignored and why. Remarks on rules stand apart."""
    parts: list[RenderableType] = [Text(headline(drift), style="bold")]
    groups = group_changes(drift.plan)
    if groups:
        parts += [Text(), _groups(groups)]
    notes = [*_notes(drift), *(f"ignored: {_ignored(one)}" for one in drift.ignored)]
    if notes:
        parts += [Text(), *map(Text, notes)]
    if drift.found:
        parts += [Text(), Text("`railweave plan` shows how a deployment would remediate this", style="dim")]
    return Group(*parts)


def _groups(groups: Iterable[ChangeGroup]) -> Table:
    shown = Table(box=box.SIMPLE_HEAD, padding=(0, 1), pad_edge=False, show_edge=False)
    for column in ("drift", "what", "runs → intended", "devices", "remediation"):
        shown.add_column(column, overflow="fold")
    for group in groups:
        shown.add_row(
            Text(_WORDS[group.op], style=_STYLES[group.op]),
            Text(subject(group)),
            Text(effect(group)),
            Text(devices(group)),
            Text(f"{group.method.value}, disruption {group.disruption.value}", style="dim"),
        )
    return shown


def _notes(drift: Drift) -> Iterable[str]:
    for name, device in drift.plan.devices.items():
        for one in device.conflicts:
            yield f"conflict: {name}: {one.table}|{one.key} is unmanaged and holds {one.port}: {one.reason}"
        if device.state is DeviceState.UNREACHABLE:
            yield f"not read: {name}: {device.error}"
        if device.pending:
            yield f"waiting: a commit on {name} is not confirmed; it may revert by itself"
    yield from hand_drained_lines(drift.plan)


def _ignored(one: Ignored) -> str:
    differences = counted(one.changes, "difference")
    return f"{differences} by {one.rule} until {one.rule.until}: {one.rule.reason}"


def drift_markdown(drift: Drift) -> str:
    """Return drift as markdown that fits into a comment."""
    lines = [f"### {cell(headline(drift))}\n"]
    groups = group_changes(drift.plan)
    if groups:
        rows = (
            (_WORDS[one.op], code(subject(one)), code(effect(one)), cell(devices(one)), one.method.value)
            for one in groups[:_MOST_LINES]
        )
        lines.append(table(("drift", "what", "runs → intended", "devices", "remediation"), rows))
    if len(groups) > _MOST_LINES:
        lines.append(f"and {len(groups) - _MOST_LINES} groups more\n")
    notes = [
        *(f"**{one.severity.value}**: {cell(one.message)} ({one.where})" for one in remarks(drift)),
        *map(cell, _notes(drift)),
        *(cell(f"ignored: {_ignored(one)}") for one in drift.ignored),
    ]
    lines += [f"- {note}" for note in notes[:_MOST_LINES]]
    if len(notes) > _MOST_LINES:
        lines.append(f"- and {len(notes) - _MOST_LINES} more")
    text = "\n".join(lines).rstrip() + "\n"
    return text if len(text) < LIMIT_CHARS else text[: LIMIT_CHARS - 100].rpartition("\n")[0] + "\n\n… cut\n"
