"""What reports are made of: paragraphs, tables and verdicts for a terminal, safe cells and tables for markdown."""

import re
from collections.abc import Iterable, Sequence

from rich.console import Group, RenderableType
from rich.text import Text

from railweave.printable import printable
from railweave.report.tables import FittingTable, Narrow

LIMIT_CHARS = 65_536
"""The longest comment of the usual forges."""


def table(*columns: str, rows: Iterable[Sequence[str | Text]], narrow: Narrow = Narrow.RECORDS) -> FittingTable:
    """Return a table; its cells are shown as they are, whatever brackets they hold. ``narrow`` says what becomes of it
    where the screen is too narrow for the words of its columns."""
    shown = [[Text(cell) if isinstance(cell, str) else cell for cell in row] for row in rows]
    return FittingTable(columns, shown, narrow)


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
