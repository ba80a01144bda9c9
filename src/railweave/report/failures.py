"""What failures cost: tables of the single failures and of the worst pairs, and the JSON of all classes."""

from collections.abc import Iterable
from math import isinf
from typing import Any

from rich.console import RenderableType
from rich.text import Text

from railweave.design.ratios import ratio_text
from railweave.failures.analysis import FailureClass, Failures
from railweave.failures.cost import Cost
from railweave.jsonable import members
from railweave.report.layout import paragraphs, table
from railweave.wording import counted, percent_text

_WORST = 12
"""How many classes of pairs are shown where not all are asked for."""

_ABOUT = Text(
    "left, in percent of the intact fabric: all ports of GPU nodes, those of the worst rail, the uplinks of the worst "
    "switch; two leaves: the bandwidth of the worst pair, in parentheses what equal-cost routing carries of it",
    style="dim",
)
_LOSSLESS = Text(
    "PFC stays free of cyclic buffer dependencies under each of them: routes go up, then down, whatever fails; "
    "headroom depends on port speed and cable length only",
    style="dim",
)


def failures_json(found: Failures) -> dict[str, Any]:
    """Return the document of ``railweave failures --json``."""
    return {**members(found, "fabric", "singles", "pairs"), "classes": [_class_json(one) for one in found.classes]}


def _class_json(one: FailureClass) -> dict[str, Any]:
    return {
        "components": [each.kind for each in one.example],
        "count": one.count,
        "shared": list(one.shared),
        "example": [each.title for each in one.example],
        **members(one.cost, *one.cost._fields),
    }


def failures_view(found: Failures, *, every: bool = False) -> RenderableType:
    """Return the classes in tables, the worst first; of pairs the worst ones, or ``every`` one."""
    singles, pairs = found.of_order(1), found.of_order(2)
    shown = pairs if every else pairs[:_WORST]
    rest = len(pairs) - len(shown)
    return paragraphs(
        [
            Text(f"Fabric {found.fabric}: single failures, {found.singles:,} in {_classes(singles)}", style="bold"),
            _table(singles),
        ],
        [
            Text(f"Pairs of failures, {found.pairs:,} in {_classes(pairs)}", style="bold"),
            _table(shown),
            *([Text(f"and {counted(rest, 'class')} that cost less; --all shows them")] if rest else []),
        ],
        [_ABOUT, _LOSSLESS],
    )


def _classes(found: tuple[FailureClass, ...]) -> str:
    return counted(len(found), "class")


def _table(found: Iterable[FailureClass]) -> RenderableType:
    columns = ("for example", "count", "nodes out", "rails out", "ports", "rail", "uplinks", "ratio", "two leaves")
    return table(*columns, rows=[(_title(one), f"{one.count:,}", *cost_cells(one.cost)) for one in found])


def _title(one: FailureClass) -> str:
    return ", ".join(each.name for each in one.example)


def cost_cells(cost: Cost) -> tuple[str, ...]:
    """Return a cost as the cells of a row: nodes and rails out, ports, rail, uplinks, ratio, two leaves."""
    return (
        f"{cost.nodes_cut_off or '-'}",
        f"{cost.rails_out or '-'}",
        percent_text(cost.injection_percent),
        percent_text(cost.rail_percent),
        percent_text(cost.uplink_percent),
        _ratio(cost.oversubscription),
        _pair(cost),
    )


def _ratio(value: float | None) -> str:
    return "-" if value is None else "no path" if isinf(value) else ratio_text(value)


def _pair(cost: Cost) -> str:
    if cost.pair_percent is None or cost.spread_percent is None:
        return "-"
    spread = "" if cost.spread_percent == cost.pair_percent else f" ({percent_text(cost.spread_percent)})"
    return percent_text(cost.pair_percent) + spread
