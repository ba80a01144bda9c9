"""Tables of a terminal: no word is broken, and columns that do not fit side by side go one below the other."""

import re
from collections.abc import Iterator, Sequence
from enum import Enum

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
        columns = list(zip(*self._rows, strict=True)) or [()] * len(self._header)
        # Of each column, in cells of the terminal: the longest word, which is never broken, and the longest line.
        self._least: list[int] = []
        self._natural: list[int] = []
        for name, cells in zip(self._header, columns, strict=True):
            texts = [Text(name), *cells]
            self._least.append(max(_longest(_WORDS.findall(text.plain)) for text in texts))
            self._natural.append(max(_longest(text.plain.splitlines()) for text in texts))

    def __rich_console__(self, console: Console, options: ConsoleOptions) -> RenderResult:
        """Yield the table in the form that the width allows."""
        room = options.max_width
        columns = range(len(self._header))
        if self._fits(columns, room):
            yield self._table(columns, room)
        elif self._narrow is Narrow.PARTS:
            for index, part in enumerate(self._parts(room)):
                # An empty line between two tables.
                if index > 0:
                    yield Text()
                yield self._table(part, room)
        elif self._narrow is Narrow.TITLES and self._fits(columns[1:], room - _INDENT):
            yield from self._titled(columns[1:], room - _INDENT)
        else:
            yield from self._records()

    def _fits(self, columns: Sequence[int], room: int) -> bool:
        return sum(self._least[column] for column in columns) + _GAP * (len(columns) - 1) <= room

    def _widths(self, columns: Sequence[int], room: int) -> list[int]:
        """Return the widths of some columns without their padding, at most ``room`` in total with it.

        The widest columns shrink first, and none below its longest word.
        """
        # Rich pads each cell with a space on both sides, but not at the two edges of the table.
        paddings = [2] * len(columns)
        if paddings:
            paddings[0] -= 1
            paddings[-1] -= 1
        widths = [self._natural[column] + padding for column, padding in zip(columns, paddings, strict=True)]
        least = [self._least[column] + padding for column, padding in zip(columns, paddings, strict=True)]
        separators = len(columns) - 1
        _shrink(widths, least, room - separators)
        return [width - padding for width, padding in zip(widths, paddings, strict=True)]

    def _table(
        self, columns: Sequence[int], room: int, rows: Sequence[Sequence[Text]] | None = None, *, header: bool = True
    ) -> Table:
        """Return some columns of ``rows``, or of all rows, as a table of at most ``room`` characters."""
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
        part = [0]
        for column in range(1, len(self._header)):
            is_full = len(part) > 1 and not self._fits((*part, column), room)
            if is_full:
                yield part
                part = [0]
            part.append(column)
        yield part

    def _titled(self, columns: Sequence[int], room: int) -> Iterator[Text | Padding]:
        """Yield the header, then each row: its first cell as a title, its ``columns`` indented below."""
        yield Padding(self._table(columns, room, ()), (0, 0, 0, _INDENT))
        for row in self._rows:
            yield row[0]
            yield Padding(self._table(columns, room, (row,), header=False), (0, 0, 0, _INDENT))

    def _records(self) -> Iterator[Text | Padding]:
        """Yield each row as a heading, its first cell, and a line for each other cell that is not empty."""
        names = [" ".join(name.split()) for name in self._header]
        for row in self._rows:
            named_cells = [(name, cell) for name, cell in zip(names, row, strict=True) if cell.plain]
            first_name, _ = named_cells[0]
            heading_cells = 1
            if not first_name:
                # A column without a name holds a mark, which goes in front of the cell that it marks.
                heading_cells = 2
            yield Text(" ").join(Text() + cell for _, cell in named_cells[:heading_cells])
            for name, cell in named_cells[heading_cells:]:
                yield Padding(Text.assemble((f"{name}: ", "dim"), cell), (0, 0, 0, 4))


def _shrink(widths: list[int], least: Sequence[int], room: int) -> None:
    """Reduce ``widths`` in place until their sum is at most ``room``, or each is as small as ``least`` allows."""
    while sum(widths) > room:
        shrinkable = [column for column, width in enumerate(widths) if width > least[column]]
        if not shrinkable:
            break
        _shrink_widest(widths, least, shrinkable, sum(widths) - room)


def _shrink_widest(widths: list[int], least: Sequence[int], shrinkable: Sequence[int], excess: int) -> None:
    """Reduce the widest of the ``shrinkable`` columns together, by ``excess`` in total or to the next widest width."""
    widest = max(widths[column] for column in shrinkable)
    next_widest = max((widths[column] for column in shrinkable if widths[column] < widest), default=0)
    widest_columns = [column for column in shrinkable if widths[column] == widest]
    remaining_columns = len(widest_columns)
    for column in widest_columns:
        # An equal share of the rest of the excess: the columns that follow make up for rounding.
        share = round(excess / remaining_columns)
        cut = min(widest - next_widest, share, widest - least[column])
        widths[column] -= cut
        excess -= cut
        remaining_columns -= 1


def _wrapped(text: Text, width: int) -> Text:
    """Return a cell in lines of at most ``width`` if its words allow it; added lines have the indent of the first."""
    indent = len(text.plain) - len(text.plain.lstrip(f" {DIFFERS}"))
    lines = text.divide(_line_breaks(text.plain, width, indent))
    for line in lines[:-1]:
        line.rstrip()
    return Text(f"\n{' ' * indent}").join(lines)


def _line_breaks(plain: str, width: int, indent: int) -> list[int]:
    """Return the offsets of the words in front of which a line break is added.

    Lines have at most ``width`` cells of the terminal; those that begin at an added break get ``indent`` more later.
    """
    breaks: list[int] = []
    line_start = 0
    for word in _WORDS.finditer(plain):
        follows_own_break = "\n" in plain[line_start : word.start()]
        if follows_own_break:
            # The cell has a line break of its own here: the word is the first of a line.
            line_start = word.start()
            continue
        # The first line has its indent already; the others get it when they are joined.
        line_width = width
        if breaks:
            line_width -= indent
        # In cells of the terminal: a Chinese character takes two.
        needed = Text(plain[line_start : word.end()]).cell_len
        is_alone = word.start() == line_start
        if needed > line_width and not is_alone:
            line_start = word.start()
            breaks.append(line_start)
    return breaks


def _longest(parts: Sequence[str]) -> int:
    return max((Text(part).cell_len for part in parts), default=0)
