"""Rows and fields that stay in force after their removal, because SONiC's daemons ignore it.

``keeps`` of the treatment rules (``methods``) names them. For a row that must not even be deleted (``neutral``) there
is not a step; plans and rollbacks that would remove it list it separately.
"""

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from railweave.secrets import shown_key
from railweave.sonic.delta.change import Edit, Op
from railweave.sonic.delta.edits import removal_edits
from railweave.sonic.delta.merge import MergeDocument, RowMerge, parse_merge
from railweave.sonic.delta.rules import find_rule
from railweave.sonic.neutral import WITHOUT_ROW, goes_on
from railweave.sonic.rows import FRR_TABLE, ConfigDb, Fields, Value


@dataclass(frozen=True, slots=True)
class Kept:
    """A row or field (``place``) that stays in force; ``why`` says what that means and until when."""

    place: str
    why: str


def keeps(edit: Edit) -> str:
    """Return in words what stays in force after a removal, and until when; empty if daemons follow the removal."""
    if edit.op is not Op.REMOVE or edit.table == FRR_TABLE:
        return ""
    rule = find_rule(edit)
    if rule is None:
        return ""
    return rule.keeps


def keeps_what_came(edit: Edit) -> str:
    """Return in words what stays in force when ``edit``, which adds a row or field, is reverted; empty if nothing."""
    if edit.op is not Op.ADD or edit.table == FRR_TABLE:
        return ""
    revert = Edit(op=Op.REMOVE, table=edit.table, key=edit.key, field=edit.field, before=edit.after, after=None)
    # A row that must not be deleted may have no step of its own; then the removal itself tells what stays.
    reverting_edits = tuple(removal_edits(revert)) or (revert,)
    for reverting_edit in reverting_edits:
        kept = keeps(reverting_edit)
        if kept:
            return kept
    return ""


def unstated_rows(running: ConfigDb, intended: ConfigDb) -> tuple[Kept, ...]:
    """Return the running rows that stay in force although the intent does not state them.

    These are rows that must not be deleted while the switch runs.
    """
    unstated: list[Kept] = []
    for table, key in WITHOUT_ROW:
        fields = running.get(table, {}).get(key)
        if fields is None or key in intended.get(table, {}):
            continue
        if goes_on(table, key, fields):
            unstated.append(_kept(table, key, None, fields))
    return tuple(unstated)


def unrestored_rows(document: MergeDocument, running: ConfigDb) -> tuple[Kept, ...]:
    """Return what stays in force of the rows and fields that a document removes.

    Only rows that must not be deleted while the switch runs are considered.
    """
    tables = parse_merge(document).tables
    kept: list[Kept] = []
    for table, key in WITHOUT_ROW:
        present = running.get(table, {}).get(key)
        if present is not None and key in tables.get(table, {}):
            kept += _unrestored(table, key, present, tables[table][key])
    return tuple(kept)


def _unrestored(table: str, key: str, present: Fields, restored: RowMerge) -> Iterator[Kept]:
    """Yield what stays in force of a row that ``restored`` removes, or removes fields of."""
    if restored is None:
        if goes_on(table, key, present):
            yield _kept(table, key, None, present)
        return
    for name, value in restored.items():
        is_removed = value is None and name in present
        if is_removed and goes_on(table, key, {name: present[name]}):
            yield _kept(table, key, name, present[name])


def with_removals(document: dict[str, Any], delta: Iterable[Edit]) -> dict[str, Any]:
    """Return ``document``, which reverts ``delta``, with the removals for which there is no step.

    The result restores the same configuration, because removals that daemons ignore are left out when it is applied. A
    rollback that is planned from it can report what stays.
    """
    # FRR's text is the only part that is not a mapping of rows.
    completed = {table: dict(rows) if isinstance(rows, Mapping) else rows for table, rows in document.items()}
    for edit in delta:
        adds_permanent_row = edit.op is Op.ADD and (edit.table, edit.key) in WITHOUT_ROW
        if not adds_permanent_row:
            continue
        rows = completed.setdefault(edit.table, {})
        if edit.field is not None:
            rows[edit.key] = {edit.field: None, **(rows.get(edit.key) or {})}
        elif edit.key not in rows:
            rows[edit.key] = None
    return completed


def _kept(table: str, key: str, field: str | None, before: Value | Fields) -> Kept:
    """Return a row or field, which has the value ``before``, as one that stays after its removal."""
    place = f"{table}|{shown_key(table, key)} {field or ''}".rstrip()
    return Kept(place, keeps(Edit(op=Op.REMOVE, table=table, key=key, field=field, before=before, after=None)))
