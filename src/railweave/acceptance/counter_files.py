"""The files of the counters of one device, read one after the other: of each, only rows that changed are parsed.

Most queues and priority groups of a fabric stay as they are over a round, and comparing their text costs a tenth of
parsing it.
"""

from bisect import bisect_left
from collections.abc import Mapping, Sequence
from itertools import compress, count
from operator import ne
from typing import Any, NamedTuple

import orjson

from railweave.acceptance.columns import TableReading, read_table, updated_table

TABLES = ("ports", "queues", "groups", "nics")


class CounterFile(NamedTuple):
    """A reading of one device."""

    at: float
    boot: str
    tables: Mapping[str, TableReading]


def read_counter_file(data: bytes) -> CounterFile | str:
    """Return the counters in a file, or a sentence why it has none."""
    try:
        document = orjson.loads(data)
    except ValueError:
        return "is not JSON: it may have been cut short"
    tables = {}
    if isinstance(document, dict):
        for name, rows in document.items():
            if name in TABLES and isinstance(rows, dict):
                tables[name] = read_table(rows)
    return _counter_file(document, tables)


def _counter_file(document: Any, tables: Mapping[str, TableReading]) -> CounterFile | str:
    """Return a document with its parsed ``tables`` as a reading, or a sentence why it has none."""
    if not isinstance(document, dict):
        return "has no counters: expected an object with `device`, `at` and `ports` or `nics`"
    if document.get("error"):
        return f"has no counters: {document['error']}"
    at = document.get("at")
    if not isinstance(at, int | float) or isinstance(at, bool):
        return "does not say when it was read: `at` must be Unix seconds"
    if not tables:
        return "has no counters: none of `ports`, `queues`, `groups`, `nics` is in it"
    return CounterFile(float(at), str(document.get("boot", "")), tables)


class _Section(NamedTuple):
    """Where the rows of a table are among the pieces of a file."""

    table: str
    start: int
    end: int


class FileReader:
    """Reads files of one device.

    A file is cut into pieces at each closing brace, so that a piece ends with a row, a table or the file. If all pieces
    that changed still end with the same rows, only they are parsed, otherwise the whole file.
    """

    def __init__(self) -> None:
        """Start without an earlier file."""
        self._content = b""
        self._reading: CounterFile | str = ""
        self._pieces: list[bytes] = []
        self._sections: list[_Section] = []
        # The name of the row that a piece ends with, None for the end of a table and of the file.
        self._rows: list[str | None] = []

    def read(self, content: bytes) -> CounterFile | str:
        """Return the counters in a file, or a sentence why it has none."""
        # `acceptance run` reads a device once between two rounds, and stores the reading for both.
        if self._reading and content == self._content:
            return self._reading
        pieces = content.split(b"}")
        reading = self._updated(pieces)
        self._content = content
        self._pieces = pieces
        if reading is not None:
            self._reading = reading
            return reading
        self._reading = read_counter_file(content)
        self._find_rows()
        return self._reading

    def _find_rows(self) -> None:
        """Store the sections of the file and the row that each piece ends with.

        There are no rows if the file does not end with its tables, as `acceptance run` writes it.
        """
        self._sections = []
        self._rows = []
        if isinstance(self._reading, str):
            return
        rows: list[str | None] = []
        for table, reading in self._reading.tables.items():
            self._sections.append(_Section(table, len(rows), len(rows) + len(reading.rows)))
            rows += (*reading.rows, None)
        # Two more pieces: up to the brace that closes the file, and behind it.
        ends_with_tables = len(rows) + 2 == len(self._pieces) and not b"".join(self._pieces[-2:]).strip()
        if ends_with_tables and all(map(self._follows_another_table, self._sections[1:])):
            self._rows = [*rows, None, None]

    def _follows_another_table(self, section: _Section) -> bool:
        """Tell whether nothing but the name of its table is between the rows of a section and the table before it."""
        head, _ = _split_head(self._pieces[section.start])
        return head.strip(b', :{"') == section.table.encode()

    def _updated(self, pieces: list[bytes]) -> CounterFile | None:
        """Return the reading of the new pieces, of which only those that changed are parsed.

        Returns None if they no longer end with the same rows, or have other counters.
        """
        if isinstance(self._reading, str):
            return None
        # A file whose pieces were not understood has no rows here (`_find_rows`).
        has_same_pieces = len(pieces) == len(self._pieces) == len(self._rows)
        if not has_same_pieces:
            return None
        changed = list(compress(count(), map(ne, pieces, self._pieces)))
        row_texts = self._row_texts(pieces, changed)
        head, _ = _split_head(pieces[0])
        try:
            document = orjson.loads(head + b"}}")
            # With a member in front, because each row begins with a comma.
            members = orjson.loads(b'{"":0' + b"}".join(row_texts) + b"}}")
        except ValueError:
            return None
        _, *names = members
        _, *rows = members.values()
        tables: Mapping[str, TableReading] = {}
        if names == list(map(self._rows.__getitem__, changed)):
            tables = self._updated_tables(self._reading, changed, rows)
        updated = _counter_file(document, tables)
        if isinstance(updated, str):
            return None
        return updated

    def _row_texts(self, pieces: Sequence[bytes], changed: Sequence[int]) -> list[bytes]:
        """Return the texts of the rows that the ``changed`` pieces end with; none if a text between tables changed.

        ``changed`` has the indexes of the pieces, in ascending order.
        """
        texts = list(map(pieces.__getitem__, changed))
        for section in self._sections:
            index = bisect_left(changed, section.start)
            first_row_changed = index < len(changed) and changed[index] == section.start
            if not first_row_changed:
                continue
            # The piece of a first row begins with the text between the tables, which is not part of the row.
            head_before, _ = _split_head(self._pieces[section.start])
            head_after, texts[index] = _split_head(texts[index])
            is_first_table = section.start == 0
            # The text before the first table may change: it has the time of the reading.
            if not is_first_table and head_before != head_after:
                return []
        return texts

    def _updated_tables(
        self, earlier: CounterFile, changed: Sequence[int], rows: Sequence[Any]
    ) -> Mapping[str, TableReading]:
        """Return the tables of ``earlier`` with new ``rows``; none if a row has other counters than before.

        ``changed`` has the index of the piece of each row, in ascending order.
        """
        tables = dict(earlier.tables)
        for section in self._sections:
            first = bisect_left(changed, section.start)
            end = bisect_left(changed, section.end)
            if first == end:
                continue
            indexes = [piece - section.start for piece in changed[first:end]]
            table = updated_table(tables[section.table], indexes, rows[first:end])
            if table is None:
                return {}
            tables[section.table] = table
        return tables


def _split_head(piece: bytes) -> tuple[bytes, bytes]:
    """Return the text before the first row of a table, and that row with a comma in front, as all other rows have one.

    The last brace of the piece opens the row's object, and the one before it the table.
    """
    row_brace = piece.rfind(b'{"')
    row_start = piece.rfind(b'{"', 0, row_brace) + 1
    return piece[:row_start], b"," + piece[row_start:]
