"""Typed rows of CONFIG_DB tables, each able to say why it is there."""

import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import cached_property
from typing import TYPE_CHECKING, NamedTuple

from railweave.secrets import shown_frr, shown_key, shown_row

if TYPE_CHECKING:
    from railweave.sonic.frr import FrrDocument

FRR_TABLE = "frr"
"""The table name of changes of FRR lines: key = context, field = line."""

Value = str | tuple[str, ...]
"""A CONFIG_DB field: text, or a list (``field@`` in Redis)."""

Fields = Mapping[str, Value]
Table = Mapping[str, Fields]
ConfigDb = Mapping[str, Table]
"""``{table: {key: {field: value}}}``, the shape of ``sonic-cfggen -d --print-data`` with lists as tuples."""

_NUMBER = re.compile(r"[0-9]{1,18}")


def number(value: Value | None) -> int | None:
    """Return the number of a field; None if it is missing, negative or not a number."""
    if not isinstance(value, str) or not _NUMBER.fullmatch(value):
        return None
    return int(value)


class Row(NamedTuple):
    """One row: ``TABLE|key`` with its fields. ``reason`` is one sentence that names the rule and the intent path.

    ``why`` is that sentence, with ``{}`` in the place of ``about`` if the row has one. Its ``repr`` hides secrets.
    """

    # A fabric has a million rows, and a tuple is created twice as fast as a frozen dataclass. For the same reason the
    # sentence is formatted only when it is read: rendering does not read it.

    table: str
    key: str
    fields: Fields
    why: str
    about: str = ""

    @property
    def reason(self) -> str:
        """Return why the row exists."""
        if not self.about:
            return self.why
        return self.why.format(self.about)

    def __repr__(self) -> str:
        """Return the row with secrets hidden."""
        return f"Row({self.table}|{shown_key(self.table, self.key)} {dict(shown_row(self.table, self.fields))})"


@dataclass(frozen=True, slots=True, eq=False, weakref_slot=True)
class TableRows:
    """The rows of one table on a device.

    A ``shared`` value is one object for all switches that use the same ports of one panel, or have the same neighbors,
    so results that are computed from it can be cached.
    """

    table: str
    rows: tuple[Row, ...]
    shared: bool


@dataclass(frozen=True, slots=True, repr=False)
class FrrLine:
    """One line of an FRR configuration in its context (``router bgp 4210000000``, sub-contexts joined by `` / ``;
    empty at top level), with its reason. Its ``repr`` hides secrets."""

    context: str
    line: str
    reason: str

    def __repr__(self) -> str:
        """Return the line with secrets hidden."""
        return f"FrrLine({self.context} / {shown_frr(self.line)})"


@dataclass(frozen=True)
class DeviceConfig:
    """The configuration that railweave owns on one switch. ``frr`` is the whole FRR file as text."""

    device: str
    rows: tuple[Row, ...]
    frr: str = field(repr=False)

    @cached_property
    def frr_document(self) -> "FrrDocument":
        """Return the FRR file, parsed once."""
        from railweave.sonic.frr import parse_frr

        return parse_frr(self.frr)

    def config_db(self) -> dict[str, dict[str, Fields]]:
        """Return the rows as a CONFIG_DB document."""
        return self._tables

    @cached_property
    def _tables(self) -> dict[str, dict[str, Fields]]:
        tables: dict[str, dict[str, Fields]] = {}
        name = ""
        table: dict[str, Fields] = {}
        for row in self.rows:
            # Rows of one table are adjacent, so most rows need no look-up of their table.
            if row.table is not name:
                name = row.table
                table = tables.setdefault(name, {})
            table[row.key] = row.fields
        return tables
