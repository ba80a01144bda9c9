"""The difference between running and candidate configuration as a person reads it; empty when there is none.

A block a row, fields that go with ``-`` and fields that come with ``+``; FRR lines under their contexts. Secrets are
hidden, and a changed secret still shows as changed.
"""

from collections.abc import Iterable, Iterator, Mapping
from typing import Any

from napalm_sonic.codec import natural
from railweave.secrets import HIDDEN, is_secret, shown_key
from railweave.sonic.document import BGPRAW, RunningConfig
from railweave.sonic.frr import FrrEntry, apply_delta, frr_difference, parse_frr


def difference(changes: Mapping[str, Any], running: RunningConfig) -> str:
    """Return the text for a merge document that holds real changes only (:meth:`Candidate.changes`)."""
    if not changes:
        return ""
    lines = ["--- running", "+++ candidate"]
    for table in sorted(changes):
        if table != BGPRAW:
            before = running.config_db.get(table, {})
            for key in sorted(changes[table], key=natural):
                lines += _row(table, key, before.get(key), changes[table][key])
    if BGPRAW in changes:
        lines += _frr(changes[BGPRAW], running.frr or "")
    return "\n".join(lines)


def _row(table: str, key: str, before: Mapping[str, Any] | None, row: Mapping[str, Any] | None) -> Iterator[str]:
    yield f"@@ {table}|{shown_key(table, key)} @@" + _whole_row(before, row)
    had = dict(before or {})
    names = had if row is None else row
    for name in sorted(names, key=natural):
        if name in had:
            yield f"-  {name}: {_shown(table, name, had[name])}"
        if row is not None and row[name] is not None:
            yield f"+  {name}: {_shown(table, name, row[name])}"


def _whole_row(before: Mapping[str, Any] | None, row: Mapping[str, Any] | None) -> str:
    if row is None:
        return " removed"
    return " added" if before is None else ""


def _shown(table: str, name: str, value: Any) -> str:
    if is_secret(table, name):
        return HIDDEN
    return value if isinstance(value, str) else ", ".join(value)


def _frr(delta: str, running: str) -> Iterator[str]:
    had = parse_frr(running)
    removed, added = frr_difference(had, apply_delta(delta, had))
    contexts = dict.fromkeys(entry.context for entry in (*removed, *added))
    for context in contexts:
        yield f"@@ frr {context} @@" if context else "@@ frr @@"
        yield from _lines("-", removed, context)
        yield from _lines("+", added, context)


def _lines(sign: str, entries: Iterable[FrrEntry], context: str) -> Iterator[str]:
    for entry in entries:
        if entry.context == context:
            yield f"{sign}  {entry.shown}"
