"""Drift for a terminal, as JSON, and as markdown for a pipeline's summary."""

from collections.abc import Iterable, Sequence
from typing import Any

from rich.console import RenderableType
from rich.text import Text

from railweave.codec import as_json, members
from railweave.plan.document import plan_json
from railweave.plan.drift import Drift, IgnoreRule, remarks
from railweave.plan.grouping import first_provisioning, group_changes, shown_summary
from railweave.plan.headline import disruption_label
from railweave.plan.model import DevicePlan, DeviceState
from railweave.plan.verification import unseen_warnings
from railweave.report.changes import FIRST, devices, effect, provisioned, subject
from railweave.report.diagnostics import diagnostics_json
from railweave.report.layout import LIMIT_CHARS, cell, clipped, code, markdown_list, markdown_table, paragraphs, table
from railweave.report.plan_parts import device_remarks, unmanaged
from railweave.sonic.delta.change import Disruption, Op
from railweave.wording import command_line, compact, counted

_WORDS = {Op.ADD: "missing", Op.UPDATE: "differs", Op.REMOVE: "extra"}
_STYLES = {Op.ADD: "green", Op.UPDATE: "yellow", Op.REMOVE: "red"}
_COLUMNS = ("drift", "what", "runs → intended", "devices", "remediation")
_MOST_LINES = 120
_DEVICE_KEYS = ("state", "role", "unmanaged", "unprovisioned", "pending", "maintenance", "conflicts", "error", "broken")
"""The keys of a device in a plan's document that the document of drift has too."""


def drift_json(drift: Drift) -> dict[str, Any]:
    """Return the document of ``drift --json``; its ``changes`` are those of a plan that would remediate the drift."""
    plan = plan_json(drift.plan)
    devices = {}
    for name, device in plan["devices"].items():
        devices[name] = {
            **{key: device[key] for key in _DEVICE_KEYS if key in device},
            "unapplied": as_json(drift.plan.devices[name].reading.unapplied),
            "unknown": list(_unknown(drift.plan.devices[name])),
        }
    return {
        **{key: plan[key] for key in ("fabric", "target", "intent_sha256", "changes", "summary")},
        "drift": drift.found,
        "devices": devices,
        "ignored": [{**_rule_json(ignored.rule), "changes": ignored.changes} for ignored in drift.ignored],
        "expired": [_rule_json(rule) for rule in drift.expired],
        "idle": [_rule_json(rule) for rule in drift.idle],
        **diagnostics_json(remarks(drift)),
    }


def _unknown(device: DevicePlan) -> Iterable[str]:
    """Yield the parts of the applied state that a device does not report, so that they cannot be compared."""
    if device.reading.applied_unknown:
        yield "applied"
    yield from device.reading.unseen


def _rule_json(rule: IgnoreRule) -> dict[str, Any]:
    return members(rule, "table", "key", "field", "device", "reason", "until")


def headline(drift: Drift) -> str:
    """Return one sentence that says whether the fabric runs as intended."""
    plan = drift.plan
    unanswered = [name for name, device in plan.devices.items() if device.reading.applied_unknown]
    limits = _limits(drift, unanswered)
    if drift.found:
        return f"{plan.fabric}: {_differences(drift)}{limits}."
    unchanged = plan.names(DeviceState.UNCHANGED)
    # CONFIG_DB as intended proves nothing while the daemons that apply it do not run or do not answer.
    proven_count = len({*unchanged} - {*unanswered, *plan.broken})
    if proven_count == 1:
        return f"{plan.fabric}: no drift, 1 device runs as intended{limits}."
    if proven_count:
        return f"{plan.fabric}: no drift, {counted(proven_count, 'device')} run as intended{limits}."
    if unchanged:
        return f"{plan.fabric}: no difference in the configuration{limits}."
    return f"{plan.fabric}: nothing is known of what runs{limits}."


def _limits(drift: Drift, unanswered: Sequence[str]) -> str:
    """Return the clauses that limit the headline: which devices could not be compared, or not completely.

    ``unanswered`` are the devices whose daemons do not report what they apply.
    """
    plan = drift.plan
    clauses = ""
    if drift.unread:
        clauses += f"; {compact(drift.unread)} could not be read"
    if plan.waiting:
        clauses += f"; an unconfirmed commit waits on {compact(plan.waiting)}"
    if plan.broken:
        clauses += f"; daemons of {compact(plan.broken)} do not run"
    if unanswered:
        clauses += f"; what daemons of {compact(unanswered)} apply is not known"
    return clauses


def _differences(drift: Drift) -> str:
    """Return how many differences there are, and on how many of the devices that could be read."""
    devices = drift.plan.devices
    read_count = len(devices) - len(drift.unread)
    drifted = 0
    differences = shown_summary(drift.plan).total
    for device in devices.values():
        # The summary counts edits; a conflict or a value that daemons do not apply has none.
        without_edit = len(device.difference.conflicts) + len(device.reading.unapplied)
        differences += without_edit
        if without_edit or device.state is DeviceState.CHANGED:
            drifted += 1
    return f"drift, {counted(differences, 'difference')} on {drifted} of {read_count} devices"


def drift_view(drift: Drift) -> RenderableType:
    """Return drift for a terminal: a sentence, the groups, and what is ignored; remarks on rules are separate."""
    hint = None
    has_conflicts = any(device.difference.conflicts for device in drift.plan.devices.values())
    if drift.plan.deltas or has_conflicts:
        hint = Text(f"`{command_line('plan')}` shows how a deployment would remediate this", style="dim")
    return paragraphs(
        Text(headline(drift), style="bold"),
        _groups(drift),
        [*map(Text, _notes(drift))],
        hint,
    )


def _groups(drift: Drift) -> RenderableType | None:
    """Return a table of the differences, or None if there are none. A first provisioning is one row."""
    rows: list[tuple[Text | str, ...]] = []
    for group in group_changes(drift.plan):
        difference = Text(_WORDS[group.op], style=_STYLES[group.op])
        label = disruption_label(group.samples[0], group.disruption)
        if group.disruption is Disruption.NONE:
            label = f"disruption {label}"
        remediation = Text(f"{group.method.value}, {label}", style="dim")
        rows.append((difference, subject(group), effect(group), devices(group), remediation))
    provisioning = first_provisioning(drift.plan)
    if provisioning:
        missing = Text(_WORDS[Op.ADD], style=_STYLES[Op.ADD])
        methods = Text(", ".join(provisioning.methods), style="dim")
        rows.append((missing, FIRST, provisioned(provisioning), devices(provisioning), methods))
    if not rows:
        return None
    return table(*_COLUMNS, rows=rows)


def _notes(drift: Drift) -> Iterable[str]:
    """Yield remarks on devices, what could not be compared, what rules ignore, and what is unmanaged."""
    yield from (remark.text for remark in device_remarks(drift.plan))
    yield from unseen_warnings({name: device.reading.unseen for name, device in drift.plan.devices.items()})
    for ignored in drift.ignored:
        differences = counted(ignored.changes, "difference")
        yield f"ignored: {differences} by {ignored.rule} until {ignored.rule.until}: {ignored.rule.reason}"
    untouched = unmanaged(drift.plan)
    if untouched:
        yield f"unmanaged, left untouched: {untouched}"


def drift_markdown(drift: Drift) -> str:
    """Return drift as markdown that fits into a comment."""
    lines = [f"### {cell(headline(drift))}\n"]
    groups = group_changes(drift.plan)
    if groups:
        rows = [
            (_WORDS[group.op], code(subject(group)), code(effect(group)), cell(devices(group)), group.method.value)
            for group in groups[:_MOST_LINES]
        ]
        lines.append(markdown_table(_COLUMNS, rows))
    provisioning = first_provisioning(drift.plan)
    if provisioning:
        lines.append(f"{FIRST}: {cell(devices(provisioning))}: {provisioned(provisioning)}\n")
    if len(groups) > _MOST_LINES:
        lines.append(f"and {len(groups) - _MOST_LINES} groups more\n")
    items = [f"**{remark.severity.value}**: {cell(remark.message)} ({remark.where})" for remark in remarks(drift)]
    items += map(cell, _notes(drift))
    lines += markdown_list(items, _MOST_LINES)
    # 100 characters are left for what a pipeline adds.
    return clipped("\n".join(lines).rstrip() + "\n", LIMIT_CHARS - 100)
