"""Tables as CSV that a spreadsheet opens as what they are: no text in them is a formula."""

import csv
import io
import re
from collections.abc import Iterable

_FORMULA = re.compile(r"\s*[=+\-@\uff1d\uff0b\uff0d\uff20]|[\t\r\n]")
"""What spreadsheets take for the beginning of a formula (OWASP, CSV Injection; also in full width)."""
_NUMBER = re.compile(r"-?[0-9]+(\.[0-9]+)?")


def csv_text(rows: Iterable[Iterable[object]]) -> str:
    """Return rows as CSV, lines ended by a line feed.

    A text that would be a formula begins with an apostrophe, by which spreadsheets know a text.
    """
    text = io.StringIO()
    csv.writer(text, lineterminator="\n").writerows([_cell(one) for one in row] for row in rows)
    return text.getvalue()


def _cell(cell: object) -> object:
    if not isinstance(cell, str):
        return cell
    # Python's writer quotes no carriage return, by which a spreadsheet would begin another row.
    text = cell.replace("\r\n", "\n").replace("\r", "\n")
    return f"'{text}" if _FORMULA.match(text) and not _NUMBER.fullmatch(text) else text
