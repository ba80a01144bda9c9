"""The tables of CONFIG_DB as edits change them."""

from collections.abc import Iterable, Mapping

from railweave.sonic.delta.change import Edit
from railweave.sonic.rows import FRR_TABLE, ConfigDb, Fields, Value


def tables_after(edits: Iterable[Edit], config_db: ConfigDb) -> ConfigDb:
    """Return the tables after ``edits``; FRR's lines are left out."""
    tables = Tables(config_db)
    for edit in edits:
        if edit.table != FRR_TABLE:
            tables.take(edit)
    return tables.rows


class Tables:
    """Tables in the middle of a change. Those that are not touched are shared with the ones it began with."""

    def __init__(self, config_db: ConfigDb) -> None:
        """Begin with ``config_db``, which stays as it is."""
        self.rows: dict[str, Mapping[str, Fields]] = dict(config_db)
        self._own: dict[str, dict[str, Fields]] = {}

    def row(self, edit: Edit) -> Fields | None:
        """Return the row of an edit as it stands, or None."""
        return self.rows.get(edit.table, {}).get(edit.key)

    def take(self, edit: Edit) -> None:
        """Carry an edit out; a table goes with its last row."""
        rows = self._own.get(edit.table)
        if rows is None:
            rows = self._own[edit.table] = dict(self.rows.get(edit.table, {}))
        if edit.field is not None:
            rows[edit.key] = _with_field(rows.get(edit.key, {}), edit.field, edit.after)
        elif isinstance(edit.after, Mapping):
            rows[edit.key] = edit.after
        else:
            rows.pop(edit.key, None)
        if rows:
            self.rows[edit.table] = rows
        else:
            self.rows.pop(edit.table, None)


def _with_field(fields: Fields, name: str, value: Value | Fields | None) -> Fields:
    if isinstance(value, str | tuple):
        return {**fields, name: value}
    return {own: held for own, held in fields.items() if own != name}
