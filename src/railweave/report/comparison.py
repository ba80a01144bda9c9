"""Designs side by side as a table and as JSON."""

from collections.abc import Mapping
from typing import Any

from rich.console import Group, RenderableType
from rich.text import Text

from railweave.bom.bill import Bill, PartKind
from railweave.codec import members
from railweave.comparison.alternative import Alternative, Comparison, Figure, figures, pieces
from railweave.comparison.ownership import Ownership
from railweave.failures.analysis import FailureClass
from railweave.report.bom import amount
from railweave.report.layout import cell, markdown_table, table
from railweave.report.tables import DIFFERS, Narrow

_SIZES = ("gpus", "nodes", "tiers", "planes", "rails", "leaves", "spines", "super_spines")


def comparison_json(comparison: Comparison, search: dict[str, Any] | None = None) -> dict[str, Any]:
    """Return the document of ``railweave compare --json``; ``search`` is how suggested designs were found."""
    return {"designs": [_design(alternative) for alternative in comparison.alternatives], "search": search}


def _design(alternative: Alternative) -> dict[str, Any]:
    """Return a design for the document: its sizes, parts and costs, and the worst failure of one component."""
    sizing = alternative.sizing
    bill = alternative.bill
    # A design of inline switches, without models, has no parts.
    currency = ""
    unpriced: list[str] = []
    if bill is not None:
        currency = bill.currency
        unpriced = list(bill.unpriced)
    return {
        "intent": alternative.intent,
        **members(sizing, "fabric", *_SIZES),
        "oversubscription": members(sizing.oversubscription, "leaf", "after_spine_loss"),
        "links": members(sizing.links, "host_leaf", "leaf_spine", "spine_super_spine"),
        "gpu_gbps": alternative.gpu_gbps,
        "most_nodes": sizing.limits.nodes,
        **_parts(bill),
        "worst_failure": _failure(alternative.worst),
        "currency": currency,
        # Text, as all prices: a number of JSON may lose digits.
        "total": amount(alternative.total),
        "unpriced": unpriced,
        "ownership": _ownership(alternative.ownership),
        "guidelines": [members(guideline, *guideline._fields) for guideline in alternative.guidelines],
        "reasons": list(alternative.reasons),
        "changes": list(alternative.changes),
    }


def _ownership(costs: Ownership | None) -> dict[str, Any] | None:
    """Return the costs of a design over the years that the prices state, None without them."""
    if costs is None:
        return None
    years: str | None = None
    if costs.years is not None:
        years = f"{costs.years:f}"
    return {
        "years": years,
        "purchase": amount(costs.purchase),
        "power": amount(costs.power),
        "rack_space": amount(costs.rack_space),
        "network": amount(costs.network),
        "waiting": amount(costs.waiting),
        "left_out": [members(number, *number._fields) for number in costs.left_out],
    }


def _parts(bill: Bill | None) -> dict[str, Any]:
    """Return the parts of a design by kind, its optics, and the space of its switches."""
    if bill is None:
        return {"parts": None, "optics": None, "switches": None}
    quantities: dict[str, int] = {}
    for line in bill.lines:
        quantities[line.kind] = quantities.get(line.kind, 0) + line.quantity
    return {
        "parts": quantities,
        "optics": pieces(bill, PartKind.MODULE) | pieces(bill, PartKind.CABLE),
        "switches": members(bill.space, *bill.space._fields),
    }


def _failure(worst: FailureClass | None) -> dict[str, Any] | None:
    """Return the worst class of failures of a design with its cost, None if there is none."""
    if worst is None:
        return None
    return {
        "example": worst.example[0].title,
        "count": worst.count,
        **members(worst.cost, "nodes_cut_off", "injection_percent", "rail_percent", "uplink_percent"),
    }


DESIGNS_INTRO = """# Reference designs

A project can begin with one of these intents: the command is `init` with `--design NAME`, and `--nodes N` for another
number of GPU nodes. They are published designs, or parts of them, on switches whose lossless buffers SONiC's own files
describe. The head of each intent names its source and how far it scales. All are there to be edited: `size` explains
every number, `compare` puts two versions side by side.

| design | what it is |
|---|---|
"""


def designs_page(purposes: Mapping[str, str], comparison: Comparison) -> str:
    """Return the reference page of the designs to start from: what each is, and all of them side by side."""
    designs = "".join(f"| `{name}` | {cell(purpose)} |\n" for name, purpose in purposes.items())
    names = [f"`{alternative.intent}`" for alternative in comparison.alternatives]
    rows = [(cell(row.name), *map(cell, row.values)) for row in figures(comparison, by_part=False)]
    return f"{DESIGNS_INTRO}{designs}\n## Side by side\n\n{markdown_table(('', *names), rows)}"


def comparison_view(comparison: Comparison) -> RenderableType:
    """Return a table with a column for every design, or several tables if the screen is too narrow for one."""
    names = [alternative.intent for alternative in comparison.alternatives]
    rows = [(_marked(row), *row.values) for row in figures(comparison)]
    shown = table("", *names, rows=rows, narrow=Narrow.PARTS)
    missing = left_out(comparison)
    if not missing:
        return shown
    return Group(shown, Text(), *(Text(line) for line in missing))


def left_out(comparison: Comparison) -> list[str]:
    """Return a line for each cost that some design leaves out, with the reason; equal lines are not repeated."""
    lines = []
    for alternative in comparison.alternatives:
        if alternative.ownership is not None:
            lines += [f"left out: {cost.number}, {cost.reason}" for cost in alternative.ownership.left_out]
    return list(dict.fromkeys(lines))


def _marked(row: Figure) -> str:
    """Return the name of a row, marked if the designs differ in it."""
    mark = DIFFERS if row.differs else " "
    return f"{mark} {row.name}"
