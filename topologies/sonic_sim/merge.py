"""Write a JSON document into the running CONFIG_DB as ``sonic-cfggen --write-to-db`` does (sonic-facts §3.1)."""

import json
from collections.abc import Mapping
from typing import Any

from sonic_sim.configdb import ConfigDb, Hash, encode_fields


class ProgramError(Exception):
    """A Python program on the switch ended with a traceback; ``text`` is its last line."""

    def __init__(self, text: str) -> None:
        """Keep the last line."""
        super().__init__(text)
        self.text = text

    def traceback(self) -> str:
        """Return the traceback without its frames."""
        return f"Traceback (most recent call last):\n  ...\n{self.text}\n"


def read_document(text: str) -> Any:
    """Parse JSON. Raises ProgramError as a program without error handling would."""
    try:
        return json.loads(text)
    except json.JSONDecodeError as error:
        raise ProgramError(f"json.decoder.JSONDecodeError: {error}") from error


def merge_into(db: ConfigDb, document: Mapping[str, Any]) -> None:
    """Write a document in one transaction: fields are set, ``null`` deletes tables and rows, ``{}`` tables do nothing.

    Raises ProgramError before anything is written.
    """
    if not isinstance(document, Mapping):
        raise ProgramError(f"AttributeError: '{type(document).__name__}' object has no attribute 'items'")
    tables = {name: rows for name, rows in document.items() if not name[:1].islower()}
    writes: list[tuple[str, Hash | None]] = []
    for table, rows in tables.items():
        if rows is None:
            continue
        for key, fields in rows.items():
            writes.append((f"{table}|{key}", None if fields is None else _encode(fields)))
    for table, rows in tables.items():
        if rows is None:
            db.delete_table(table)
    for key, row in writes:
        if row is None:
            db.delete(key)
        else:
            db.set_fields(key, row)


def _encode(fields: Mapping[str, Any]) -> Hash:
    try:
        return encode_fields(fields)
    except TypeError as error:
        raise ProgramError(f"TypeError: {error}") from error
    except AttributeError as error:
        raise ProgramError(f"AttributeError: {error}") from error
