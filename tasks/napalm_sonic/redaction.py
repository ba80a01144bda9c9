"""Hides passwords and keys in what is shown to people: differences, and sanitized configurations."""

import re
from collections.abc import Mapping
from typing import Any

HIDDEN = "<hidden>"

_SECRET_FIELD = re.compile(r"passw(or)?d|passkey|passphrase|secret|community|private_key|(^|_)cak$", re.IGNORECASE)
_SECRET_VALUES = frozenset({("NTP_KEY", "value")})
_SECRET_KEYS = frozenset({"SNMP_COMMUNITY"})
"""Tables whose row key itself is the secret."""

_SECRET_IN_FRR = re.compile(
    r"(\b(?:password|key-string|authentication-key|message-digest-key\s+\d+\s+md5)\s+(?:\d\s+)?)\S+", re.IGNORECASE
)


def is_secret(table: str, field: str) -> bool:
    """Tell whether a field of CONFIG_DB holds a secret."""
    return _SECRET_FIELD.search(field) is not None or (table, field) in _SECRET_VALUES


def shown_key(table: str, key: str) -> str:
    """Return a row's key as it may be shown."""
    return HIDDEN if table in _SECRET_KEYS else key


def hide_in_frr(text: str) -> str:
    """Return FRR text with the words after password keywords hidden."""
    return _SECRET_IN_FRR.sub(rf"\1{HIDDEN}", text)


def hide_in_document(document: Mapping[str, Any]) -> dict[str, Any]:
    """Return a configuration document (tables and ``bgpraw``) with every secret hidden."""
    shown: dict[str, Any] = {}
    for table, rows in document.items():
        if isinstance(rows, str):
            shown[table] = hide_in_frr(rows)
        elif isinstance(rows, Mapping):
            shown[table] = {shown_key(table, key): _hide_row(table, row) for key, row in rows.items()}
        else:
            shown[table] = rows
    return shown


def _hide_row(table: str, row: Any) -> Any:
    if not isinstance(row, Mapping):
        return row
    return {name: HIDDEN if is_secret(table, name) and value is not None else value for name, value in row.items()}
