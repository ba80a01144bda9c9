"""The candidate configuration: what was loaded, checked before any device sees it, and what it would change.

A candidate is a document of the shape that ``show runningconfiguration all`` prints: CONFIG_DB tables and ``bgpraw``
(FRR's text). For a replace it is the whole configuration; for a merge only what changes, null removes, and ``bgpraw``
holds FRR lines to apply.
"""

import json
import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from enum import Enum
from pathlib import Path
from typing import Any

from railweave.sonic.document import BGPRAW, DocumentError, RunningConfig, json_fields, running_from, same_value
from railweave.sonic.frr import apply_delta, frr_delta, parse_frr
from railweave.sonic.merge import RowMerge, parse_merge
from railweave.sonic.permanent import instead_of_removal
from railweave.sonic.rows import Fields, Value

_TABLE_NAME = re.compile(r"[A-Z][A-Z0-9_]*")
_NEEDED_METADATA = ("hwsku", "mac", "platform")

_SWITCH_TABLES = frozenset({"VERSIONS"})
"""Tables that SONiC writes itself (``db_migrator.py``): a replace that lacks them does not remove them."""
_SWITCH_FIELDS = frozenset({("PORT", "dhcp_rate_limit")})
"""Fields that SONiC's migration adds to every row of a table."""
_SWITCH_ROW = re.compile(r"(BUFFER_PROFILE\|pg_lossless_\d+_.+_profile|BUFFER_PG\|.+)")
"""Rows that the buffer manager makes from speed, cable length and PFC; it would make them again at once."""


class Kind(Enum):
    """Whether the candidate is the whole configuration or a part to merge."""

    REPLACE = "replace"
    MERGE = "merge"


@dataclass(frozen=True, slots=True)
class Candidate:
    """A loaded document that has the right shape."""

    kind: Kind
    document: Mapping[str, Any] = field(repr=False)

    def changes(self, running: RunningConfig) -> dict[str, Any]:
        """Return the merge document of what really changes on a device with ``running``; empty when nothing does.

        Raises DocumentError where the candidate changes FRR and FRR's running configuration is unknown.
        """
        if self.kind is Kind.MERGE:
            return _merge_changes(self.document, running)
        return _replace_changes(self.document, running)


def read_candidate(kind: Kind, filename: str | None, config: str | None) -> Candidate:
    """Return the checked candidate of a file (which wins, as NAPALM has it) or a text; raises DocumentError."""
    if filename:
        try:
            config = Path(filename).read_text(encoding="utf-8")
        except (OSError, UnicodeDecodeError) as error:
            raise DocumentError(f"cannot read {filename}: {error}") from error
    if config is None:
        raise DocumentError("neither a file nor a configuration is given")
    try:
        document = json.loads(config, object_pairs_hook=_unique)
    except ValueError as error:
        raise DocumentError(f"not JSON: {error}") from error
    if not isinstance(document, dict):
        raise DocumentError("the document is not a JSON object of tables")
    _check(kind, document)
    return Candidate(kind, document)


def _unique(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    """Refuse a key that stands twice: JSON would silently keep the last."""
    found: dict[str, Any] = {}
    for key, value in pairs:
        if key in found:
            raise ValueError(f"the key {key!r} stands twice in one object")
        found[key] = value
    return found


def _check(kind: Kind, document: Mapping[str, Any]) -> None:
    for table in document:
        if table != BGPRAW and not _TABLE_NAME.fullmatch(table):
            raise DocumentError(f"{table!r} is no name of a CONFIG_DB table (they are written in capitals)")
    frr = document.get(BGPRAW)
    if frr is not None and not isinstance(frr, str):
        raise DocumentError(f"{BGPRAW}: not text")
    if kind is Kind.MERGE:
        parse_merge(document)
        return
    tables = running_from(document).config_db
    metadata = tables.get("DEVICE_METADATA", {}).get("localhost", {})
    missing = [name for name in _NEEDED_METADATA if not metadata.get(name)]
    if missing:
        raise DocumentError(
            f"DEVICE_METADATA|localhost lacks {', '.join(missing)}: a replace is the whole configuration "
            f"(start from get_config()['running']); use a merge for a part"
        )


def _merge_changes(document: Mapping[str, Any], running: RunningConfig) -> dict[str, Any]:
    merge = parse_merge(document)
    changes: dict[str, Any] = {}
    for table, rows in merge.tables.items():
        before = running.config_db.get(table, {})
        changed = {key: _row_change(table, key, row, before.get(key)) for key, row in rows.items()}
        _put(changes, table, changed)
    if merge.frr.strip():
        had = _frr_of(running)
        _put_frr(changes, frr_delta(had, apply_delta(merge.frr, had)))
    return changes


def _replace_changes(document: Mapping[str, Any], running: RunningConfig) -> dict[str, Any]:
    wanted = running_from(document)
    changes: dict[str, Any] = {}
    for table in sorted({*wanted.config_db, *running.config_db}):
        rows, before = wanted.config_db.get(table, {}), running.config_db.get(table, {})
        wholes: dict[str, RowMerge] = {key: _whole(table, row, before.get(key)) for key, row in rows.items()}
        wholes |= {key: None for key in before if key not in rows and not _is_the_switches(table, key)}
        _put(changes, table, {key: _row_change(table, key, row, before.get(key)) for key, row in wholes.items()})
    if wanted.frr is not None:
        _put_frr(changes, frr_delta(_frr_of(running), parse_frr(wanted.frr)))
    return changes


_NOTHING: dict[str, Any] = {"": ""}
"""Marks a row without change: an empty object means an empty row, and null its removal."""


def _row_change(table: str, key: str, row: RowMerge, before: Fields | None) -> dict[str, Any] | None:
    """Return what of ``row`` differs from ``before``; ``_NOTHING`` where all is as it should be.

    A row that SONiC does not survive the deletion of gets the values that hold without it.
    """
    if row is None and before is not None:
        row = instead_of_removal(table, key, before)
    if row is None:
        return _NOTHING if before is None else None
    differing = {name: value for name, value in row.items() if not same_value(value, (before or {}).get(name))}
    if before is None:
        present = {name: value for name, value in differing.items() if value is not None}
        return _json_row(present) if present or not row else _NOTHING
    return _json_row(differing) if differing else _NOTHING


def _json_row(row: Mapping[str, Value | None]) -> dict[str, Any]:
    gone: dict[str, Any] = {name: None for name, value in row.items() if value is None}
    return {**json_fields({name: value for name, value in row.items() if value is not None}), **gone}


def _whole(table: str, row: Fields, before: Fields | None) -> RowMerge:
    """Return the merge that leaves exactly ``row``: fields that only the device has are removed."""
    surplus = [name for name in before or {} if name not in row and (table, name) not in _SWITCH_FIELDS]
    return {**row, **dict.fromkeys(surplus)}


def _is_the_switches(table: str, key: str) -> bool:
    return table in _SWITCH_TABLES or _SWITCH_ROW.fullmatch(f"{table}|{key}") is not None


def _put(changes: dict[str, Any], table: str, rows: Mapping[str, Any]) -> None:
    real = {key: row for key, row in rows.items() if row is not _NOTHING}
    if real:
        changes[table] = real


def _put_frr(changes: dict[str, Any], delta: str) -> None:
    if delta:
        changes[BGPRAW] = delta


def _frr_of(running: RunningConfig) -> Any:
    if running.frr is None:
        raise DocumentError("FRR does not answer, so its configuration cannot be compared (is the bgp container up?)")
    return parse_frr(running.frr)


def touched_rows(changes: Mapping[str, Any]) -> Iterable[tuple[str, str]]:
    """Yield (table, key) of every row that a merge document names."""
    for table, rows in changes.items():
        if table != BGPRAW:
            yield from ((table, key) for key in rows)
