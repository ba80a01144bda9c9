"""Designs side by side: what several intents take, carry and lose."""

from collections.abc import Sequence
from pathlib import Path

from railweave.api.designing import Gathered, gather, gather_text
from railweave.api.project import Project
from railweave.api.starter import INTENT, design_intent, starter_designs
from railweave.bom.bill import bill
from railweave.bom.prices import priced, read_prices
from railweave.catalog.load import load_catalog
from railweave.comparison.alternative import Alternative, Comparison, worst_single
from railweave.comparison.guidelines import guidelines
from railweave.diagnostics import has_errors
from railweave.errors import RailweaveError, RefusedError, UsageError
from railweave.files import write_private
from railweave.report.page.compare_page import comparison_html

_READABLE = 0o644


def compare(projects: Sequence[Project], *, prices: Path | None = None, html: Path | None = None) -> Comparison:
    """Return several intents side by side: their sizes, parts, worst single failure, what they have of the rules of
    thumb and, with ``prices``, their cost; ``html`` is a file into which they are written as a page.

    An intent without switch models of the catalog has sizes alone. Raises RefusedError with every error of all intents
    or of the prices, UsageError for fewer than two intents, RailweaveError where ``html`` cannot be written.
    """
    if len(projects) < 2:
        raise UsageError("name two intents or more to compare")
    found = _compared([(str(project.intent), gather(project.intent)) for project in projects], prices)
    if html is not None:
        try:
            write_private(html, comparison_html(found), _READABLE)
        except OSError as exc:
            raise RailweaveError(f"{html} cannot be written: {exc.strerror}") from exc
    return found


def compare_designs() -> Comparison:
    """Return the reference designs of `init --design` side by side, by their names."""
    return _compared([(name, gather_text(design_intent(name), str(INTENT))) for name in starter_designs()], None)


def _compared(named: Sequence[tuple[str, Gathered]], prices: Path | None) -> Comparison:
    gathered = [each for _, each in named]
    wrong = [one for each in gathered for one in each.diagnostics]
    if has_errors(wrong):
        raise RefusedError(wrong)
    catalog = load_catalog()
    bills = [None if each.fabric is None else bill(each.fabric, catalog) for each in gathered]
    if prices is not None:
        listed = read_prices(prices)
        known = [line for one in bills if one is not None for line in one.lines]
        bills = [None if one is None else priced(one, listed, known) for one in bills]
    found = []
    for (name, each), parts in zip(named, bills, strict=True):
        assert each.sizing is not None, name  # noqa: S101  an intent without errors has sizes
        worst = None if each.fabric is None else worst_single(each.fabric)
        measured = guidelines(each.sizing, each.fabric, each.intent.workload.kind)
        found.append(Alternative(name, each.sizing, parts, worst, measured))
    return Comparison(tuple(found))
