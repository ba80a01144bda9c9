"""What to buy for an intent: its bill of materials, what a change adds to it, cable labels; priced by a price list."""

from collections.abc import Iterable, Iterator
from math import ceil
from pathlib import Path
from typing import NamedTuple

from railweave.api.design.intent import Designed, design_intent, designed_at, load_countable
from railweave.api.project import Project
from railweave.bom.bill import Bill, bill, change, together
from railweave.bom.labels import CableLabel
from railweave.bom.labels import cable_labels as labels_of
from railweave.bom.phases import BomPhase
from railweave.bom.prices import priced, read_prices
from railweave.bom.spares import Spares, read_spares, with_spares
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
    """Return the bill of materials: every part with its quantity, cables by length.

    If the intent has several fabrics and the project names none, the bill is of all of them. ``against`` is a git
    revision or a file, as in `diff`: the bill then has only what the intent needs more, or less, than that one.
    ``prices`` is a file with prices by part. ``spares`` are rules for parts beyond the quantities: ``5`` is
    percent of every part, ``module=5`` percent of a kind of part, ``switch=+1`` pieces. Raises RefusedError with every
    error of an intent or of the prices, UsageError for other rules of spares.
    """
    price_list = None if prices is None else read_prices(prices)
    rules = read_spares(spares)
    intents = _intents(project)
    order = _bill_with_spares(map(load_countable, intents), rules)
    # A price for an unknown part is refused; parts that are only in the earlier bill are known as well.
    parts = order.lines
    if against:
        earlier_designs = (designed_at(against, intent, to_count=True) for intent in intents)
        earlier_bill = _bill_with_spares(earlier_designs, rules)
        parts = (*parts, *earlier_bill.lines)
        order = change(earlier_bill, order, against)
    if price_list is None:
        return order
    return priced(order, price_list, parts)


def _bill_with_spares(designs: Iterable[Designed], rules: Spares) -> Bill:
    """Return the bill of the fabrics together, with the spares that the rules add."""
    bills = [bill(designed.fabric, designed.catalog) for designed in designs]
    if len(bills) == 1:
        return with_spares(bills[0], rules)
    return with_spares(together(bills), rules)


def _intents(project: Project) -> tuple[Path, ...]:
    """Return the intent of each fabric of a file, or of the one that is named."""
    names = fabrics_in(project.intent)
    return tuple(reference(project.intent, name) for name in names) or (project.intent,)


def bom_phases(project: Project, *, prices: Path | None = None, spares: Iterable[str] = ()) -> tuple[BomPhase, ...]:
    """Return what each phase of growth orders: today, the growth that the workload states, and all nodes that fit.

    A phase that is no larger than the one before is left out. ``prices`` and ``spares`` are as for `bom`; the spares of
    a phase are computed from all parts until then. Raises as `bom` does, and RefusedError if the fabric cannot be built
    at a phase, with what prevents it.
    """
    price_list = None if prices is None else read_prices(prices)
    rules = read_spares(spares)
    today = load_countable(project.intent)
    # The whole bill of each phase; a phase orders what its bill has more than that of the phase before.
    bills: list[Bill] = []
    phases: list[BomPhase] = []
    for growth_phase in _growth_phases(today):
        phase_bill = _bill_with_spares([growth_phase.designed], rules)
        order = phase_bill
        if bills:
            order = change(bills[-1], phase_bill, phases[-1].title)
        bills.append(phase_bill)
        gpus = gpus_of(growth_phase.designed.intent)
        phases.append(BomPhase(growth_phase.title, growth_phase.nodes, gpus, order))
    if price_list is None:
        return tuple(phases)
    parts = [line for phase_bill in bills for line in phase_bill.lines]
    return tuple(phase._replace(bill=priced(phase.bill, price_list, parts)) for phase in phases)


class _GrowthPhase(NamedTuple):
    """A phase of growth; ``nodes`` are those of the entry that grows."""

    title: str
    nodes: int
    designed: Designed


def _growth_phases(today: Designed) -> Iterator[_GrowthPhase]:
    """Yield the phases of growth, each with more nodes than the one before: today, the stated growth, all that fit."""
    intent = today.intent
    entry = growing(intent)
    yield _GrowthPhase("today", entry.count, today)
    largest = entry.count
    target = intent.workload.growth
    if target is not None:
        # An entry without GPUs does not come closer to a target of GPUs; 1 keeps the division defined.
        added = ceil((target.gpus - gpus_of(intent)) / max(1, entry.gpus))
        nodes = entry.count + max(0, added)
        if nodes > largest:
            title = f"{target.gpus:,} GPUs"
            if target.months is not None:
                title += f" in {counted(target.months, 'month')}"
            yield _GrowthPhase(title, nodes, _grown(today, nodes))
            largest = nodes
    fitting = most_growing(intent, today.fabric)
    if fitting > largest:
        yield _GrowthPhase("all nodes that fit", fitting, _grown(today, fitting))


def _grown(today: Designed, nodes: int) -> Designed:
    """Return the design with ``nodes`` nodes of the entry that grows; raises RefusedError with what prevents it."""
    larger = grown(today.intent, nodes, today.fabric)
    try:
        # An intent that states the spines of its pods is designed twice: first without that number, to count the pods.
        without_spines = without_switches_of_pods(larger, today.fabric)
        if without_spines is not None:
            larger_fabric = design_intent(without_spines, to_count=True).fabric
            larger = with_switches_of_pods(larger, today.fabric, larger_fabric)
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
