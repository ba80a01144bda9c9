"""Why a design is suggested, and what speaks against it, in short sentences."""

from collections.abc import Iterator

from railweave.comparison.alternative import Alternative
from railweave.design.ratios import ratio_text
from railweave.fabric.sizing import Sizing
from railweave.wording import counted, percent_text


def reasons(design: Alternative, own: Alternative | None, growth_gpus: int | None) -> tuple[str, ...]:
    """Return the reasons for a suggested design: switches, against those of the user's ``own`` intent where it can be
    built, bandwidth, room for ``growth_gpus``, None where no growth is stated, and what failures leave; then the rules
    of thumb that it does not meet."""
    return tuple(_reasons(design, own, growth_gpus))


def _reasons(design: Alternative, own: Alternative | None, growth_gpus: int | None) -> Iterator[str]:
    sizing = design.sizing
    tiers = f"{counted(_switches(sizing), 'switch')} in {counted(sizing.tiers, 'tier')}"
    if own is not None:
        tiers += f", {_against(_switches(sizing) - _switches(own.sizing))} the original intent"
    yield tiers
    leaf = f"{sizing.leaf.down} ports down and {sizing.leaf.up} up on a leaf"
    if sizing.spines:
        leaf += f": {ratio_text(sizing.oversubscription.leaf)}"
    yield leaf
    if design.gpu_gbps is not None:
        yield f"{design.gpu_gbps:,.4g} Gb/s for each GPU, on {counted(sizing.planes, 'plane')}"
    room = f"room for {counted(sizing.limits.nodes, 'node')} without moving a cable"
    if growth_gpus is not None:
        room += f"; `check` accepts the growth to {growth_gpus:,} GPUs"
    yield room
    if sizing.spines:
        yield f"with a spine lost, {ratio_text(sizing.oversubscription.after_spine_loss)} on a leaf"
    if design.worst is not None:
        left = percent_text(design.worst.cost.rail_percent)
        yield f"the worst single failure, that of {design.worst.example[0].name}, leaves {left} of a rail"
    for rule in design.guidelines:
        # None: the rule does not apply.
        if rule.met is False:
            yield f"rule of thumb not met: {rule.name} ({rule.value})"


def _switches(sizing: Sizing) -> int:
    return sizing.leaves + sizing.spines + sizing.super_spines


def _against(more: int) -> str:
    if not more:
        return "as many as"
    if more > 0:
        return f"{more:,} more than"
    return f"{-more:,} fewer than"
