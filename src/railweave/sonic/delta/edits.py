"""The edits between two rows, and between two sets of FRR lines."""

from collections.abc import Iterable, Iterator, Mapping

from railweave.sonic.delta.change import Edit, Op
from railweave.sonic.document import same_value
from railweave.sonic.frr import FrrEntry
from railweave.sonic.neutral import instead_of_field, instead_of_row
from railweave.sonic.rows import FRR_TABLE, Fields, Value


def row_edits(table: str, key: str, before: Fields | None, after: Mapping[str, Value | None] | None) -> Iterator[Edit]:
    """Yield the edits that change a row from ``before``, which is None for a new row, to ``after``.

    ``after`` is None to remove the row; a field of None is removed, and fields that it does not name stay. Where
    SONiC's daemons ignore a removal or crash on it, the neutral value is written instead (``neutral``).
    """
    if before is None:
        yield from _added_row(table, key, after)
        return
    if after is None:
        after = instead_of_row(table, key, before)
        if after is None:
            yield Edit(op=Op.REMOVE, table=table, key=key, field=None, before=before, after=None)
            return
    for name, value in after.items():
        old_value = before.get(name)
        new_value = value
        if value is None and old_value is not None:
            new_value = instead_of_field(table, key, name, old_value)
        if old_value != new_value and not same_value(old_value, new_value):
            yield Edit(
                op=_op(old_value, new_value), table=table, key=key, field=name, before=old_value, after=new_value
            )


def _added_row(table: str, key: str, after: Mapping[str, Value | None] | None) -> Iterator[Edit]:
    """Yield the edit that adds a row which does not exist yet; none if nothing is to add."""
    if after is None:
        return
    fields = {name: value for name, value in after.items() if value is not None}
    # A row may have no fields (INTERFACE|Ethernet0); one that only removes fields adds nothing where there is no row.
    if fields or not after:
        yield Edit(op=Op.ADD, table=table, key=key, field=None, before=None, after=fields)


def removal_edits(edit: Edit) -> Iterator[Edit]:
    """Yield the edits that carry out the removal ``edit`` of a row or field, with neutral values where needed."""
    if isinstance(edit.before, Mapping):
        yield from row_edits(edit.table, edit.key, edit.before, None)
    elif edit.field is not None and edit.before is not None:
        yield from row_edits(edit.table, edit.key, {edit.field: edit.before}, {edit.field: None})


def _op(before: Value | None, after: Value | None) -> Op:
    if before is None:
        return Op.ADD
    if after is None:
        return Op.REMOVE
    return Op.UPDATE


def frr_edits(removed: Iterable[FrrEntry], added: Iterable[FrrEntry]) -> Iterator[Edit]:
    """Yield the edits that remove and add these lines of FRR, with their secrets."""
    for entry in removed:
        yield Edit(op=Op.REMOVE, table=FRR_TABLE, key=entry.context, field=entry.line, before=entry.line, after=None)
    for entry in added:
        yield Edit(op=Op.ADD, table=FRR_TABLE, key=entry.context, field=entry.line, before=None, after=entry.line)
