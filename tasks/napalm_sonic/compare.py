"""The text of ``compare_config``: the difference between running and candidate configuration.

Each row is a block with the method of its change (``reload`` restarts the switch's services), ``-`` before removed and
``+`` before added values; FRR lines follow under their contexts. Secrets are hidden, but a changed secret has both
lines.
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
    """Return the text of a delta, rows sorted by table and key; empty if there are no changes."""
    if not delta:
        return ""
    lines = ["--- running", "+++ candidate"]
    rows = _edits_by_row(delta)
    for table, key in sorted(rows, key=lambda row: (row[0], natural(row[1]))):
        lines += _row_lines(table, key, rows[table, key])
    return "\n".join([*lines, *_frr_lines(*lines_of(delta))])


def _edits_by_row(delta: Delta) -> dict[tuple[str, str], list[Change]]:
    """Return the edits of CONFIG_DB by table and key, without FRR lines, which are shown by their contexts."""
    rows: dict[tuple[str, str], list[Change]] = {}
    for edit in delta:
        if edit.table != FRR_TABLE:
            rows.setdefault((edit.table, edit.key), []).append(edit)
    return rows


_WHOLE_ROW = {Op.ADD: "added", Op.REMOVE: "removed", Op.UPDATE: "changed"}


def _row_lines(table: str, key: str, edits: Sequence[Change]) -> Iterator[str]:
    """Yield the block of a row: a heading, then its fields before and after the edits."""
    yield f"@@ {table}|{shown_key(table, key)} @@ {', '.join(_notes(edits))}"
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


def _notes(edits: Sequence[Change]) -> list[str]:
    """Return the notes in a row's heading.

    They say whether the whole row is added, removed or changed, and name the methods of its edits.
    """
    notes: list[str] = []
    # An edit without a field is one of the whole row.
    if edits[0].field is None:
        notes.append(_WHOLE_ROW[edits[0].op])
    notes += dict.fromkeys(edit.method.value for edit in edits)
    if any(map(effect_is_unknown, edits)):
        # No rule says what SONiC's daemons do with such a change at run time.
        notes.append("effect unknown until reload")
    return notes


def _fields(field: str | None, value: Value | Fields | None) -> Mapping[str, Value]:
    """Return the fields in the value before or after an edit: all of a row, or the edited one.

    ``field`` is None for an edit of a whole row; ``value`` is None if the row or field does not exist.
    """
    if value is None:
        return {}
    if isinstance(value, Mapping):
        return value
    return {field or "": value}


def _shown(table: str, name: str, value: Value) -> str:
    """Return the value of a field for people, hidden if it is a secret."""
    if is_secret(table, name):
        return HIDDEN
    if isinstance(value, str):
        return value
    return ", ".join(value)


def _frr_lines(removed: Sequence[FrrEntry], added: Sequence[FrrEntry]) -> Iterator[str]:
    """Yield a block for each context of FRR with removed or added lines."""
    contexts = dict.fromkeys(entry.context for entry in (*removed, *added))
    for context in contexts:
        heading = "frr"
        if context:
            heading = f"frr {context}"
        yield f"@@ {heading} @@"
        yield from _lines_in_context("-", removed, context)
        yield from _lines_in_context("+", added, context)


def _lines_in_context(sign: str, entries: Iterable[FrrEntry], context: str) -> Iterator[str]:
    """Yield a line with this sign for each entry of the context."""
    for entry in entries:
        if entry.context == context:
            yield f"{sign}  {entry.shown}"
