"""What to buy for an intent: the bill of materials, what a change adds to it, with prices of the user's."""

from decimal import Decimal
from pathlib import Path

from railweave.api.designing import designed_at, load_designed
from railweave.api.project import Project
from railweave.bom.bill import Bill, bill, change, with_spares
from railweave.bom.labels import Label
from railweave.bom.labels import cable_labels as labels_of
from railweave.bom.prices import priced, read_prices
from railweave.catalog.load import load_catalog

NO_SPARES = Decimal(0)


def bom(
    project: Project, *, against: str = "", prices: Path | None = None, spares_percent: Decimal = NO_SPARES
) -> Bill:
    """Return the bill of materials: every part with its quantity, cables by length.

    ``against`` is a git revision or a file, as in `diff`: then only what the intent needs more, or less, than there.
    ``prices`` is a file with prices by part, ``spares_percent`` how much of every part is bought beyond its quantity.
    Raises RefusedError with every error of an intent or of the prices.
    """
    catalog = load_catalog()
    listed = None if prices is None else read_prices(prices)
    found = with_spares(bill(load_designed(project.intent).fabric, catalog), spares_percent)
    known = found.lines
    if against:
        before = with_spares(bill(designed_at(against, project.intent).fabric, catalog), spares_percent)
        known = (*known, *before.lines)
        found = change(before, found, against)
    return found if listed is None else priced(found, listed, known)


def cable_labels(project: Project) -> tuple[Label, ...]:
    """Return the labels of all plugs of all cables, in the order of racks, units and ports.

    Raises RefusedError with every error of the intent.
    """
    return labels_of(load_designed(project.intent).fabric, load_catalog())
