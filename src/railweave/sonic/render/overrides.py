"""Overrides: CONFIG_DB rows that the intent states itself, by role or by device.

They are written as they are and owned from then on. A device's own override replaces its role's field by field; an
override may add rows, and fields to a row that railweave renders, but never change a rendered field.
"""

from collections.abc import Callable, Iterable, Mapping

from railweave.diagnostics import Diagnostic, Where, error
from railweave.fabric.devices import Switch
from railweave.fabric.policy import Overrides
from railweave.secrets import shown_key
from railweave.sonic.rows import Row, Value
from railweave.wording import natural_key


def override_rows(overrides: Overrides, switch: Switch) -> tuple[Row, ...]:
    """Return the rows that the overrides of the switch's role and name ask for, in natural order."""
    merged: dict[tuple[str, str], dict[str, Value]] = {}
    scopes: dict[tuple[str, str], str] = {}
    for scope in (switch.tier.name, switch.name):
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
            f"Taken from the intent as it is ({path_of(scopes[table, key], table)}).",
        )
        for table, key in ordered
    )


def overridden_addresses(overrides: Overrides, switch: Switch) -> Mapping[str, tuple[str, ...]]:
    """Return the addresses that the overrides add to ports, such as ``10.9.9.1/30``, by port."""
    added: dict[str, tuple[str, ...]] = {}
    for row in override_rows(overrides, switch):
        port, _, address = row.key.partition("|")
        if row.table == "INTERFACE" and address:
            added[port] = (*added.get(port, ()), address)
    return added


def with_overrides(rows: Iterable[Row], extra: Iterable[Row]) -> tuple[Row, ...]:
    """Return the rendered rows and the ``extra`` ones in natural order; a row of both is one row with all fields."""
    merged = {(row.table, row.key): row for row in rows}
    for row in extra:
        place = (row.table, row.key)
        own = merged.get(place)
        merged[place] = row if own is None else _joined(own, row)
    return tuple(merged[place] for place in sorted(merged, key=lambda place: (place[0], natural_key(place[1]))))


def _joined(own: Row, extra: Row) -> Row:
    fields = {**own.fields, **extra.fields}
    ordered = {name: fields[name] for name in sorted(fields, key=natural_key)}
    return Row(own.table, own.key, ordered, f"{own.reason} {', '.join(sorted(extra.fields))}: {extra.reason}")


def clashes(
    device: str,
    rows: Iterable[Row],
    extra: Iterable[Row],
    where: Callable[[str], Where] = lambda path: Where(path=path),
) -> tuple[Diagnostic, ...]:
    """Return an error for each field of the ``extra`` rows that a rendered row has already."""
    rendered = {(row.table, row.key): row.fields for row in rows}
    return tuple(
        error(
            "RW402",
            f"overrides set {row.table}|{shown_key(row.table, row.key)}|{field} on {device}, "
            "which railweave renders itself",
            where("overrides"),
            fix=f"take {field} out of it, and say it where the intent has a key for it",
            devices=(device,),
        )
        for row in extra
        for field in row.fields
        if field in rendered.get((row.table, row.key), ())
    )


def path_of(scope: str, table: str) -> str:
    """Return the intent path of a table's overrides."""
    return f"overrides.{scope}.{table}"
