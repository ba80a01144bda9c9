"""Tables as CSV in which a spreadsheet takes no text for a formula."""

import csv
import io
import re
from collections.abc import Iterable

# What spreadsheets take for the beginning of a formula (OWASP, CSV Injection; also in full width, and behind characters
# without width).
_FORMULA = re.compile(r"[\s\x00\u200b-\u200f\u2060\ufeff]*[=+\-@\uff1d\uff0b\uff0d\uff20]|[\t\r\n]")
_NUMBER = re.compile(r"-?[0-9]+(\.[0-9]+)?")


def csv_text(rows: Iterable[Iterable[object]]) -> str:
    """Return rows as CSV, lines ended by a line feed.

    A text that looks like a formula is prefixed with an apostrophe, which spreadsheets read as "this is text".
    """
    text = io.StringIO()
    writer = csv.writer(text, lineterminator="\n")
    for row in rows:
        writer.writerow(map(_cell, row))
    return text.getvalue()


def _cell(cell: object) -> object:
    """Return a cell as it is written: a text that looks like a formula with an apostrophe before it."""
    if not isinstance(cell, str):
        return cell
    # Python's writer does not quote a carriage return, and a spreadsheet would begin another row at one.
    text = cell.replace("\r\n", "\n").replace("\r", "\n")
    if _FORMULA.match(text) and not _NUMBER.fullmatch(text):
        return f"'{text}"
    return text
