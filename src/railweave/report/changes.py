"""Changes and groups of them in words; the same for the terminal and for markdown."""

from collections.abc import Mapping, Sequence

from railweave.plan.grouping import ChangeGroup, Provisioning
from railweave.sonic.delta.change import Change, Op
from railweave.sonic.delta.spans import spans_of
from railweave.sonic.delta.subject import SubjectKind
from railweave.sonic.rows import FRR_TABLE, Fields, Value
from railweave.wording import compact, counted

GLYPHS = {Op.ADD: "+", Op.UPDATE: "~", Op.REMOVE: "-"}
"""The three things that can happen, as they are shown everywhere."""

FIRST = "first provisioning"
"""How the changes of devices are called that are provisioned for the first time."""

_FEW = 4
_LONGEST = 80
_LONGEST_VALUE = 72


def subject(group: ChangeGroup) -> str:
    """Return what the group is about: table, rows and field; for FRR the context and how many lines."""
    if group.table == FRR_TABLE:
        context = group.context or "top level"
        if group.uniform and len(group.keys) == 1:
            return f"frr {context}: {group.keys[0]}"
        return f"frr {context}: {counted(len(group.keys), 'line')}"
    field = f" {group.field}" if group.field is not None else ""
    return f"{group.table}|{_rows(group.keys)}{field}"


def _rows(keys: Sequence[str]) -> str:
    """Return the keys of rows; of many ports the first ones, and of each what follows it, neighboring groups and queues
    joined: ``E0…24 and 9 more|3-4``."""
    if len(keys) <= _FEW:
        return compact(keys, _FEW)
    tails: dict[str, list[str]] = {}
    for key in keys:
        head, _, tail = key.partition("|")
        tails.setdefault(head, []).append(tail)
    common = next(iter(tails.values()))
    same = all(one == common for one in tails.values())
    if all(tail.isdecimal() for tail in common):
        common = list(spans_of(map(int, common)))
    if len(common) > _FEW or not same:
        return f"{keys[0]} and {len(keys) - 1:,} more"
    heads = compact(tails, _FEW if len(tails) <= _FEW else 1)
    return f"{heads}|{', '.join(common)}" if any(common) else heads


def effect(group: ChangeGroup) -> str:
    """Return what becomes of it: ``before → after`` where that is the same everywhere, else the first few."""
    if group.table == FRR_TABLE:
        lines = dict.fromkeys(one.field or "" for one in group.samples)
        return "" if group.uniform and len(group.keys) == 1 else _first(list(lines), len(group.keys))
    if not group.uniform:
        return _first([sample_text(one) for one in group.samples], group.count)
    return _value_text_of(group.samples[0])


def provisioned(found: Provisioning) -> str:
    """Return how much the devices get that are provisioned for the first time."""
    lines = f", {counted(found.lines, 'line')} of FRR" if found.lines else ""
    return f"{counted(found.rows, 'row')} of {counted(found.tables, 'table')}{lines}"


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
    return f"{change.key} {_value_text_of(change)}".rstrip()


def _value_text_of(change: Change) -> str:
    """Return before and after; the port of a neighbor is a label beside the names of ports, and is called one."""
    if change.subject.kind is not SubjectKind.LINK:
        return change_text(change)
    if change.field == "port":
        return f"label {change_text(change)}"
    return change_text(change).replace(" port=", " label=")


def change_text(change: Change, longest: int | None = _LONGEST_VALUE) -> str:
    """Return before and after of one change whose secrets are marked; values beyond ``longest`` characters are cut."""
    if change.op is Op.ADD:
        return value_text(change.after, longest)
    if change.op is Op.REMOVE:
        return f"was {value_text(change.before, longest)}" if change.before else ""
    return f"{value_text(change.before, longest)} → {value_text(change.after, longest)}"


def change_line(change: Change) -> str:
    """Return one change as a line: glyph, table, key, field and what becomes of it, whole; secrets marked."""
    shown = change.shown
    if shown.table == FRR_TABLE:
        return f"{GLYPHS[shown.op]} frr {shown.key or 'top level'}: {shown.field}"
    field = f" {shown.field}" if shown.field is not None else ""
    return f"{GLYPHS[shown.op]} {shown.table}|{shown.key}{field} {change_text(shown, None)}".rstrip()


def devices(group: ChangeGroup | Provisioning) -> str:
    """Return the devices of a group, each counted where every one has its own changes."""
    names = compact(group.devices, _FEW)
    return names if len(group.devices) <= 2 else f"{names} ({len(group.devices)})"


def value_text(value: Value | Fields | None, longest: int | None = _LONGEST_VALUE) -> str:
    """Return a field's value, or a row as ``field=value field=value``; ``-`` where there is none. Text beyond
    ``longest`` characters is cut, with None nothing is."""
    if value is None:
        return "-"
    if isinstance(value, Mapping):
        text = " ".join(f"{name}={_plain(held)}" for name, held in value.items())
    else:
        text = _plain(value)
    text = text.replace("\n", "⏎")
    return text if longest is None or len(text) <= longest else text[: longest - 1] + "…"


def _plain(value: Value) -> str:
    return value if isinstance(value, str) else ",".join(value)
