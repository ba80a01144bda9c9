"""What failures cost: tables of the single failures and of the worst pairs, and the JSON of all classes."""

from collections.abc import Iterable, Iterator, Sequence
from math import isinf
from typing import Any

from rich.console import RenderableType
from rich.text import Text

from railweave.design.ratios import ratio_text
from railweave.failures.analysis import FailureClass, Failures
from railweave.failures.availability import Availability
from railweave.failures.cost import Cost
from railweave.jsonable import members
from railweave.report.layout import paragraphs, table
from railweave.report.tables import Narrow
from railweave.wording import counted, listed, percent_text

_WORST = 12
"""How many classes of pairs are shown where not all are asked for."""

_ABOUT = Text(
    "left, in percent of the intact fabric: all ports of GPU nodes, those of the worst rail, the uplinks of the worst "
    "switch; two leaves: the bandwidth of the worst pair, in parentheses what equal-cost routing carries of it; two "
    "nodes: that of the worst pair of GPU nodes with a link in service, rail by rail, while all nodes of their leaves "
    "send",
    style="dim",
)


def failures_json(found: Failures, over_a_year: Availability | None = None) -> dict[str, Any]:
    """Return the document of ``railweave failures --json``; what they cost over a year is null without rates."""
    return {
        **members(found, "fabric", "singles", "pairs"),
        "lossless": list(found.lossless),
        "classes": [_class_json(one) for one in found.classes],
        "availability": None if over_a_year is None else _availability_json(over_a_year),
    }


def _availability_json(found: Availability) -> dict[str, Any]:
    return {
        **members(found, "ports_percent", "node_hours_out", "unrated"),
        "kinds": [members(one, *one._fields) for one in found.kinds],
        "classes": [
            {"example": [each.title for each in one.failure.example], "hours_per_year": one.hours_per_year}
            for one in (*found.singles, *found.pairs)
        ],
    }


def _class_json(one: FailureClass) -> dict[str, Any]:
    return {
        "components": [each.kind for each in one.example],
        "count": one.count,
        "shared": list(one.shared),
        "example": [each.title for each in one.example],
        **members(one.cost, *one.cost._fields),
    }


def failures_view(found: Failures, *, every: bool = False, over_a_year: Availability | None = None) -> RenderableType:
    """Return the classes in tables, the worst first; of pairs the worst ones, or ``every`` one; then what they cost
    over a year."""
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
        [_ABOUT, Text(lossless_text(found.lossless), style="dim")],
        *(() if over_a_year is None else _over_a_year(over_a_year)),
    )


def lossless_text(lossless: Sequence[str]) -> str:
    """Return what failures mean for the lossless classes of these names."""
    if not lossless:
        return "no class is lossless: no failure makes PFC pause anything"
    return (
        f"lossless ({listed(lossless)}): PFC stays free of cyclic buffer dependencies under each of them: routes go "
        "up, then down, whatever fails; headroom depends on port speed and cable length only"
    )


def _over_a_year(found: Availability) -> Iterator[list[RenderableType]]:
    kinds = [
        (one.kind, f"{one.components:,}", f"{one.failures_per_year:,.2f}", f"{one.mean_down:.2g}")
        for one in found.kinds
    ]
    yield [
        Text("Over a year, by your rates", style="bold"),
        table("kind", "components", "failures a year", "out of service on average", rows=kinds),
    ]
    longest = [
        (
            " and ".join(each.name for each in one.failure.example),
            f"{one.failure.count:,}",
            f"{one.hours_per_year:,.3g}",
        )
        for one in (*found.singles, *found.pairs[:_WORST])
    ]
    yield [table("for example", "count", "hours a year", rows=longest)]
    unrated = f"; without a rate, so never failing here: {listed(found.unrated)}" if found.unrated else ""
    yield [
        Text(
            f"expected: {found.ports_percent:.4f} % of the bandwidth of all node ports in service, "
            f"{found.node_hours_out:,.3g} node-hours a year without any link{unrated}"
        )
    ]


def _classes(found: tuple[FailureClass, ...]) -> str:
    return counted(len(found), "class")


def _table(found: Iterable[FailureClass]) -> RenderableType:
    rows = [(_title(one), f"{one.count:,}", *cost_cells(one.cost)) for one in found]
    return table(*COST_COLUMNS, rows=rows, narrow=Narrow.TITLES)


def _title(one: FailureClass) -> str:
    return ", ".join(each.name for each in one.example)


COST_COLUMNS = (
    *("for example", "count", "nodes\nout", "rails\nout", "ports", "rail", "uplinks", "ratio"),
    *("two\nleaves", "two\nnodes"),
)
"""What a row says of a class: an example, their number, and the cells of its cost."""


def cost_cells(cost: Cost) -> tuple[str, ...]:
    """Return a cost as the cells of a row: nodes and rails out, ports, rail, uplinks, ratio, two leaves and
    two nodes."""
    return (
        f"{cost.nodes_cut_off or '-'}",
        f"{cost.rails_out or '-'}",
        percent_text(cost.injection_percent),
        percent_text(cost.rail_percent),
        percent_text(cost.uplink_percent),
        _ratio(cost.oversubscription),
        _pair(cost),
        "-" if cost.node_pair_percent is None else percent_text(cost.node_pair_percent),
    )


def _ratio(value: float | None) -> str:
    return "-" if value is None else "no path" if isinf(value) else ratio_text(value)


def _pair(cost: Cost) -> str:
    if cost.pair_percent is None or cost.spread_percent is None:
        return "-"
    spread = "" if cost.spread_percent == cost.pair_percent else f" ({percent_text(cost.spread_percent)})"
    return percent_text(cost.pair_percent) + spread
