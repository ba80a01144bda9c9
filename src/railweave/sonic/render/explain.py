"""The reason of a row or line of a device's configuration, looked up by what an engineer types."""

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from difflib import get_close_matches

from railweave.secrets import HIDDEN, is_secret, shown_frr, shown_key, shown_row, shown_text
from railweave.sonic.reasons import frr_lines
from railweave.sonic.rows import FRR_TABLE, DeviceConfig, Fields, Row, Value

_NEAREST = 5


@dataclass(frozen=True, slots=True)
class Explained:
    """A row, a field or a line of FRR with its reason, secrets hidden.

    For a row ``field`` is None and ``value`` holds its fields. For a line of FRR ``table`` is ``FRR_TABLE``, ``key``
    the context of the line, and ``field`` the line.
    """

    table: str
    key: str
    field: str | None
    value: Value | Fields
    reason: str

    @property
    def subject(self) -> str:
        """Return the text that asks for it: ``TABLE|key|field``, or the FRR line."""
        if self.table == FRR_TABLE:
            return self.field or ""
        return "|".join(part for part in (self.table, self.key, self.field) if part is not None)


@dataclass(frozen=True, slots=True)
class Explanation:
    """The answer to what an engineer asked; if ``found`` is empty, ``nearest`` lists similar rows and lines."""

    device: str
    asked: str
    found: tuple[Explained, ...]
    nearest: tuple[str, ...]


def explain_text(config: DeviceConfig, text: str) -> Explanation:
    """Explain ``TABLE``, ``TABLE|key``, ``TABLE|key|field`` or an FRR line; empty text explains every row and line."""
    asked = " ".join(text.split())
    table, _, rest = asked.partition("|")
    if rest or any(row.table == table for row in config.rows):
        return _rows_explained(config, asked, table, rest)
    return explain_line(config, asked)


def explain(config: DeviceConfig, table: str, key: str = "", field: str = "") -> Explanation:
    """Explain the rows of a table, one row, or one of its fields."""
    rest = "|".join(part for part in (key, field) if part)
    asked = "|".join(part for part in (table, rest) if part)
    return _rows_explained(config, asked, table, rest)


def explain_line(config: DeviceConfig, text: str) -> Explanation:
    """Explain the FRR lines that are ``text``; if there are none, those that start with it (``neighbor 10.192.0.0``).

    Empty text explains every row and line.
    """
    lines = _frr_explained(config)
    if not text:
        rows = [_whole(row) for row in config.rows]
        return Explanation(config.device, "", (*rows, *lines), ())
    asked = shown_frr(text)
    matches = _matching_lines(lines, asked)
    if matches:
        return Explanation(config.device, asked, tuple(matches), ())
    return _not_found(config, text, (line.subject for line in lines))


def _frr_explained(config: DeviceConfig) -> list[Explained]:
    """Return every line of FRR with its reason."""
    lines = []
    for line in frr_lines(config.frr):
        shown = shown_frr(line.line)
        lines.append(Explained(FRR_TABLE, line.context, shown, shown, line.reason))
    return lines


def _matching_lines(lines: Iterable[Explained], text: str) -> list[Explained]:
    """Return the lines that are ``text``; if none is, those that start with it."""
    equal = [line for line in lines if line.field == text]
    if equal:
        return equal
    return [line for line in lines if line.subject.startswith(text)]


def _rows_explained(config: DeviceConfig, asked: str, table: str, rest: str) -> Explanation:
    """Explain the rows of ``table`` that ``rest`` names: all if it is empty, else by ``key`` or ``key|field``."""
    rows = [row for row in config.rows if row.table == table]
    matches = tuple(_matches(rows, rest))
    if matches:
        return Explanation(config.device, shown_text(asked), matches, ())
    similar_tables = [table]
    if not rows:
        similar_tables = get_close_matches(table, {row.table for row in config.rows}, n=2)
    candidates = (f"{row.table}|{shown_key(row.table, row.key)}" for row in config.rows if row.table in similar_tables)
    return _not_found(config, asked, candidates)


def _matches(rows: Iterable[Row], rest: str) -> Iterator[Explained]:
    """Yield the rows of a table that ``rest`` names: all if it is empty, else by ``key`` or ``key|field``."""
    for row in rows:
        # A key may hold bars itself (INTERFACE|Ethernet0|10.0.0.0/31), so the whole rest is tried as one first.
        if rest in ("", row.key):
            yield _whole(row)
        elif rest.startswith(f"{row.key}|"):
            field = rest.removeprefix(f"{row.key}|")
            if field in row.fields:
                value = HIDDEN if is_secret(row.table, field) else row.fields[field]
                yield Explained(row.table, shown_key(row.table, row.key), field, value, row.reason)


def _whole(row: Row) -> Explained:
    return Explained(row.table, shown_key(row.table, row.key), None, shown_row(row.table, row.fields), row.reason)


def _not_found(config: DeviceConfig, asked: str, candidates: Iterable[str]) -> Explanation:
    """Return an answer without results, with those of ``candidates`` and of the tables that are spelled similarly."""
    names = dict.fromkeys(candidates)
    names.update(dict.fromkeys(row.table for row in config.rows))
    nearest = get_close_matches(asked, names, n=_NEAREST, cutoff=0.4)
    return Explanation(config.device, shown_text(asked), (), tuple(nearest))
