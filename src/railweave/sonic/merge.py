"""The merge document: only what changes, in the shape of the running document.

    {TABLE: {KEY: {FIELD: text | list | null} | null}, "bgpraw": "lines for vtysh, `no ...` removes"}

null removes a field or a row (the rows of ``permanent`` stay). What the document does not name stays as it is, so rows
that somebody else writes meanwhile survive. ``inverse`` gives the document that puts exactly the named rows and lines
back.
"""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from typing import Any

from railweave.names import natural_key
from railweave.sonic.change import FRR_TABLE, Change, Op
from railweave.sonic.document import (
    BGPRAW,
    DocumentError,
    RunningConfig,
    parse_fields,
    parse_value,
)
from railweave.sonic.edits import Edit, frr_edits, row_edits
from railweave.sonic.frr import FrrEntry, apply_delta, delta_text, frr_delta, frr_difference, parse_frr, render_frr
from railweave.sonic.permanent import instead_of_removal
from railweave.sonic.rows import Fields, Value

MergeDocument = Mapping[str, Any]
"""The JSON form described above."""

RowMerge = Mapping[str, Value | None] | None
"""What a merge says of one row: None removes it, a field of None removes that field."""


@dataclass(frozen=True, slots=True)
class Merge:
    """A merge document after its shape has been checked."""

    tables: Mapping[str, Mapping[str, RowMerge]] = field(repr=False)
    frr: str = field(repr=False)


def parse_merge(document: MergeDocument) -> Merge:
    """Return the checked form of a merge document; raises DocumentError naming the place of a wrong value.

    A table of null is refused: it would remove rows that the document does not name.
    """
    tables: dict[str, dict[str, RowMerge]] = {}
    for table, rows in document.items():
        if table == BGPRAW:
            continue
        if not isinstance(rows, Mapping):
            raise DocumentError(f"{table}: a merge names rows; a whole table is removed row by row")
        tables[table] = {key: _row(fields, f"{table}|{key}") for key, fields in rows.items()}
    frr = document.get(BGPRAW) or ""
    if not isinstance(frr, str):
        raise DocumentError(f"{BGPRAW}: not text")
    return Merge(tables, frr)


def _row(fields: object, where: str) -> RowMerge:
    if fields is None:
        return None
    if not isinstance(fields, Mapping):
        raise DocumentError(f"{where}: not a row of fields")
    gone: dict[str, Value | None] = {name: None for name, value in fields.items() if value is None}
    kept = {name: parse_value(value, f"{where}|{name}") for name, value in fields.items() if value is not None}
    return {**parse_fields(kept, where), **gone}


def merge_document(changes: Iterable[Change], frr: str | None = None) -> dict[str, Any]:
    """Return the merge document of planned changes.

    ``frr`` is the FRR text of the comparison (``DeviceDiff.frr_delta``); without it the text is made from the changes
    of FRR lines, which is the same except for hidden passwords: these raise DocumentError.
    """
    tables: dict[str, dict[str, dict[str, Any] | None]] = {}
    removed: list[FrrEntry] = []
    added: list[FrrEntry] = []
    for change in changes:
        if change.table == FRR_TABLE:
            entry = FrrEntry(change.key, change.field or "")
            (removed if change.op is Op.REMOVE else added).append(entry)
            continue
        _put(tables.setdefault(change.table, {}), change)
    document: dict[str, Any] = {
        table: dict(sorted(rows.items(), key=lambda item: natural_key(item[0])))
        for table, rows in sorted(tables.items())
    }
    text = delta_text(removed, added) if frr is None else frr
    if text:
        document[BGPRAW] = text
    return document


def _put(rows: dict[str, dict[str, Any] | None], change: Change) -> None:
    if change.field is None:
        rows[change.key] = None if change.op is Op.REMOVE else _json_row(change.after)
        return
    fields = rows.setdefault(change.key, {})
    if fields is None:
        raise DocumentError(f"{change.table}|{change.key}: one change removes the row and another its fields")
    fields[change.field] = None if change.op is Op.REMOVE else _json_value(change.after)


def _json_row(after: Value | Fields | None) -> dict[str, Any]:
    if not isinstance(after, Mapping):
        raise DocumentError("a change that adds a row holds no fields")
    return {name: _json_value(value) for name, value in after.items()}


def _json_value(value: Value | Fields | None) -> str | list[str]:
    if isinstance(value, str):
        return value
    if isinstance(value, tuple):
        return list(value)
    raise DocumentError(f"{value!r} is not the value of a field")


def apply(document: MergeDocument, running: RunningConfig) -> RunningConfig:
    """Return what runs after the merge. FRR's text comes back in this module's own order.

    Raises DocumentError where the merge changes FRR and FRR's running configuration is unknown.
    """
    merge = parse_merge(document)
    tables = {table: dict(rows) for table, rows in running.config_db.items()}
    for table, rows in merge.tables.items():
        merged = tables.setdefault(table, {})
        for key, fields in rows.items():
            after = _apply_row(table, key, fields, merged.get(key))
            if after is None:
                merged.pop(key, None)
            else:
                merged[key] = after
    return RunningConfig({table: rows for table, rows in tables.items() if rows}, _apply_frr(merge.frr, running.frr))


def _apply_row(table: str, key: str, fields: RowMerge, before: Fields | None) -> Fields | None:
    """Return the row after the merge; removing fields of a row that is not there makes no row."""
    if fields is None and before is not None:
        fields = instead_of_removal(table, key, before)
    if fields is None:
        return None
    kept = {name: value for name, value in fields.items() if value is not None}
    if before is None and fields and not kept:
        return None
    return {**{name: value for name, value in (before or {}).items() if name not in fields}, **kept}


def _apply_frr(delta: str, running: str | None) -> str | None:
    if not delta.strip():
        return running
    if running is None:
        raise DocumentError("FRR's running configuration is unknown, so a change of it cannot be judged")
    return render_frr(apply_delta(delta, parse_frr(running)))


def inverse(document: MergeDocument, running: RunningConfig) -> dict[str, Any]:
    """Return the merge document that, applied after ``document``, restores the named rows, fields and FRR lines.

    ``running`` is the configuration before ``document``. Fields and rows that ``document`` does not name are not named
    by the inverse either.
    """
    merge = parse_merge(document)
    undo: dict[str, Any] = {}
    for table, rows in merge.tables.items():
        before = running.config_db.get(table, {})
        undo[table] = {key: _undo_row(fields, before.get(key)) for key, fields in rows.items()}
    if merge.frr.strip():
        if running.frr is None:
            raise DocumentError("FRR's running configuration is unknown, so it could not be restored")
        before_frr = parse_frr(running.frr)
        text = frr_delta(apply_delta(merge.frr, before_frr), before_frr)
        if text:
            undo[BGPRAW] = text
    return undo


def _undo_row(fields: RowMerge, before: Fields | None) -> dict[str, Any] | None:
    if before is None:
        return None
    if fields is None:
        return {name: _json_value(value) for name, value in before.items()}
    return {name: None if name not in before else _json_value(before[name]) for name in fields}


def edits(document: MergeDocument, running: RunningConfig) -> tuple[Edit, ...]:
    """Return what the merge really changes on ``running``; what is there already is left out."""
    merge = parse_merge(document)
    found: list[Edit] = []
    for table, rows in merge.tables.items():
        before = running.config_db.get(table, {})
        for key, fields in rows.items():
            found.extend(row_edits(table, key, before.get(key), fields))
    if merge.frr.strip():
        if running.frr is None:
            raise DocumentError("FRR's running configuration is unknown, so a change of it cannot be judged")
        before_frr = parse_frr(running.frr)
        found.extend(frr_edits(*frr_difference(before_frr, apply_delta(merge.frr, before_frr))))
    return tuple(found)
