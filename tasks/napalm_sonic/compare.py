"""The difference between running and candidate configuration as a person reads it; empty when there is none.

A block a row with the method by which it would be changed (``reload`` restarts the switch's services), fields that
go with ``-`` and fields that come with ``+``; FRR lines under their contexts. Secrets are hidden, and a changed secret
still shows as changed.
"""

from collections.abc import Iterable, Iterator, Mapping, Sequence

from napalm_sonic.codec import natural
from railweave.secrets import HIDDEN, is_secret, shown_key
from railweave.sonic.delta.change import Change, Delta, Op
from railweave.sonic.delta.delta import lines_of
from railweave.sonic.delta.methods import effect_is_unknown
from railweave.sonic.frr import FrrEntry
from railweave.sonic.rows import FRR_TABLE, Fields, Value


def difference(delta: Delta) -> str:
    """Return the text of a delta."""
    if not delta:
        return ""
    rows: dict[tuple[str, str], list[Change]] = {}
    for change in delta:
        if change.table != FRR_TABLE:
            rows.setdefault((change.table, change.key), []).append(change)
    lines = ["--- running", "+++ candidate"]
    for table, key in sorted(rows, key=lambda place: (place[0], natural(place[1]))):
        lines += _row(table, key, rows[table, key])
    return "\n".join([*lines, *_frr(*lines_of(delta))])


_WHOLE = {Op.ADD: "added", Op.REMOVE: "removed", Op.UPDATE: "changed"}


def _row(table: str, key: str, edits: Sequence[Change]) -> Iterator[str]:
    notes = [_WHOLE[edits[0].op]] if edits[0].field is None else []
    notes += dict.fromkeys(edit.method.value for edit in edits)
    if any(map(effect_is_unknown, edits)):
        notes.append("effect unknown until reload")
    yield f"@@ {table}|{shown_key(table, key)} @@ {', '.join(notes)}"
    before: dict[str, Value] = {}
    after: dict[str, Value] = {}
    for edit in edits:
        before |= _fields(edit.field, edit.before)
        after |= _fields(edit.field, edit.after)
    for name in sorted({*before, *after}, key=natural):
        if name in before:
            yield f"-  {name}: {_shown(table, name, before[name])}"
        if name in after:
            yield f"+  {name}: {_shown(table, name, after[name])}"


def _fields(field: str | None, value: Value | Fields | None) -> Mapping[str, Value]:
    """Return the fields that one side of an edit holds."""
    if value is None:
        return {}
    if isinstance(value, Mapping):
        return value
    return {field or "": value}


def _shown(table: str, name: str, value: Value) -> str:
    if is_secret(table, name):
        return HIDDEN
    return value if isinstance(value, str) else ", ".join(value)


def _frr(removed: Sequence[FrrEntry], added: Sequence[FrrEntry]) -> Iterator[str]:
    contexts = dict.fromkeys(entry.context for entry in (*removed, *added))
    for context in contexts:
        yield f"@@ frr {context} @@" if context else "@@ frr @@"
        yield from _lines("-", removed, context)
        yield from _lines("+", added, context)


def _lines(sign: str, entries: Iterable[FrrEntry], context: str) -> Iterator[str]:
    for entry in entries:
        if entry.context == context:
            yield f"{sign}  {entry.shown}"
