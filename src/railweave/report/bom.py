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
from railweave.csv_text import csv_text
from railweave.errors import RailweaveError
from railweave.files import write_private
from railweave.jsonable import members
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
        "phases": [
            {**members(one, "title", "nodes", "gpus"), "lines": _lines_json(one.bill), "total": amount(one.bill.total)}
            for one in phases
        ],
        "switches": members(bill.space, *bill.space._fields),
        **members(bill, "unpriced", "remarks", "racks"),
    }


def _lines_json(bill: Bill) -> list[dict[str, Any]]:
    return [
        {**members(line, *_COLUMNS, *_SPACE), "unit_price": amount(line.unit_price), "price": amount(line.price)}
        for line in bill.lines
    ]


def amount(price: Decimal | None) -> str | None:
    """Return a price as documents have it: two decimals, as text."""
    return None if price is None else f"{price:.2f}"


def bom_csv(bill: Bill) -> bytes:
    """Return the lines as CSV: a header, then a line a part; UTF-8, lines end with a line feed."""
    money = ("unit_price", "price", "currency") if bill.currency else ()
    rows: list[tuple[object, ...]] = [(*_COLUMNS, *_SPACE, *money)]
    for line in bill.lines:
        length, units, power = (
            "" if one is None else one for one in (line.length_m, line.rack_units, line.max_power_w)
        )
        where = " ".join(line.where)
        cells = (line.kind, line.part, line.description, line.quantity, line.spares, length, where, units, power)
        prices = (amount(line.unit_price) or "", amount(line.price) or "", bill.currency) if money else ()
        rows.append((*cells, *prices))
    return csv_text(rows).encode()


def write_csv(bill: Bill, path: Path) -> None:
    """Write the lines as CSV into a file, which is replaced; raises RailweaveError where it cannot be written."""
    try:
        write_private(path, bom_csv(bill), _READABLE)
    except OSError as exc:
        raise RailweaveError(f"{path} cannot be written: {exc.strerror}") from exc


def bom_view(bill: Bill) -> RenderableType:
    """Return the parts in a table with their prices, then what cannot be bought as designed."""
    title = f"Fabric {bill.fabric}: bill of materials"
    if bill.against:
        title = f"Fabric {bill.fabric}: parts to buy more than for {bill.against}, - for those no longer needed"
    money = ("price",) if bill.currency else ()
    spares = ("spares",) if any(line.spares for line in bill.lines) else ()
    columns = ("quantity", *spares, "part", "length", *money, "used for", "description")
    notes = (
        (_ONE_LENGTH if bill.racks is None else _BY_RACKS) + _NO_PARTS_OF_NODES + ("" if bill.shares_cages else _CAGES)
    )
    parts = (
        table(*columns, rows=[_cells(bill, line, spares) for line in bill.lines]) if bill.lines else Text("no parts")
    )
    return paragraphs(
        [Text(title, style="bold"), parts],
        _sum(bill) or None,
        [Text(space_text(bill))] if space_text(bill) else None,
        None if bill.racks is None or bill.against else [Text(one) for one in racks_text(bill.racks)],
        [Text(remark, style="yellow") for remark in bill.remarks] or None,
        [Text(notes + ("" if spares else _NO_SPARES), style="dim")],
    )


def phases_view(bill: Bill, phases: Sequence[BomPhase]) -> RenderableType:
    """Return the parts with the pieces, spares included, that each phase of growth orders."""
    pieces: dict[tuple[str, int | None], list[int]] = {}
    for place, phase in enumerate(phases):
        for line in phase.bill.lines:
            ordered = pieces.setdefault((line.part, line.length_m), [0] * len(phases))
            ordered[place] += line.quantity + line.spares
    rows = [
        (*(f"{count:+,}" if place else f"{count:,}" for place, count in enumerate(ordered)), *_named(part))
        for part, ordered in pieces.items()
    ]
    sums = [
        Text(f"{one.title}: {one.bill.currency} {one.bill.total:,.2f}") for one in phases if one.bill.total is not None
    ]
    return paragraphs(
        [
            Text(f"Fabric {bill.fabric}: what each phase orders, spares included", style="bold"),
            *(Text(f"{one.title}: {counted(one.nodes, 'node')}, {one.gpus:,} GPUs") for one in phases),
        ],
        [table(*(one.title for one in phases), "part", "length", rows=rows)],
        sums or None,
        [Text(_ONE_PHASE, style="dim")] if len(phases) == 1 else None,
        [Text(remark, style="yellow") for one in phases for remark in one.bill.remarks] or None,
    )


def _named(part: tuple[str, int | None]) -> tuple[str, str]:
    return part[0], "" if part[1] is None else f"{part[1]} m"


def _sum(bill: Bill) -> list[Text]:
    if bill.total is None:
        return []
    found = [Text(f"{bill.currency} {bill.total:,.2f} in all", style="bold")]
    if bill.unpriced:
        found.append(Text(f"without a price: {counted(len(bill.unpriced), 'part')} ({first_few(bill.unpriced)})"))
    return found


def space_text(bill: Bill) -> str:
    """Return what the switches take together, of a difference what they take more; empty where no source tells."""
    space, sign = bill.space, "+" if bill.against else ""
    found = []
    if space.rack_units is not None:
        found.append(f"{space.rack_units:{sign},} rack units{_without(space.no_units)}")
    if space.max_power_w is not None:
        found.append(f"at most {space.max_power_w / 1000:{sign},.1f} kW{_without(space.no_power)}")
    return "switches: " + ", ".join(found) if found else ""


def _without(parts: Sequence[str]) -> str:
    return f" without {first_few(parts)} (no source)" if parts else ""


def racks_text(racks: RackSummary) -> Iterator[str]:
    """Yield how much of the racks is in use, and which tray is the fullest."""
    used = f"{counted(racks.racks, 'rack')}, {racks.taken_units:,} of {counted(racks.units, 'rack unit')}"
    yield used + ("" if racks.power_w is None else f", {racks.power_w / 1000:,.1f} kW")
    if fullest := racks.fullest:
        cables = counted(fullest.cables, "cable")
        yield f"fullest tray: {fullest.rack} to {fullest.far_rack}, {cables}"


def _cells(bill: Bill, line: BillLine, spares: tuple[str, ...]) -> tuple[str, ...]:
    sign = "+" if bill.against else ""
    pieces = (f"{line.quantity:{sign},}", *(f"{line.spares:{sign},}" for _ in spares))
    length = "" if line.length_m is None else f"{line.length_m} m"
    money = ("-" if line.price is None else f"{line.price:,.2f}",) if bill.currency else ()
    where = ", ".join(place.replace("_", "-") for place in line.where)
    return *pieces, line.part, length, *money, where, line.description
