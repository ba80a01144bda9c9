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
    """Return the rows that the overrides state for the role and for the name of a switch, in natural order."""
    merged: dict[tuple[str, str], dict[str, Value]] = {}
    last_scope: dict[tuple[str, str], str] = {}
    # The device's own override comes last, so that it replaces its role's.
    for scope in (switch.tier.name, switch.name):
        for table, rows in overrides.rows.get(scope, {}).items():
            for key, fields in rows.items():
                merged.setdefault((table, key), {}).update(fields)
                last_scope[table, key] = scope
    stated_rows = []
    for (table, key), fields in merged.items():
        path = path_of(last_scope[table, key], table)
        stated_rows.append(Row(table, key, fields, f"Taken from the intent as it is ({path})."))
    return tuple(sorted(stated_rows, key=_sort_key))


def _sort_key(row: Row) -> tuple[object, ...]:
    return row.table, natural_key(row.key)


def overridden_addresses(overrides: Overrides, switch: Switch) -> Mapping[str, tuple[str, ...]]:
    """Return the addresses that the overrides add to ports, such as ``10.9.9.1/30``, by port."""
    added: dict[str, tuple[str, ...]] = {}
    for row in override_rows(overrides, switch):
        port, _, address = row.key.partition("|")
        if row.table == "INTERFACE" and address:
            added[port] = (*added.get(port, ()), address)
    return added


def with_overrides(rows: Iterable[Row], extra: Iterable[Row]) -> tuple[Row, ...]:
    """Return the rendered and the ``extra`` rows in natural order; a row that both have gets the fields of both."""
    merged = {(row.table, row.key): row for row in rows}
    for row in extra:
        rendered = merged.get((row.table, row.key))
        merged[row.table, row.key] = row if rendered is None else _joined(rendered, row)
    return tuple(sorted(merged.values(), key=_sort_key))


def _joined(rendered: Row, extra: Row) -> Row:
    """Return one row with the fields and the reasons of both."""
    fields = {**rendered.fields, **extra.fields}
    ordered = {name: fields[name] for name in sorted(fields, key=natural_key)}
    reason = f"{rendered.reason} {', '.join(sorted(extra.fields))}: {extra.reason}"
    return Row(rendered.table, rendered.key, ordered, reason)


def clashes(
    device: str,
    rows: Iterable[Row],
    extra: Iterable[Row],
    where: Callable[[str], Where] = lambda path: Where(path=path),
) -> tuple[Diagnostic, ...]:
    """Return an error for each field of the ``extra`` rows that a rendered row of ``device`` has already.

    ``where`` returns the place of an intent path.
    """
    rendered = {(row.table, row.key): row.fields for row in rows}
    diagnostics = []
    for row in extra:
        rendered_fields = rendered.get((row.table, row.key), ())
        for field in row.fields:
            if field not in rendered_fields:
                continue
            diagnostics.append(
                error(
                    "RW402",
                    f"overrides set {row.table}|{shown_key(row.table, row.key)}|{field} on {device}, "
                    "which railweave renders itself",
                    where("overrides"),
                    fix=f"take {field} out of it, and say it where the intent has a key for it",
                    devices=(device,),
                )
            )
    return tuple(diagnostics)


def path_of(scope: str, table: str) -> str:
    """Return the intent path of a table's overrides."""
    return f"overrides.{scope}.{table}"
