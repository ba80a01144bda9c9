"""Write a JSON document into the running CONFIG_DB as ``sonic-cfggen --write-to-db`` does."""

import json
from collections.abc import Mapping
from typing import Any

from sonic_sim.configdb import ConfigDb, Hash, encode_fields
from sonic_sim.shell.programs import ProgramError


def read_document(text: str) -> Any:
    """Parse JSON. Raises ProgramError as a program without error handling would."""
    try:
        return json.loads(text)
    except json.JSONDecodeError as error:
        raise ProgramError(f"json.decoder.JSONDecodeError: {error}") from error


def merge_into(db: ConfigDb, document: Any) -> None:
    """Write a document into ``db`` in one transaction.

    Fields are set. A table or row that is ``null`` is deleted; an empty table changes nothing. Raises ProgramError,
    before anything is written, if the document has another shape.
    """
    # Keys with their rows, None for one to delete.
    writes: list[tuple[str, Hash | None]] = []
    try:
        # A table counts where its name begins with a capital, and is written in capitals (sonic-cfggen, swss-common).
        tables = [(name.upper(), rows) for name, rows in document.items() if name[0].isupper()]
        for table, rows in tables:
            if rows is None:
                continue
            for key, fields in rows.items():
                row = None if fields is None else _encode(fields)
                writes.append((f"{table}|{key}", row))
    except (TypeError, AttributeError, IndexError) as error:
        raise ProgramError(f"{type(error).__name__}: {error}") from error
    for table, rows in tables:
        if rows is None:
            db.delete_table(table)
    for key, row in writes:
        if row is None:
            db.delete(key)
        else:
            db.set_fields(key, row)


def _encode(fields: Mapping[str, Any]) -> Hash:
    """Return the fields of a row as CONFIG_DB keeps them."""
    # Indexed by its names: a text in the place of a row is then indexed by its characters, and fails for that.
    return encode_fields({name: fields[name] for name in fields})
