"""CONFIG_DB tables while edits are applied to them."""

from collections.abc import Iterable, Mapping

from railweave.sonic.delta.change import Edit
from railweave.sonic.rows import FRR_TABLE, ConfigDb, Fields, Value


def tables_after(edits: Iterable[Edit], config_db: ConfigDb) -> ConfigDb:
    """Return the tables after ``edits``; FRR's lines are left out."""
    tables = Tables(config_db)
    for edit in edits:
        if edit.table != FRR_TABLE:
            tables.apply(edit)
    return tables.rows


class Tables:
    """The tables of a device to which edits are applied one by one; a table is copied at its first edit."""

    def __init__(self, config_db: ConfigDb) -> None:
        """Start with ``config_db``, which is not changed."""
        self.rows: dict[str, Mapping[str, Fields]] = dict(config_db)
        self._copies: dict[str, dict[str, Fields]] = {}

    def row(self, edit: Edit) -> Fields | None:
        """Return the row of an edit as it is now, or None."""
        return self.rows.get(edit.table, {}).get(edit.key)

    def apply(self, edit: Edit) -> None:
        """Apply an edit; a table is removed with its last row, as Redis has no empty tables."""
        if edit.table not in self._copies:
            self._copies[edit.table] = dict(self.rows.get(edit.table, {}))
        rows = self._copies[edit.table]
        if edit.field is not None:
            rows[edit.key] = _with_field(rows.get(edit.key, {}), edit.field, edit.after)
        elif isinstance(edit.after, Mapping):
            rows[edit.key] = edit.after
        else:
            # The edit removes the whole row.
            rows.pop(edit.key, None)
        if rows:
            self.rows[edit.table] = rows
        else:
            self.rows.pop(edit.table, None)


def _with_field(fields: Fields, name: str, value: Value | Fields | None) -> Fields:
    if isinstance(value, str | tuple):
        return {**fields, name: value}
    return {other_name: other_value for other_name, other_value in fields.items() if other_name != name}
