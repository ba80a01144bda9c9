"""Designs side by side as a table and as JSON."""

from typing import Any

from rich.console import RenderableType

from railweave.comparison.alternative import Alternative, Comparison, figures
from railweave.jsonable import members
from railweave.report.bom import amount
from railweave.report.layout import table

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
        "most_nodes": sizing.limits.nodes,
        "parts": parts if bill else None,
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
    }


def comparison_view(found: Comparison) -> RenderableType:
    """Return a table with a column for every design."""
    names = [one.intent for one in found.alternatives]
    return table("", *names, rows=[(row.name, *row.values) for row in figures(found)])
