"""Rows of CONFIG_DB: their JSON form, and their differences from an intended part.

A part is ``{TABLE: {KEY: {FIELD: text | list | null} | null}}``: null means that a row or field does not exist; rows
and fields that a part does not name may have any value.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterator, Mapping, Sequence
from itertools import chain
from typing import Any

from railweave_switch.host import Hash

Part = Mapping[str, Mapping[str, Any]]
Fields = Mapping[str, Any]

PLACEHOLDER = "NULL"
"""Redis has no empty hashes: a row without fields has this field with this value."""

NEVER_DELETED = frozenset({("PFC_WD", "GLOBAL")})
"""Rows whose deletion crashes orchagent, so that all ports go down; their removal is never part of an intended part."""


def decoded(row: Hash) -> dict[str, Any]:
    """Return the JSON form of a row: lists instead of texts with commas, no placeholder."""
    fields: dict[str, Any] = {}
    for name, value in row.items():
        if name.endswith("@"):
            fields[name[:-1]] = value.split(",")
        elif name != PLACEHOLDER:
            fields[name] = value
    return fields


def tables_of(rows: Mapping[str, Hash]) -> dict[str, dict[str, Any]]:
    """Return the JSON form of a whole CONFIG_DB; keys that are not rows are left out."""
    tables: dict[str, dict[str, Any]] = {}
    for name, row in rows.items():
        table, bar, key = name.partition("|")
        if bar:
            tables.setdefault(table, {})[key] = decoded(row)
    return tables


def with_part(part: Part, tables: Mapping[str, Mapping[str, Any]]) -> dict[str, dict[str, Any]]:
    """Return whole tables with ``part`` applied; a table without rows is left out."""
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
    """Return the rows that differ from ``earlier``, in the form of a part: None for a row that is gone."""
    part: dict[str, dict[str, Any]] = tables_of({name: row for name, row in rows.items() if earlier.get(name) != row})
    for name in earlier.keys() - rows.keys():
        table, bar, key = name.partition("|")
        if bar:
            part.setdefault(table, {})[key] = None
    return part


def digest(value: Any) -> str:
    """Return the SHA-256 of a value's JSON, independent of the order of its keys."""
    return hashlib.sha256(json.dumps(value, sort_keys=True, separators=(",", ":")).encode()).hexdigest()


def unmet(part: Part, rows: Mapping[str, Hash]) -> list[str]:
    """Return ``TABLE|KEY`` of the rows that are not as in ``part``."""
    return [f"{table}|{key}" for table, key, fields in named(part) if not _holds(fields, rows.get(f"{table}|{key}"))]


def remains(part: Part, expected: Part, rows: Mapping[str, Hash], *, midway: bool = False) -> list[str]:
    """Return ``TABLE|KEY`` of the rows that have a value of ``part`` that ``expected`` does not have.

    ``midway``: steps from one part to the other may have been interrupted. Steps delete some rows and fields and set
    them again, so those that both parts have but ``rows`` lacks count too.
    """
    keys = []
    for table, key, fields in named(part):
        name = f"{table}|{key}"
        expected_fields = expected.get(table, {}).get(key)
        row = rows.get(name)
        if _has_left(fields, expected_fields, row) or (midway and _has_lost(fields, expected_fields, row)):
            keys.append(name)
    return keys


def _has_left(fields: Fields | None, expected: Fields | None, row: Hash | None) -> bool:
    """Tell whether a row has a value of ``fields`` that is not expected; None for any of them means no row."""
    if fields is None or row is None or expected is None:
        is_as_in_part = (row is None) == (fields is None)
        is_unexpected = (fields is None) != (expected is None)
        return is_as_in_part and is_unexpected
    values = decoded(row)
    for name, value in fields.items():
        if _same(value, values.get(name)) and not _same(value, expected.get(name)):
            return True
    return False


def _has_lost(fields: Fields | None, expected: Fields | None, row: Hash | None) -> bool:
    """Tell whether a row lacks a field that ``fields`` and ``expected`` both have, or is missing itself.

    None for any of them means no row.
    """
    if row is None:
        return not _holds(fields, row) and not _holds(expected, row)
    if fields is None or expected is None:
        return False
    values = decoded(row)
    for name, value in fields.items():
        if value is not None and name not in values and expected.get(name) is not None:
            return True
    return False


def named(part: Part) -> Iterator[tuple[str, str, Any]]:
    """Yield table, key and fields (None for a deleted row) of every row of a part."""
    for table, rows in part.items():
        for key, fields in rows.items():
            if fields is not None or (table, key) not in NEVER_DELETED:
                yield table, key, fields


def _holds(intended: Mapping[str, Any] | None, row: Hash | None) -> bool:
    """Tell whether a row is as intended; None means that there is no row."""
    if intended is None:
        return row is None
    if row is None:
        # A part that only removes fields holds without the row too.
        return bool(intended) and all(value is None for value in intended.values())
    fields = decoded(row)
    return all(_same(value, fields.get(name)) for name, value in intended.items())


def _same(intended: Any, value: Any) -> bool:
    """Tell whether two fields are equal. Lists have no order."""
    if isinstance(intended, list) and isinstance(value, list):
        # Redis holds an empty list as one empty text.
        return sorted(filter(None, intended)) == sorted(filter(None, value))
    return bool(intended == value)


def repairs(part: Part, rows: Mapping[str, Hash]) -> list[Sequence[str]]:
    """Return the commands of Redis that make rows as in ``part``."""
    commands: list[Sequence[str]] = []
    for table, key, fields in named(part):
        name = f"{table}|{key}"
        row = rows.get(name)
        if _holds(fields, row):
            continue
        if fields is None:
            commands.append(("DEL", name))
        else:
            commands.extend(_repaired(name, fields, row or {}))
    return commands


def _repaired(name: str, fields: Mapping[str, Any], row: Hash) -> Iterator[Sequence[str]]:
    """Yield the commands that bring one row to ``fields``: HSET first, since Redis deletes a row without fields."""
    set_fields = _hash_of(fields)
    if not set_fields and all(field.rstrip("@") in fields for field in row):
        # The row loses its last field, and Redis would delete it.
        set_fields[PLACEHOLDER] = PLACEHOLDER
    if set_fields:
        yield ("HSET", name, *chain.from_iterable(set_fields.items()))
    removed = _removed_fields(fields, row, set_fields)
    if removed:
        yield ("HDEL", name, *removed)


def _removed_fields(fields: Mapping[str, Any], row: Hash, set_fields: Mapping[str, str]) -> list[str]:
    """Return the fields to remove from a row, in the form of Redis, after ``set_fields`` are set."""
    # A field whose value changes between a text and a list has another name in Redis.
    removed = [field for field in row if field not in set_fields and field.rstrip("@") in fields]
    # A row with fields of its own needs no placeholder.
    if set_fields and PLACEHOLDER in row and PLACEHOLDER not in set_fields:
        removed.append(PLACEHOLDER)
    return removed


def _hash_of(fields: Mapping[str, Any]) -> dict[str, str]:
    """Return the fields of a row in the form of Redis, without removed ones."""
    row: dict[str, str] = {}
    for field, value in fields.items():
        if isinstance(value, list):
            row[f"{field}@"] = ",".join(value)
        elif value is not None:
            row[field] = str(value)
    return row
