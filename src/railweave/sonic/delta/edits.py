"""The edits between two rows, and between two sets of FRR lines."""

from collections.abc import Iterable, Iterator, Mapping

from railweave.sonic.delta.change import Edit, Op
from railweave.sonic.delta.methods import Form, form_of
from railweave.sonic.document import same_value
from railweave.sonic.frr import FrrEntry
from railweave.sonic.permanent import instead_of_removal
from railweave.sonic.rows import FRR_TABLE, Fields, Value


def row_edits(table: str, key: str, before: Fields | None, after: Mapping[str, Value | None] | None) -> Iterator[Edit]:
    """Yield the edits that bring a row to ``after``: None is no row, a field of None no field, others stay.

    A row that must not be deleted (``permanent``) stays, with the values that hold without it.
    """
    if after is None:
        if before is None:
            return
        removal = Edit(Op.REMOVE, table, key, None, before, None)
        after = instead_of_removal(table, key, before) if form_of(removal) is Form.NEUTRAL else None
        if after is None:
            yield removal
            return
    if before is None:
        fields = {name: value for name, value in after.items() if value is not None}
        if fields or not after:
            yield Edit(Op.ADD, table, key, None, None, fields)
        return
    for name, value in after.items():
        had = before.get(name)
        if had != value and not same_value(had, value):
            yield Edit(_op(had, value), table, key, name, had, value)


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
