"""A plan for a terminal, and as a comment on a pull request.

Both show a sentence, identical changes once, disruption by role, the order of waves, and what needs attention.
A comment holds 65,536 characters. What is always shown is short; folded details are shown as far as there is room, and
if there are too many, those of one switch of each kind as an example.
"""

from collections.abc import Iterable, Iterator, Mapping, Sequence

from rich.console import RenderableType
from rich.text import Text

from railweave.plan.cables import changed_cables
from railweave.plan.grouping import ChangeGroup, first_provisioning, group_changes, shown_changes, shown_summary
from railweave.plan.headline import disruption_label, headline
from railweave.plan.model import DeviceState, Plan
from railweave.printable import printable
from railweave.report.changes import FIRST, GLYPHS, change_line, devices, effect, provisioned, subject
from railweave.report.layout import LIMIT_CHARS, cell, clipped, code, markdown_list, markdown_table, paragraphs, table
from railweave.report.plan_parts import (
    RoleDisruption,
    cable_counts,
    cable_lines,
    disruption_by_role,
    drained_lines,
    remarks,
    unmanaged,
    wave_lines,
)
from railweave.report.tables import FittingTable
from railweave.sonic.delta.change import Change, Disruption, Op
from railweave.wording import command_line, compact, counted

OP_STYLES = {Op.ADD: "green", Op.UPDATE: "yellow", Op.REMOVE: "red"}
DISRUPTION_STYLES = {
    Disruption.NONE: "dim",
    Disruption.SESSION: "yellow",
    Disruption.FLAP: "bold yellow",
    Disruption.RELOAD: "bold red",
}

_BY_ROLE = ("role", "devices", "changes", "worst-case impact", "methods")
_MOST_CABLES = 16
_FEW_CABLES = 2
_MOST_CABLE_ROWS = 256
PLAN_CHARS = LIMIT_CHARS - 16_400
"""The longest markdown of a plan: a pipeline adds what `check` found and what prevents the plan, 50 lines of each."""
_CLOSING_CHARS = 400
"""Room for the last sentence of a shortened plan."""
_MOST_GROUPS = 120
_MOST_NOTES = 100
_MOST_WAVES = 10
_MOST_REASONS = 40
# Characters of the shortest line of a change: a delta whose lines cannot fit is not written out to be measured.
_SHORTEST_LINE = 12


def plan_view(plan: Plan, *, every_change: bool = False) -> RenderableType:
    """Return a plan for a terminal. Identical changes of many devices are shown once.

    With ``every_change`` all changes follow by device, each on its line.
    """
    changes: list[RenderableType | Sequence[RenderableType]] = []
    if plan.deltas:
        changes = [_disruption(plan), _groups(plan), list(_waves(plan))]
    if every_change:
        changes += _by_device(plan)
    notes = [*map(Text, cable_lines(plan, _FEW_CABLES))]
    notes += [Text(remark.text, style=remark.style) for remark in remarks(plan, _MOST_CABLES)]
    untouched = unmanaged(plan)
    if untouched:
        notes.append(Text(f"unmanaged, left untouched: {untouched}", style="dim"))
    return paragraphs(Text(headline(plan), style="bold"), *changes, notes, _totals(plan))


def _groups(plan: Plan) -> FittingTable:
    """Return the table of changes: identical ones once, all those of a first provisioning in one row."""
    rows: list[tuple[Text | str, ...]] = []
    for group in group_changes(plan):
        style = OP_STYLES[group.op]
        label = disruption_label(group.samples[0], group.disruption)
        disruption = Text(label, style=DISRUPTION_STYLES[group.disruption])
        glyph = Text(GLYPHS[group.op], style=style)
        what = Text(subject(group), style=style)
        rows.append((glyph, what, effect(group), devices(group), disruption, group.method.value))
    provisioning = first_provisioning(plan)
    if provisioning:
        glyph = Text(GLYPHS[Op.ADD], style=OP_STYLES[Op.ADD])
        what = Text(FIRST, style=OP_STYLES[Op.ADD])
        change = provisioned(provisioning)
        # Switches that carry no traffic yet are not disrupted, whatever is done to them.
        disruption = Text(provisioning.disruption.value, style=DISRUPTION_STYLES[Disruption.NONE])
        rows.append((glyph, what, change, devices(provisioning), disruption, ", ".join(provisioning.methods)))
    return table("", "what", "change", "devices", "disruption", "method", rows=rows)


def _by_device(plan: Plan) -> Iterator[list[Text]]:
    for name in plan.deltas:
        changes = shown_changes(plan, name)
        lines = (Text(f"  {change_line(change)}", style=OP_STYLES[change.op]) for change in changes)
        yield [Text(f"{name}: {counted(len(changes), 'change')}", style="bold"), *lines]


def _disruption(plan: Plan) -> FittingTable:
    rows = []
    for row in disruption_by_role(plan):
        role, devices, changes, impact, methods = _role_cells(row)
        rows.append((role, devices, changes, Text(impact, style=DISRUPTION_STYLES[row.disruption]), methods))
    return table(*_BY_ROLE, rows=rows)


def _role_cells(row: RoleDisruption) -> tuple[str, str, str, str, str]:
    """Return the cells of a role below ``_BY_ROLE``."""
    devices = f"{compact(row.devices)} ({len(row.devices)})"
    return row.role, devices, f"{row.changes:,}", row.words, ", ".join(row.methods)


def _waves(plan: Plan) -> Iterator[Text]:
    yield Text(f"order: {counted(len(plan.waves), 'wave')}, each device confirmed or rolled back before the next wave")
    for line in wave_lines(plan):
        yield Text(f"  {line}")
    if plan.disruptive:
        yield Text(f"  {plan.policy}", style="dim")


def _totals(plan: Plan) -> Text:
    """Return the numbers of added, updated and removed rows and lines, and of devices by state."""
    total = shown_summary(plan)
    return Text.assemble(
        (f"+ {total.add:,}  ", "green"),
        (f"~ {total.update:,}  ", "yellow"),
        (f"- {total.remove:,}   ", "red"),
        f"devices: {_states(plan, with_zeros=not plan.devices)}",
    )


def _states(plan: Plan, *, with_zeros: bool = False) -> str:
    """Return the numbers of devices by state; a number of 0 is left out unless ``with_zeros``."""
    counts = []
    for state in DeviceState:
        count = len(plan.names(state))
        # Only a limited plan leaves devices behind, so that their 0 would say nothing.
        shows_zero = with_zeros and state is not DeviceState.BEHIND
        if count or shows_zero:
            counts.append(f"{count} {state.value}")
    return ", ".join(counts)


def plan_markdown(plan: Plan) -> str:
    """Return ``plan`` as markdown of at most ``PLAN_CHARS`` characters."""
    blocks = [f"### {cell(headline(plan))}\n"]
    notes = markdown_list([cell(remark.text) for remark in remarks(plan, 0)], _MOST_NOTES)
    if notes:
        blocks.append("\n".join(notes) + "\n")
    groups = group_changes(plan)
    if plan.deltas:
        blocks.append(markdown_table(_BY_ROLE, map(_role_cells, disruption_by_role(plan))))
        blocks += [*_changes_of_running(groups), *_provisioned(plan), *_cables(plan), _order(plan)]
    text = "\n".join([*blocks, _foot(plan)])
    room_chars = PLAN_CHARS - _CLOSING_CHARS
    if len(text) >= room_chars:
        return clipped(text, room_chars)
    # Folded parts fill the room that is left: a reviewer may do without them.
    text += _reasons(groups, room_chars - len(text))
    return text + _details(plan, room_chars - len(text))


def _folded(title: str, body: str) -> str:
    return f"\n<details><summary>{title}</summary>\n\n{body}\n</details>\n"


def _changes_of_running(groups: Sequence[ChangeGroup]) -> Iterable[str]:
    """Yield the table of changes of running switches: identical changes once, with their devices."""
    if not groups:
        return
    rows = []
    for group in groups[:_MOST_GROUPS]:
        row = (
            GLYPHS[group.op],
            code(subject(group)),
            code(effect(group)),
            cell(devices(group)),
            disruption_label(group.samples[0], group.disruption),
            group.method.value,
        )
        rows.append(row)
    changes = markdown_table(("", "what", "change", "devices", "disruption", "method"), rows)
    if len(groups) > _MOST_GROUPS:
        changes += f"\nand {len(groups) - _MOST_GROUPS} groups more\n"
    yield changes


def _order(plan: Plan) -> str:
    """Return the waves, folded if there are many, then what is drained, and the policy if the plan is disruptive."""
    # "1. " would begin a list of markdown, which numbers its items by itself.
    waves = [f"- {cell(line.replace('. ', ': ', 1))}" for line in wave_lines(plan)]
    title = f"Order: {counted(len(plan.waves), 'wave')}"
    rules = [f"- {cell(line)}" for line in drained_lines(plan)]
    if plan.disruptive:
        rules.append(f"- policy: {cell(str(plan.policy))}")
    if len(waves) <= _MOST_WAVES:
        return "\n".join([f"{title}\n", *waves, *rules]) + "\n"
    return "\n".join([f"{title}\n", *rules]) + _folded("All waves", "\n".join(waves) + "\n")


def _provisioned(plan: Plan) -> Iterable[str]:
    """Yield a line on the switches that are provisioned for the first time."""
    provisioning = first_provisioning(plan)
    if provisioning:
        yield f"{FIRST.capitalize()}: {cell(devices(provisioning))}: {provisioned(provisioning)}.\n"


def _cables(plan: Plan) -> Iterable[str]:
    """Yield the cables that are moved, removed and added, by their labels; folded if there are many."""
    cables = changed_cables(plan)
    if not cables:
        return
    rows = []
    for cable in cables[:_MOST_CABLE_ROWS]:
        # The upper end before and after: a cable that is only removed or added has one of them.
        upper_ends = [code(end) for end in (cable.before, cable.after) if end]
        rows.append((GLYPHS[cable.op], code(cable.lower_shown), " → ".join(upper_ends)))
    body = markdown_table(("", "cable", "to"), rows)
    hidden = len(cables) - len(rows)
    if hidden:
        body += f"\nand {hidden:,} more: `{command_line('render', '--out', 'DIR')}` writes all cables to cables.csv\n"
    title = f"Cables: {cable_counts(cables)}"
    if len(cables) <= _MOST_CABLES:
        yield f"{title}\n\n{body}"
    else:
        yield _folded(title, body).lstrip("\n")


def _foot(plan: Plan) -> str:
    """Return the last line of a comment: the numbers of changes, the devices by state, and what is unmanaged."""
    total = shown_summary(plan)
    foot = f"`+ {total.add:,}` `~ {total.update:,}` `- {total.remove:,}`; devices: {_states(plan)}."
    untouched = unmanaged(plan)
    if untouched:
        foot += cell(f" Unmanaged, left untouched: {untouched}.")
    return f"{foot}\n"


def _reasons(groups: Iterable[ChangeGroup], room_chars: int) -> str:
    """Return a folded list of the reasons of changed rows; empty without reasons, or if it needs more room."""
    reasons = dict.fromkeys((group.table, group.reason) for group in groups if group.reason)
    if not reasons:
        return ""
    lines = [f"- `{table}`: {cell(reason)}" for table, reason in list(reasons)[:_MOST_REASONS]]
    text = _folded("Why", "\n".join(lines) + "\n")
    if len(text) > room_chars:
        return ""
    return text


def _details(plan: Plan, room_chars: int) -> str:
    """Return every change, folded by device; if they need more room, one device of each kind as an example."""
    changes_by_device = {name: shown_changes(plan, name) for name in plan.deltas}
    all_blocks = _blocks(changes_by_device, room_chars)
    if all_blocks is not None:
        return all_blocks
    text = ""
    for row in disruption_by_role(plan):
        # A first provisioning adds every row of a switch: an example of it would be long and show nothing.
        if row.fresh:
            continue
        example = row.devices[0]
        title = f"{example} as an example of {counted(len(row.devices), row.role)} ({row.words})"
        block = _block(title, changes_by_device[example], room_chars - len(text))
        if block is not None:
            text += block
    changes = counted(sum(map(len, changes_by_device.values())), "change")
    devices = counted(len(changes_by_device), "device")
    return f"{text}\n{changes} on {devices} are too many for a comment: the plan file and `--json` hold them all.\n"


def _blocks(changes_by_device: Mapping[str, Sequence[Change]], room_chars: int) -> str | None:
    """Return the changes of every device, folded; None if they need more room."""
    text = ""
    for name, changes in changes_by_device.items():
        block = _block(name, changes, room_chars - len(text))
        if block is None:
            return None
        text += block
    return text


def _block(title: str, changes: Sequence[Change], room_chars: int) -> str | None:
    """Return the changes of one device, folded, highlighted as a diff; None if they need more room."""
    if len(changes) * _SHORTEST_LINE > room_chars:
        return None
    lines = []
    for change in changes:
        # A value of a switch must neither end the block of code nor begin a line of its own.
        line = printable(change_line(change)).replace("```", "'''").replace("\n", "⏎")
        if line.startswith("~"):
            # Highlighting as `diff` knows + and -, and ! for a changed line, but not ~.
            line = f"!{line[1:]}"
        lines.append(line)
    body = "\n".join(lines)
    text = _folded(f"{title}: {counted(len(changes), 'change')}", f"```diff\n{body}\n```\n")
    if len(text) > room_chars:
        return None
    return text
