"""The rows and fields that messages of sonic_yang and libyang name."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any, NamedTuple

Tables = Mapping[str, Mapping[str, Any]]


class RowFault(NamedTuple):
    """What the models reject; an empty field is the whole row, an empty key the whole table."""

    table: str
    key: str
    field: str
    # SONiC's words.
    reason: str

    @property
    def place(self) -> tuple[str, str, str]:
        """Return table, key and field."""
        return self[:3]

    @property
    def row(self) -> tuple[str, str]:
        """Return table and key."""
        return self[:2]


# libyang 1 prints the path in brackets, libyang 3 (202605) has it in the error, with a line number where it was still
# reading the entry.
_PATH = re.compile(
    r"(?:\(path|: Data path): /[^/]+/(?P<table>[^/\[]+)/(?P<form>[^/\[]+)(?P<keys>(?:\[[^=]+='.*?'\])*)(?P<below>/.*?)?"
    r"(?:\)|(?P<reading> \(line \d+\)))?$"
)
_AROUND = re.compile(r"^failed to parse data tree: |\s*: Data path: \S.*$")
_KEY = re.compile(r"\[[^=]+='(.*?)'\]")
UNPARSED = re.compile(r"All Keys are not parsed in (\S+)\ndict_keys\(\[(.*)\]\)\nexceptionList:(.*)")
_QUOTED = re.compile(r"'((?:[^'\\]|\\.)*)'|\"((?:[^\"\\]|\\.)*)\"")


def places_named(message: str, printed: str, tables: Tables) -> list[RowFault]:
    """Return the faults of the rows or fields that the messages of a failure name; empty if they name none.

    ``message`` is that of sonic_yang's exception, ``printed`` the output of libyang.
    """
    unparsed = UNPARSED.search(message)
    if unparsed:
        return _unparsed_faults(unparsed, tables)
    lines = (printed or message).splitlines()
    if not lines:
        return []
    # libyang prints the path in its last message.
    path = _PATH.search(lines[-1])
    if path is None:
        return []
    return _faults_at(path, tables.get(path["table"], {}), reason_of(message))


def _faults_at(path: re.Match[str], rows: Mapping[str, Any], reason: str) -> list[RowFault]:
    """Return the fault of the row, or of its field, to which a path of libyang (``_PATH``) leads.

    ``rows`` are those of its table. Empty if several rows may be meant.
    """
    keys = _keys_at(path, rows)
    if not keys:
        return []
    key = keys[0]
    field = _field_at(path["below"] or "", rows[key])
    if not field and len(keys) > 1 and path["reading"]:
        # The entry that libyang was reading may be any of these rows.
        return []
    return [RowFault(path["table"], key, field, reason)]


def _keys_at(path: re.Match[str], rows: Mapping[str, Any]) -> list[str]:
    """Return the keys of the rows to which a path may lead, the most likely one first."""
    # A container, such as PFC_WD/GLOBAL, has no keys, and its name is the key of the row.
    named_key = "|".join(_KEY.findall(path["keys"])) or path["form"]
    # libyang knows only the first keys of an entry that it is still reading.
    longer_keys = [key for key in rows if key.startswith(f"{named_key}|")]
    if named_key in rows:
        return [named_key, *longer_keys]
    return longer_keys


def _field_at(below: str, row: Mapping[str, Any]) -> str:
    """Return the field of a row in the part of a path below the row; empty if there is none."""
    # A field is a node of the path, or the key of a list inside the row.
    names = (*re.findall(r"/([^/\[]+)", below), *_KEY.findall(below))
    return next((name for name in names if name in row), "")


def _unparsed_faults(unparsed: re.Match[str], tables: Tables) -> list[RowFault]:
    """Return the faults of the rows or fields that fit no list of their table (``UNPARSED``)."""
    table, quoted_names, exceptions = unparsed.groups()
    names = ["".join(parts) for parts in _QUOTED.findall(quoted_names)]
    reason = f"the YANG model of its table has no list or field for it {exceptions}".removesuffix(" []")
    # sonic_yang names a list row by key, and the field only in a KeyError.
    quotes = ["".join(parts) for parts in _QUOTED.findall(exceptions)]
    faults: list[RowFault] = []
    for key, row in tables[table].items():
        for name in names:
            if name == key:
                faults.append(RowFault(table, key, _named_field(row, quotes), reason))
            elif key not in names and name in row:
                faults.append(RowFault(table, key, name, reason))
    return faults


def _named_field(row: Mapping[str, Any], quotes: list[str]) -> str:
    """Return the field of a row that one of the quotes names, or whose value it contains; empty if none does."""
    for quote in quotes:
        if quote.strip("'") in row:
            return quote.strip("'")
    for name, value in row.items():
        if any(f"'{value}'" in quote for quote in quotes):
            return name
    return ""


_HEADINGS = ("Data Loading Failed", "Failed to validate", "Yang Models Load failed")


def reason_of(message: str) -> str:
    """Return SONiC's words in a message, without the path that is reported as the place."""
    return _AROUND.sub("", message_words(message))


def message_words(message: str) -> str:
    """Return SONiC's message without its headings."""
    lines = [line.strip() for line in message.splitlines() if line.strip()]
    return " ".join(line for line in lines if not line.startswith(_HEADINGS)) or message
