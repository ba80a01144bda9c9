"""Which port of a tier meets which port of the tier above (design rules "Ports").

With ``links_per_pair`` given, each upper switch has its own run of lower ports and each lower switch its own run of
upper ports: new switches of either tier move no cable. Else uplinks are dealt to the upper switches in turn, and each
layer of their ports has room for as many lower switches as they can take: new lower switches move no cable, and
doubling the upper ones keeps half of them where the layers' width doubles.
"""

from dataclasses import dataclass
from itertools import pairwise

from railweave.design.layout import Layout, TierLayout


@dataclass(frozen=True, slots=True)
class Uplink:
    """An uplink of every switch of a tier: its port, the place of its upper switch, and that one's port as ``base`` +
    ``step`` × the lower switch's place."""

    port: int
    upper: int
    base: int
    step: int

    def upper_port(self, place: int) -> int:
        """Return the upper port that this uplink of the switch at ``place`` meets."""
        return self.base + self.step * place


def wire(lower: TierLayout, upper: TierLayout) -> tuple[Uplink, ...]:
    """Return the uplinks of a switch of ``lower`` to ``upper`` in the order of its ports."""
    block, count, uppers = lower.ports.block, lower.links_per_pair, upper.count
    if lower.fixed_pair:
        return tuple(
            Uplink(block + one * count + link, one, link, count) for one in range(uppers) for link in range(count)
        )
    width = upper.ports.down // count
    return tuple(Uplink(block + port, port % uppers, port // uppers * width, 1) for port in range(count * uppers))


def count_moves(old: Layout, new: Layout) -> int:
    """Return how many cables between tiers of ``old`` end on another upper port in ``new``, over all planes."""
    return old.planes * sum(
        _moves(before, after) for before, after in zip(pairwise(old.tiers), pairwise(new.tiers), strict=True)
    )


def _moves(old: tuple[TierLayout, TierLayout], new: tuple[TierLayout, TierLayout]) -> int:
    ends = {uplink.port: uplink for uplink in wire(*new)}
    moved = 0
    for before in wire(*old):
        after = ends.get(before.port)
        if after is None or after.upper != before.upper:
            moved += old[0].count
        elif (after.base, after.step) != (before.base, before.step):
            moved += sum(before.upper_port(place) != after.upper_port(place) for place in old[0].places)
    return moved
