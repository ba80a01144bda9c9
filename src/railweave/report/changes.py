"""Changes and groups of them in words; the same for the terminal and for markdown."""

from collections.abc import Iterable, Mapping, Sequence

from railweave.plan.grouping import ChangeGroup, Provisioning
from railweave.sonic.delta.change import Change, Op
from railweave.sonic.delta.spans import spans_of
from railweave.sonic.delta.subject import SubjectKind
from railweave.sonic.rows import FRR_TABLE, Fields, Value
from railweave.wording import compact, counted

GLYPHS = {Op.ADD: "+", Op.UPDATE: "~", Op.REMOVE: "-"}
"""The three operations, as they are shown everywhere."""

FIRST = "first provisioning"
"""The name of all changes of devices that are provisioned for the first time."""

_FEW = 4
_LONGEST = 80
_LONGEST_VALUE = 72


def subject(group: ChangeGroup) -> str:
    """Return the subject of a group: table, rows and field; for FRR the context and the number of lines."""
    if group.table == FRR_TABLE:
        context = group.context or "top level"
        if group.uniform and len(group.keys) == 1:
            return f"frr {context}: {group.keys[0]}"
        return f"frr {context}: {counted(len(group.keys), 'line')}"
    rows = f"{group.table}|{_keys_text(group.keys)}"
    if group.field is None:
        return rows
    return f"{rows} {group.field}"


def _keys_text(keys: Sequence[str]) -> str:
    """Return the keys of rows in short, such as ``E0…24 and 9 more|3-4``.

    If there are many, the first ports are named, and then the queues that all ports have, neighboring queues as a
    range. Only the first key is named if ports differ in their queues.
    """
    if len(keys) <= _FEW:
        return compact(keys, _FEW)
    tails_by_head = _tails(keys)
    common_tails = _common_tails(list(tails_by_head.values()))
    if common_tails is None or len(common_tails) > _FEW:
        return f"{keys[0]} and {len(keys) - 1:,} more"
    # Of many ports only the first run of neighbors is named.
    named_runs = 1
    if len(tails_by_head) <= _FEW:
        named_runs = _FEW
    heads = compact(tails_by_head, named_runs)
    # Keys of one part, such as those of PORT, have an empty tail.
    if not any(common_tails):
        return heads
    return f"{heads}|{', '.join(common_tails)}"


def _tails(keys: Iterable[str]) -> dict[str, list[str]]:
    """Return the second parts of keys by their first part: queues by port for keys such as ``Ethernet0|3``."""
    tails: dict[str, list[str]] = {}
    for key in keys:
        head, _, tail = key.partition("|")
        tails.setdefault(head, []).append(tail)
    return tails


def _common_tails(tails_of_heads: Sequence[list[str]]) -> list[str] | None:
    """Return the second parts that follow every first part, neighboring numbers as a range; None if they differ."""
    first_tails = tails_of_heads[0]
    if any(tails != first_tails for tails in tails_of_heads):
        return None
    if all(tail.isdecimal() for tail in first_tails):
        return list(spans_of(map(int, first_tails)))
    return first_tails


def effect(group: ChangeGroup) -> str:
    """Return ``before → after`` if all changes of a group have the same values, else the first few changes."""
    if group.table == FRR_TABLE:
        return _frr_effect(group)
    if not group.uniform:
        return _first([sample_text(change) for change in group.samples], group.count)
    return _value_text_of(group.samples[0])


def _frr_effect(group: ChangeGroup) -> str:
    """Return the first few FRR lines of a group, with their values before and after if they are replaced."""
    is_one_line = group.uniform and len(group.keys) == 1
    if group.op is Op.UPDATE:
        if is_one_line:
            return _line_values(group.samples[0])
        return _first([f"{change.field} {_line_values(change)}" for change in group.samples], group.count)
    # A single line that is added or removed is already the subject of the group.
    if is_one_line:
        return ""
    lines = dict.fromkeys(change.field or "" for change in group.samples)
    return _first(list(lines), len(group.keys))


def _line_values(change: Change) -> str:
    """Return ``before → after`` of an FRR line, without the name of the setting if both lines begin with it."""
    setting = f"{change.field} "
    before = str(change.before)
    after = str(change.after)
    if before.startswith(setting) and after.startswith(setting):
        before = before.removeprefix(setting)
        after = after.removeprefix(setting)
    return f"{value_text(before)} → {value_text(after)}"


def provisioned(provisioning: Provisioning) -> str:
    """Return the numbers of rows and lines written on devices that are provisioned for the first time."""
    rows = f"{counted(provisioning.rows, 'row')} of {counted(provisioning.tables, 'table')}"
    if not provisioning.lines:
        return rows
    return f"{rows}, {counted(provisioning.lines, 'line')} of FRR"


def _first(samples: list[str], total: int) -> str:
    """Return as many samples as fit in a short text, at least one, and how many of ``total`` are not shown."""
    shown = samples[:1]
    for sample in samples[1:]:
        if len("; ".join([*shown, sample])) > _LONGEST:
            break
        shown.append(sample)
    text = "; ".join(shown)
    if total > len(shown):
        text += f"; … {total - len(shown):,} more"
    return text


def sample_text(change: Change) -> str:
    """Return one change of a group whose values differ."""
    return f"{change.key} {_value_text_of(change)}".rstrip()


def _value_text_of(change: Change) -> str:
    """Return the values of a change before and after it.

    SONiC's DEVICE_NEIGHBOR names the far port in ``port``, for people only: it is called a label here, so that nobody
    reads it as one of the device's own ports.
    """
    if change.subject.kind is not SubjectKind.LINK:
        return change_text(change)
    if change.field == "port":
        return f"label {change_text(change)}"
    return change_text(change).replace(" port=", " label=")


def change_text(change: Change, longest: int | None = _LONGEST_VALUE) -> str:
    """Return the values before and after a change whose secrets are marked, each cut to ``longest`` characters."""
    if change.op is Op.ADD:
        return value_text(change.after, longest)
    if change.op is Op.REMOVE:
        # Rows of SONiC may have no fields: an address of an interface is only a key.
        if not change.before:
            return ""
        return f"was {value_text(change.before, longest)}"
    return f"{value_text(change.before, longest)} → {value_text(change.after, longest)}"


def change_line(change: Change) -> str:
    """Return one change as a line: glyph, table, key, field, before and after uncut; secrets are marked."""
    shown = change.shown
    glyph = GLYPHS[shown.op]
    if shown.table == FRR_TABLE:
        line = f"{glyph} frr {shown.key or 'top level'}: {shown.field}"
        if shown.op is Op.UPDATE:
            line += f" {_line_values(shown)}"
        return line
    place = f"{shown.table}|{shown.key}"
    if shown.field is not None:
        place += f" {shown.field}"
    return f"{glyph} {place} {change_text(shown, None)}".rstrip()


def devices(group: ChangeGroup | Provisioning) -> str:
    """Return the names of the devices of a group, and their number if there are more than two."""
    names = compact(group.devices, _FEW)
    if len(group.devices) <= 2:
        return names
    return f"{names} ({len(group.devices)})"


def value_text(value: Value | Fields | None, longest: int | None = _LONGEST_VALUE) -> str:
    """Return a field's value, or a row as ``field=value field=value``; ``-`` for None.

    Text beyond ``longest`` characters is cut; None cuts nothing.
    """
    if value is None:
        return "-"
    if isinstance(value, Mapping):
        text = " ".join(f"{name}={_plain(field)}" for name, field in value.items())
    else:
        text = _plain(value)
    # A line break would end the row of a table, and the list item of a comment.
    text = text.replace("\n", "⏎")
    if longest is None or len(text) <= longest:
        return text
    return text[: longest - 1] + "…"


def _plain(value: Value) -> str:
    """Return a value of CONFIG_DB, where a list is a text with commas."""
    if isinstance(value, str):
        return value
    return ",".join(value)
