"""A plan as a comment on a pull request: the sentence, disruption by role, groups, order, details folded.

A comment holds 65,536 characters. What is always shown is short by itself; folded details are shown as far as there is
room, and where they are too many, those of one switch of each kind as an example.
"""

from collections.abc import Iterable, Mapping, Sequence

from railweave.plan.grouping import ChangeGroup, group_changes
from railweave.plan.headline import headline
from railweave.plan.model import DeviceState, Plan
from railweave.report.groups import GLYPHS, change_line, devices, effect, subject
from railweave.report.markdown import LIMIT_CHARS, cell, code, table
from railweave.report.plan_summary import (
    cable_lines,
    disruption_by_role,
    hand_drained_lines,
    kept,
    live_port_lines,
    marking_lines,
    mtu_lines,
    unmet_lines,
)
from railweave.report.plan_waves import drained_lines, wave_lines
from railweave.sonic.delta.change import Change, Delta
from railweave.wording import compact, counted

_RESERVED = 400
_MOST_GROUPS = 120
_MOST_NOTES = 100
_MOST_WAVES = 10
_MOST_REASONS = 40
_SHORTEST_LINE = 12


def plan_markdown(plan: Plan) -> str:
    """Return ``plan`` as markdown of less than ``LIMIT_CHARS`` characters."""
    blocks = [f"### {cell(headline(plan))}\n", *_notes(plan)]
    if plan.deltas:
        groups = group_changes(plan)
        running = [group for group in groups if group.samples]
        blocks += [_disruption(plan), *_running(running), _order(plan)]
        blocks += _provisioned(plan, [group for group in groups if not group.samples])
    blocks.append(_foot(plan))
    text = "\n".join(blocks)
    if len(text) >= LIMIT_CHARS - _RESERVED:
        return text[: LIMIT_CHARS - _RESERVED].rpartition("\n")[0] + "\n\n… cut: the plan is too long for a comment.\n"
    if plan.deltas:
        text += _reasons(running, LIMIT_CHARS - len(text) - _RESERVED)
    return text + _details(plan, LIMIT_CHARS - len(text) - _RESERVED)


def _folded(title: str, body: str) -> str:
    return f"\n<details><summary>{title}</summary>\n\n{body}\n</details>\n"


def _notes(plan: Plan) -> Iterable[str]:
    notes = [
        *cable_lines(plan, _MOST_NOTES // 2),
        *marking_lines(plan),
        *mtu_lines(plan),
        *live_port_lines(plan),
        *unmet_lines(plan),
        *(f"unreachable: {name}: {plan.devices[name].error}" for name in plan.names(DeviceState.UNREACHABLE)),
        *(
            f"conflict: {name}: {one.table}|{one.key}: {one.reason}"
            for name, device in plan.devices.items()
            for one in device.conflicts
        ),
        *(f"a commit on {name} still waits for its confirmation" for name, one in plan.devices.items() if one.pending),
        *hand_drained_lines(plan),
        *([f"no longer in the intent, left untouched: {compact(plan.gone)}"] if plan.gone else []),
    ]
    if notes:
        more = [f"- and {len(notes) - _MOST_NOTES} more"] if len(notes) > _MOST_NOTES else []
        yield "\n".join([*(f"- {cell(note)}" for note in notes[:_MOST_NOTES]), *more]) + "\n"


def _disruption(plan: Plan) -> str:
    return table(
        ("role", "devices", "changes", "worst-case impact", "methods"),
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


def _running(groups: Sequence[ChangeGroup]) -> Iterable[str]:
    """Yield the table of what changes on switches that run: identical changes once, with their devices."""
    if not groups:
        return
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
    yield table(("", "what", "change", "devices", "disruption", "method"), rows) + more


def _order(plan: Plan) -> str:
    """Return the waves, the first of them in sight; and what they keep to, where something is disturbed."""
    lines = wave_lines(plan)
    # A number with a point would begin a list of markdown's own, which counts by itself.
    shown = [f"- {cell(line.replace('. ', ': ', 1))}" for line in lines]
    title = f"Order: {counted(len(plan.waves), 'wave')}"
    policy = [f"- {cell(line)}" for line in drained_lines(plan)]
    if plan.disruptive:
        policy.append(f"- policy: {cell(str(plan.policy))}")
    if len(shown) <= _MOST_WAVES:
        return "\n".join([f"{title}\n", *shown, *policy]) + "\n"
    return "\n".join([f"{title}\n", *policy]) + _folded("All waves", "\n".join(shown) + "\n")


def _provisioned(plan: Plan, groups: Sequence[ChangeGroup]) -> Iterable[str]:
    """Yield what switches get that are provisioned for the first time: their tables, folded."""
    if not groups:
        return
    fresh = [name for name in plan.names(DeviceState.CHANGED) if plan.devices[name].unprovisioned]
    total = sum(group.count for group in groups)
    rows = [(code(group.table), f"{len(group.keys):,}", f"{group.count:,}") for group in groups]
    title = f"First provisioning: {compact(fresh)} ({len(fresh)}), {total:,} rows and lines"
    yield _folded(title, table(("table", "different", "in all"), rows)).lstrip("\n")


def _foot(plan: Plan) -> str:
    total = plan.summary
    rows = kept(plan)
    kept_text = (
        f" Unmanaged, left untouched: {', '.join(f'{table} {count}' for table, count in rows.items())}." if rows else ""
    )
    states = ", ".join(f"{len(plan.names(state))} {state.value}" for state in DeviceState if plan.names(state))
    return f"`+ {total.add:,}` `~ {total.update:,}` `- {total.remove:,}`; devices: {states}.{cell(kept_text)}\n"


def _reasons(groups: Iterable[ChangeGroup], room_chars: int) -> str:
    """Return why the rows are there, folded; nothing where there is no room for it."""
    reasons = dict.fromkeys((group.table, group.reason) for group in groups if group.reason)
    lines = [f"- `{table}`: {cell(reason)}" for table, reason in list(reasons)[:_MOST_REASONS]]
    text = _folded("Why", "\n".join(lines) + "\n") if lines else ""
    return text if len(text) <= room_chars else ""


def _details(plan: Plan, room_chars: int) -> str:
    """Return every change, folded by device; where that is too much, of one device of each kind as an example."""
    by_device = plan.deltas
    everything = _blocks(by_device, room_chars)
    if everything is not None:
        return everything
    text = ""
    for name, alike in _examples(plan):
        block = _block(f"{name} as an example of {alike}", by_device[name], room_chars - len(text))
        text += block or ""
    left = f"{counted(sum(map(len, by_device.values())), 'change')} on {counted(len(by_device), 'device')} are too many"
    return f"{text}\n{left} for a comment: the plan file and `--json` hold them all.\n"


def _blocks(by_device: Mapping[str, Delta], room_chars: int) -> str | None:
    """Return the folded changes of all devices; None where they need more room."""
    text = ""
    for name, delta in by_device.items():
        block = _block(name, delta, room_chars - len(text))
        if block is None:
            return None
        text += block
    return text


def _examples(plan: Plan) -> Iterable[tuple[str, str]]:
    """Yield the first running device of each role and worst disruption, with how many are like it."""
    for row in disruption_by_role(plan):
        if not row.fresh:
            yield row.devices[0], f"{counted(len(row.devices), row.role)} ({row.words})"


def _block(title: str, delta: Delta, room_chars: int) -> str | None:
    """Return the changes of one device, folded; None where they need more room."""
    if len(delta) * _SHORTEST_LINE > room_chars:
        return None
    lines = "\n".join(_detail(change) for change in delta)
    text = _folded(f"{title}: {counted(len(delta), 'change')}", f"```diff\n{lines}\n```\n")
    return text if len(text) <= room_chars else None


def _detail(change: Change) -> str:
    """Return one change in a line, with the marks that highlighting as ``diff`` knows."""
    line = change_line(change).replace("```", "'''")
    return f"!{line[1:]}" if line.startswith("~") else line
