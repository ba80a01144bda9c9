"""The parts of reports: paragraphs, tables and verdicts for a terminal, safe cells and tables for markdown."""

import re
from collections.abc import Iterable, Sequence
from typing import cast

from rich.console import Group, RenderableType
from rich.text import Text

from railweave.printable import printable
from railweave.report.tables import FittingTable, Narrow

LIMIT_CHARS = 65_536
"""The longest comment of the usual forges."""


def table(*columns: str, rows: Iterable[Sequence[str | Text]], narrow: Narrow = Narrow.RECORDS) -> FittingTable:
    """Return a table. ``narrow`` is its layout on a screen that is too narrow for the words of its columns."""
    cells = [[_text(cell) for cell in row] for row in rows]
    return FittingTable(columns, cells, narrow)


def _text(cell: str | Text) -> Text:
    if isinstance(cell, Text):
        return cell
    # Rich reads brackets in a plain string as markup.
    return Text(cell)


def paragraphs(*parts: RenderableType | Sequence[RenderableType] | None) -> Group:
    """Return parts with an empty line between them; a part may be several lines, None and empty parts are left out."""
    shown: list[RenderableType] = []
    for part in parts:
        if part is None:
            continue
        lines: list[RenderableType] = []
        if isinstance(part, list | tuple):
            lines += part
        else:
            lines.append(cast("RenderableType", part))
        if lines and shown:
            shown.append(Text())
        shown += lines
    return Group(*shown)


def verdict(good: bool | None, sentence: str) -> Text:
    """Return a sentence after a mark for success, failure or, for None, a warning."""
    return Text.assemble(_MARKS[good], sentence)


_MARKS = {True: ("✓ ", "green"), False: ("✗ ", "bold red"), None: ("! ", "yellow")}


_MARKUP = {
    **{"\\": "\\\\", "|": "\\|", "*": "\\*", "]": "\\]"},
    **{"<": "&lt;", "`": "'", "\n": " ", "@": "@\u200b", "://": ":\u200b//"},
}
"""Characters that markdown reads as a cell, a tag, an image, a link or a notification, and their replacements."""
_MARK = re.compile(r"(?<!\w)@|://|\](?=[(\[:])|[\\|*<`\n]")


def cell(text: str) -> str:
    """Return text that cannot break out of a table cell of markdown or become markup, a link or a notification."""
    return _MARK.sub(lambda mark: _MARKUP[mark[0]], printable(text))


def code(text: str) -> str:
    """Return text as code within a table cell of markdown."""
    if not text:
        return ""
    plain = " ".join(printable(text).replace("`", "'").split())
    # A table ends its cell at a bar, in code too.
    escaped = plain.replace("|", "\\|")
    return f"`{escaped}`"


def markdown_table(header: Sequence[str], rows: Iterable[Sequence[str]]) -> str:
    """Return a table of markdown; its cells are made safe by ``cell`` or ``code``."""
    lines = ["| " + " | ".join(header) + " |", "|" + "---|" * len(header)]
    lines += ["| " + " | ".join(row) + " |" for row in rows]
    return "\n".join(lines) + "\n"


def markdown_list(items: Sequence[str], most: int) -> list[str]:
    """Return the lines of a list of markdown, shortened to ``most`` items."""
    lines = [f"- {item}" for item in items[:most]]
    if len(items) > most:
        lines.append(f"- and {len(items) - most} more")
    return lines


def clipped(text: str, room_chars: int) -> str:
    """Return text of at most ``room_chars`` characters, cut at the end of a line."""
    if len(text) < room_chars:
        return text
    return text[:room_chars].rpartition("\n")[0] + "\n\n… cut\n"
