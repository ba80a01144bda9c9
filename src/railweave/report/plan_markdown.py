"""A plan as a comment on a pull request: the sentence, disruption by role, groups, details folded.

A comment holds 65,536 characters; a longer plan loses its details from the end, and says so.
"""

from collections.abc import Iterable

from railweave.plan.grouping import group_changes
from railweave.plan.headline import headline
from railweave.plan.model import DeviceState, Plan
from railweave.report.groups import GLYPHS, change_line, devices, effect, subject
from railweave.report.listing import compact, counted
from railweave.report.markdown import LIMIT_CHARS, cell, code, table
from railweave.report.plan_summary import cable_lines, disruption_by_role, kept, marking_lines
from railweave.sonic.change import Change

_RESERVED = 400
_MOST_GROUPS = 120
_MOST_NOTES = 100


def plan_markdown(plan: Plan) -> str:
    """Return ``plan`` as markdown of less than ``LIMIT_CHARS`` characters."""
    blocks = [f"### {cell(headline(plan))}\n", *_notes(plan)]
    if plan.changes:
        blocks += [_disruption(plan), _groups(plan), _order(plan)]
    blocks.append(_foot(plan))
    text = "\n".join(blocks)
    if len(text) >= LIMIT_CHARS:
        return text[: LIMIT_CHARS - _RESERVED].rpartition("\n")[0] + "\n\n… cut: the plan is too long for a comment.\n"
    return text + _details(plan, LIMIT_CHARS - len(text) - _RESERVED)


def _notes(plan: Plan) -> Iterable[str]:
    notes = [
        *cable_lines(plan, _MOST_NOTES // 2),
        *marking_lines(plan),
        *(f"unreachable: {name}: {plan.devices[name].error}" for name in plan.names(DeviceState.UNREACHABLE)),
        *(
            f"conflict: {name}: {one.table}|{one.key}: {one.reason}"
            for name, device in plan.devices.items()
            for one in device.conflicts
        ),
        *(f"a commit on {name} still waits for its confirmation" for name, one in plan.devices.items() if one.pending),
        *([f"no longer in the intent, left alone: {compact(plan.gone)}"] if plan.gone else []),
    ]
    if notes:
        more = [f"- and {len(notes) - _MOST_NOTES} more"] if len(notes) > _MOST_NOTES else []
        yield "\n".join([*(f"- {cell(note)}" for note in notes[:_MOST_NOTES]), *more]) + "\n"


def _disruption(plan: Plan) -> str:
    return table(
        ("role", "devices", "changes", "at worst", "methods"),
        (
            (
                row.role,
                f"{compact(row.devices)} ({len(row.devices)})",
                f"{row.changes:,}",
                row.words,
                ", ".join(row.methods),
            )
            for row in disruption_by_role(plan)
        ),
    )


def _groups(plan: Plan) -> str:
    groups = group_changes(plan)
    rows = [
        (
            GLYPHS[group.op],
            code(subject(group)),
            code(effect(group)),
            cell(devices(group)),
            group.disruption.value,
            group.method.value,
        )
        for group in groups[:_MOST_GROUPS]
    ]
    more = f"\nand {len(groups) - _MOST_GROUPS} groups more\n" if len(groups) > _MOST_GROUPS else ""
    return table(("", "what", "change", "devices", "disruption", "method"), rows) + more


def _order(plan: Plan) -> str:
    waves = "; ".join(f"{number}. {compact(wave)}" for number, wave in enumerate(plan.waves, start=1))
    return f"Order: {cell(waves)}\n"


def _foot(plan: Plan) -> str:
    total = plan.summary
    rows = kept(plan)
    kept_text = f" Not ours, kept: {', '.join(f'{table} {count}' for table, count in rows.items())}." if rows else ""
    states = ", ".join(f"{len(plan.names(state))} {state.value}" for state in DeviceState if plan.names(state))
    return f"`+ {total.add:,}` `~ {total.update:,}` `- {total.remove:,}`; devices: {states}.{cell(kept_text)}\n"


def _details(plan: Plan, room_chars: int) -> str:
    """Return every change folded by device, as many devices as there is room for."""
    text = ""
    by_device = plan.changes_by_device()
    for number, (name, changes) in enumerate(by_device.items()):
        block = _device_details(name, changes)
        if len(text) + len(block) > room_chars:
            left = len(by_device) - number
            return f"{text}\n{counted(left, 'device')} more: see the plan file for all changes.\n"
        text += block
    return text


def _device_details(name: str, changes: tuple[Change, ...]) -> str:
    lines = "\n".join(_detail(change) for change in changes)
    title = f"{name}: {counted(len(changes), 'change')}"
    return f"\n<details><summary>{title}</summary>\n\n```diff\n{lines}\n```\n\n</details>\n"


def _detail(change: Change) -> str:
    """Return one change in a line, with the marks that highlighting as ``diff`` knows."""
    line = change_line(change).replace("```", "'''")
    return f"!{line[1:]}" if line.startswith("~") else line
