"""Lengths of cables as built, from a CSV beside the intent: ``cables.csv`` with the measured lengths.

Columns are found by name: ``a_device``, ``a_port``, ``length_m``, and optionally ``b_device`` and ``b_port``, which
must be the far end. Other columns are ignored. A row without a length keeps the designed one.
"""

import csv
import re
from collections.abc import Mapping, Sequence
from math import ceil
from typing import NamedTuple

from railweave.diagnostics import Diagnostic, Where, error

CODE = "RW303"
MOST_BYTES = 64 << 20
MOST_REPORTED = 20
"""Wrong rows that are reported: in the table of another fabric every row is wrong, up to a hundred thousand."""

_NEEDED = ("a_device", "a_port", "length_m")
_COLUMNS = (*_NEEDED, "b_device", "b_port")
_LENGTH = re.compile(r"[0-9]{1,5}(?:\.[0-9]{1,3})?")
_MOST_M = 10_000


class AsBuilt(NamedTuple):
    """The length as built of the cable at ``port`` of ``device``."""

    device: str
    port: str
    # Device and port of the far end, both empty if the file does not say.
    far: tuple[str, str]
    # Rounded up to whole meters.
    length_m: int
    # The place of the length in the file.
    where: Where


def read_as_built(data: bytes, file: str) -> tuple[tuple[AsBuilt, ...], list[Diagnostic]]:
    """Return the lengths in ``data``, the bytes of the CSV ``file``, and an error for everything wrong in it."""
    if len(data) > MOST_BYTES:
        return (), [error(CODE, "the file is larger than 64 MiB", Where(file), fix="name the table of cables")]
    try:
        # Spreadsheets save CSV with a byte order mark.
        lines = data.decode("utf-8-sig").splitlines()
    except UnicodeDecodeError:
        return (), [error(CODE, "the file is not UTF-8 text", Where(file), fix="save the table as CSV in UTF-8")]
    first_line = next(iter(lines), "")
    header = [name.strip() for name in first_line.split(",")]
    missing = [name for name in _NEEDED if name not in header]
    if missing:
        message = f"the first line names no column {', '.join(missing)}"
        fix = "start from the rendered cables.csv"
        return (), [error(CODE, message, Where(file, 1, 1), fix=fix)]
    columns = {name: header.index(name) for name in _COLUMNS if name in header}
    return _read_lines(lines, columns, file)


def _read_lines(
    lines: Sequence[str], columns: Mapping[str, int], file: str
) -> tuple[tuple[AsBuilt, ...], list[Diagnostic]]:
    """Return the lengths in the lines after the header, and the errors in them; ``columns`` are indices by name."""
    lengths: list[AsBuilt] = []
    diagnostics: list[Diagnostic] = []
    for number, line in enumerate(lines[1:], start=2):
        if len(diagnostics) >= MOST_REPORTED:
            diagnostics.append(and_more(Where(file, number, 1)))
            break
        try:
            # Line by line: with a quote left open the rest of the file would be one cell.
            cells = [cell.strip() for cell in next(csv.reader([line]), [])]
        except csv.Error as exc:
            diagnostics.append(
                error(CODE, f"the line is not valid CSV: {exc}", Where(file, number, 1), fix="correct the line")
            )
            continue
        if not any(cells):
            continue
        length = _length_of_row(cells, columns, Where(file, number, _column(line, cells, columns["length_m"])))
        if isinstance(length, Diagnostic):
            diagnostics.append(length)
        elif length is not None:
            lengths.append(length)
    return tuple(lengths), diagnostics


def and_more(where: Where) -> Diagnostic:
    """Return the last error of a table with more errors than are reported; ``where`` is the first unchecked row."""
    return error(CODE, "the rows from here on were not checked", where, fix="correct the rows above first")


def _column(line: str, cells: Sequence[str], index: int) -> int:
    """Return the column of ``line`` at which the cell ``index`` begins, counted from 1.

    It is 1 if the line has quotes, or ends before the cell.
    """
    if '"' in line or len(cells) <= index:
        return 1
    return sum(len(cell) + 1 for cell in line.split(",")[:index]) + 1


def _length_of_row(cells: Sequence[str], columns: Mapping[str, int], where: Where) -> AsBuilt | Diagnostic | None:
    """Return the length in a row, or the error if the row is wrong, or None if it has no length."""
    row = {name: cells[index] for name, index in columns.items() if index < len(cells)}
    length_m = row.get("length_m")
    if not length_m:
        return None
    if not row.get("a_device") or not row.get("a_port"):
        return error(CODE, "a length without a device and port", where, fix="fill in a_device and a_port")
    is_valid = _LENGTH.fullmatch(length_m) is not None and 0 < float(length_m) <= _MOST_M
    if not is_valid:
        message = f"`{length_m}` is not a valid cable length"
        return error(CODE, message, where, fix=f"write meters without a unit, up to {_MOST_M:,}")
    return AsBuilt(
        device=row["a_device"],
        port=row["a_port"],
        far=(row.get("b_device", ""), row.get("b_port", "")),
        length_m=ceil(float(length_m)),
        where=where,
    )
