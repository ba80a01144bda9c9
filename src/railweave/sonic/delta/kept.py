"""What stays in force although it is to go: SONiC's daemons ignore the removal of some rows and fields.

The rules say of which (``methods.Rule.keeps``). A row that must not even be deleted (``neutral``) has no step at all,
so a plan and a rollback that would remove it hold nothing of it, and name it apart.
"""

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from railweave.secrets import shown_key
from railweave.sonic.delta.change import Edit, Op
from railweave.sonic.delta.edits import removal_edits
from railweave.sonic.delta.merge import MergeDocument, parse_merge
from railweave.sonic.delta.methods import find_rule
from railweave.sonic.neutral import WITHOUT_ROW, goes_on
from railweave.sonic.rows import FRR_TABLE, ConfigDb, Fields


@dataclass(frozen=True, slots=True)
class Kept:
    """A row or field (``place``) that stays in force, and what that means until when (``why``)."""

    place: str
    why: str


def keeps(edit: Edit) -> str:
    """Return what stays in force after a removal and until when; empty where daemons follow it."""
    if edit.op is not Op.REMOVE or edit.table == FRR_TABLE:
        return ""
    rule = find_rule(edit)
    return "" if rule is None else rule.keeps


def keeps_what_came(edit: Edit) -> str:
    """Return what stays in force where a row or field that ``edit`` adds is taken back; empty where nothing does."""
    if edit.op is not Op.ADD or edit.table == FRR_TABLE:
        return ""
    back = Edit(Op.REMOVE, edit.table, edit.key, edit.field, edit.after, None)
    steps = tuple(removal_edits(back))
    return keeps(back) if not steps else next(filter(None, map(keeps, steps)), "")


def unstated_rows(running: ConfigDb, intended: ConfigDb) -> tuple[Kept, ...]:
    """Return the rows that run, that the intent does not state, and that must not be deleted while the switch runs."""
    return tuple(
        _kept(table, key, None, fields)
        for table, key in WITHOUT_ROW
        if (fields := running.get(table, {}).get(key)) is not None
        and key not in intended.get(table, {})
        and goes_on(table, key, fields)
    )


def unrestored_rows(document: MergeDocument, running: ConfigDb) -> tuple[Kept, ...]:
    """Return what a document would remove of rows that must not be deleted while the switch runs."""
    return tuple(_unrestored(parse_merge(document).tables, running))


def _unrestored(rows: Mapping[str, Mapping[str, Any]], running: ConfigDb) -> Iterator[Kept]:
    for table, key in WITHOUT_ROW:
        present = running.get(table, {}).get(key)
        if present is None or key not in rows.get(table, {}):
            continue
        restored = rows[table][key]
        if restored is None:
            if goes_on(table, key, present):
                yield _kept(table, key, None, present)
            continue
        for name, value in restored.items():
            if value is None and name in present and goes_on(table, key, {name: present[name]}):
                yield _kept(table, key, name, {name: present[name]})


def with_removals(document: dict[str, Any], delta: Iterable[Edit]) -> dict[str, Any]:
    """Return the document that takes ``delta`` back, with the rows and fields of which there is no step.

    It restores the same: a removal that daemons ignore is left out where the document is applied. So whoever plans a
    rollback by it can name what stays.
    """
    found = {table: dict(rows) if isinstance(rows, Mapping) else rows for table, rows in document.items()}
    for edit in delta:
        if edit.op is not Op.ADD or (edit.table, edit.key) not in WITHOUT_ROW:
            continue
        rows = found.setdefault(edit.table, {})
        if edit.key in rows and edit.field is None:
            continue
        if edit.field is None:
            rows[edit.key] = None
        else:
            rows[edit.key] = {edit.field: None, **(rows.get(edit.key) or {})}
    return found


def _kept(table: str, key: str, field: str | None, fields: Fields) -> Kept:
    before = fields if field is None else fields[field]
    place = f"{table}|{shown_key(table, key)} {field or ''}".rstrip()
    return Kept(place, keeps(Edit(Op.REMOVE, table, key, field, before, None)))
