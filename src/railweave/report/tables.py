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
"""What no line breaks: a word with the indent of its cell, a number with its percent sign."""


class Narrow(Enum):
    """What becomes of a table whose columns do not fit side by side."""

    RECORDS = "each row is a record, a line a cell"
    TITLES = "the first cell of each row stands above its others; records where these do not fit either"
    PARTS = "several tables, each with the first column and as many of the others as fit"


class FittingTable:
    """Columns with a header, and rows of as many cells, laid out for the width of the screen that shows them."""

    def __init__(self, header: Sequence[str], rows: Sequence[Sequence[Text]], narrow: Narrow) -> None:
        """Take the names of the columns, the rows, and what to do where the columns do not fit."""
        self._header, self._rows, self._narrow = tuple(header), tuple(rows), narrow
        cells = list(zip(*self._rows, strict=True)) or [()] * len(self._header)
        texts = [(Text(name), *column) for name, column in zip(self._header, cells, strict=True)]
        self._least = [max(_longest(_WORDS.findall(text.plain)) for text in column) for column in texts]
        self._natural = [max(_longest(text.plain.splitlines()) for text in column) for column in texts]

    def __rich_console__(self, console: Console, options: ConsoleOptions) -> RenderResult:
        """Yield the table in the form that the width allows."""
        room, columns = options.max_width, range(len(self._header))
        if self._fits(columns, room):
            yield self._table(columns, room)
        elif self._narrow is Narrow.PARTS:
            for place, part in enumerate(self._parts(room)):
                yield from (Text(),) if place else ()
                yield self._table(part, room)
        elif self._narrow is Narrow.TITLES and self._fits(columns[1:], room - _INDENT):
            yield from self._titled(columns[1:], room - _INDENT)
        else:
            yield from self._records()

    def _fits(self, columns: Sequence[int], room: int) -> bool:
        return sum(self._least[one] for one in columns) + _GAP * (len(columns) - 1) <= room

    def _widths(self, columns: Sequence[int], room: int) -> list[int]:
        """Return widths that fill at most ``room``: the widest columns give way first, none below its longest word.

        Both ends of a column's gap count as its own, as in tables of rich.
        """
        gaps = [2 - (place == 0) - (place == len(columns) - 1) for place in range(len(columns))]
        widths = [self._natural[one] + gap for one, gap in zip(columns, gaps, strict=True)]
        least = [self._least[one] + gap for one, gap in zip(columns, gaps, strict=True)]
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
        shown = self._rows if rows is None else rows
        made = Table(box=box.SIMPLE_HEAD, padding=(0, 1), pad_edge=False, show_edge=False, show_header=header)
        widths = self._widths(columns, room)
        for one, width in zip(columns, widths, strict=True):
            made.add_column(Text(self._header[one]), overflow="fold", width=width)
        for row in shown:
            made.add_row(*(_wrapped(row[one], width) for one, width in zip(columns, widths, strict=True)))
        return made

    def _parts(self, room: int) -> Iterator[Sequence[int]]:
        """Yield the columns of each part: the first, and others as many as fit, at least one."""
        starts = [1]
        for one in range(2, len(self._header)):
            if not self._fits((0, *range(starts[-1], one + 1)), room):
                starts.append(one)
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
            # A column without a name holds a mark, which stands before what is marked.
            heading = 1 if cells[0][0] else 2
            yield Text(" ").join(Text() + cell for _, cell in cells[:heading])
            for name, cell in cells[heading:]:
                yield Padding(Text.assemble((f"{name}: ", "dim"), cell), (0, 0, 0, 4))


def _wrapped(text: Text, width: int) -> Text:
    """Return a cell in lines of at most ``width`` if its words allow it; all lines have the indent of the first."""
    indent = len(text.plain) - len(text.plain.lstrip(" "))
    begin = 0
    breaks: list[int] = []
    for word in _WORDS.finditer(text.plain):
        if "\n" in text.plain[begin : word.start()]:
            begin = word.start()
        elif Text(text.plain[begin : word.end()]).cell_len > width - (indent if breaks else 0) and word.start() > begin:
            begin = word.start()
            breaks.append(begin)
    lines = text.divide(breaks)
    for line in lines[:-1]:
        line.rstrip()
    return Text(f"\n{' ' * indent}").join(lines)


def _longest(parts: Sequence[str]) -> int:
    return max((Text(part).cell_len for part in parts), default=0)
