"""What reports are made of: paragraphs, tables and verdicts for a terminal, safe cells and tables for markdown."""

import re
from collections.abc import Iterable, Sequence

from rich import box
from rich.console import Console, ConsoleOptions, Group, RenderableType, RenderResult
from rich.padding import Padding
from rich.table import Table
from rich.text import Text

from railweave.printable import printable

LIMIT_CHARS = 65_536
"""The longest comment of the usual forges."""


class FittingTable(Table):
    """A table that stands as records, a line a cell, where the screen is too narrow for the words of its columns."""

    def __rich_console__(self, console: Console, options: ConsoleOptions) -> RenderResult:
        """Yield the table, or its records."""
        if self.__rich_measure__(console, options).minimum <= options.max_width:
            yield from super().__rich_console__(console, options)
            return
        for row in zip(*(column.cells for column in self.columns), strict=True):
            cells = [(str(column.header), cell) for column, cell in zip(self.columns, row, strict=True) if str(cell)]
            # A column without a name holds a mark, which stands before what is marked.
            heading = 1 if cells[0][0] else 2
            yield Text(" ").join(Text() + cell for _, cell in cells[:heading])
            for name, cell in cells[heading:]:
                yield Padding(Text.assemble((f"{name}: ", "dim"), cell), (0, 0, 0, 4))


def table(*columns: str, rows: Iterable[Sequence[str | Text]]) -> Table:
    """Return a table; its cells are shown as they are, whatever brackets they hold."""
    made = FittingTable(box=box.SIMPLE_HEAD, padding=(0, 1), pad_edge=False, show_edge=False)
    for column in columns:
        made.add_column(column, overflow="fold")
    for row in rows:
        made.add_row(*(Text(cell) if isinstance(cell, str) else cell for cell in row))
    return made


def paragraphs(*parts: RenderableType | Sequence[RenderableType] | None) -> Group:
    """Return parts with an empty line between them; a part may be several lines, and one without any is left out."""
    shown: list[RenderableType] = []
    for part in parts:
        lines = () if part is None else part if isinstance(part, list | tuple) else (part,)
        if lines:
            shown += [*([Text()] if shown else []), *lines]
    return Group(*shown)


def verdict(good: bool | None, sentence: str) -> Text:
    """Return a sentence after a mark that says whether all is well; None is neither."""
    mark = ("! ", "yellow") if good is None else ("✓ ", "green") if good else ("✗ ", "bold red")
    return Text.assemble(mark, sentence)


_MARKUP = {
    **{"\\": "\\\\", "|": "\\|", "*": "\\*", "]": "\\]"},
    **{"<": "&lt;", "`": "'", "\n": " ", "@": "@\u200b", "://": ":\u200b//"},
}
"""What becomes a cell, a tag, an image, a link or a notification in markdown, and what stands in its place."""
_MARK = re.compile(r"(?<!\w)@|://|\](?=[(\[:])|[\\|*<`\n]")


def cell(text: str) -> str:
    """Return text that cannot break out of a table cell of markdown or become markup, a link or a notification."""
    return _MARK.sub(lambda mark: _MARKUP[mark[0]], printable(text))


def code(text: str) -> str:
    """Return text as code within a table cell of markdown."""
    plain = " ".join(printable(text).replace("`", "'").split())
    return f"`{plain.replace('|', chr(92) + '|')}`" if text else ""


def markdown_table(header: Sequence[str], rows: Iterable[Sequence[str]]) -> str:
    """Return a table of markdown; its cells are made safe by ``cell`` or ``code``."""
    lines = ["| " + " | ".join(header) + " |", "|" + "---|" * len(header)]
    lines += ["| " + " | ".join(row) + " |" for row in rows]
    return "\n".join(lines) + "\n"


def markdown_list(items: Sequence[str], most: int) -> list[str]:
    """Return the lines of a list of markdown, shortened to ``most`` items."""
    more = [f"- and {len(items) - most} more"] if len(items) > most else []
    return [*(f"- {item}" for item in items[:most]), *more]


def clipped(text: str, room_chars: int) -> str:
    """Return text of at most ``room_chars`` characters, cut at the end of a line."""
    return text if len(text) < room_chars else text[:room_chars].rpartition("\n")[0] + "\n\n… cut\n"
