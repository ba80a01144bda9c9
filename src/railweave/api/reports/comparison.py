"""Designs side by side: sizes, parts, worst failures and rules of thumb; and suggestions of other designs."""

from collections.abc import Sequence
from pathlib import Path

from railweave.api.design.intent import Gathered, gather, gather_text
from railweave.api.project import Project
from railweave.api.starter import INTENT, design_intent, starter_designs
from railweave.bom.bill import Bill, bill
from railweave.bom.prices import Prices, priced, read_prices
from railweave.catalog.load import Catalog, load_catalog
from railweave.comparison.alternative import Alternative, Comparison, worst_single
from railweave.comparison.guidelines import guidelines
from railweave.comparison.nic_choices import gpu_gbps
from railweave.comparison.ownership import GpuDemand, ownership
from railweave.diagnostics import has_errors
from railweave.errors import RailweaveError, RefusedError, UsageError
from railweave.files import cannot_write, write_private
from railweave.report.page.compare_page import comparison_html

_READABLE = 0o644


def compare(projects: Sequence[Project], *, prices: Path | None = None, html: Path | None = None) -> Comparison:
    """Return several intents side by side: sizes, parts, worst single failure, rules of thumb, with ``prices`` costs.

    ``html`` is a file into which the comparison is written as a page. An intent without switch models of the catalog
    has sizes alone. Raises RefusedError with every error of all intents or of the prices, UsageError for fewer than two
    intents, RailweaveError where ``html`` cannot be written.
    """
    if len(projects) < 2:
        raise UsageError("name two intents or more to compare")
    comparison = _compared([(str(project.intent), gather(project.intent)) for project in projects], prices)
    if html is not None:
        try:
            write_private(html, comparison_html(comparison), _READABLE)
        except OSError as exc:
            raise RailweaveError(cannot_write(html, exc)) from exc
    return comparison


def compare_designs() -> Comparison:
    """Return the reference designs of `init --design` side by side, by their names."""
    return _compared([(name, gather_text(design_intent(name), str(INTENT))) for name in starter_designs()], None)


def _compared(named_intents: Sequence[tuple[str, Gathered]], prices: Path | None) -> Comparison:
    """Return intents with their names side by side; raises RefusedError with every error of all of them."""
    diagnostics = [diagnostic for _, gathered in named_intents for diagnostic in gathered.diagnostics]
    if has_errors(diagnostics):
        raise RefusedError(diagnostics)
    catalog = load_catalog()
    alternatives = [measured(name, gathered, catalog) for name, gathered in named_intents]
    if prices is not None:
        alternatives = _priced(alternatives, prices)
    return Comparison(tuple(alternatives))


def _priced(alternatives: Sequence[Alternative], prices: Path) -> list[Alternative]:
    """Return the alternatives with their costs; those that can only be sized have no bill.

    The time that GPUs wait for the network is relative to the first alternative.
    """
    price_list = read_prices(prices)
    # A price counts as known if any of the alternatives has its part.
    bills = [alternative.bill for alternative in alternatives if alternative.bill is not None]
    parts = [line for parts_bill in bills for line in parts_bill.lines]
    first_gpu_gbps = alternatives[0].gpu_gbps
    priced_alternatives = []
    for alternative in alternatives:
        priced_bill = alternative.bill
        if priced_bill is not None:
            priced_bill = priced(priced_bill, price_list, parts)
        priced_alternatives.append(with_ownership(alternative, priced_bill, price_list, first_gpu_gbps))
    return priced_alternatives


def with_ownership(
    alternative: Alternative, bill_of_parts: Bill | None, prices: Prices, first_gpu_gbps: float | None
) -> Alternative:
    """Return a design with its priced bill and its costs over years; ``first_gpu_gbps`` is the bandwidth for a GPU in
    the first design."""
    demand = GpuDemand(alternative.sizing.gpus, alternative.gpu_gbps, first_gpu_gbps)
    return alternative._replace(bill=bill_of_parts, ownership=ownership(bill_of_parts, demand, prices))


def measured(name: str, gathered: Gathered, catalog: Catalog, *, count_parts: bool = True) -> Alternative:
    """Return the sizes, parts, worst single failure and guidelines of an intent without errors.

    Without ``count_parts`` there are neither parts nor the worst failure, which take a look at every link.
    """
    sizing = gathered.sizing
    assert sizing is not None, name  # noqa: S101  an intent without errors has sizes
    fabric = gathered.fabric
    alternative = Alternative(
        name,
        sizing,
        bill=None,
        worst=None,
        guidelines=guidelines(sizing, fabric, gathered.intent),
        gpu_gbps=gpu_gbps(gathered.intent),
    )
    if fabric is None or not count_parts:
        return alternative
    return alternative._replace(bill=bill(fabric, catalog), worst=worst_single(fabric))
