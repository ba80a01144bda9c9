"""A fabric with a few cables elsewhere or a few switches more: everything else is the same value."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace

from railweave.fabric.model import Fabric, Link, Switch


@dataclass(frozen=True, slots=True)
class Move:
    """An uplink that ends elsewhere: the link before, and after; None for ``after`` where it goes away."""

    before: Link
    after: Link | None

    @property
    def lower_end(self) -> tuple[str, int]:
        """Return the end that stays: the lower switch and its port."""
        return self.before.lower, self.before.lower_port


def with_switches(fabric: Fabric, added: Sequence[Switch]) -> Fabric:
    """Return ``fabric`` with more switches that have no link yet."""
    if not added:
        return fabric
    switches = sorted((*fabric.switches, *added), key=lambda one: (one.tier.level, one.number))
    return replace(fabric, switches=tuple(switches))


def rewired(fabric: Fabric, moves: Iterable[Move]) -> Fabric:
    """Return ``fabric`` with the cables of ``moves`` at their new ends."""
    moved = {move.lower_end: move for move in moves}
    after = (_after(link, moved) for link in fabric.links)
    return replace(fabric, links=tuple(link for link in after if link is not None))


def _after(link: Link, moved: dict[tuple[str, int], Move]) -> Link | None:
    move = moved.get((link.lower, link.lower_port))
    return link if move is None else move.after
