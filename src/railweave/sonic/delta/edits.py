"""The edits between two rows, and between two sets of FRR lines."""

from collections.abc import Iterable, Iterator, Mapping

from railweave.sonic.delta.change import Edit, Op
from railweave.sonic.document import same_value
from railweave.sonic.frr import FrrEntry
from railweave.sonic.neutral import instead_of_field, instead_of_row
from railweave.sonic.rows import FRR_TABLE, Fields, Value


def row_edits(table: str, key: str, before: Fields | None, after: Mapping[str, Value | None] | None) -> Iterator[Edit]:
    """Yield the edits that bring a row to ``after``: None is no row, a field of None no field, others stay.

    What SONiC's daemons would ignore or not survive the removal of gets the value that holds without it (``neutral``).
    """
    if after is None:
        if before is None:
            return
        after = instead_of_row(table, key, before)
        if after is None:
            yield Edit(Op.REMOVE, table, key, None, before, None)
            return
    if before is None:
        fields = {name: value for name, value in after.items() if value is not None}
        if fields or not after:
            yield Edit(Op.ADD, table, key, None, None, fields)
        return
    for name, value in after.items():
        had = before.get(name)
        holds = instead_of_field(table, key, name, had) if value is None and had is not None else value
        if had != holds and not same_value(had, holds):
            yield Edit(_op(had, holds), table, key, name, had, holds)


def removal_edits(edit: Edit) -> Iterator[Edit]:
    """Yield what takes away the row or field that ``edit`` removes."""
    if isinstance(edit.before, Mapping):
        yield from row_edits(edit.table, edit.key, edit.before, None)
    elif edit.field is not None and edit.before is not None:
        yield from row_edits(edit.table, edit.key, {edit.field: edit.before}, {edit.field: None})


def _op(before: Value | None, after: Value | None) -> Op:
    if before is None:
        return Op.ADD
    return Op.REMOVE if after is None else Op.UPDATE


def frr_edits(removed: Iterable[FrrEntry], added: Iterable[FrrEntry]) -> Iterator[Edit]:
    """Yield FRR lines that go and come (``frr_difference``) as edits, with their secrets."""
    for entry in removed:
        yield Edit(Op.REMOVE, FRR_TABLE, entry.context, entry.line, entry.line, None)
    for entry in added:
        yield Edit(Op.ADD, FRR_TABLE, entry.context, entry.line, None, entry.line)
