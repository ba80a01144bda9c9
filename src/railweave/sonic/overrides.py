"""Overrides: CONFIG_DB rows of the intent that railweave does not know, by role or by device.

They are taken as they stand and owned from then on. A device's own override replaces its role's field by field; an
override may add rows, never change a row that railweave renders.
"""

from collections.abc import Callable, Iterable

from railweave.diagnostics import Diagnostic, Where, error
from railweave.fabric.model import Switch
from railweave.fabric.policy import Overrides
from railweave.names import natural_key
from railweave.sonic.rows import Row, Value


def override_rows(overrides: Overrides, switch: Switch) -> tuple[Row, ...]:
    """Return the rows that the overrides of the switch's role and name ask for, in natural order."""
    merged: dict[tuple[str, str], dict[str, Value]] = {}
    scopes: dict[tuple[str, str], str] = {}
    for scope in (switch.role.value, switch.name):
        for table, rows in overrides.rows.get(scope, {}).items():
            for key, fields in rows.items():
                merged.setdefault((table, key), {}).update(fields)
                scopes[table, key] = scope
    ordered = sorted(merged, key=lambda place: (place[0], natural_key(place[1])))
    return tuple(
        Row(
            table,
            key,
            merged[table, key],
            f"The intent asks for it as it stands ({path_of(scopes[table, key], table)}).",
        )
        for table, key in ordered
    )


def clashes(
    device: str,
    wanted: Iterable[Row],
    rendered: Iterable[Row],
    where: Callable[[str], Where] = lambda path: Where(path=path),
) -> tuple[Diagnostic, ...]:
    """Return an error for each override row that is among the ``rendered`` ones."""
    taken = {(row.table, row.key) for row in rendered}
    return tuple(
        error(
            "RW402",
            f"overrides ask for {row.table}|{row.key} on {device}, a row that railweave renders itself",
            where("overrides"),
            fix=f"take {row.table}|{row.key} out of overrides, and say it where the intent has a key for it",
            devices=(device,),
        )
        for row in wanted
        if (row.table, row.key) in taken
    )


def path_of(scope: str, table: str) -> str:
    """Return the intent path of a table's overrides."""
    return f"overrides.{scope}.{table}"
