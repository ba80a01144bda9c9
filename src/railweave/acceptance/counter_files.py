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

    A file is cut into pieces at each closing brace, so that a piece ends with a row, a table or the file. Where those
    that changed are not the rows that they were before, the whole file is parsed.
    """

    def __init__(self) -> None:
        """Have read nothing yet."""
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
        """Note what each piece ends with, if the file has its tables at its end, as `acceptance run` writes it."""
        self._sections = []
        self._rows = []
        if isinstance(self._reading, str):
            return
        rows: list[str | None] = []
        for table, reading in self._reading.tables.items():
            self._sections.append(_Section(table, len(rows), len(rows) + len(reading.rows)))
            rows += (*reading.rows, None)
        is_plain = len(rows) + 2 == len(self._pieces) and not b"".join(self._pieces[-2:]).strip()
        for section in self._sections[1:]:
            head, _ = _split_head(self._pieces[section.start])
            is_plain &= head.strip(b', :{"') == section.table.encode()
        if is_plain:
            self._rows = [*rows, None, None]

    def _updated(self, pieces: list[bytes]) -> CounterFile | None:
        """Return a reading from the pieces that changed; None where they are not the rows that they were before."""
        if isinstance(self._reading, str) or not len(pieces) == len(self._pieces) == len(self._rows):
            return None
        numbers = list(compress(count(), map(ne, pieces, self._pieces)))
        texts = self._row_texts(pieces, numbers)
        head, _ = _split_head(pieces[0])
        try:
            document = orjson.loads(head + b"}}")
            # With a member in front, because each row begins with a comma.
            rows = orjson.loads(b'{"":0' + b"}".join(texts) + b"}}")
        except ValueError:
            return None
        tables: Mapping[str, TableReading] = {}
        if list(rows)[1:] == list(map(self._rows.__getitem__, numbers)):
            tables = self._updated_tables(self._reading, numbers, list(rows.values())[1:])
        updated = _counter_file(document, tables)
        if isinstance(updated, str):
            return None
        return updated

    def _row_texts(self, pieces: Sequence[bytes], numbers: Sequence[int]) -> list[bytes]:
        """Return the texts of rows, empty where something else than a row changed."""
        texts = list(map(pieces.__getitem__, numbers))
        for section in self._sections:
            place = bisect_left(numbers, section.start)
            if place < len(numbers) and numbers[place] == section.start:
                before, _ = _split_head(self._pieces[section.start])
                after, texts[place] = _split_head(texts[place])
                # In front of the first table stands when it was read.
                if section.start and before != after:
                    return []
        return texts

    def _updated_tables(
        self, earlier: CounterFile, numbers: Sequence[int], rows: Sequence[Any]
    ) -> Mapping[str, TableReading]:
        """Return the tables with the rows of pieces, none if they have other counters than before."""
        tables = dict(earlier.tables)
        for section in self._sections:
            first = bisect_left(numbers, section.start)
            end = bisect_left(numbers, section.end)
            if first == end:
                continue
            places = [number - section.start for number in numbers[first:end]]
            table = updated_table(tables[section.table], places, rows[first:end])
            if table is None:
                return {}
            tables[section.table] = table
        return tables


def _split_head(piece: bytes) -> tuple[bytes, bytes]:
    """Return the text before the first row of a table, and that row with a comma in front, as all others have one."""
    row = piece.rfind(b'{"')
    start = piece.rfind(b'{"', 0, row) + 1
    return piece[:start], b"," + piece[start:]
