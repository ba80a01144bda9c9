"""Why a design is suggested, and what speaks against it, in short sentences."""

from collections.abc import Iterator

from railweave.comparison.alternative import Alternative
from railweave.design.ratios import ratio_text
from railweave.fabric.sizing import Sizing
from railweave.wording import counted, percent_text


def reasons(one: Alternative, own: Alternative | None, growth_gpus: int | None) -> tuple[str, ...]:
    """Return the reasons for a suggested design: switches, against those of the user's ``own`` intent where it can be
    built, bandwidth, room for ``growth_gpus``, None where no growth is stated, and what failures leave; then the rules
    of thumb that it does not meet."""
    return tuple(_reasons(one, own, growth_gpus))


def _reasons(one: Alternative, own: Alternative | None, growth_gpus: int | None) -> Iterator[str]:
    sizing = one.sizing
    tiers = f"{counted(_switches(sizing), 'switch')} in {counted(sizing.tiers, 'tier')}"
    yield (
        tiers if own is None else f"{tiers}, {_against(_switches(sizing) - _switches(own.sizing))} the original intent"
    )
    leaf = f"{sizing.leaf.down} ports down and {sizing.leaf.up} up on a leaf"
    yield f"{leaf}: {ratio_text(sizing.oversubscription.leaf)}" if sizing.spines else leaf
    if one.gpu_gbps is not None:
        yield f"{one.gpu_gbps:,.4g} Gb/s for each GPU, on {counted(sizing.planes, 'plane')}"
    room = f"room for {counted(sizing.limits.nodes, 'node')} without moving a cable"
    yield room if growth_gpus is None else f"{room}; `check` accepts the growth to {growth_gpus:,} GPUs"
    if sizing.spines:
        yield f"with a spine lost, {ratio_text(sizing.oversubscription.after_spine_loss)} on a leaf"
    if one.worst is not None:
        left = percent_text(one.worst.cost.rail_percent)
        yield f"the worst single failure, that of {one.worst.example[0].name}, leaves {left} of a rail"
    for rule in one.guidelines:
        if rule.met is False:
            yield f"rule of thumb not met: {rule.name} ({rule.value})"


def _switches(sizing: Sizing) -> int:
    return sizing.leaves + sizing.spines + sizing.super_spines


def _against(more: int) -> str:
    return "as many as" if not more else f"{abs(more):,} {'more' if more > 0 else 'fewer'} than"
