"""The candidate configuration: what was loaded, checked before any device sees it, and what it would change.

A candidate is a document of the shape that ``show runningconfiguration all`` prints: CONFIG_DB tables and ``bgpraw``
(FRR's text). For a replace it is the whole configuration; for a merge only what changes, null removes, and ``bgpraw``
holds FRR lines to apply.
"""

import json
import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from enum import Enum
from pathlib import Path
from typing import Any

from railweave.sonic.delta.change import Delta, Edit, Op
from railweave.sonic.delta.delta import judged
from railweave.sonic.delta.edits import frr_edits, row_edits
from railweave.sonic.delta.merge import RowMerge, delta_of, parse_merge
from railweave.sonic.delta.spans import names_no_number
from railweave.sonic.document import BGPRAW, DocumentError, RunningConfig, running_from
from railweave.sonic.frr import frr_difference
from railweave.sonic.rows import Fields

_TABLE_NAME = re.compile(r"[A-Z][A-Z0-9_]*")
_NEEDED_METADATA = ("hwsku", "mac", "platform")

# Tables that SONiC writes itself (``db_migrator.py``): a replace that lacks them does not remove them.
_SWITCH_TABLES = frozenset({"VERSIONS"})
# Fields that SONiC's migration adds to every row of a table.
_SWITCH_FIELDS = frozenset({("PORT", "dhcp_rate_limit")})
# Rows that the buffer manager makes from speed, cable length and PFC; it would make them again at once.
_SWITCH_ROW = re.compile(r"(BUFFER_PROFILE\|pg_lossless_\d+_.+_profile|BUFFER_PG\|.+)")


class CandidateKind(Enum):
    """Whether the candidate is the whole configuration or a part to merge."""

    REPLACE = "replace"
    MERGE = "merge"


@dataclass(frozen=True, slots=True)
class Candidate:
    """A loaded document that has the right shape."""

    kind: CandidateKind
    document: Mapping[str, Any] = field(repr=False)

    def delta(self, running: RunningConfig) -> Delta:
        """Return what really changes on a device with ``running``; empty when nothing does.

        Raises DocumentError where the candidate changes FRR and FRR's running configuration is unknown, or where a row
        names no priority group or queue.
        """
        if self.kind is CandidateKind.MERGE:
            delta = delta_of(self.document, running)
        else:
            delta = judged(tuple(_replace_edits(self.document, running)), running.config_db)
        for change in delta:
            if change.op is not Op.REMOVE and names_no_number(change.table, change.key):
                raise DocumentError(
                    f"{change.table}|{change.key}: its last part is neither a number nor a range such as 3-4, and "
                    f"orchagent reads no other"
                )
        return delta


def read_candidate(kind: CandidateKind, filename: str | None, config: str | None) -> Candidate:
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
    except (ValueError, RecursionError) as error:
        raise DocumentError(f"not JSON: {error}") from error
    if not isinstance(document, dict):
        raise DocumentError("the document is not a JSON object of tables")
    _check(kind, document)
    return Candidate(kind, document)


def _unique(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    """Return an object; raises ValueError for a duplicate key, of which Python would silently keep the last."""
    members: dict[str, Any] = {}
    for key, value in pairs:
        if key in members:
            raise ValueError(f"duplicate key {key!r} in one object")
        members[key] = value
    return members


def _check(kind: CandidateKind, document: Mapping[str, Any]) -> None:
    """Raise DocumentError for a document that is not a configuration, or not a merge of one."""
    for table in document:
        if table != BGPRAW and not _TABLE_NAME.fullmatch(table):
            raise DocumentError(f"{table!r} is not a valid name of a CONFIG_DB table (they are written in capitals)")
    frr = document.get(BGPRAW)
    if frr is not None and not isinstance(frr, str):
        raise DocumentError(f"{BGPRAW}: not text")
    if kind is CandidateKind.MERGE:
        parse_merge(document)
    else:
        _refuse_incomplete(document)


def _refuse_incomplete(document: Mapping[str, Any]) -> None:
    """Raise DocumentError for a whole configuration with which ``config reload`` would hang (``sonic-cfggen -H``)."""
    tables = running_from(document).config_db
    metadata = tables.get("DEVICE_METADATA", {}).get("localhost", {})
    missing = [name for name in _NEEDED_METADATA if not metadata.get(name)]
    if missing:
        raise DocumentError(
            f"DEVICE_METADATA|localhost lacks {', '.join(missing)}: a replace is the whole configuration "
            f"(start from get_config()['running']); use a merge for a part"
        )


def _replace_edits(document: Mapping[str, Any], running: RunningConfig) -> Iterator[Edit]:
    """Yield the edits from the running configuration to the whole one of a document."""
    intended = running_from(document)
    for table in sorted({*intended.config_db, *running.config_db}):
        intended_rows = intended.config_db.get(table, {})
        running_rows = running.config_db.get(table, {})
        for key, row in intended_rows.items():
            running_row = running_rows.get(key)
            yield from row_edits(table, key, running_row, _merge_to(table, row, running_row))
        for key, running_row in running_rows.items():
            if key not in intended_rows and not _is_made_by_switch(table, key):
                yield from row_edits(table, key, running_row, None)
    # Without FRR's text the document leaves FRR as it is.
    if intended.frr_document is not None:
        running_frr = running.known_frr("it cannot be compared")
        yield from frr_edits(*frr_difference(running_frr, intended.frr_document))


def _merge_to(table: str, row: Fields, running_row: Fields | None) -> RowMerge:
    """Return the merge that leaves exactly ``row``: fields that only the device has are removed."""
    surplus = [name for name in running_row or {} if name not in row and (table, name) not in _SWITCH_FIELDS]
    return {**row, **dict.fromkeys(surplus)}


def _is_made_by_switch(table: str, key: str) -> bool:
    """Tell whether SONiC itself makes a row, so that a document need not have it."""
    return table in _SWITCH_TABLES or _SWITCH_ROW.fullmatch(f"{table}|{key}") is not None
