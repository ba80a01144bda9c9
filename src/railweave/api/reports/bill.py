"""What to buy for an intent: its bill of materials, what a change adds to it, cable labels; priced by a price list."""

from collections.abc import Iterable, Iterator
from math import ceil
from pathlib import Path

from railweave.api.design.intent import Designed, design_intent, designed_at, load_countable
from railweave.api.project import Project
from railweave.bom.bill import Bill, bill, change, together
from railweave.bom.labels import CableLabel
from railweave.bom.labels import cable_labels as labels_of
from railweave.bom.phases import BomPhase
from railweave.bom.prices import priced, read_prices
from railweave.bom.spares import read_spares, with_spares
from railweave.design.growth import (
    gpus_of,
    growing,
    grown,
    most_growing,
    with_switches_of_pods,
    without_switches_of_pods,
)
from railweave.errors import RefusedError
from railweave.intent.load import fabrics_in
from railweave.intent.reference import reference
from railweave.wording import counted


def bom(project: Project, *, against: str = "", prices: Path | None = None, spares: Iterable[str] = ()) -> Bill:
    """Return the bill of materials: every part with its quantity, cables by length; of all fabrics of the intent where
    it has several and none is named.

    ``against`` is a git revision or a file, as in `diff`: then only what the intent needs more, or less, than there.
    ``prices`` is a file with prices by part, ``spares`` what is bought beyond the quantities: percent of every part,
    or of a kind of part as ``module=5``, or pieces as ``switch=+1``. Raises RefusedError with every error of an intent
    or of the prices, UsageError for other rules of spares.
    """
    price_list = None if prices is None else read_prices(prices)
    rules = read_spares(spares)
    intents = _intents(project)

    def bought(designs: Iterable[Designed]) -> Bill:
        bills = [bill(designed.fabric, designed.catalog) for designed in designs]
        return with_spares(bills[0] if len(bills) == 1 else together(bills), rules)

    order = bought(map(load_countable, intents))
    # A price is refused if it is of no part; parts that are only in the earlier bill are known as well.
    parts = order.lines
    if against:
        before = bought(designed_at(against, intent, to_count=True) for intent in intents)
        parts = (*parts, *before.lines)
        order = change(before, order, against)
    if price_list is None:
        return order
    return priced(order, price_list, parts)


def _intents(project: Project) -> tuple[Path, ...]:
    """Return the intent of each fabric of a file, or of the one that is named."""
    names = fabrics_in(project.intent)
    return tuple(reference(project.intent, name) for name in names) or (project.intent,)


def bom_phases(project: Project, *, prices: Path | None = None, spares: Iterable[str] = ()) -> tuple[BomPhase, ...]:
    """Return what each phase of growth orders: today, the growth that the workload states, and all nodes that fit.

    A phase that is no larger than the one before is left out. Spares are those of all parts until then. Raises
    RefusedError also where the fabric cannot be built at a phase, with what prevents it.
    """
    price_list = None if prices is None else read_prices(prices)
    rules = read_spares(spares)
    today = load_countable(project.intent)
    totals: list[Bill] = []
    phases: list[BomPhase] = []
    for title, nodes, designed in _phases(today):
        total = with_spares(bill(designed.fabric, designed.catalog), rules)
        order = total
        if totals:
            order = change(totals[-1], total, phases[-1].title)
        totals.append(total)
        phases.append(BomPhase(title, nodes, gpus_of(designed.intent), order))
    if price_list is None:
        return tuple(phases)
    parts = [line for total in totals for line in total.lines]
    return tuple(phase._replace(bill=priced(phase.bill, price_list, parts)) for phase in phases)


def _phases(today: Designed) -> Iterator[tuple[str, int, Designed]]:
    """Yield the nodes of the entry that grows and the fabric of each phase, each larger than the one before."""
    intent = today.intent
    kind = growing(intent)
    yield "today", kind.count, today
    largest = kind.count
    target = intent.workload.growth
    if target is not None:
        more = ceil((target.gpus - gpus_of(intent)) / max(1, kind.gpus))
        nodes = kind.count + max(0, more)
        if nodes > largest:
            title = f"{target.gpus:,} GPUs"
            if target.months is not None:
                title += f" in {counted(target.months, 'month')}"
            yield title, nodes, _grown(today, nodes)
            largest = nodes
    fits = most_growing(intent, today.fabric)
    if fits > largest:
        yield "all nodes that fit", fits, _grown(today, fits)


def _grown(today: Designed, nodes: int) -> Designed:
    """Return the design with so many nodes; raises RefusedError with what prevents it."""
    larger = grown(today.intent, nodes, today.fabric)
    try:
        # Pods that state their switches are designed twice: first without, to count how many switches they need.
        if (counted_freely := without_switches_of_pods(larger, today.fabric)) is not None:
            larger = with_switches_of_pods(larger, today.fabric, design_intent(counted_freely, to_count=True).fabric)
        return design_intent(larger, to_count=True)
    except RefusedError as refused:
        prefix = f"with {nodes} nodes {growing(today.intent).name}"
        raise RefusedError(
            [diagnostic._replace(message=f"{prefix}: {diagnostic.message}") for diagnostic in refused.diagnostics]
        ) from None


def cable_labels(project: Project) -> tuple[CableLabel, ...]:
    """Return the labels of all plugs of all cables, in the order of racks, units and ports, fabric by fabric.

    Raises RefusedError with every error of the intent.
    """
    designs = [load_countable(intent) for intent in _intents(project)]
    return tuple(label for designed in designs for label in labels_of(designed.fabric, designed.catalog))
