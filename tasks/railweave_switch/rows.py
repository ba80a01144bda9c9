"""Rows of CONFIG_DB: their JSON form, and how they differ from an intended part.

A part is ``{TABLE: {KEY: {FIELD: text | list | null} | null}}``: null says that a row or a field is not there, and what
is not named does not matter.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from railweave_switch.host import Hash

Part = Mapping[str, Mapping[str, Any]]

PLACEHOLDER = "NULL"
"""Redis keeps no empty hash: a row without fields is this field with this value."""

NEVER_DELETED = frozenset({("PFC_WD", "GLOBAL")})
"""Rows whose deletion crashes orchagent, so that all ports go down; a part that wants one gone says nothing of it."""


def decoded(row: Hash) -> dict[str, Any]:
    """Return the JSON form of a row."""
    return {
        (name[:-1] if name.endswith("@") else name): (value.split(",") if name.endswith("@") else value)
        for name, value in row.items()
        if name != PLACEHOLDER
    }


def tables_of(rows: Mapping[str, Hash]) -> dict[str, dict[str, Any]]:
    """Return the JSON form of a whole CONFIG_DB; keys that are no rows are left out."""
    tables: dict[str, dict[str, Any]] = {}
    for name, row in rows.items():
        table, bar, key = name.partition("|")
        if bar:
            tables.setdefault(table, {})[key] = decoded(row)
    return tables


def with_part(part: Part, tables: Mapping[str, Mapping[str, Any]]) -> dict[str, dict[str, Any]]:
    """Return whole tables as they are once ``part`` holds; a table that loses its last row is gone."""
    after = {table: dict(rows) for table, rows in tables.items()}
    for table, key, fields in named(part):
        rows = after.setdefault(table, {})
        if fields is None:
            rows.pop(key, None)
        else:
            row = {**rows.get(key, {}), **fields}
            rows[key] = {name: value for name, value in row.items() if value is not None}
    return {table: rows for table, rows in after.items() if rows}


def changed(earlier: Mapping[str, Hash], rows: Mapping[str, Hash]) -> dict[str, dict[str, Any]]:
    """Return the rows that are other than ``earlier``, in the form of a part."""
    part: dict[str, dict[str, Any]] = tables_of({name: row for name, row in rows.items() if earlier.get(name) != row})
    for name in earlier.keys() - rows.keys():
        table, bar, key = name.partition("|")
        if bar:
            part.setdefault(table, {})[key] = None
    return part


def digest(value: Any) -> str:
    """Return the SHA-256 of a value's JSON; equal values have equal digests, whatever their order."""
    return hashlib.sha256(json.dumps(value, sort_keys=True, separators=(",", ":")).encode()).hexdigest()


def unmet(part: Part, rows: Mapping[str, Hash]) -> list[str]:
    """Return ``TABLE|KEY`` of the rows that are not as in ``part``."""
    return [f"{table}|{key}" for table, key, fields in named(part) if not _holds(fields, rows.get(f"{table}|{key}"))]


def remains(part: Part, expected: Part, rows: Mapping[str, Hash], *, midway: bool = False) -> list[str]:
    """Return ``TABLE|KEY`` of the rows that hold something of ``part`` which is not in ``expected``.

    ``midway``: steps from one to the other were under way, so rows and fields count too that both have and that are
    not there: they are deleted and set again.
    """
    found = []
    for table, key, fields in named(part):
        other, row = expected.get(table, {}).get(key), rows.get(f"{table}|{key}")
        if fields is None or row is None or other is None:
            there = (row is None) == (fields is None) != (other is None)
            gone = row is None and not _holds(fields, row) and not _holds(other, row)
        else:
            now = decoded(row)
            there = any(_same(v, now.get(one)) and not _same(v, other.get(one)) for one, v in fields.items())
            gone = any(v is not None and one not in now and other.get(one) is not None for one, v in fields.items())
        if there or (midway and gone):
            found.append(f"{table}|{key}")
    return found


def named(part: Part) -> Iterator[tuple[str, str, Any]]:
    """Yield table, key and fields (None: not there) of every row of a part."""
    for table, wanted in part.items():
        for key, fields in wanted.items():
            if fields is not None or (table, key) not in NEVER_DELETED:
                yield table, key, fields


def _holds(wanted: Mapping[str, Any] | None, row: Hash | None) -> bool:
    if wanted is None:
        return row is None
    if row is None:
        return bool(wanted) and all(value is None for value in wanted.values())
    found = decoded(row)
    return all(_same(value, found.get(name)) for name, value in wanted.items())


def _same(one: Any, other: Any) -> bool:
    """Tell whether two fields hold the same: the order of a list is free, and an empty one reads ``[""]``."""
    if isinstance(one, list) and isinstance(other, list):
        return sorted(filter(None, one)) == sorted(filter(None, other))
    return bool(one == other)


def repairs(part: Part, rows: Mapping[str, Hash]) -> list[Sequence[str]]:
    """Return the commands of Redis that make the rows as ``part`` wants them."""
    commands: list[Sequence[str]] = []
    for table, key, wanted in named(part):
        name = f"{table}|{key}"
        row = rows.get(name)
        if _holds(wanted, row):
            continue
        if wanted is None:
            commands.append(("DEL", name))
        else:
            commands.extend(_repaired(name, wanted, row or {}))
    return commands


def _repaired(name: str, wanted: Mapping[str, Any], row: Hash) -> Iterator[Sequence[str]]:
    put: list[str] = []
    for field, value in wanted.items():
        if isinstance(value, list):
            put += [f"{field}@", ",".join(value)]
        elif value is not None:
            put += [field, str(value)]
    if not put and all(one.rstrip("@") in wanted for one in row):
        put = [PLACEHOLDER, PLACEHOLDER]
    if put:
        yield ("HSET", name, *put)
    gone = [one for one in row if one not in put[::2] and (one.rstrip("@") in wanted or (put and one == PLACEHOLDER))]
    if gone:
        yield ("HDEL", name, *gone)
