"""Designs side by side: what several intents take, carry and lose."""

from collections.abc import Sequence
from pathlib import Path

from railweave.api.designing import gather
from railweave.api.project import Project
from railweave.bom.bill import bill
from railweave.bom.prices import priced, read_prices
from railweave.catalog.load import load_catalog
from railweave.comparison.alternative import Alternative, Comparison, worst_single
from railweave.diagnostics import has_errors
from railweave.errors import RefusedError, UsageError


def compare(projects: Sequence[Project], *, prices: Path | None = None) -> Comparison:
    """Return several intents side by side: their sizes, parts, worst single failure and, with ``prices``, their cost.

    An intent without switch models of the catalog has sizes alone. Raises RefusedError with every error of all intents
    or of the prices, UsageError for fewer than two intents.
    """
    if len(projects) < 2:
        raise UsageError("name two intents or more to compare")
    gathered = [gather(project.intent) for project in projects]
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
    for project, each, parts in zip(projects, gathered, bills, strict=True):
        assert each.sizing is not None, project.intent  # noqa: S101  an intent without errors has sizes
        worst = None if each.fabric is None else worst_single(each.fabric)
        found.append(Alternative(str(project.intent), each.sizing, parts, worst))
    return Comparison(tuple(found))
