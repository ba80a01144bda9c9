"""Changes and groups of them in words; the same for the terminal and for markdown."""

from collections.abc import Mapping

from railweave.plan.grouping import ChangeGroup
from railweave.sonic.delta.change import Change, Op
from railweave.sonic.rows import FRR_TABLE, Fields, Value
from railweave.wording import compact, counted

GLYPHS = {Op.ADD: "+", Op.UPDATE: "~", Op.REMOVE: "-"}
"""The three things that can happen, as they are shown everywhere."""

_FEW = 4
_LONGEST = 80
_LONGEST_VALUE = 72


def subject(group: ChangeGroup) -> str:
    """Return what the group is about: table, rows and field; for FRR the context and how many lines."""
    if not group.samples:
        return f"{group.table}: {counted(len(group.keys), 'line' if group.table == FRR_TABLE else 'row')}"
    if group.table == FRR_TABLE:
        context = group.context or "top level"
        if group.uniform and len(group.keys) == 1:
            return f"frr {context}: {group.keys[0]}"
        return f"frr {context}: {counted(len(group.keys), 'line')}"
    field = f" {group.field}" if group.field is not None else ""
    if group.uniform and len(group.keys) <= _FEW:
        return f"{group.table}|{compact(group.keys, _FEW)}{field}"
    return f"{group.table}: {counted(len(group.keys), 'row')}{field}"


def effect(group: ChangeGroup) -> str:
    """Return what becomes of it: ``before → after`` where that is the same everywhere, else the first few."""
    if not group.samples:
        return f"{counted(group.count, 'change')}, first provisioning"
    if group.table == FRR_TABLE:
        lines = dict.fromkeys(one.field or "" for one in group.samples)
        return "" if group.uniform and len(group.keys) == 1 else _first(list(lines), len(group.keys))
    if not group.uniform:
        return _first([sample_text(one) for one in group.samples], group.count)
    return change_text(group.samples[0])


def _first(samples: list[str], total: int) -> str:
    """Return as many samples as fit in a short text, one at least, and how many more there are."""
    shown = samples[:1]
    for sample in samples[1:]:
        if len("; ".join([*shown, sample])) > _LONGEST:
            break
        shown.append(sample)
    more = f"; … {total - len(shown):,} more" if total > len(shown) else ""
    return "; ".join(shown) + more


def sample_text(change: Change) -> str:
    """Return one change of a group whose values differ."""
    return f"{change.key} {change_text(change)}".rstrip()


def change_text(change: Change) -> str:
    """Return before and after of one change whose secrets are marked."""
    if change.op is Op.ADD:
        return value_text(change.after)
    if change.op is Op.REMOVE:
        return f"was {value_text(change.before)}" if change.before else ""
    return f"{value_text(change.before)} → {value_text(change.after)}"


def change_line(change: Change) -> str:
    """Return one change as a line: glyph, table, key, field and what becomes of it; secrets marked."""
    shown = change.shown
    if shown.table == FRR_TABLE:
        return f"{GLYPHS[shown.op]} frr {shown.key or 'top level'}: {shown.field}"
    field = f" {shown.field}" if shown.field is not None else ""
    return f"{GLYPHS[shown.op]} {shown.table}|{shown.key}{field} {change_text(shown)}".rstrip()


def devices(group: ChangeGroup) -> str:
    """Return the devices of a group, each counted where every one has its own changes."""
    names = compact(group.devices, _FEW)
    return names if len(group.devices) <= 2 else f"{names} ({len(group.devices)})"


def value_text(value: Value | Fields | None, longest: int = _LONGEST_VALUE) -> str:
    """Return a field's value, or a row as ``field=value field=value``; ``-`` where there is none."""
    if value is None:
        return "-"
    if isinstance(value, Mapping):
        text = " ".join(f"{name}={_plain(held)}" for name, held in value.items())
    else:
        text = _plain(value)
    text = text.replace("\n", "⏎")
    return text if len(text) <= longest else text[: longest - 1] + "…"


def _plain(value: Value) -> str:
    return value if isinstance(value, str) else ",".join(value)
