"""Tables of a terminal: no word is broken, and what does not fit side by side is shown one below the other."""

import re
from collections.abc import Iterator, Sequence
from enum import Enum
from itertools import pairwise

from rich import box
from rich.console import Console, ConsoleOptions, RenderResult
from rich.padding import Padding
from rich.table import Table
from rich.text import Text

_GAP = 3
"""Spaces between two columns."""

_INDENT = 2

_WORDS = re.compile(r"^ +\S+|\S+(?: %\S*)?")
"""Text that no line breaks: a word with the indent of its cell, a number with its percent sign."""


class Narrow(Enum):
    """The layout of a table whose columns do not fit side by side."""

    RECORDS = "each row is a record, a line a cell"
    TITLES = "the first cell of each row above its others; records where these do not fit either"
    PARTS = "several tables, each with the first column and as many of the others as fit"


class FittingTable:
    """Columns with a header, and rows of as many cells, laid out for the width of the screen that shows them."""

    def __init__(self, header: Sequence[str], rows: Sequence[Sequence[Text]], narrow: Narrow) -> None:
        """Take the names of the columns, the rows, and what to do where the columns do not fit."""
        self._header = tuple(header)
        self._rows = tuple(rows)
        self._narrow = narrow
        cells = list(zip(*self._rows, strict=True)) or [()] * len(self._header)
        texts = [(Text(name), *column) for name, column in zip(self._header, cells, strict=True)]
        # Widths in characters of a terminal: at least the longest word, at most the longest line.
        self._least = [max(_longest(_WORDS.findall(text.plain)) for text in column) for column in texts]
        self._natural = [max(_longest(text.plain.splitlines()) for text in column) for column in texts]

    def __rich_console__(self, console: Console, options: ConsoleOptions) -> RenderResult:
        """Yield the table in the form that the width allows."""
        room = options.max_width
        columns = range(len(self._header))
        if self._fits(columns, room):
            yield self._table(columns, room)
        elif self._narrow is Narrow.PARTS:
            for number, part in enumerate(self._parts(room)):
                if number:
                    yield Text()
                yield self._table(part, room)
        elif self._narrow is Narrow.TITLES and self._fits(columns[1:], room - _INDENT):
            yield from self._titled(columns[1:], room - _INDENT)
        else:
            yield from self._records()

    def _fits(self, columns: Sequence[int], room: int) -> bool:
        return sum(self._least[column] for column in columns) + _GAP * (len(columns) - 1) <= room

    def _widths(self, columns: Sequence[int], room: int) -> list[int]:
        """Return widths that fill at most ``room``: the widest columns give way first, none below its longest word.

        Both ends of a column's gap count as its own, as in tables of rich.
        """
        gaps = [2 - (place == 0) - (place == len(columns) - 1) for place in range(len(columns))]
        widths = [self._natural[column] + gap for column, gap in zip(columns, gaps, strict=True)]
        least = [self._least[column] + gap for column, gap in zip(columns, gaps, strict=True)]
        # Each turn narrows all columns of the largest width to the next smaller one, or as far as needed.
        while (excess := sum(widths) + len(columns) - 1 - room) > 0:
            wide = [place for place, width in enumerate(widths) if width > least[place]]
            if not wide:
                break
            widest = max(widths[place] for place in wide)
            step = widest - max((widths[place] for place in wide if widths[place] < widest), default=0)
            ties = [place for place in wide if widths[place] == widest]
            for left, place in zip(range(len(ties), 0, -1), ties, strict=True):
                cut = min(step, round(excess / left), widest - least[place])
                widths[place] -= cut
                excess -= cut
        return [width - gap for width, gap in zip(widths, gaps, strict=True)]

    def _table(
        self, columns: Sequence[int], room: int, rows: Sequence[Sequence[Text]] | None = None, *, header: bool = True
    ) -> Table:
        table = Table(box=box.SIMPLE_HEAD, padding=(0, 1), pad_edge=False, show_edge=False, show_header=header)
        widths = self._widths(columns, room)
        for column, width in zip(columns, widths, strict=True):
            table.add_column(Text(self._header[column]), overflow="fold", width=width)
        for row in self._rows if rows is None else rows:
            table.add_row(*(_wrapped(row[column], width) for column, width in zip(columns, widths, strict=True)))
        return table

    def _parts(self, room: int) -> Iterator[Sequence[int]]:
        """Yield the columns of each part: the first, and others as many as fit, at least one."""
        starts = [1]
        for column in range(2, len(self._header)):
            if not self._fits((0, *range(starts[-1], column + 1)), room):
                starts.append(column)
        for start, end in pairwise((*starts, len(self._header))):
            yield 0, *range(start, end)

    def _titled(self, columns: Sequence[int], room: int) -> Iterator[Text | Padding]:
        yield Padding(self._table(columns, room, ()), (0, 0, 0, _INDENT))
        for row in self._rows:
            yield row[0]
            yield Padding(self._table(columns, room, (row,), header=False), (0, 0, 0, _INDENT))

    def _records(self) -> Iterator[Text | Padding]:
        for row in self._rows:
            cells = [(" ".join(name.split()), cell) for name, cell in zip(self._header, row, strict=True) if cell.plain]
            # A column without a name holds a mark, which is printed before what it marks.
            heading = 1 if cells[0][0] else 2
            yield Text(" ").join(Text() + cell for _, cell in cells[:heading])
            for name, cell in cells[heading:]:
                yield Padding(Text.assemble((f"{name}: ", "dim"), cell), (0, 0, 0, 4))


def _wrapped(text: Text, width: int) -> Text:
    """Return a cell in lines of at most ``width`` if its words allow it; all lines have the indent of the first."""
    indent = len(text.plain) - len(text.plain.lstrip(" "))
    line_start = 0
    breaks: list[int] = []
    for word in _WORDS.finditer(text.plain):
        if "\n" in text.plain[line_start : word.start()]:
            line_start = word.start()
            continue
        room = width - indent if breaks else width
        if Text(text.plain[line_start : word.end()]).cell_len > room and word.start() > line_start:
            line_start = word.start()
            breaks.append(line_start)
    lines = text.divide(breaks)
    for line in lines[:-1]:
        line.rstrip()
    return Text(f"\n{' ' * indent}").join(lines)


def _longest(parts: Sequence[str]) -> int:
    return max((Text(part).cell_len for part in parts), default=0)
