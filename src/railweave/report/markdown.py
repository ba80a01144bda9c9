"""Pieces of markdown for comments on pull requests."""

from collections.abc import Iterable

LIMIT_CHARS = 65_536
"""The longest comment of the usual forges."""


def cell(text: str) -> str:
    """Return text that cannot break out of a table cell or become markup."""
    for mark, safe in (("\\", "\\\\"), ("|", "\\|"), ("<", "&lt;"), ("`", "'"), ("*", "\\*"), ("\n", " ")):
        text = text.replace(mark, safe)
    return text


def code(text: str) -> str:
    """Return text as code within a table cell."""
    return f"`{' '.join(text.replace('`', chr(39)).split()).replace('|', chr(92) + '|')}`" if text else ""


def table(header: tuple[str, ...], rows: Iterable[tuple[str, ...]]) -> str:
    """Return a table; its cells are made safe by ``cell`` or ``code``."""
    lines = ["| " + " | ".join(header) + " |", "|" + "---|" * len(header)]
    lines += ["| " + " | ".join(row) + " |" for row in rows]
    return "\n".join(lines) + "\n"
