"""A plan for a person at a terminal: the sentence, the groups, the devices, what is kept."""

from collections.abc import Iterable

from rich import box
from rich.console import Group, RenderableType
from rich.table import Table
from rich.text import Text

from railweave.plan.grouping import ChangeGroup, group_changes
from railweave.plan.headline import headline
from railweave.plan.model import DeviceState, Plan
from railweave.report.groups import GLYPHS, change_line, devices, effect, subject
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
from railweave.report.plan_waves import wave_lines
from railweave.sonic.delta.change import Disruption, Op
from railweave.wording import compact, counted

_MOST_CABLES = 16

OP_STYLES = {Op.ADD: "green", Op.UPDATE: "yellow", Op.REMOVE: "red"}
DISRUPTION_STYLES = {
    Disruption.NONE: "dim",
    Disruption.SESSION: "yellow",
    Disruption.FLAP: "bold yellow",
    Disruption.RELOAD: "bold red",
}


def plan_view(plan: Plan, *, every_change: bool = False) -> RenderableType:
    """Return a plan for a person. Identical changes of many devices are shown once.

    With ``every_change`` all changes follow by device, one a line.
    """
    parts: list[RenderableType] = [Text(headline(plan), style="bold"), Text()]
    if plan.deltas:
        parts += [_groups(group_changes(plan)), Text(), _disruption(plan), Text(), *_waves(plan), Text()]
    if every_change:
        parts += _by_device(plan)
    parts += _remarks(plan)
    parts.append(_totals(plan))
    return Group(*parts)


def _table(*columns: str) -> Table:
    table = Table(box=box.SIMPLE_HEAD, padding=(0, 1), pad_edge=False, show_edge=False)
    for column in columns:
        table.add_column(column, overflow="fold")
    return table


def _groups(groups: Iterable[ChangeGroup]) -> Table:
    table = _table("", "what", "change", "devices", "disruption", "method")
    for group in groups:
        style = OP_STYLES[group.op]
        table.add_row(
            Text(GLYPHS[group.op], style=style),
            Text(subject(group), style=style),
            Text(effect(group)),
            Text(devices(group)),
            Text(group.disruption.value, style=DISRUPTION_STYLES[group.disruption]),
            Text(group.method.value),
        )
    return table


def _by_device(plan: Plan) -> Iterable[Text]:
    for name, delta in plan.deltas.items():
        yield Text(f"{name}: {counted(len(delta), 'change')}", style="bold")
        for change in delta:
            yield Text(f"  {change_line(change)}", style=OP_STYLES[change.op])
        yield Text()


def _disruption(plan: Plan) -> Table:
    table = _table("role", "devices", "changes", "worst-case impact", "methods")
    for row in disruption_by_role(plan):
        table.add_row(
            row.role,
            f"{compact(row.devices)} ({len(row.devices)})",
            f"{row.changes:,}",
            Text(row.words, style=DISRUPTION_STYLES[row.disruption]),
            ", ".join(row.methods),
        )
    return table


def _waves(plan: Plan) -> Iterable[Text]:
    yield Text(f"order: {counted(len(plan.waves), 'wave')}, each device confirmed or rolled back before the next wave")
    for line in wave_lines(plan):
        yield Text(f"  {line}")
    if plan.disruptive:
        yield Text(f"  {plan.policy}", style="dim")


def _remarks(plan: Plan) -> Iterable[Text]:
    """Yield what is no change and still matters, with an empty line after it."""
    remarks = [
        *(Text(line, style="bold yellow") for line in cable_lines(plan, _MOST_CABLES)),
        *(Text(line, style="bold red") for line in unmet_lines(plan)),
        *(Text(f"warning: {line}", style="bold yellow") for line in (*marking_lines(plan), *mtu_lines(plan))),
        *(Text(line, style="bold red") for line in live_port_lines(plan)),
        *(
            Text(f"unreachable: {name}: {plan.devices[name].error}", style="bold red")
            for name in plan.names(DeviceState.UNREACHABLE)
        ),
        *(
            Text(f"conflict: {name}: {one.table}|{one.key}: {one.reason}", style="bold red")
            for name, device in plan.devices.items()
            for one in device.conflicts
        ),
        *(
            Text(f"waiting: a commit on {name} is not confirmed; it may revert by itself", style="bold yellow")
            for name, device in plan.devices.items()
            if device.pending
        ),
    ]
    remarks += (Text(line, style="yellow") for line in hand_drained_lines(plan))
    if plan.gone:
        remarks.append(Text(f"no longer in the intent, left untouched: {compact(plan.gone)}", style="yellow"))
    rows = kept(plan)
    if rows:
        listed = ", ".join(f"{table} {count}" for table, count in rows.items())
        remarks.append(Text(f"unmanaged, left untouched: {listed}", style="dim"))
    yield from remarks
    if remarks:
        yield Text()


def _totals(plan: Plan) -> Text:
    total = plan.summary
    states = [
        f"{len(plan.names(state))} {state.value}" for state in DeviceState if plan.names(state) or not plan.devices
    ]
    return Text.assemble(
        (f"+ {total.add:,}", "green"),
        "  ",
        (f"~ {total.update:,}", "yellow"),
        "  ",
        (f"- {total.remove:,}", "red"),
        f"   devices: {', '.join(states)}",
    )
