"""The bill of materials as a workbook for spreadsheets, by XlsxWriter (the extra ``railweave[xlsx]``)."""

import io
from collections.abc import Iterable, Sequence
from datetime import UTC, datetime
from decimal import Decimal
from pathlib import Path
from typing import TYPE_CHECKING

from railweave.bom.bill import Bill
from railweave.bom.phases import BomPhase
from railweave.errors import RailweaveError, UsageError
from railweave.files import cannot_write, write_private

if TYPE_CHECKING:
    from xlsxwriter import Workbook
    from xlsxwriter.worksheet import Worksheet

_READABLE = 0o644
# Without a time zone, which XlsxWriter does not take.
_EPOCH = datetime(2000, 1, 1, tzinfo=UTC).replace(tzinfo=None)
"""The creation date of every workbook, so that the same bill gives the same bytes."""

_Cell = str | int | Decimal | None


def write_workbook(bill: Bill, path: Path, phases: Sequence[BomPhase] = ()) -> None:
    """Write a workbook with the bill and the orders of phases of growth; replaces the file.

    Raises UsageError for another ending than ``.xlsx``, RailweaveError if the file cannot be written.
    """
    if path.suffix.lower() != ".xlsx":
        raise UsageError(f"a workbook is written as .xlsx, not as `{path.name}`: name a file like parts.xlsx")
    try:
        write_private(path, workbook(bill, phases), _READABLE)
    except OSError as exc:
        raise RailweaveError(cannot_write(path, exc)) from exc


def workbook(bill: Bill, phases: Sequence[BomPhase] = ()) -> bytes:
    """Return the workbook: the parts, the orders of each phase, and for racks the trays and the bundles of cables.

    Raises RailweaveError without XlsxWriter.
    """
    try:
        import xlsxwriter
    except ImportError:
        message = "a workbook needs XlsxWriter: install railweave[xlsx], or write --csv, which every spreadsheet opens"
        raise RailweaveError(message) from None
    out = io.BytesIO()
    book = xlsxwriter.Workbook(out, {"in_memory": True})
    book.set_properties({"title": f"Bill of materials: {bill.fabric}", "created": _EPOCH})
    _parts(book, bill)
    if phases:
        _phases(book, phases)
    if bill.racks is not None:
        _table(book, "Trays", ("from rack", "to rack", "cables"), bill.racks.trays)
        _table(book, "Bundles", ("from rack", "to rack", "cables", "longest (m)"), bill.racks.bundles)
    if bill.remarks:
        _table(book, "Remarks", ("remark",), [(remark,) for remark in bill.remarks])
    book.close()
    return out.getvalue()


def _phases(book: "Workbook", phases: Iterable[BomPhase]) -> None:
    """Add the sheet of orders: the parts of each phase, one below the other."""
    rows: list[Sequence[_Cell]] = []
    for phase in phases:
        rows += [
            (phase.title, line.kind.value, line.part, line.length_m, line.quantity, line.spares)
            for line in phase.bill.lines
        ]
    _table(book, "Phases", ("phase", "kind", "part", "length (m)", "quantity", "spares"), rows)


def _parts(book: "Workbook", bill: Bill) -> None:
    """Add the sheet of parts, whose columns of orders and prices are filled by formulas."""
    currency = ""
    if bill.currency:
        currency = f" ({bill.currency})"
    columns = (
        "kind",
        "part",
        "length (m)",
        "quantity",
        "spares",
        "order",
        f"unit price{currency}",
        f"price{currency}",
        "used for",
        "description",
        "rack units of one",
        "watts of one at most",
    )
    rows = [
        (
            line.kind.value,
            line.part,
            line.length_m,
            line.quantity,
            line.spares,
            None,
            line.unit_price,
            None,
            " ".join(line.where),
            line.description,
            line.rack_units,
            line.max_power_w,
        )
        for line in bill.lines
    ]
    _add_formulas(book, _table(book, "Parts", columns, rows), bill)


def _add_formulas(book: "Workbook", sheet: "Worksheet", bill: Bill) -> None:
    """Write order and price of each part, and the total, as formulas: a buyer may enter spares and unit prices.

    Columns: D quantity, E spares, F order, G unit price, H price. Each formula is written with its value too, which
    viewers that do not calculate show.
    """
    money = book.add_format({"num_format": "#,##0.00"})
    # Rows count from 1, and the first is the heading.
    for row, line in enumerate(bill.lines, start=2):
        pieces = line.quantity + line.spares
        sheet.write_formula(f"F{row}", f"=D{row}+E{row}", None, pieces)
        price: float | str = ""
        if line.price is not None:
            price = float(line.price)
        sheet.write_formula(f"H{row}", f'=IF(G{row}="","",F{row}*G{row})', money, price)
    last_row = len(bill.lines) + 1
    total_row = last_row + 1
    bold = book.add_format({"bold": True, "num_format": "#,##0.00"})
    sheet.write_string(f"G{total_row}", "total", bold)
    total = float(bill.total or 0)
    # A bill without parts has no row to add up, but a range must have one.
    sheet.write_formula(f"H{total_row}", f"=SUM(H2:H{max(2, last_row)})", bold, total)


def _table(book: "Workbook", name: str, columns: Sequence[str], rows: Iterable[Sequence[_Cell]]) -> "Worksheet":
    """Return a new sheet with a frozen heading, filters, and columns as wide as their longest cell."""
    sheet = book.add_worksheet(name)
    heading = book.add_format({"bold": True, "bottom": 1})
    widths = [len(column) for column in columns]
    sheet.write_row(0, 0, columns, heading)
    last_row = 0
    # Row 0 is the heading.
    for number, row in enumerate(rows, start=1):
        last_row = number
        for column, cell in enumerate(row):
            # `write` would take a text that begins with `=` for a formula.
            if isinstance(cell, str):
                sheet.write_string(number, column, cell)
            elif cell is not None:
                sheet.write_number(number, column, float(cell))
            widths[column] = max(widths[column], len(str(cell or "")))
    # In characters: a long description must not push the columns behind it off the screen.
    for column, width in enumerate(widths):
        sheet.set_column(column, column, min(width, 60) + 2)
    sheet.freeze_panes(1, 0)
    # A table without rows filters the empty row below the heading.
    sheet.autofilter(0, 0, max(last_row, 1), len(columns) - 1)
    return sheet
