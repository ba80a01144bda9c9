"""Tables of a terminal: no word is broken, and columns that do not fit side by side go one below the other."""

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

DIFFERS = "≠"
"""Mark in front of the name of a row whose columns differ; it counts to the indent of the cell."""

_WORDS = re.compile(r"^ +\S+|\S+(?: %\S*)?")
"""Text kept on one line: a word with the indent of its cell, a number with its percent sign."""


class Narrow(Enum):
    """The form of a table whose columns do not fit side by side."""

    RECORDS = "each row is a record, a line a cell"
    TITLES = "the first cell of each row stands above its others; records where these do not fit either"
    PARTS = "several tables, each with the first column and as many of the others as fit"


class FittingTable:
    """Columns with a header, and rows of as many cells, laid out for the width of the screen that shows them."""

    def __init__(self, header: Sequence[str], rows: Sequence[Sequence[Text]], narrow: Narrow) -> None:
        """Take the names of the columns, the rows, and the form for a screen that is too narrow."""
        self._header = tuple(header)
        self._rows = tuple(rows)
        self._narrow = narrow
        cells = list(zip(*self._rows, strict=True)) or [()] * len(self._header)
        texts = [(Text(name), *column) for name, column in zip(self._header, cells, strict=True)]
        self._least = [max(_longest(_WORDS.findall(text.plain)) for text in column) for column in texts]
        self._natural = [max(_longest(text.plain.splitlines()) for text in column) for column in texts]

    def __rich_console__(self, console: Console, options: ConsoleOptions) -> RenderResult:
        """Yield the table in the form that the width allows."""
        room = options.max_width
        columns = range(len(self._header))
        if self._fits(columns, room):
            yield self._table(columns, room)
        elif self._narrow is Narrow.PARTS:
            for place, part in enumerate(self._parts(room)):
                if place:
                    yield Text()
                yield self._table(part, room)
        elif self._narrow is Narrow.TITLES and self._fits(columns[1:], room - _INDENT):
            yield from self._titled(columns[1:], room - _INDENT)
        else:
            yield from self._records()

    def _fits(self, columns: Sequence[int], room: int) -> bool:
        return sum(self._least[column] for column in columns) + _GAP * (len(columns) - 1) <= room

    def _widths(self, columns: Sequence[int], room: int) -> list[int]:
        """Return widths that fill at most ``room``: the widest columns shrink first, none below its longest word.

        A column's width includes the gap on both sides, as in tables of rich.
        """
        gaps = [2 - (place == 0) - (place == len(columns) - 1) for place in range(len(columns))]
        widths = [self._natural[column] + gap for column, gap in zip(columns, gaps, strict=True)]
        least = [self._least[column] + gap for column, gap in zip(columns, gaps, strict=True)]
        _shrink(widths, least, room - (len(columns) - 1))
        return [width - gap for width, gap in zip(widths, gaps, strict=True)]

    def _table(
        self, columns: Sequence[int], room: int, rows: Sequence[Sequence[Text]] | None = None, *, header: bool = True
    ) -> Table:
        table = Table(box=box.SIMPLE_HEAD, padding=(0, 1), pad_edge=False, show_edge=False, show_header=header)
        widths = self._widths(columns, room)
        for column, width in zip(columns, widths, strict=True):
            table.add_column(Text(self._header[column]), overflow="fold", width=width)
        if rows is None:
            rows = self._rows
        for row in rows:
            table.add_row(*(_wrapped(row[column], width) for column, width in zip(columns, widths, strict=True)))
        return table

    def _parts(self, room: int) -> Iterator[Sequence[int]]:
        """Yield the columns of each part: the first, and as many of the others as fit, at least one."""
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
            names = [" ".join(name.split()) for name in self._header]
            named_cells = [(name, cell) for name, cell in zip(names, row, strict=True) if cell.plain]
            # A column without a name holds a mark, which goes in front of the cell that it marks.
            in_heading = 2
            if named_cells[0][0]:
                in_heading = 1
            yield Text(" ").join(Text() + cell for _, cell in named_cells[:in_heading])
            for name, cell in named_cells[in_heading:]:
                yield Padding(Text.assemble((f"{name}: ", "dim"), cell), (0, 0, 0, 4))


def _shrink(widths: list[int], least: Sequence[int], room: int) -> None:
    """Reduce ``widths`` in place until their sum is at most ``room``, or each is as small as ``least`` allows."""
    while (excess := sum(widths) - room) > 0:
        shrinkable = [place for place, width in enumerate(widths) if width > least[place]]
        if not shrinkable:
            break
        _shrink_widest(widths, least, shrinkable, excess)


def _shrink_widest(widths: list[int], least: Sequence[int], shrinkable: Sequence[int], excess: int) -> None:
    """Reduce the widest of the ``shrinkable`` columns together, by ``excess`` in all or to the next widest one."""
    widest = max(widths[place] for place in shrinkable)
    next_widest = max((widths[place] for place in shrinkable if widths[place] < widest), default=0)
    ties = [place for place in shrinkable if widths[place] == widest]
    # Each takes its share of what is left: rounding is made up for by the columns that follow.
    for remaining, place in zip(range(len(ties), 0, -1), ties, strict=True):
        cut = min(widest - next_widest, round(excess / remaining), widest - least[place])
        widths[place] -= cut
        excess -= cut


def _wrapped(text: Text, width: int) -> Text:
    """Return a cell in lines of at most ``width`` if its words allow it; all lines have the indent of the first."""
    indent = len(text.plain) - len(text.plain.lstrip(f" {DIFFERS}"))
    begin = 0
    breaks: list[int] = []
    for word in _WORDS.finditer(text.plain):
        if "\n" in text.plain[begin : word.start()]:
            begin = word.start()
            continue
        # The first line has its indent already; the others get it when they are joined.
        line_width = width
        if breaks:
            line_width -= indent
        # In cells of the terminal: a character of Chinese takes two.
        needed = Text(text.plain[begin : word.end()]).cell_len
        if needed > line_width and word.start() > begin:
            begin = word.start()
            breaks.append(begin)
    lines = text.divide(breaks)
    for line in lines[:-1]:
        line.rstrip()
    return Text(f"\n{' ' * indent}").join(lines)


def _longest(parts: Sequence[str]) -> int:
    return max((Text(part).cell_len for part in parts), default=0)
