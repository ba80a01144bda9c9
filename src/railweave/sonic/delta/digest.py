"""The digest of the configuration of a switch that is ours, by which a plan sees that the switch has changed since."""

import hashlib
import hmac
import json
from collections.abc import Iterable, Iterator
from operator import itemgetter

import orjson

from railweave.sonic.delta.spans import rows_by_port
from railweave.sonic.document import RunningConfig, are_texts, canonical, same_value
from railweave.sonic.neutral import has_permanent_rows, is_as_good_as_none, neutral_fields
from railweave.sonic.ownership import (
    PRIORITY_GROUPS,
    Scope,
    frr_scope,
    is_fieldwise,
    is_made_by_sonic,
    is_ours,
    port_of,
    scope_of,
    stands_over_others,
)
from railweave.sonic.rows import DeviceConfig, Fields, Table


def running_sha256(running: RunningConfig, intended: DeviceConfig) -> str:
    """Return the hash of our running configuration, by which a plan sees that the device has changed since.

    It covers our rows, fields and FRR lines; foreign ones may change without any effect on it. If the switch keeps a
    key, the hash is an HMAC with that key, so that secrets cannot be guessed from the hash in a plan or journal.
    """
    intended_db = intended.config_db()
    scope = scope_of(running.config_db, intended_db)
    rows: list[HashedRow] = []
    for table, table_rows in running.config_db.items():
        rows += _hashed_rows(scope, table, table_rows, intended_db.get(table, {}))
    rows.sort(key=itemgetter(0, 1))
    lines: list[list[str]] = []
    if running.frr_document is not None:
        owned = frr_scope(running.config_db, running.frr_document, intended.frr_document).owned
        lines = sorted([entry.context, entry.line] for entry in owned)
    data = _digested([rows, lines, running.frr is None])
    if running.digest_key:
        return hmac.new(running.digest_key.encode(errors="replace"), data, hashlib.sha256).hexdigest()
    return hashlib.sha256(data).hexdigest()


_ESCAPED_BY_JSON = b"\x7f"


def _digested(value: object) -> bytes:
    """Return a value as ``json`` writes it with sorted keys and no spaces."""
    # For plain ASCII orjson writes the same bytes in an eighth of the time. Only json escapes other characters.
    try:
        data = orjson.dumps(value, option=orjson.OPT_SORT_KEYS)
    except TypeError:
        # orjson refuses halves of surrogate pairs.
        data = _ESCAPED_BY_JSON
    if data.isascii() and _ESCAPED_BY_JSON not in data:
        return data
    return json.dumps(value, separators=(",", ":"), sort_keys=True).encode()


HashedRow = tuple[str, str, Fields]


def _hashed_rows(scope: Scope, table: str, rows: Table, stated: Table) -> Iterable[HashedRow]:
    """Return our rows of a table as table, key and fields that count; ``stated`` are the intended rows."""
    owned = rows
    if not rows.keys() <= stated.keys():
        owned = _owned_rows(scope, table, rows, stated)
    every_field_counts = not (is_fieldwise(table) or has_permanent_rows(table) or neutral_fields(table))
    if every_field_counts and are_texts(owned.values()):
        return [(table, key, fields) for key, fields in owned.items()]
    return _with_fields_that_count(table, owned, stated)


def _owned_rows(scope: Scope, table: str, rows: Table, stated: Table) -> Table:
    """Return the rows that the intent states, and the others that are ours."""
    ignored: frozenset[str] = frozenset()
    if table == PRIORITY_GROUPS:
        # Whether buffermgrd has joined groups depends on a port's history, so such rows are not part of the digest.
        ignored = _joined_groups(rows)
    return {
        key: fields
        for key, fields in rows.items()
        if key in stated or (key not in ignored and is_ours(scope, table, key))
    }


def _with_fields_that_count(table: str, rows: Table, stated: Table) -> Iterator[HashedRow]:
    """Yield rows with the fields that count, for a table in which some fields do not count or are lists."""
    fieldwise = is_fieldwise(table)
    has_permanent = has_permanent_rows(table)
    neutral = neutral_fields(table)
    for key, fields in rows.items():
        if has_permanent:
            if is_as_good_as_none(table, key, fields):
                continue
            # In such a table each row has neutral values of its own.
            neutral = neutral_fields(table, key)
        stated_fields = stated.get(key) if fieldwise else None
        yield table, key, _fields_that_count(fields, stated_fields, neutral)


def _joined_groups(rows: Table) -> frozenset[str]:
    """Return the rows in which buffermgrd joined priority groups that have rows of their own."""
    ranges = [key for key, fields in rows.items() if "-" in key and is_made_by_sonic(PRIORITY_GROUPS, key, fields)]
    if not ranges:
        return frozenset()
    ports = rows_by_port(rows)
    return frozenset(key for key in ranges if stands_over_others(key, ports[port_of(key)]))


_TEXT_ONLY = frozenset({str})


def _fields_that_count(fields: Fields, stated: Fields | None, neutral: Fields) -> Fields:
    """Return the fields of a row that are ours and differ from their ``neutral`` values.

    Ours are the fields that ``stated`` has; all of them if it is None.
    """
    ours = _owned_fields(fields, stated)
    if not _TEXT_ONLY.issuperset(map(type, ours.values())):
        return {name: canonical(value) for name, value in ours.items() if not same_value(neutral.get(name), value)}
    # Texts are the same where they are equal, so a row of many ports needs no call for each of its fields.
    if not neutral:
        return ours
    return {name: value for name, value in ours.items() if value != neutral.get(name)}


def _owned_fields(fields: Fields, stated: Fields | None) -> Fields:
    # Most rows have no other fields, and then the row itself serves.
    if stated is None or fields.keys() <= stated.keys():
        return fields
    return {name: value for name, value in fields.items() if name in stated}
