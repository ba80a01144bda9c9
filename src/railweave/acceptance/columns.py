"""Readings of counters as columns, and their growth: millions of rows are compared without a step of Python for each.

A column has the value of one counter in every row of a table, None where a row does not have it. No rule looks at
watermarks: they are left out.
"""

from collections.abc import Iterable, Mapping, Sequence
from functools import cache
from operator import sub
from typing import Any, NamedTuple, cast

from railweave.acceptance.counter_names import WATERMARKS, counter_name
from railweave.acceptance.deltas import are_counted, counter_delta, row_has_restarted
from railweave.acceptance.readings import Answer, Column, TableGrowth


class TableReading(NamedTuple):
    """The counters of a table of one device."""

    # Ports, queues, groups or NICs, in the order of the file.
    rows: tuple[str, ...]
    # By the name of the counter, in the order of the rows.
    columns: Mapping[str, Column]
    # The names in each row, watermarks included, in their order; empty if rows have different ones.
    counters: tuple[str, ...] = ()
    # Rows that are no objects.
    broken: frozenset[str] = frozenset()


def read_table(rows: Mapping[str, Any]) -> TableReading:
    """Return the counters of a table's rows, by name; values that are not readings of a counter become None."""
    names = tuple(rows)
    are_objects = set(map(type, rows.values())) <= {dict}
    # All rows have the same counters in the same order, as almost always: the columns are read at once.
    if are_objects and len(set(map(tuple, rows.values()))) == 1:
        counters = tuple(rows[names[0]])
        values = zip(*map(dict.values, rows.values()), strict=True)
        return TableReading(names, _readable_columns(counters, values), counters)
    objects = [row if isinstance(row, dict) else {} for row in rows.values()]
    all_counters = dict.fromkeys(name for row in objects for name in row)
    columns = _readable_columns(all_counters, (tuple(row.get(name) for row in objects) for name in all_counters))
    broken = frozenset(name for name, row in rows.items() if not isinstance(row, dict))
    return TableReading(names, columns, (), broken)


def updated_table(earlier: TableReading, indexes: Sequence[int], rows: Sequence[dict[str, Any]]) -> TableReading | None:
    """Return the ``earlier`` reading with ``rows`` at ``indexes``, or None if these have other counters than it.

    Columns that do not change are shared with the ``earlier`` reading.
    """
    if set(map(type, rows)) != {dict} or set(map(tuple, rows)) != {earlier.counters}:
        return None
    all_rows_changed = len(rows) == len(earlier.rows)
    columns = dict(earlier.columns)
    new_columns = zip(*map(dict.values, rows), strict=True)
    for name, values in zip(earlier.counters, new_columns, strict=True):
        column = columns.get(name)
        if column is None:
            # A watermark, which has no column.
            continue
        if all_rows_changed:
            if column != values:
                columns[name] = _readable(values)
        elif tuple(map(column.__getitem__, indexes)) != values:
            changed = list(column)
            for index, value in zip(indexes, _readable(values), strict=True):
                changed[index] = value
            columns[name] = tuple(changed)
    return earlier._replace(columns=columns)


def _readable_columns(names: Iterable[str], columns: Iterable[tuple[Any, ...]]) -> dict[str, Column]:
    """Return the columns of counters, without watermarks."""
    return {name: _readable(column) for name, column in zip(names, columns, strict=True) if not _is_watermark(name)}


def _readable(column: tuple[Any, ...]) -> Column:
    """Return a column with None instead of values that are not readings of a counter."""
    if are_counted(column):
        return column
    return tuple(value if are_counted((value,)) else None for value in column)


@cache
def _is_watermark(name: str) -> bool:
    entry = counter_name(name)
    return entry is not None and entry.meaning in WATERMARKS


def table_growth(before: TableReading, after: TableReading | None, *, booted: bool = False) -> TableGrowth:
    """Return how much the counters of a table grew between two readings of a device.

    ``after`` is None if the later reading does not have the table. With ``booted`` the device has restarted all
    counters in between, so none has a growth.
    """
    if after is None:
        return TableGrowth((), {}, lost=before.rows)
    lost: tuple[str, ...] = ()
    # Readings of a device share the tuple of their rows where the names have not changed.
    rows_are_equal = before.rows is after.rows or before.rows == after.rows
    if not rows_are_equal or after.broken:
        indexes = {name: index for index, name in enumerate(after.rows) if name not in after.broken}
        lost = tuple(name for name in before.rows if name not in indexes)
        before = _rows_at(before, [index for index, name in enumerate(before.rows) if name in indexes])
        after = _rows_at(after, [indexes[name] for name in before.rows])
    missing: Column = (None,) * len(before.rows)
    if booted:
        return TableGrowth(before.rows, dict.fromkeys(before.columns, missing), before.rows, lost=lost)
    columns: dict[str, Column] = {}
    fallen_rows: set[int] = set()
    unchanged: Column = (0,) * len(before.rows)
    for name, column_before in before.columns.items():
        column_after = after.columns.get(name, missing)
        if column_after is column_before and None not in column_before:
            columns[name] = unchanged
        else:
            columns[name] = _column_growth(column_before, column_after, fallen_rows)
    if not fallen_rows:
        return TableGrowth(before.rows, columns, lost=lost)
    falls = _Falls(before, after, columns)
    for index in sorted(fallen_rows):
        falls.settle(index)
    settled_columns = {name: tuple(column) for name, column in falls.columns.items()}
    return TableGrowth(before.rows, settled_columns, tuple(falls.restarted), tuple(falls.backwards), lost)


def _rows_at(reading: TableReading, indexes: Sequence[int]) -> TableReading:
    """Return the reading of the rows at ``indexes``, in this order."""
    columns = {name: tuple(column[index] for index in indexes) for name, column in reading.columns.items()}
    return TableReading(tuple(reading.rows[index] for index in indexes), columns)


def _column_growth(before: Column, after: Column, fallen_rows: set[int]) -> Column:
    """Return how much a counter grew in each row; the indexes of rows in which it fell are added to ``fallen_rows``."""
    try:
        differences = tuple(map(sub, cast("tuple[int, ...]", after), cast("tuple[int, ...]", before)))
        has_fallen = min(differences, default=0) < 0
        growth: Column = differences
    except TypeError:
        # Some row lacks the counter.
        growth = tuple(map(_difference, before, after))
        has_fallen = True
    if has_fallen:
        fallen_rows.update(index for index, grown in enumerate(growth) if grown is not None and grown < 0)
    return growth


def _difference(before: int | None, after: int | None) -> int | None:
    if before is None or after is None:
        return None
    return after - before


class _Falls:
    """Settles rows in which a counter fell: they restarted, it wrapped, or it went backwards."""

    def __init__(self, before: TableReading, after: TableReading, columns: Mapping[str, Column]) -> None:
        self.before = before
        self.after = after
        self.columns = {name: list(column) for name, column in columns.items()}
        self.restarted: list[str] = []
        self.backwards: list[str] = []

    def settle(self, index: int) -> None:
        """Correct the growth in the row at ``index``, and note whether it restarted or a counter went backwards."""
        row = self.before.rows[index]
        before = _counters_of(self.before, index)
        after = _counters_of(self.after, index)
        if row_has_restarted(before, after):
            self.restarted.append(row)
            for column in self.columns.values():
                column[index] = None
            return
        for name, value in before.items():
            if after.get(name, value) >= value:
                continue
            delta = counter_delta(name, value, after[name])
            if delta.answer is Answer.INVALID:
                self.backwards.append(f"{row} {name}")
                self.columns[name][index] = None
            else:
                self.columns[name][index] = delta.grown


def _counters_of(reading: TableReading, index: int) -> dict[str, int]:
    row: dict[str, int] = {}
    for name, column in reading.columns.items():
        value = column[index]
        if value is not None:
            row[name] = value
    return row
