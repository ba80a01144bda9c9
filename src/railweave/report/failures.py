"""The cost of failures: tables of single failures and of the worst pairs, and the JSON of all classes."""

from collections.abc import Iterable, Iterator, Sequence
from math import isinf
from typing import Any

from rich.console import RenderableType
from rich.text import Text

from railweave.codec import members
from railweave.design.ratios import ratio_text
from railweave.failures.analysis import FailureClass, Failures
from railweave.failures.availability import Availability
from railweave.failures.cost import Cost
from railweave.report.layout import paragraphs, table
from railweave.report.tables import Narrow
from railweave.wording import counted, listed, percent_text

_WORST = 12
"""How many classes of pairs are shown without `--all`."""

_ABOUT = Text(
    "left, in percent of the intact fabric: all ports of GPU nodes, those of the worst rail, the uplinks of the worst "
    "switch; two leaves: the bandwidth of the worst pair, in parentheses what equal-cost routing carries of it; two "
    "nodes: that of the worst pair of GPU nodes with a link in service, rail by rail, while all nodes of their leaves "
    "send",
    style="dim",
)


def failures_json(failures: Failures, over_a_year: Availability | None = None) -> dict[str, Any]:
    """Return the document of ``railweave failures --json``; its costs over a year are null without rates."""
    return {
        **members(failures, "fabric", "singles", "pairs"),
        "lossless": list(failures.lossless),
        "classes": [_class_json(failure) for failure in failures.classes],
        "availability": _availability_json(over_a_year),
    }


def _availability_json(availability: Availability | None) -> dict[str, Any] | None:
    """Return the expected availability and hours of each class of failures; None without rates."""
    if availability is None:
        return None
    classes = []
    for rated in (*availability.singles, *availability.pairs):
        example = [component.title for component in rated.failure.example]
        classes.append({"example": example, "hours_per_year": rated.hours_per_year})
    return {
        **members(availability, "ports_percent", "node_hours_out", "unrated"),
        "kinds": [members(kind, *kind._fields) for kind in availability.kinds],
        "classes": classes,
    }


def _class_json(failure: FailureClass) -> dict[str, Any]:
    """Return a class of failures. A figure is None if nothing that it measures is left in service."""
    ratio: float | str | None = failure.cost.oversubscription
    # JSON has no infinity, and null is not a loss.
    if failure.cost.oversubscription is not None and isinf(failure.cost.oversubscription):
        ratio = "infinite"
    return {
        "components": [component.kind for component in failure.example],
        "count": failure.count,
        "shared": list(failure.shared),
        "example": [component.title for component in failure.example],
        **members(failure.cost, *failure.cost._fields),
        "oversubscription": ratio,
    }


def failures_view(
    failures: Failures, *, every: bool = False, over_a_year: Availability | None = None
) -> RenderableType:
    """Return tables of the classes of failures, the worst first, then their cost over a year if it is known.

    Only the worst classes of pairs are shown, unless ``every`` is set.
    """
    singles = failures.of_order(1)
    pairs = failures.of_order(2)
    title = f"Fabric {failures.fabric}: single failures, {failures.singles:,} in {_classes(singles)}"
    pairs_title = f"Pairs of failures, {failures.pairs:,} in {_classes(pairs)}"
    shown_pairs = pairs
    if not every:
        shown_pairs = pairs[:_WORST]
    pairs_part: list[RenderableType] = [Text(pairs_title, style="bold"), _table(shown_pairs)]
    hidden = len(pairs) - len(shown_pairs)
    if hidden:
        pairs_part.append(Text(f"and {counted(hidden, 'class')} that cost less; --all shows them"))
    return paragraphs(
        [Text(title, style="bold"), _table(singles)],
        pairs_part,
        [_ABOUT, Text(lossless_text(failures.lossless), style="dim")],
        *_over_a_year(over_a_year),
    )


def lossless_text(lossless: Sequence[str]) -> str:
    """Return a sentence on the effect of failures on the ``lossless`` classes."""
    if not lossless:
        return "no class is lossless: no failure makes PFC pause anything"
    return (
        f"lossless ({listed(lossless)}): PFC stays free of cyclic buffer dependencies under each of them: routes go "
        "up, then down, whatever fails; headroom depends on port speed and cable length only"
    )


def _over_a_year(availability: Availability | None) -> Iterator[list[RenderableType]]:
    """Yield the paragraphs on a year of failures; none without rates."""
    if availability is None:
        return
    kind_rows = [
        (kind.kind, f"{kind.components:,}", f"{kind.failures_per_year:,.2f}", f"{kind.mean_down:.2g}")
        for kind in availability.kinds
    ]
    yield [
        Text("Over a year, by your rates", style="bold"),
        table("kind", "components", "failures a year", "out of service on average", rows=kind_rows),
    ]
    class_rows = []
    for rated in (*availability.singles, *availability.pairs[:_WORST]):
        example = " and ".join(component.name for component in rated.failure.example)
        class_rows.append((example, f"{rated.failure.count:,}", f"{rated.hours_per_year:,.3g}"))
    yield [table("for example", "count", "hours a year", rows=class_rows)]
    expected = (
        f"expected: {availability.ports_percent:.4f} % of the bandwidth of all node ports in service, "
        f"{availability.node_hours_out:,.3g} node-hours a year without any link"
    )
    if availability.unrated:
        expected += f"; without a rate, so never failing here: {listed(availability.unrated)}"
    yield [Text(expected)]


def _classes(failures: tuple[FailureClass, ...]) -> str:
    return counted(len(failures), "class")


def _table(failures: Iterable[FailureClass]) -> RenderableType:
    # The components of an example have long names: on a narrow screen they go above the figures.
    rows = [(_title(failure), f"{failure.count:,}", *cost_cells(failure.cost)) for failure in failures]
    return table(*COST_COLUMNS, rows=rows, narrow=Narrow.TITLES)


def _title(failure: FailureClass) -> str:
    return ", ".join(component.name for component in failure.example)


# A heading of two lines keeps its column as narrow as the cells.
COST_COLUMNS = (
    *("for example", "count", "nodes\nout", "rails\nout", "ports", "rail", "uplinks", "ratio"),
    *("two\nleaves", "two\nnodes"),
)
"""The columns of a class: an example, the number of its failures, and the cells of its cost."""


def cost_cells(cost: Cost) -> tuple[str, ...]:
    """Return a cost as cells below ``COST_COLUMNS``, without the example and the count in front of them."""
    return (
        f"{cost.nodes_cut_off or '-'}",
        f"{cost.rails_out or '-'}",
        percent_text(cost.injection_percent),
        percent_text(cost.rail_percent),
        percent_text(cost.uplink_percent),
        _ratio(cost.oversubscription),
        _pair(cost),
        _percent(cost.node_pair_percent),
    )


def _percent(value: float | None) -> str:
    # No two nodes with a link in service have a path.
    if value is None:
        return "-"
    return percent_text(value)


def _ratio(value: float | None) -> str:
    if value is None:
        return "-"
    if isinf(value):
        return "no path"
    return ratio_text(value)


def _pair(cost: Cost) -> str:
    """Return the bandwidth left between the worst pair of leaves in percent, ``-`` if it is unknown.

    What equal-cost routing carries of it follows in parentheses, unless it is the same.
    """
    if cost.pair_percent is None or cost.spread_percent is None:
        return "-"
    if cost.spread_percent == cost.pair_percent:
        return percent_text(cost.pair_percent)
    return f"{percent_text(cost.pair_percent)} ({percent_text(cost.spread_percent)})"
