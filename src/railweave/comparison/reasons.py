"""Why a design is suggested, and its drawbacks, in short sentences."""

from collections import Counter
from collections.abc import Iterator, Mapping
from decimal import Decimal

from railweave.comparison.alternative import Alternative
from railweave.comparison.suggestion import switches
from railweave.design.ratios import ratio_text
from railweave.wording import counted, first_few, percent_text


def reasons(
    design: Alternative, own: Alternative | None, growth_gpus: int | None, *, rail_only: bool = False
) -> tuple[str, ...]:
    """Return the reasons for a suggested design, then its drawbacks: the rules of thumb that it does not meet.

    The reasons are switches and bandwidth, room for growth, what failures leave and, with prices, costs over years. The
    design is compared with the user's ``own`` intent, None if that cannot be built. ``growth_gpus`` is the growth that
    the intent states, None if it states none.
    """
    lines = [*_sizes(design, own), *_room(design, growth_gpus)]
    if rail_only:
        lines.append("no path between rails in the network: the GPU links of a node carry that traffic (T-12)")
    lines += _failures(design)
    if own is not None:
        lines += _costs(design, own)
    for rule in design.guidelines:
        # It is None for a rule that does not apply.
        if rule.met is False:
            lines.append(f"rule of thumb not met: {rule.name} ({rule.value})")
    return tuple(lines)


def _sizes(design: Alternative, own: Alternative | None) -> Iterator[str]:
    """Yield the switches, the ports of a leaf and the bandwidth of a GPU."""
    sizing = design.sizing
    tiers = f"{counted(switches(sizing), 'switch')} in {counted(sizing.tiers, 'tier')}"
    if own is not None:
        tiers += f", {_against(switches(sizing) - switches(own.sizing))} the original intent"
    yield tiers
    leaf = f"{sizing.leaf.down} ports down and {sizing.leaf.up} up on a leaf"
    if sizing.spines:
        leaf += f": {ratio_text(sizing.oversubscription.leaf)}"
    yield leaf
    if design.gpu_gbps is not None:
        yield f"{design.gpu_gbps:,.4g} Gb/s for each GPU, on {counted(sizing.planes, 'plane')}"


def _room(design: Alternative, growth_gpus: int | None) -> Iterator[str]:
    room = f"room for {counted(design.sizing.limits.nodes, 'node')} without moving a cable"
    if growth_gpus is not None:
        room += f"; `check` accepts the growth to {growth_gpus:,} GPUs"
    yield room


def _failures(design: Alternative) -> Iterator[str]:
    """Yield what is left if a spine fails, and after the worst single failure."""
    if design.sizing.spines:
        yield f"with a spine lost, {ratio_text(design.sizing.oversubscription.after_spine_loss)} on a leaf"
    if design.worst is not None:
        left = percent_text(design.worst.cost.rail_percent)
        yield f"the worst single failure, that of {design.worst.example[0].name}, leaves {left} of a rail"


def _costs(design: Alternative, own: Alternative) -> Iterator[str]:
    """Yield what the network and waiting GPUs cost compared with the user's intent. The two are never added."""
    costs = design.ownership
    own_costs = own.ownership
    if costs is None or own_costs is None or costs.years is None:
        return
    span = f"over {costs.span}"
    missing = _missing_in_comparison(design, own)
    if missing:
        yield f"the costs of the networks cannot be compared, for lack of {first_few(missing)}"
    elif costs.network is not None and own_costs.network is not None:
        difference = _money_against(costs.network - own_costs.network)
        yield f"{span} the network costs {difference} that of the original intent"
    if costs.waiting is not None and own_costs.waiting is not None:
        difference = _money_against(costs.waiting - own_costs.waiting)
        yield f"{span} GPUs that wait for it cost {difference} in the original intent"


def _missing_in_comparison(design: Alternative, own: Alternative) -> list[str]:
    """Return the prices, power and rack units that no source states and that the difference of costs depends on.

    These are those of parts of which the designs have different numbers.
    """
    pieces = Counter(_unstated(design))
    pieces.subtract(_unstated(own))
    return [number for number, difference in pieces.items() if difference]


def _unstated(design: Alternative) -> Mapping[str, int]:
    """Return the numbers of parts that no source states, such as ``the price of PART``, with the pieces of the part."""
    pieces: Counter[str] = Counter()
    if design.bill is None or design.ownership is None:
        return pieces
    for line in design.bill.lines:
        if line.unit_price is None:
            pieces[f"the price of {line.part}"] += line.quantity
        for number in design.ownership.left_out:
            if line.part in number.parts:
                pieces[f"the {number.number} of {line.part}"] += line.quantity
    return pieces


def _against(difference: int) -> str:
    """Return a difference of numbers as the beginning of a comparison: ``4 more than``."""
    if not difference:
        return "as many as"
    if difference > 0:
        return f"{difference:,} more than"
    return f"{-difference:,} fewer than"


def _money_against(difference: Decimal) -> str:
    """Return a difference of costs as the beginning of a comparison: ``4,000 less than``."""
    rounded = round(difference)
    if not rounded:
        return "as much as"
    if rounded > 0:
        return f"{rounded:,} more than"
    return f"{-rounded:,} less than"
