"""Designs side by side as a table and as JSON."""

from collections.abc import Mapping
from typing import Any

from rich.console import RenderableType

from railweave.bom.bill import PartKind
from railweave.comparison.alternative import Alternative, Comparison, figures, pieces
from railweave.jsonable import members
from railweave.report.bom import amount
from railweave.report.layout import cell, markdown_table, table
from railweave.report.tables import Narrow

_SIZES = ("gpus", "nodes", "tiers", "planes", "rails", "leaves", "spines", "super_spines")


def comparison_json(found: Comparison) -> dict[str, Any]:
    """Return the document of ``railweave compare --json``."""
    return {"designs": [_design(one) for one in found.alternatives]}


def _design(one: Alternative) -> dict[str, Any]:
    sizing, bill, worst = one.sizing, one.bill, one.worst
    parts: dict[str, int] = {}
    for line in bill.lines if bill else ():
        parts[line.kind] = parts.get(line.kind, 0) + line.quantity
    return {
        "intent": one.intent,
        **members(sizing, "fabric", *_SIZES),
        "oversubscription": members(sizing.oversubscription, "leaf", "after_spine_loss"),
        "links": members(sizing.links, "host_leaf", "leaf_spine", "spine_super_spine"),
        "gpu_gbps": one.gpu_gbps,
        "most_nodes": sizing.limits.nodes,
        "parts": parts if bill else None,
        "optics": pieces(bill, PartKind.MODULE) | pieces(bill, PartKind.CABLE) if bill else None,
        "switches": members(bill.space, *bill.space._fields) if bill else None,
        "worst_failure": None
        if worst is None
        else {
            "example": worst.example[0].title,
            "count": worst.count,
            **members(worst.cost, "nodes_cut_off", "injection_percent", "rail_percent", "uplink_percent"),
        },
        "currency": bill.currency if bill else "",
        "total": amount(one.total),
        "unpriced": list(bill.unpriced) if bill else [],
        "guidelines": [members(each, *each._fields) for each in one.guidelines],
        "reasons": list(one.reasons),
    }


DESIGNS_INTRO = """# Reference designs

A project can begin with one of these intents: the command is `init` with `--design NAME`, and `--nodes N` for another
number of GPU nodes. They are published designs, or parts of them, on switches whose lossless buffers SONiC's own files
describe. The head of each intent names its source and how far it scales. All are there to be edited: `size` explains
every number, `compare` puts two versions side by side.

| design | what it is |
|---|---|
"""


def designs_page(purposes: Mapping[str, str], found: Comparison) -> str:
    """Return the reference page of the designs to start from: what each is, and all of them side by side."""
    listed = "".join(f"| `{name}` | {cell(purpose)} |\n" for name, purpose in purposes.items())
    names = [f"`{one.intent}`" for one in found.alternatives]
    rows = [(cell(row.name), *map(cell, row.values)) for row in figures(found, by_part=False)]
    return f"{DESIGNS_INTRO}{listed}\n## Side by side\n\n{markdown_table(('', *names), rows)}"


def comparison_view(found: Comparison) -> RenderableType:
    """Return a table with a column for every design; several tables where the screen is too narrow for all of them."""
    names = [one.intent for one in found.alternatives]
    return table("", *names, rows=[(row.name, *row.values) for row in figures(found)], narrow=Narrow.PARTS)
