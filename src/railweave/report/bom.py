"""The bill of materials as a table, as JSON and as CSV."""

from collections.abc import Iterable, Iterator, Sequence
from decimal import Decimal
from pathlib import Path
from typing import Any

from rich.console import RenderableType
from rich.text import Text

from railweave.bom.bill import Bill, BillLine
from railweave.bom.phases import BomPhase
from railweave.bom.trays import RackSummary
from railweave.codec import members
from railweave.csv_text import csv_text
from railweave.errors import RailweaveError
from railweave.files import cannot_write, write_private
from railweave.report.layout import paragraphs, table
from railweave.wording import counted, first_few

_COLUMNS = ("kind", "part", "description", "quantity", "spares", "length_m", "where")
_SPACE = ("rack_units", "max_power_w")

_ONE_LENGTH = "lengths are the longest, as `cabling` has them"
_BY_RACKS = "lengths are the shortest that are sold and span the way between the racks"
_NO_PARTS_OF_NODES = "; without parts of nodes other than NICs"
_CAGES = "; each port of a NIC counts as a cage"
_NO_SPARES = "; no spares (`--spares RULE`)"
_ONE_PHASE = "no growth is stated (`workload.growth`), and no more nodes fit without moving a cable"
_READABLE = 0o644


def bom_json(bill: Bill, phases: Iterable[BomPhase] = ()) -> dict[str, Any]:
    """Return the document of ``railweave bom --json``; prices are text, so that no digit is lost."""
    return {
        **members(bill, "fabric", "against", "currency"),
        "lines": _lines_json(bill),
        "total": amount(bill.total),
        "phases": [_phase_json(phase) for phase in phases],
        "switches": members(bill.space, *bill.space._fields),
        **members(bill, "unpriced", "remarks", "racks"),
    }


def _phase_json(phase: BomPhase) -> dict[str, Any]:
    return {
        **members(phase, "title", "nodes", "gpus"),
        "lines": _lines_json(phase.bill),
        "total": amount(phase.bill.total),
    }


def _lines_json(bill: Bill) -> list[dict[str, Any]]:
    return [
        {**members(line, *_COLUMNS, *_SPACE), "unit_price": amount(line.unit_price), "price": amount(line.price)}
        for line in bill.lines
    ]


def amount(price: Decimal | None) -> str | None:
    """Return a price as text with two decimals, as JSON documents have it."""
    if price is None:
        return None
    return f"{price:.2f}"


def bom_csv(bill: Bill) -> bytes:
    """Return the lines as CSV: a header, then one line for each part; UTF-8, lines end with a line feed."""
    header = [*_COLUMNS, *_SPACE]
    if bill.currency:
        header += ["unit_price", "price", "currency"]
    rows: list[tuple[object, ...]] = [tuple(header)]
    for line in bill.lines:
        cells: list[object] = [line.kind, line.part, line.description, line.quantity, line.spares]
        cells += [_blank(line.length_m), " ".join(line.where), _blank(line.rack_units), _blank(line.max_power_w)]
        if bill.currency:
            cells += [_blank(amount(line.unit_price)), _blank(amount(line.price)), bill.currency]
        rows.append(tuple(cells))
    return csv_text(rows).encode()


def _blank(value: object) -> object:
    """Return a value of a cell, which is empty for None."""
    if value is None:
        return ""
    return value


def write_csv(bill: Bill, path: Path) -> None:
    """Write the lines as CSV; replaces the file. Raises RailweaveError if it cannot be written."""
    try:
        write_private(path, bom_csv(bill), _READABLE)
    except OSError as exc:
        raise RailweaveError(cannot_write(path, exc)) from exc


def bom_view(bill: Bill) -> RenderableType:
    """Return the parts in a table with their prices, then totals and remarks."""
    # The bill of several fabrics has all of their names.
    fabrics = "Fabrics" if "," in bill.fabric else "Fabric"
    title = f"{fabrics} {bill.fabric}: bill of materials"
    if bill.against:
        title = f"{fabrics} {bill.fabric}: parts to buy more than for {bill.against}, - for those no longer needed"
    with_spares = any(line.spares for line in bill.lines)
    racks: list[Text] = []
    # A difference of two bills has no racks of its own.
    if bill.racks is not None and not bill.against:
        racks = [Text(sentence) for sentence in racks_text(bill.racks)]
    space: Text | None = None
    sentence = space_text(bill)
    if sentence:
        space = Text(sentence)
    return paragraphs(
        [Text(title, style="bold"), _parts_table(bill, with_spares=with_spares)],
        _sum(bill),
        space,
        racks,
        [Text(remark, style="yellow") for remark in bill.remarks],
        [Text(_notes(bill, with_spares=with_spares), style="dim")],
    )


def _notes(bill: Bill, *, with_spares: bool) -> str:
    """Return what the figures of the bill rest on and what they leave out."""
    notes = _BY_RACKS
    if bill.racks is None:
        notes = _ONE_LENGTH
    notes += _NO_PARTS_OF_NODES
    if not bill.shares_cages:
        notes += _CAGES
    if not with_spares:
        notes += _NO_SPARES
    return notes


def _parts_table(bill: Bill, *, with_spares: bool) -> RenderableType:
    """Return a table with a row for each part; it has columns of spares and prices if there are any."""
    if not bill.lines:
        return Text("no parts")
    columns = ["quantity", "part", "length", "used for", "description"]
    if bill.currency:
        columns.insert(3, "price")
    if with_spares:
        columns.insert(1, "spares")
    return table(*columns, rows=[_cells(bill, line, with_spares=with_spares) for line in bill.lines])


def phases_view(bill: Bill, phases: Sequence[BomPhase]) -> RenderableType:
    """Return a table of the pieces that each phase of growth orders of each part, spares included.

    The nodes and GPUs of the phases are above it, prices and remarks below.
    """
    heading = [Text(f"Fabric {bill.fabric}: what each phase orders, spares included", style="bold")]
    heading += [Text(f"{phase.title}: {counted(phase.nodes, 'node')}, {phase.gpus:,} GPUs") for phase in phases]
    columns = [*(phase.title for phase in phases), "part", "length"]
    sums = [
        Text(f"{phase.title}: {phase.bill.currency} {phase.bill.total:,.2f}")
        for phase in phases
        if phase.bill.total is not None
    ]
    note: Text | None = None
    if len(phases) == 1:
        note = Text(_ONE_PHASE, style="dim")
    remarks = [Text(remark, style="yellow") for phase in phases for remark in phase.bill.remarks]
    return paragraphs(heading, [table(*columns, rows=_phase_rows(phases))], sums, note, remarks)


def _phase_rows(phases: Sequence[BomPhase]) -> Iterator[tuple[str, ...]]:
    """Yield the pieces of each part by phase, then the part and its length."""
    pieces_by_part: dict[tuple[str, int | None], list[int]] = {}
    for index, phase in enumerate(phases):
        for line in phase.bill.lines:
            part_pieces = pieces_by_part.setdefault((line.part, line.length_m), [0] * len(phases))
            part_pieces[index] += line.quantity + line.spares
    for (part, length_m), part_pieces in pieces_by_part.items():
        # Only the first phase orders from nothing; the others are differences, which a sign shows.
        first_cell = f"{part_pieces[0]:,}"
        later_cells = [f"{count:+,}" for count in part_pieces[1:]]
        yield first_cell, *later_cells, part, _length(length_m)


def _length(length_m: int | None) -> str:
    if length_m is None:
        return ""
    return f"{length_m} m"


def _sum(bill: Bill) -> list[Text]:
    """Return the price of all parts, and the parts without a price; nothing for a bill without prices."""
    if bill.total is None:
        return []
    lines = [Text(f"{bill.currency} {bill.total:,.2f} in all", style="bold")]
    if bill.unpriced:
        lines.append(Text(f"without a price: {counted(len(bill.unpriced), 'part')} ({first_few(bill.unpriced)})"))
    return lines


def space_text(bill: Bill) -> str:
    """Return the rack units and power of all switches, or the difference; empty if no source states any."""
    space = bill.space
    sign = _sign(bill)
    figures = []
    if space.rack_units is not None:
        figures.append(f"{space.rack_units:{sign},} rack units{_without(space.no_units)}")
    if space.max_power_w is not None:
        figures.append(f"at most {space.max_power_w / 1000:{sign},.1f} kW{_without(space.no_power)}")
    if not figures:
        return ""
    return "switches: " + ", ".join(figures)


def _without(parts: Sequence[str]) -> str:
    """Return the words on parts that a figure leaves out because no source states it; empty if there are none."""
    if not parts:
        return ""
    return f" without {first_few(parts)} (no source)"


def racks_text(racks: RackSummary) -> Iterator[str]:
    """Yield sentences on the racks in use and the fullest tray."""
    usage = f"{counted(racks.racks, 'rack')}, {racks.taken_units:,} of {counted(racks.units, 'rack unit')}"
    if racks.power_w is not None:
        usage += f", {racks.power_w / 1000:,.1f} kW"
    yield usage
    tray = racks.fullest
    if tray:
        yield f"fullest tray: {tray.rack} to {tray.far_rack}, {counted(tray.cables, 'cable')}"


def _sign(bill: Bill) -> str:
    """Return the sign option to format numbers of a bill: with a ``+`` nobody takes a difference for an order."""
    if bill.against:
        return "+"
    return ""


def _price(price: Decimal | None) -> str:
    # Empty would look like a part that costs nothing.
    if price is None:
        return "-"
    return f"{price:,.2f}"


def _cells(bill: Bill, line: BillLine, *, with_spares: bool) -> list[str]:
    """Return the cells of a part below the columns of `_parts_table`."""
    sign = _sign(bill)
    cells = [f"{line.quantity:{sign},}"]
    if with_spares:
        cells.append(f"{line.spares:{sign},}")
    cells += [line.part, _length(line.length_m)]
    if bill.currency:
        cells.append(_price(line.price))
    # Kinds of links are identifiers, such as `leaf_spine`; JSON and CSV keep them.
    used_for = ", ".join(use.replace("_", "-") for use in line.where)
    return [*cells, used_for, line.description]
