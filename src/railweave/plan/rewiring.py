"""A fabric with a few cables elsewhere or a few spines more: everything else is the same value."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from operator import attrgetter

from railweave.fabric.model import Fabric, Link, Role, Switch


@dataclass(frozen=True, slots=True)
class Move:
    """An uplink of a leaf that ends elsewhere: the link before, and after; None for ``after`` where it goes away."""

    before: Link
    after: Link | None

    @property
    def leaf_port(self) -> tuple[str, int]:
        """Return the end that stays: the leaf and its port."""
        return self.before.lower, self.before.lower_port


def with_spines(fabric: Fabric, spines: Sequence[Switch]) -> Fabric:
    """Return ``fabric`` with more spines that have no link yet."""
    if not spines:
        return fabric
    switches = sorted((*fabric.switches, *spines), key=lambda one: (one.role is not Role.LEAF, one.number))
    return replace(
        fabric,
        switches=tuple(switches),
        switch_of={switch.name: switch for switch in switches},
        links_of={**fabric.links_of, **{spine.name: () for spine in spines}},
    )


def rewired(fabric: Fabric, moves: Iterable[Move]) -> Fabric:
    """Return ``fabric`` with the cables of ``moves`` at their new ends."""
    moved = {move.leaf_port: move for move in moves}
    touched = {
        name
        for move in moved.values()
        for name in (move.before.lower, move.before.upper, *([move.after.upper] if move.after else []))
    }
    links = tuple(after for link in fabric.links for after in [_after(link, moved)] if after is not None)
    own: dict[str, list[Link]] = {name: [] for name in touched}
    for link in links:
        for name in (link.lower, link.upper):
            if name in own:
                own[name].append(link)
    ordered = {name: tuple(_by_own_port(name, found)) for name, found in own.items()}
    return replace(fabric, links=links, links_of={**fabric.links_of, **ordered})


def _after(link: Link, moved: dict[tuple[str, int], Move]) -> Link | None:
    move = moved.get((link.lower, link.lower_port))
    return link if move is None else move.after


def _by_own_port(name: str, links: list[Link]) -> list[Link]:
    upper = [link for link in links if link.upper == name]
    lower = [link for link in links if link.lower == name]
    # A leaf has host links, of which it is the upper end, on the ports before its uplinks.
    return sorted(upper, key=attrgetter("upper_port")) + sorted(lower, key=attrgetter("lower_port"))
