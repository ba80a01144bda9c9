"""A plan for a person at a terminal, and as a comment on a pull request.

Both say the same: the sentence, identical changes once, disruption by role, the order, what needs attention. A comment
holds 65,536 characters. What is always shown is short by itself; folded details are shown as far as there is room, and
where they are too many, those of one switch of each kind as an example.
"""

from collections.abc import Iterable, Iterator, Mapping, Sequence

from rich.console import RenderableType
from rich.text import Text

from railweave.plan.cables import changed_cables
from railweave.plan.grouping import ChangeGroup, first_provisioning, group_changes
from railweave.plan.headline import disruption_label, headline
from railweave.plan.model import DeviceState, Plan
from railweave.printable import printable
from railweave.report.changes import FIRST, GLYPHS, change_line, devices, effect, provisioned, subject
from railweave.report.layout import LIMIT_CHARS, cell, clipped, code, markdown_list, markdown_table, paragraphs, table
from railweave.report.plan_parts import (
    cable_counts,
    cable_lines,
    disruption_by_role,
    drained_lines,
    remarks,
    unmanaged,
    wave_lines,
)
from railweave.report.tables import FittingTable
from railweave.sonic.delta.change import Delta, Disruption, Op
from railweave.wording import command_line, compact, counted

OP_STYLES = {Op.ADD: "green", Op.UPDATE: "yellow", Op.REMOVE: "red"}
DISRUPTION_STYLES = {
    Disruption.NONE: "dim",
    Disruption.SESSION: "yellow",
    Disruption.FLAP: "bold yellow",
    Disruption.RELOAD: "bold red",
}

_BY_ROLE = ("role", "devices", "changes", "worst-case impact", "methods")
_MOST_CABLES, _FEW_CABLES = 16, 2
_MOST_CABLE_ROWS = 256
PLAN_CHARS = LIMIT_CHARS - 16_400
"""The longest markdown of a plan: a pipeline adds what `check` found and what prevents the plan, 50 lines of each."""
_CLOSING_CHARS = 400
"""What the last sentence of a shortened plan takes."""
_MOST_GROUPS = 120
_MOST_NOTES = 100
_MOST_WAVES = 10
_MOST_REASONS = 40
_SHORTEST_LINE = 12


def plan_view(plan: Plan, *, every_change: bool = False) -> RenderableType:
    """Return a plan for a person. Identical changes of many devices are shown once.

    With ``every_change`` all changes follow by device, one a line.
    """
    changed = (_disruption(plan), _groups(plan), list(_waves(plan))) if plan.deltas else ()
    untouched = unmanaged(plan)
    notes = [Text(one.text, style=one.style) for one in remarks(plan, _MOST_CABLES)]
    kept = [Text(f"unmanaged, left untouched: {untouched}", style="dim")] if untouched else []
    return paragraphs(
        Text(headline(plan), style="bold"),
        *changed,
        *(_by_device(plan) if every_change else ()),
        [*map(Text, cable_lines(plan, _FEW_CABLES)), *notes, *kept],
        _totals(plan),
    )


def _groups(plan: Plan) -> FittingTable:
    rows = [
        (
            *(Text(text, style=OP_STYLES[group.op]) for text in (GLYPHS[group.op], subject(group))),
            *(effect(group), devices(group)),
            Text(disruption_label(group.samples[0], group.disruption), style=DISRUPTION_STYLES[group.disruption]),
            group.method.value,
        )
        for group in group_changes(plan)
    ]
    if fresh := first_provisioning(plan):
        glyph, first = (Text(text, style=OP_STYLES[Op.ADD]) for text in (GLYPHS[Op.ADD], FIRST))
        disruption = Text(fresh.disruption.value, style=DISRUPTION_STYLES[Disruption.NONE])
        rows.append((glyph, first, provisioned(fresh), devices(fresh), disruption, ", ".join(fresh.methods)))
    return table("", "what", "change", "devices", "disruption", "method", rows=rows)


def _by_device(plan: Plan) -> Iterator[list[Text]]:
    for name, delta in plan.deltas.items():
        lines = (Text(f"  {change_line(change)}", style=OP_STYLES[change.op]) for change in delta)
        yield [Text(f"{name}: {counted(len(delta), 'change')}", style="bold"), *lines]


def _disruption(plan: Plan) -> FittingTable:
    rows = (
        (
            *(row.role, f"{compact(row.devices)} ({len(row.devices)})", f"{row.changes:,}"),
            *(Text(row.words, style=DISRUPTION_STYLES[row.disruption]), ", ".join(row.methods)),
        )
        for row in disruption_by_role(plan)
    )
    return table(*_BY_ROLE, rows=rows)


def _waves(plan: Plan) -> Iterator[Text]:
    yield Text(f"order: {counted(len(plan.waves), 'wave')}, each device confirmed or rolled back before the next wave")
    for line in wave_lines(plan):
        yield Text(f"  {line}")
    if plan.disruptive:
        yield Text(f"  {plan.policy}", style="dim")


def _totals(plan: Plan) -> Text:
    total = plan.summary
    return Text.assemble(
        (f"+ {total.add:,}  ", "green"),
        (f"~ {total.update:,}  ", "yellow"),
        (f"- {total.remove:,}   ", "red"),
        f"devices: {_states(plan, empty=not plan.devices)}",
    )


def _states(plan: Plan, *, empty: bool = False) -> str:
    counts = ((len(plan.names(state)), state.value) for state in DeviceState)
    return ", ".join(f"{count} {state}" for count, state in counts if count or empty)


def plan_markdown(plan: Plan) -> str:
    """Return ``plan`` as markdown of at most ``PLAN_CHARS`` characters."""
    notes = markdown_list([cell(one.text) for one in remarks(plan, 0)], _MOST_NOTES)
    blocks = [f"### {cell(headline(plan))}\n", *(["\n".join(notes) + "\n"] if notes else [])]
    running = group_changes(plan)
    if plan.deltas:
        blocks += [_disruption_markdown(plan), *_running(running), *_provisioned(plan), *_cables(plan), _order(plan)]
    text = "\n".join([*blocks, _foot(plan)])
    if len(text) >= PLAN_CHARS - _CLOSING_CHARS:
        return clipped(text, PLAN_CHARS - _CLOSING_CHARS)
    text += _reasons(running, PLAN_CHARS - len(text) - _CLOSING_CHARS)
    return text + _details(plan, PLAN_CHARS - len(text) - _CLOSING_CHARS)


def _folded(title: str, body: str) -> str:
    return f"\n<details><summary>{title}</summary>\n\n{body}\n</details>\n"


def _disruption_markdown(plan: Plan) -> str:
    rows = (
        (
            row.role,
            f"{compact(row.devices)} ({len(row.devices)})",
            f"{row.changes:,}",
            row.words,
            ", ".join(row.methods),
        )
        for row in disruption_by_role(plan)
    )
    return markdown_table(_BY_ROLE, rows)


def _running(groups: Sequence[ChangeGroup]) -> Iterable[str]:
    """Yield the table of what changes on switches that run: identical changes once, with their devices."""
    if not groups:
        return
    rows = (
        (
            *(GLYPHS[group.op], code(subject(group)), code(effect(group)), cell(devices(group))),
            *(disruption_label(group.samples[0], group.disruption), group.method.value),
        )
        for group in groups[:_MOST_GROUPS]
    )
    more = f"\nand {len(groups) - _MOST_GROUPS} groups more\n" if len(groups) > _MOST_GROUPS else ""
    yield markdown_table(("", "what", "change", "devices", "disruption", "method"), rows) + more


def _order(plan: Plan) -> str:
    """Return the waves, the first of them in sight; and what they keep to, where something is disturbed."""
    # A number with a point would begin a list of markdown's own, which counts by itself.
    shown = [f"- {cell(line.replace('. ', ': ', 1))}" for line in wave_lines(plan)]
    title = f"Order: {counted(len(plan.waves), 'wave')}"
    policy = [f"- {cell(line)}" for line in drained_lines(plan)]
    if plan.disruptive:
        policy.append(f"- policy: {cell(str(plan.policy))}")
    if len(shown) <= _MOST_WAVES:
        return "\n".join([f"{title}\n", *shown, *policy]) + "\n"
    return "\n".join([f"{title}\n", *policy]) + _folded("All waves", "\n".join(shown) + "\n")


def _provisioned(plan: Plan) -> Iterable[str]:
    """Yield in a line what switches get that are provisioned for the first time."""
    if fresh := first_provisioning(plan):
        yield f"{FIRST.capitalize()}: {cell(devices(fresh))}: {provisioned(fresh)}.\n"


def _cables(plan: Plan) -> Iterable[str]:
    """Yield the cables that are moved, removed and added, by their labels; folded where they are many."""
    cables = changed_cables(plan)
    if not cables:
        return
    rows = [
        (GLYPHS[one.op], code(one.lower_shown), " → ".join(map(code, filter(None, (one.before, one.after)))))
        for one in cables[:_MOST_CABLE_ROWS]
    ]
    body = markdown_table(("", "cable", "to"), rows)
    if hidden := len(cables) - len(rows):
        body += f"\nand {hidden:,} more: `{command_line('render', '--out', 'DIR')}` writes all cables to cables.csv\n"
    title = f"Cables: {cable_counts(cables)}"
    yield f"{title}\n\n{body}" if len(cables) <= _MOST_CABLES else _folded(title, body).lstrip("\n")


def _foot(plan: Plan) -> str:
    total, untouched = plan.summary, unmanaged(plan)
    kept = f" Unmanaged, left untouched: {untouched}." if untouched else ""
    return f"`+ {total.add:,}` `~ {total.update:,}` `- {total.remove:,}`; devices: {_states(plan)}.{cell(kept)}\n"


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
    for row in disruption_by_role(plan):
        if not row.fresh:
            alike = f"{counted(len(row.devices), row.role)} ({row.words})"
            delta = by_device[row.devices[0]]
            text += _block(f"{row.devices[0]} as an example of {alike}", delta, room_chars - len(text)) or ""
    left = f"{counted(sum(map(len, by_device.values())), 'change')} on {counted(len(by_device), 'device')} are too many"
    return f"{text}\n{left} for a comment: the plan file and `--json` hold them all.\n"


def _blocks(by_device: Mapping[str, Delta], room_chars: int) -> str | None:
    text = ""
    for name, delta in by_device.items():
        block = _block(name, delta, room_chars - len(text))
        if block is None:
            return None
        text += block
    return text


def _block(title: str, delta: Delta, room_chars: int) -> str | None:
    """Return the changes of one device, folded, with the marks that highlighting as ``diff`` knows; None where they
    need more room."""
    if len(delta) * _SHORTEST_LINE > room_chars:
        return None
    lines = (printable(change_line(change)).replace("```", "'''").replace("\n", "⏎") for change in delta)
    marked = "\n".join(f"!{line[1:]}" if line.startswith("~") else line for line in lines)
    text = _folded(f"{title}: {counted(len(delta), 'change')}", f"```diff\n{marked}\n```\n")
    return text if len(text) <= room_chars else None
