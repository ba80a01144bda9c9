"""One design among several, and the figures of each."""

from collections.abc import Iterable, Iterator, Sequence
from decimal import Decimal
from typing import NamedTuple

from railweave.bom.bill import Bill, PartKind
from railweave.comparison.guidelines import Guideline
from railweave.comparison.ownership import POWER, RACK_SPACE, WAITING, Ownership
from railweave.design.ratios import ratio_text
from railweave.fabric.model import Fabric
from railweave.fabric.sizing import Sizing
from railweave.failures.analysis import FailureClass, single_failures
from railweave.wording import counted, percent_text


class Alternative(NamedTuple):
    """One of the designs that are compared."""

    # The name of its intent.
    intent: str
    sizing: Sizing
    # None if switches have no model of the catalog.
    bill: Bill | None
    # Its worst single failure; None without catalog models, and in a fabric without any link.
    worst: FailureClass | None
    # The rules of thumb that it is measured by.
    guidelines: tuple[Guideline, ...] = ()
    # What the NICs of a GPU node carry for each of its GPUs; None without GPUs.
    gpu_gbps: float | None = None
    # Why a design is suggested, and its drawbacks.
    reasons: tuple[str, ...] = ()
    # The lines of the user's intent that a suggested design changes.
    changes: tuple[str, ...] = ()
    # None without prices.
    ownership: Ownership | None = None

    @property
    def total(self) -> Decimal | None:
        """Return what the parts with a price cost; None without prices."""
        if self.bill is None:
            return None
        return self.bill.total


class Comparison(NamedTuple):
    """Several designs in the order in which they were named."""

    alternatives: tuple[Alternative, ...]


class Figure(NamedTuple):
    """A row of the comparison: what is compared, and its value for every design, empty if it is not known."""

    name: str
    values: tuple[str, ...]

    @property
    def differs(self) -> bool:
        """Tell whether the designs differ in the figure."""
        return len(set(self.values)) > 1


def worst_single(fabric: Fabric) -> FailureClass | None:
    """Return the class of single failures that costs most; None in a fabric without any link."""
    return next(iter(single_failures(fabric)), None)


def figures(comparison: Comparison, *, by_part: bool = True) -> tuple[Figure, ...]:
    """Return the figures of all designs, row by row. Rows that are empty for every design are left out.

    With ``by_part`` the pieces of each part have a row below those of its kind.
    """
    columns = [dict(_figures(design, by_part=by_part)) for design in comparison.alternatives]
    rows = []
    for name in in_order([list(column) for column in columns]):
        values = tuple(column.get(name, "") for column in columns)
        if any(values):
            rows.append(Figure(name, values))
    return tuple(rows)


def in_order(columns: Iterable[Sequence[str]]) -> list[str]:
    """Return the names of all columns, each once.

    A name that only a later column has comes before the next name of this column that earlier columns have too.
    """
    names: list[str] = []
    for column in columns:
        # From the end, so that the position of the next shared name is known.
        position = len(names)
        for name in reversed(column):
            if name in names:
                position = names.index(name)
            else:
                names.insert(position, name)
    return names


def _figures(design: Alternative, *, by_part: bool) -> Iterator[tuple[str, str]]:
    """Yield the name and the text of each figure of a design."""
    sizing = design.sizing
    links = sizing.links
    yield "GPUs", f"{sizing.gpus:,}"
    yield "nodes", f"{sizing.nodes:,}"
    if design.gpu_gbps is not None:
        yield "Gb/s of a GPU", f"{design.gpu_gbps:,.4g}"
    yield "tiers", f"{sizing.tiers}"
    yield "planes, rails", f"{sizing.planes}, {sizing.rails}"
    yield "leaves", f"{sizing.leaves:,}"
    yield "spines", f"{sizing.spines:,}"
    if sizing.super_spines:
        yield "super-spines", f"{sizing.super_spines:,}"
    if sizing.spines:
        yield "oversubscription", ratio_text(sizing.oversubscription.leaf)
        yield "with a spine lost", ratio_text(sizing.oversubscription.after_spine_loss)
    yield "links to nodes", f"{links.host_leaf:,}"
    yield "links between switches", f"{links.leaf_spine + links.spine_super_spine:,}"
    yield from _part_figures(design.bill, by_part=by_part)
    yield "max. nodes without recabling", f"{sizing.limits.nodes:,} ({sizing.limits.first.replace('_', ' ')})"
    yield from _failure_figures(design)
    yield from _cost_figures(design)
    for guideline in design.guidelines:
        yield guideline.name, _mark(guideline) + guideline.value


def _mark(guideline: Guideline) -> str:
    """Return the mark for whether a design keeps to a guideline; empty for one that is not judged."""
    if guideline.met is None:
        return ""
    if guideline.met:
        return "✓ "
    return "✗ "


_KIND_NAMES = {
    PartKind.SWITCH: "switches",
    PartKind.NIC: "NICs",
    PartKind.MODULE: "transceivers",
    PartKind.CABLE: "cables with fixed ends",
    PartKind.FIBER: "fibers",
}


def _part_figures(bill: Bill | None, *, by_part: bool) -> Iterator[tuple[str, str]]:
    """Yield the pieces of each kind of parts, then the space and power of all switches. Yields nothing without a bill.

    With ``by_part`` the pieces of each part follow those of its kind.
    """
    if bill is None:
        return
    for kind, name in _KIND_NAMES.items():
        yield name, f"{bill.quantity(kind):,}"
        if by_part and kind is not PartKind.FIBER:
            for part, count in pieces(bill, kind).items():
                yield f"  {part}", f"{count:,}"
    space = bill.space
    yield "rack units of switches", _stated(space.rack_units, space.no_units)
    yield "watts of switches at most", _stated(space.max_power_w, space.no_power)
    if bill.remarks:
        yield "remarks on parts", f"{len(bill.remarks)}"


def pieces(bill: Bill, kind: PartKind) -> dict[str, int]:
    """Return how many pieces of each part of a kind there are, of all lengths together and without spares."""
    quantities: dict[str, int] = {}
    for line in bill.lines:
        if line.kind is kind:
            quantities[line.part] = quantities.get(line.part, 0) + line.quantity
    return quantities


def _stated(total: int | None, missing: tuple[str, ...]) -> str:
    """Return a total as text, with the number of ``missing`` parts for which no source states the value.

    The text is empty if there is no total.
    """
    if total is None:
        return ""
    text = f"{total:,}"
    if missing:
        text += f" without {counted(len(missing), 'part')}"
    return text


def _failure_figures(design: Alternative) -> Iterator[tuple[str, str]]:
    """Yield the worst single failure of a design, and what it leaves. Yields nothing if it is not known."""
    worst = design.worst
    if worst is None:
        return
    cost = worst.cost
    # Designs of different names would differ in every name of a device.
    name = worst.example[0].name.removeprefix(f"{design.sizing.fabric}-")
    yield "worst single failure", f"{name}, one of {worst.count:,}"
    yield "  nodes cut off", f"{cost.nodes_cut_off:,}"
    yield "  node ports left", percent_text(cost.injection_percent)
    yield "  worst rail left", percent_text(cost.rail_percent)
    yield "  uplinks left", percent_text(cost.uplink_percent)


def _cost_figures(design: Alternative) -> Iterator[tuple[str, str]]:
    """Yield what a design costs to buy, and over the years if they are stated. Yields nothing without prices."""
    bill = design.bill
    costs = design.ownership
    if bill is None or costs is None:
        return
    currency = bill.currency
    if costs.purchase is not None:
        yield "cost", _money(costs.purchase, currency)
        if bill.unpriced:
            yield "  without a price", counted(len(bill.unpriced), "part")
    if costs.years is None:
        return
    span = costs.span
    space = bill.space
    yield f"{POWER}, {span}", _money(costs.power, currency) + _without(space.no_power, costs.power)
    yield f"{RACK_SPACE}, {span}", _money(costs.rack_space, currency) + _without(space.no_units, costs.rack_space)
    # These two are never added: one is paid to suppliers, the other is work that is not done.
    yield f"network as far as stated, {span}", _money(costs.network, currency)
    yield f"{WAITING}, {span}", _money(costs.waiting, currency)


def _money(price: Decimal | None, currency: str) -> str:
    if price is None:
        return ""
    return f"{currency} {price:,.0f}"


def _without(missing: tuple[str, ...], price: Decimal | None) -> str:
    """Return what follows a price to which ``missing`` parts do not add; empty if there is no price or no such part."""
    if price is None or not missing:
        return ""
    return f" without {counted(len(missing), 'part')}"
