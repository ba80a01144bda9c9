"""Which links share cages crosswise: one cage with links to several cages, of which one has links to several others.

No cable with fixed ends joins such cages, so copper and active optical cables are not made for them; fibers are sold as
shuffles. It is asked before a medium is chosen, so nothing but the layout is known.
"""

from collections import defaultdict
from collections.abc import Hashable, Iterator, Mapping, Sequence
from dataclasses import replace
from itertools import pairwise, product
from typing import NamedTuple

from railweave.design.layout import Layout, NodeGroup, TierLayout
from railweave.design.leaf_class import LeafClass
from railweave.design.nodes import ports_by_leaf
from railweave.design.split import TierPorts
from railweave.design.wiring import Uplink, wire, wire_class

_SharedCages = Iterator[tuple[Hashable, Hashable]]
"""The lower and the upper cage of every link."""


class Crosswise(NamedTuple):
    """The links that share cages crosswise: those to nodes by the name of their entry, uplinks by the level of their
    switch and the number of its leaf class, 0 above the leaves."""

    access: frozenset[str] = frozenset()
    uplinks: frozenset[tuple[int, int]] = frozenset()


NOT_CROSSWISE = Crosswise()


def crosswise(layout: Layout) -> Crosswise:
    """Return the links of a layout that share cages crosswise, with all nodes and switches that there is room for.

    Those of today do not decide: a stripe more, or a spine more where the links of a pair are given, would change the
    medium of links that exist.
    """
    access = {group.entry.name for group in layout.groups if _is_crosswise(_access_cages(layout, group))}
    return Crosswise(frozenset(access), frozenset(_crosswise_uplinks(layout)))


def _crosswise_uplinks(layout: Layout) -> Iterator[tuple[int, int]]:
    # A cage of one port is shared by nobody.
    for lower, upper in pairwise(layout.tiers[1:]):
        if upper.down.per_cage > 1 and _crosses_between(lower, upper):
            yield lower.level, 0
    if not layout.spines.count:
        return
    for number, leaf in enumerate(layout.classes):
        if leaf.far.per_cage > 1 and _crosses_above(layout, leaf):
            yield 0, number


def _is_crosswise(cages: _SharedCages) -> bool:
    links = tuple(cages)
    uppers_of: defaultdict[Hashable, set[Hashable]] = defaultdict(set)
    lowers_of: defaultdict[Hashable, set[Hashable]] = defaultdict(set)
    for lower, upper in links:
        uppers_of[lower].add(upper)
        lowers_of[upper].add(lower)
    return any(len(uppers_of[lower]) > 1 and len(lowers_of[upper]) > 1 for lower, upper in links)


def _access_cages(layout: Layout, group: NodeGroup) -> _SharedCages:
    """Yield the cages of the links of a full stripe."""
    per_cage = group.breakout.per_cage
    if group.entry.nics.ports_of_a_cage == 1 or per_cage == 1:
        return
    for leaf, ports in ports_by_leaf(group, layout).items():
        for node in range(group.stripe_nodes):
            for port in ports:
                leaf_port = group.first_port + node * group.ports_per_leaf + port.offset
                yield (node, port.nic, port.cage), (leaf, leaf_port // per_cage)


def _crosses_between(lower: TierLayout, upper: TierLayout) -> bool:
    """Return whether uplinks of spines to a group of super-spines cross."""
    indexes = range(upper.ports.down // lower.links_per_pair)
    if lower.fixed_pair:
        upper = _with_all(upper, lower.ports.room // lower.links_per_pair)
    return _is_wired_crosswise(indexes, wire(lower, upper), (lower.ports, upper.ports), 0)


def _with_all(tier: TierLayout, room: int) -> TierLayout:
    """Return a tier with as many switches in a group as those below have ports for: given links of a pair let it grow
    to them without a cable that moves."""
    return replace(tier, group_size=max(tier.group_size, room))


def _crosses_above(layout: Layout, leaf: LeafClass) -> bool:
    """Return whether uplinks of a leaf class cross, as if all leaves that a spine has ports for were of it."""
    low = layout.lowest
    spines = layout.spines
    if low.fixed_pair or leaf.block is not None:
        spines = _with_all(spines, layout.spine_room)
    wires = wire_class(leaf, low, spines)
    ports = (leaf.ports, spines.ports)
    if leaf.block is not None:
        indexes = range(leaf.block.base, leaf.block.base + leaf.block.leaves)
        return _is_wired_crosswise(indexes, wires, ports, leaf.ports.block)
    indexes = range(spines.ports.down // low.links_per_pair)
    return _is_wired_crosswise(indexes, wires, ports, leaf.ports.block - low.ports.block)


def _is_wired_crosswise(
    indexes: Sequence[int], wires: Sequence[Uplink], ports: tuple[TierPorts, TierPorts], further: int
) -> bool:
    """Return whether uplinks of switches cross; their ports lie ``further`` on the panel than ``wires`` count."""
    below, above = map(_cages, ports)
    uplinks_of: defaultdict[int, list[Uplink]] = defaultdict(list)
    for uplink in wires:
        uplinks_of[below[uplink.port + further]].append(uplink)
    # Mostly every cage leads to one cage above, which is seen without a look at the cages of all switches.
    spread = [uplinks for uplinks in uplinks_of.values() if _leads_to_several(uplinks, indexes, above)]
    if not spread:
        return False
    shared = _shared_cages(indexes, uplinks_of, above)
    for uplinks, index in product(spread, indexes):
        met = {(uplink.upper, above[uplink.upper_port(index)]) for uplink in uplinks}
        if len(met) > 1 and not shared.isdisjoint(met):
            return True
    return False


def _leads_to_several(uplinks: Sequence[Uplink], indexes: Sequence[int], cages: Sequence[int]) -> bool:
    """Return whether the uplinks of a cage meet several ``cages`` above, on any of the switches."""
    first, *others = uplinks
    if any(uplink.upper != first.upper for uplink in others):
        return True
    for uplink in others:
        if any(cages[uplink.upper_port(index)] != cages[first.upper_port(index)] for index in indexes):
            return True
    return False


def _shared_cages(
    indexes: Sequence[int], uplinks_of: Mapping[int, Sequence[Uplink]], cages: Sequence[int]
) -> set[tuple[int, int]]:
    """Return the upper switches and ``cages`` that several lower cages meet."""
    first_of: dict[tuple[int, int], tuple[int, int]] = {}
    shared = set()
    for index in indexes:
        for lower, uplinks in uplinks_of.items():
            for uplink in uplinks:
                cage = uplink.upper, cages[uplink.upper_port(index)]
                if first_of.setdefault(cage, (index, lower)) != (index, lower):
                    shared.add(cage)
    return shared


def _cages(ports: TierPorts) -> Sequence[int]:
    """Return the cage of every logical port."""
    cages: list[int] = []
    first = 0
    for count, breakout in ports.groups:
        cages += (first + port // breakout.per_cage for port in range(count * breakout.per_cage))
        first += count
    return cages
