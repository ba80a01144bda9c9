"""The merge document: only what changes, in the shape of the running document.

    {TABLE: {KEY: {FIELD: text | list | null} | null}, "bgpraw": "lines for vtysh, `no ...` removes"}

null removes a field or a row (the rows of ``neutral.WITHOUT_ROW`` stay). What the document does not name stays as it
is, so rows that somebody else writes meanwhile survive. It is the written form of a delta for NAPALM: ``delta_of``
reads one, ``merge_document`` writes one.
"""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from railweave.sonic.delta.change import Change, Delta, Edit, Op
from railweave.sonic.delta.delta import applied, judged, lines_of
from railweave.sonic.delta.edits import frr_edits, row_edits
from railweave.sonic.document import (
    BGPRAW,
    DocumentError,
    RunningConfig,
    parse_fields,
    parse_value,
)
from railweave.sonic.frr import FrrDocument, apply_delta, delta_text, frr_difference
from railweave.sonic.rows import FRR_TABLE, Fields, Value
from railweave.wording import natural_key

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
    """Return the checked form of a merge document.

    Raises DocumentError, with the place, for a wrong value. A table of null is wrong too: it would remove rows that the
    document does not name.
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
    """Return what a merge says of one row; raises DocumentError, with the place ``where``, for a wrong value."""
    if fields is None:
        return None
    if not isinstance(fields, Mapping):
        raise DocumentError(f"{where}: not a row of fields")
    removed: dict[str, Value | None] = {name: None for name, value in fields.items() if value is None}
    kept = {name: parse_value(value, f"{where}|{name}") for name, value in fields.items() if value is not None}
    return {**parse_fields(kept, where), **removed}


def merge_document(delta: Delta) -> dict[str, Any]:
    """Return the merge document of a delta.

    Raises ValueError if a line of FRR has a hidden secret, and DocumentError if changes of one row contradict.
    """
    tables: dict[str, dict[str, dict[str, Any] | None]] = {}
    for change in delta:
        if change.table != FRR_TABLE:
            _add_change(tables.setdefault(change.table, {}), change)
    document: dict[str, Any] = {}
    for table, rows in sorted(tables.items()):
        document[table] = {key: rows[key] for key in sorted(rows, key=natural_key)}
    text = delta_text(*lines_of(delta))
    if text:
        document[BGPRAW] = text
    return document


def _add_change(rows: dict[str, dict[str, Any] | None], change: Change) -> None:
    """Add a change to the rows of its table in a merge document."""
    removes = change.op is Op.REMOVE
    if change.field is None:
        rows[change.key] = None if removes else _json_row(change.after)
        return
    fields = rows.setdefault(change.key, {})
    if fields is None:
        raise DocumentError(f"{change.table}|{change.key}: one change removes the row and another its fields")
    fields[change.field] = None if removes else _json_value(change.after)


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
    """Return the configuration after the merge, with FRR's text in the order of ``frr.render_frr``.

    Raises DocumentError if the merge changes FRR and FRR's running configuration is unknown.
    """
    return applied(edits(document, running), running)


def _apply_frr(delta: str, running: RunningConfig) -> FrrDocument:
    return apply_delta(delta, running.known_frr("a change of it cannot be judged"))


def delta_of(document: MergeDocument, running: RunningConfig) -> Delta:
    """Return the changes that the merge makes on ``running``; what is there already is no change.

    Raises DocumentError if the merge changes FRR and FRR's running configuration is unknown.
    """
    return judged(edits(document, running), running.config_db)


def edits(document: MergeDocument, running: RunningConfig) -> tuple[Edit, ...]:
    """Return the edits that the merge makes on ``running``; raises as ``delta_of`` does."""
    merge = parse_merge(document)
    merged: list[Edit] = []
    for table, rows in merge.tables.items():
        before = running.config_db.get(table, {})
        for key, fields in rows.items():
            merged.extend(row_edits(table, key, before.get(key), fields))
    if merge.frr.strip():
        frr_after = _apply_frr(merge.frr, running)
        removed, added = frr_difference(running.known_frr("it cannot be compared"), frr_after)
        merged.extend(frr_edits(removed, added))
    return tuple(merged)
