"""Which links share cages crosswise: one cage with links to several cages, of which one has links to several others.

No cable with fixed ends joins such cages, so copper and active optical cables are not made for them; fibers are sold as
shuffles. It is asked before a medium is chosen, so nothing but the layout is known.
"""

from collections import defaultdict
from collections.abc import Hashable, Iterable, Iterator, Sequence
from itertools import pairwise
from typing import NamedTuple

from railweave.design.layout import Layout, NodeGroup, TierLayout
from railweave.design.leaf_class import LeafClass, SpineBlock
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
    """Return the links of a layout that share cages crosswise."""
    access = {group.entry.name for group in layout.groups if _is_crosswise(_access_cages(layout, group))}
    uplinks: set[tuple[int, int]] = set()
    for lower, upper in pairwise(layout.tiers):
        # Leaf classes without a block share the ports of spines.
        classes = [number for number, leaf in enumerate(layout.classes) if leaf.block is None]
        if lower.level:
            classes = [0]
        # A cage of one port is shared by nobody.
        if upper.down.per_cage > 1 and _is_crosswise(_uplink_cages(layout, lower, upper)):
            uplinks.update((lower.level, number) for number in classes)
    for number, leaf in enumerate(layout.classes):
        if leaf.block and leaf.block.breakout.per_cage > 1 and _is_crosswise(_block_cages(layout, leaf, leaf.block)):
            uplinks.add((0, number))
    return Crosswise(frozenset(access), frozenset(uplinks))


def _is_crosswise(cages: _SharedCages) -> bool:
    links = tuple(cages)
    uppers_of: defaultdict[Hashable, set[Hashable]] = defaultdict(set)
    lowers_of: defaultdict[Hashable, set[Hashable]] = defaultdict(set)
    for lower, upper in links:
        uppers_of[lower].add(upper)
        lowers_of[upper].add(lower)
    return any(len(uppers_of[lower]) > 1 and len(lowers_of[upper]) > 1 for lower, upper in links)


def _access_cages(layout: Layout, group: NodeGroup) -> _SharedCages:
    """Yield the cages of the links of a full stripe, or of all nodes where there are fewer."""
    per_cage = group.breakout.per_cage
    if group.entry.nics.ports_of_a_cage == 1 or per_cage == 1:
        return
    for leaf, ports in ports_by_leaf(group, layout).items():
        for node in range(min(group.stripe_nodes, group.entry.count)):
            for port in ports:
                leaf_port = group.first_port + node * group.ports_per_leaf + port.offset
                yield (node, port.nic, port.cage), (leaf, leaf_port // per_cage)


def _uplink_cages(layout: Layout, lower: TierLayout, upper: TierLayout) -> _SharedCages:
    """Yield the cages of the uplinks of a group of switches, without leaves for which spines keep a block."""
    if lower.level:
        indexes = {lower.joins(place)[1] for place in lower.places}
        yield from _wired_cages(indexes, wire(lower, upper), (lower.ports, upper.ports), 0)
        return
    for leaf in layout.classes:
        if leaf.block is None:
            places = (place for place in lower.places if layout.leaf_class(place // layout.stripe_leaves) is leaf)
            # Pods and rails are alike.
            indexes = {lower.joins(place)[1] for place in places}
            further = leaf.ports.block - lower.ports.block
            yield from _wired_cages(indexes, wire_class(leaf, lower, upper), (leaf.ports, upper.ports), further)


def _wired_cages(
    indexes: Iterable[int], wires: Sequence[Uplink], ports: tuple[TierPorts, TierPorts], further: int
) -> _SharedCages:
    """Yield the cages of the uplinks of switches; these lie ``further`` on the panel than ``wires`` count."""
    below, above = map(_cages, ports)
    for index in indexes:
        for uplink in wires:
            yield (index, below[uplink.port + further]), (uplink.upper, above[uplink.upper_port(index)])


def _block_cages(layout: Layout, leaf: LeafClass, block: SpineBlock) -> _SharedCages:
    """Yield the cages of the uplinks of a class for which spines keep a block, with all leaves of its reserve."""
    wires = wire_class(leaf, layout.lowest, layout.spines)
    indexes = range(block.base, block.base + block.leaves)
    yield from _wired_cages(indexes, wires, (leaf.ports, layout.spines.ports), leaf.ports.block)


def _cages(ports: TierPorts) -> Sequence[int]:
    """Return the cage of every logical port."""
    cages: list[int] = []
    first = 0
    for count, breakout in ports.groups:
        cages += (first + port // breakout.per_cage for port in range(count * breakout.per_cage))
        first += count
    return cages
