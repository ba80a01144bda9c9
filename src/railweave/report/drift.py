"""Drift for a person, for a program, and as markdown for a pipeline's summary."""

from collections.abc import Iterable
from typing import Any

from rich.console import RenderableType
from rich.text import Text

from railweave.jsonable import as_json, members
from railweave.plan.document import plan_json
from railweave.plan.drift import Drift, IgnoreRule, remarks
from railweave.plan.grouping import first_provisioning, group_changes
from railweave.plan.model import DevicePlan, DeviceState
from railweave.plan.verification import unseen_warnings
from railweave.report.changes import FIRST, devices, effect, provisioned, subject
from railweave.report.diagnostics import diagnostics_json
from railweave.report.layout import LIMIT_CHARS, cell, clipped, code, markdown_list, markdown_table, paragraphs, table
from railweave.report.plan_parts import device_remarks, unmanaged
from railweave.sonic.delta.change import Op
from railweave.wording import command_line, compact, counted

_WORDS = {Op.ADD: "missing", Op.UPDATE: "differs", Op.REMOVE: "extra"}
_STYLES = {Op.ADD: "green", Op.UPDATE: "yellow", Op.REMOVE: "red"}
_COLUMNS = ("drift", "what", "runs → intended", "devices", "remediation")
_MOST_LINES = 120


def drift_json(drift: Drift) -> dict[str, Any]:
    """Return the contract of ``drift --json``; ``changes`` are what would remediate it, as in a plan."""
    plan = plan_json(drift.plan)
    kept = ("state", "role", "unmanaged", "unprovisioned", "pending", "maintenance", "conflicts", "error", "broken")
    return {
        **{key: plan[key] for key in ("fabric", "target", "intent_sha256", "changes", "summary")},
        "drift": drift.found,
        "devices": {
            name: {
                **{key: device[key] for key in kept if key in device},
                "unapplied": as_json(drift.plan.devices[name].unapplied),
                "unknown": list(_unknown(drift.plan.devices[name])),
            }
            for name, device in plan["devices"].items()
        },
        "ignored": [{**_rule_json(one.rule), "changes": one.changes} for one in drift.ignored],
        "expired": [_rule_json(rule) for rule in drift.expired],
        "idle": [_rule_json(rule) for rule in drift.idle],
        **diagnostics_json(remarks(drift)),
    }


def _unknown(device: DevicePlan) -> Iterable[str]:
    """Yield what a device does not tell of what is in force, so that nobody can say that it is as intended."""
    if device.applied_unknown:
        yield "applied"
    yield from device.unseen


def _rule_json(rule: IgnoreRule) -> dict[str, Any]:
    return members(rule, "table", "key", "field", "device", "reason", "until")


def headline(drift: Drift) -> str:
    """Return one sentence that says whether the fabric runs as intended."""
    plan = drift.plan
    drifted = [
        name for name, one in plan.devices.items() if one.conflicts or one.unapplied or one.state is DeviceState.CHANGED
    ]
    read = len(plan.devices) - len(drift.unread)
    tail = f"; {compact(drift.unread)} could not be read" if drift.unread else ""
    tail += f"; an unconfirmed commit waits on {compact(plan.waiting)}" if plan.waiting else ""
    tail += f"; daemons of {compact(plan.broken)} do not run" if plan.broken else ""
    unknown = [name for name, one in plan.devices.items() if one.applied_unknown]
    tail += f"; what daemons of {compact(unknown)} apply is not known" if unknown else ""
    if not drift.found:
        unchanged = plan.names(DeviceState.UNCHANGED)
        count = len({*unchanged} - {*unknown, *plan.broken})
        if unchanged and not count:
            return f"{plan.fabric}: no difference in the configuration{tail}."
        if not count:
            return f"{plan.fabric}: nothing is known of what runs{tail}."
        verb = "runs" if count == 1 else "run"
        return f"{plan.fabric}: no drift, {counted(count, 'device')} {verb} as intended{tail}."
    count = plan.summary.total + sum(len(one.conflicts) + len(one.unapplied) for one in plan.devices.values())
    return f"{plan.fabric}: drift, {counted(count, 'difference')} on {len(drifted)} of {read} devices{tail}."


def drift_view(drift: Drift) -> RenderableType:
    """Return drift for a person: the sentence, the groups, what is ignored and why. Remarks on rules are separate."""
    groups = group_changes(drift.plan)
    rows = [
        (
            *(Text(_WORDS[group.op], style=_STYLES[group.op]), subject(group), effect(group), devices(group)),
            Text(f"{group.method.value}, disruption {group.disruption.value}", style="dim"),
        )
        for group in groups
    ]
    if fresh := first_provisioning(drift.plan):
        missing = Text(_WORDS[Op.ADD], style=_STYLES[Op.ADD])
        rows.append((missing, FIRST, provisioned(fresh), devices(fresh), Text(", ".join(fresh.methods), style="dim")))
    hint = Text(f"`{command_line('plan')}` shows how a deployment would remediate this", style="dim")
    return paragraphs(
        Text(headline(drift), style="bold"),
        table(*_COLUMNS, rows=rows) if rows else None,
        [*map(Text, _notes(drift))],
        hint if drift.plan.deltas or any(one.conflicts for one in drift.plan.devices.values()) else None,
    )


def _notes(drift: Drift) -> Iterable[str]:
    yield from (one.text for one in device_remarks(drift.plan))
    yield from unseen_warnings({name: one.unseen for name, one in drift.plan.devices.items()})
    for one in drift.ignored:
        differences = counted(one.changes, "difference")
        yield f"ignored: {differences} by {one.rule} until {one.rule.until}: {one.rule.reason}"
    if untouched := unmanaged(drift.plan):
        yield f"unmanaged, left untouched: {untouched}"


def drift_markdown(drift: Drift) -> str:
    """Return drift as markdown that fits into a comment."""
    lines = [f"### {cell(headline(drift))}\n"]
    groups = group_changes(drift.plan)
    if groups:
        rows = [
            (_WORDS[one.op], code(subject(one)), code(effect(one)), cell(devices(one)), one.method.value)
            for one in groups[:_MOST_LINES]
        ]
        lines.append(markdown_table(_COLUMNS, rows))
    if fresh := first_provisioning(drift.plan):
        lines.append(f"{FIRST}: {cell(devices(fresh))}: {provisioned(fresh)}\n")
    if len(groups) > _MOST_LINES:
        lines.append(f"and {len(groups) - _MOST_LINES} groups more\n")
    rules = (f"**{one.severity.value}**: {cell(one.message)} ({one.where})" for one in remarks(drift))
    lines += markdown_list([*rules, *map(cell, _notes(drift))], _MOST_LINES)
    return clipped("\n".join(lines).rstrip() + "\n", LIMIT_CHARS - 100)
