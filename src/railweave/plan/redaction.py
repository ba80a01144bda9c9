"""Secrets in views and plan files: shown as a mark, never as they are.

Rows of ``overrides`` may hold passwords and community strings (SONiC keeps some of them in keys); a plan travels into
pull requests and logs. What is applied is always computed anew from the intent, so the mark loses nothing.
"""

import re
from collections.abc import Mapping
from dataclasses import replace

from railweave.sonic.change import FRR_TABLE, Change
from railweave.sonic.rows import Fields, Value

MARK = "(secret)"

_SECRET_FIELD = re.compile(r"passw|passkey|secret|psk|private|token|auth_key|priv_key|community", re.IGNORECASE)
# The key itself is the secret: SNMP_COMMUNITY|public, SNMP_USER keeps its keys in fields.
_SECRET_KEYS = frozenset({"SNMP_COMMUNITY"})
_SECRET_TABLES = re.compile(r"^(TACPLUS|RADIUS|LDAP)")
_SECRET_LINE = re.compile(r"^(.*\bpassword(?: \d+)?) \S+(.*)$")


def redacted(change: Change) -> Change:
    """Return ``change`` with every secret marked; the change itself where it holds none."""
    if change.table == FRR_TABLE:
        return _redacted_line(change)
    hide_all = change.table in _SECRET_KEYS
    key = MARK if hide_all else change.key
    before = _hidden(change, change.before)
    after = _hidden(change, change.after)
    if key == change.key and before is change.before and after is change.after:
        return change
    return replace(change, key=key, before=before, after=after)


def _redacted_line(change: Change) -> Change:
    field = change.field
    if field is None or " password " not in f" {field}":
        return change
    return replace(change, field=_line(field), before=_text(change.before), after=_text(change.after))


def _line(text: str) -> str:
    return _SECRET_LINE.sub(rf"\1 {MARK}\2", text)


def _text(value: Value | Fields | None) -> Value | Fields | None:
    return _line(value) if isinstance(value, str) else value


def _secret(table: str, field: str) -> bool:
    return bool(_SECRET_FIELD.search(field)) or (field == "key" and bool(_SECRET_TABLES.match(table)))


def _hidden(change: Change, value: Value | Fields | None) -> Value | Fields | None:
    if value is None:
        return None
    if change.field is not None:
        return MARK if _secret(change.table, change.field) else value
    if isinstance(value, Mapping):
        if not any(_secret(change.table, name) for name in value):
            return value
        return {name: MARK if _secret(change.table, name) else held for name, held in value.items()}
    return value
