"""Why a row or line of a device's configuration is there, looked up by what an engineer would type."""

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from difflib import get_close_matches

from railweave.secrets import HIDDEN, is_secret, shown_frr, shown_key, shown_row, shown_text
from railweave.sonic.reasons import frr_lines
from railweave.sonic.rows import FRR_TABLE, DeviceConfig, Fields, Row, Value

_NEAREST = 5


@dataclass(frozen=True, slots=True)
class Explained:
    """A row (``field`` None, ``value`` its fields) or one field with its value, secrets hidden. An FRR line has table
    ``frr``, its context as key and itself as field."""

    table: str
    key: str
    field: str | None
    value: Value | Fields
    reason: str

    @property
    def subject(self) -> str:
        """Return it as it can be asked for: ``TABLE|key|field``, or the FRR line."""
        if self.table == FRR_TABLE:
            return self.field or ""
        return "|".join(part for part in (self.table, self.key, self.field) if part is not None)


@dataclass(frozen=True, slots=True)
class Explanation:
    """The answer; where nothing was ``found``, ``nearest`` lists what could have been meant."""

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
    return _rows_explained(config, f"{table}|{rest}" if rest else table, table, rest)


def explain_line(config: DeviceConfig, text: str) -> Explanation:
    """Explain the FRR lines that are ``text``, else all that start with it (``neighbor 10.192.0.0``)."""
    lines = [
        Explained(FRR_TABLE, one.context, line := shown_frr(one.line), line, one.reason)
        for one in frr_lines(config.frr)
    ]
    meant = shown_frr(text)
    found = [one for one in lines if one.field == meant] or [one for one in lines if one.subject.startswith(meant)]
    if not text:
        found = [*(_whole(row) for row in config.rows), *lines]
    if found:
        return Explanation(config.device, meant, tuple(found), ())
    return _not_found(config, text, (one.subject for one in lines))


def _rows_explained(config: DeviceConfig, asked: str, table: str, rest: str) -> Explanation:
    rows = [row for row in config.rows if row.table == table]
    found = tuple(_matches(rows, rest))
    if found:
        return Explanation(config.device, shown_text(asked), found, ())
    tables = [table] if rows else get_close_matches(table, {row.table for row in config.rows}, n=2)
    near = (f"{row.table}|{shown_key(row.table, row.key)}" for row in config.rows if row.table in tables)
    return _not_found(config, asked, near)


def _matches(rows: Iterable[Row], rest: str) -> Iterator[Explained]:
    for row in rows:
        # A key may hold bars itself (INTERFACE|Ethernet0|10.0.0.0/31), so the whole rest is tried as one first.
        if rest in ("", row.key):
            yield _whole(row)
        elif rest.startswith(f"{row.key}|") and (field := rest.removeprefix(f"{row.key}|")) in row.fields:
            value = HIDDEN if is_secret(row.table, field) else row.fields[field]
            yield Explained(row.table, shown_key(row.table, row.key), field, value, row.reason)


def _whole(row: Row) -> Explained:
    return Explained(row.table, shown_key(row.table, row.key), None, shown_row(row.table, row.fields), row.reason)


def _not_found(config: DeviceConfig, asked: str, candidates: Iterable[str]) -> Explanation:
    known = list(dict.fromkeys(candidates))
    known += [table for table in dict.fromkeys(row.table for row in config.rows) if table not in known]
    return Explanation(
        config.device, shown_text(asked), (), tuple(get_close_matches(asked, known, n=_NEAREST, cutoff=0.4))
    )
