"""Why a design is suggested, and what speaks against it, in short sentences."""

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
    """Return the reasons for a suggested design: switches, against those of the user's ``own`` intent where it can be
    built, bandwidth, room for ``growth_gpus``, None where no growth is stated, what failures leave and, with prices,
    what it costs over years; then the rules of thumb that it does not meet."""
    lines = [*_sizes(design, own), *_room(design, growth_gpus)]
    if rail_only:
        lines.append("no path between rails in the network: the GPU links of a node carry that traffic (T-12)")
    lines += _failures(design)
    if own is not None:
        lines += _costs(design, own)
    for rule in design.guidelines:
        # None: the rule does not apply.
        if rule.met is False:
            lines.append(f"rule of thumb not met: {rule.name} ({rule.value})")
    return tuple(lines)


def _sizes(design: Alternative, own: Alternative | None) -> Iterator[str]:
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
    if design.sizing.spines:
        yield f"with a spine lost, {ratio_text(design.sizing.oversubscription.after_spine_loss)} on a leaf"
    if design.worst is not None:
        left = percent_text(design.worst.cost.rail_percent)
        yield f"the worst single failure, that of {design.worst.example[0].name}, leaves {left} of a rail"


def _costs(design: Alternative, own: Alternative) -> Iterator[str]:
    """Yield what the network and waiting GPUs cost against the user's intent: two sentences, and no sum of them."""
    costs = design.ownership
    present = own.ownership
    if costs is None or present is None or costs.years is None:
        return
    span = f"over {costs.span}"
    unstated = _unstated_in_one(design, own)
    if unstated:
        yield f"the costs of the networks cannot be compared, for lack of {first_few(unstated)}"
    elif costs.network is not None and present.network is not None:
        against = _money_against(costs.network - present.network)
        yield f"{span} the network costs {against} that of the original intent"
    if costs.waiting is not None and present.waiting is not None:
        against = _money_against(costs.waiting - present.waiting)
        yield f"{span} GPUs that wait for it cost {against} in the original intent"


def _unstated_in_one(design: Alternative, own: Alternative) -> list[str]:
    """Return the prices, power and rack units that nobody states, of parts that one design has more of."""
    more = Counter(_unstated(design))
    more.subtract(_unstated(own))
    return [number for number, pieces in more.items() if pieces]


def _unstated(design: Alternative) -> Mapping[str, int]:
    """Return pieces of parts by what is not stated of them."""
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


def _against(more: int) -> str:
    if not more:
        return "as many as"
    if more > 0:
        return f"{more:,} more than"
    return f"{-more:,} fewer than"


def _money_against(more: Decimal) -> str:
    rounded = round(more)
    if not rounded:
        return "as much as"
    if rounded > 0:
        return f"{rounded:,} more than"
    return f"{-rounded:,} less than"
