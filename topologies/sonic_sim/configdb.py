"""CONFIG_DB as Redis holds it: one hash a row, all values text; and its JSON form.

Facts: key ``TABLE|k1|k2``; a row without fields is the single field ``NULL`` = ``NULL``; a list is a field whose name
ends in ``@``, members joined by commas (sonic-swss-common, common/configdb.cpp).
"""

import json
import re
from collections.abc import Iterable, Mapping
from sys import intern
from typing import Any

from sonic_sim.spec import ConfigDbDocument, FieldValue

Hash = dict[str, str]
_quoted = json.encoder.encode_basestring_ascii
EMPTY_ROW: Mapping[str, str] = {"NULL": "NULL"}


class ConfigDb:
    """The rows of database 4. ``version`` grows with every write, so that derived state can be cached."""

    def __init__(self, rows: Mapping[str, Mapping[str, str]] | None = None) -> None:
        """Start with a copy of ``rows``."""
        self.rows: dict[str, Hash] = {}
        self.version = 0
        for key, fields in (rows or {}).items():
            self.put(key, fields)

    def put(self, key: str, fields: Mapping[str, str]) -> None:
        """Write a whole row, replacing the present one."""
        # Interned: a thousand switches have the same words.
        self.rows[intern(key)] = {intern(name): intern(value) for name, value in (fields or EMPTY_ROW).items()}
        self.version += 1

    def set_fields(self, key: str, fields: Mapping[str, str]) -> int:
        """Set fields of a row as HSET does; return how many are new."""
        row = self.rows.setdefault(intern(key), {})
        new = sum(1 for name in fields if name not in row)
        row.update((intern(name), intern(value)) for name, value in fields.items())
        self.version += 1
        return new

    def delete_fields(self, key: str, names: Iterable[str]) -> int:
        """Remove fields as HDEL does; a row without fields is gone. Return how many there were."""
        row = self.rows.get(key)
        if row is None:
            return 0
        removed = sum(1 for name in names if row.pop(name, None) is not None)
        if not row:
            # Redis keeps no empty hashes.
            del self.rows[key]
        self.version += 1
        return removed

    def delete(self, key: str) -> int:
        """Remove a row; return 1 if it was there, else 0."""
        self.version += 1
        return 0 if self.rows.pop(key, None) is None else 1

    def delete_table(self, table: str) -> None:
        """Remove every row of a table."""
        for key in list(self.rows):
            if key.startswith(table + "|"):
                del self.rows[key]
        self.version += 1

    def clear(self) -> None:
        """Remove all rows."""
        self.rows.clear()
        self.version += 1

    def get(self, key: str) -> Hash:
        """Return the fields of a row, without the marker of an empty one; ``{}`` when there is no row."""
        return {name: value for name, value in self.rows.get(key, {}).items() if name != "NULL"}

    def table(self, name: str) -> dict[str, Hash]:
        """Return the rows of a table by key without the table's name, in stored order."""
        start = len(name) + 1
        return {key[start:]: self.get(key) for key in self.rows if key.startswith(name + "|")}

    def document(self) -> ConfigDbDocument:
        """Return the JSON form of all rows, tables and keys sorted as text."""
        return document_of(self.rows)

    def replace_all(self, document: Mapping[str, Any]) -> None:
        """Replace all rows by those of a JSON form."""
        self.rows.clear()
        for key, fields in rows_of(document):
            self.put(key, fields)
        self.version += 1


def decode_fields(row: Mapping[str, str]) -> dict[str, FieldValue]:
    """Turn a hash into the JSON form of a row, sorted by field as SONiC's library reads it (a std::map)."""
    fields: dict[str, FieldValue] = {}
    for name, value in sorted(row.items()):
        if name == "NULL":
            continue
        if name.endswith("@"):
            fields[name[:-1]] = value.split(",")
        else:
            fields[name] = value
    return fields


def encode_fields(fields: Mapping[str, Any] | None) -> Hash:
    """Turn the JSON form of a row into a hash. Raises TypeError for a list whose members are not text."""
    if not fields:
        return dict(EMPTY_ROW)
    row: Hash = {}
    for name, value in fields.items():
        if isinstance(value, (list, tuple)):
            row[name + "@"] = ",".join(value)
        else:
            row[name] = str(value)
    return row


def document_of(rows: Mapping[str, Mapping[str, str]]) -> ConfigDbDocument:
    """Return the JSON form of rows, sorted."""
    tables: ConfigDbDocument = {}
    # sonic-cfggen sorts rows of one key part before rows of several.
    for key in sorted(rows, key=lambda key: (key.count("|") > 1, key)):
        table, bar, rest = key.partition("|")
        if bar:
            tables.setdefault(table, {})[rest] = decode_fields(rows[key])
    return {name: tables[name] for name in sorted(tables)}


def rows_of(document: Mapping[str, Any]) -> Iterable[tuple[str, Hash]]:
    """Yield the rows of a JSON form as (key, hash)."""
    for table, rows in document.items():
        for key, fields in rows.items():
            yield f"{table}|{key}", encode_fields(fields)


def natural_key(text: str) -> list[int | str]:
    """Return a sort key that puts ``Ethernet4`` before ``Ethernet12``."""
    return [int(part) if part.isdigit() else part for part in re.split(r"(\d+)", text)]


def to_json(value: Any, margin: str = "", step: str = "    ") -> str:
    """Return the text of ``json.dumps(value, indent=4)``; ``step`` is another indentation."""
    # The C encoder of the standard library does not indent: this is several times faster than its Python one.
    if isinstance(value, str):
        return _quoted(value)
    inner = margin + step
    if isinstance(value, Mapping) and value:
        fields = [f"{inner}{_quoted(name)}: {to_json(member, inner, step)}" for name, member in value.items()]
        return "{\n" + ",\n".join(fields) + f"\n{margin}}}"
    if isinstance(value, (list, tuple)) and value:
        members = [inner + to_json(member, inner, step) for member in value]
        return "[\n" + ",\n".join(members) + f"\n{margin}]"
    # Numbers, true, false and null, and what is empty.
    return json.dumps(value)
