"""Which links share cages crosswise: one cage with links to several cages, of which one has links to several others.

No cable with fixed ends joins such cages, so copper and active optical cables are not made for them; fibers are sold as
shuffles. It is asked before a medium is chosen, so nothing but the layout is known.
"""

from collections import defaultdict
from collections.abc import Hashable, Iterable, Iterator, Sequence
from itertools import pairwise
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

    Those of today do not decide: a stripe more would change the medium of links that exist.
    """
    access = {group.entry.name for group in layout.groups if _is_crosswise(_access_cages(layout, group))}
    uplinks: set[tuple[int, int]] = set()
    for lower, upper in pairwise(layout.tiers[1:]):
        if upper.down.per_cage > 1 and _is_crosswise(_tier_cages(lower, upper)):
            uplinks.add((lower.level, 0))
    for number, leaf in enumerate(layout.classes):
        # A cage of one port is shared by nobody.
        if layout.spines.count and leaf.far.per_cage > 1 and _is_crosswise(_class_cages(layout, leaf)):
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
    """Yield the cages of the links of a full stripe."""
    per_cage = group.breakout.per_cage
    if group.entry.nics.ports_of_a_cage == 1 or per_cage == 1:
        return
    for leaf, ports in ports_by_leaf(group, layout).items():
        for node in range(group.stripe_nodes):
            for port in ports:
                leaf_port = group.first_port + node * group.ports_per_leaf + port.offset
                yield (node, port.nic, port.cage), (leaf, leaf_port // per_cage)


def _tier_cages(lower: TierLayout, upper: TierLayout) -> _SharedCages:
    """Yield the cages of the uplinks of spines to a group of super-spines."""
    indexes = range(upper.ports.down // lower.links_per_pair)
    return _wired_cages(indexes, wire(lower, upper), (lower.ports, upper.ports), 0)


def _class_cages(layout: Layout, leaf: LeafClass) -> _SharedCages:
    """Yield the cages of the uplinks of a leaf class, as if all leaves that a spine has ports for were of it."""
    low, spines = layout.lowest, layout.spines
    wires, ports = wire_class(leaf, low, spines), (leaf.ports, spines.ports)
    if leaf.block is not None:
        indexes = range(leaf.block.base, leaf.block.base + leaf.block.leaves)
        return _wired_cages(indexes, wires, ports, leaf.ports.block)
    return _wired_cages(
        range(spines.ports.down // low.links_per_pair), wires, ports, leaf.ports.block - low.ports.block
    )


def _wired_cages(
    indexes: Iterable[int], wires: Sequence[Uplink], ports: tuple[TierPorts, TierPorts], further: int
) -> _SharedCages:
    """Yield the cages of the uplinks of switches; these lie ``further`` on the panel than ``wires`` count."""
    below, above = map(_cages, ports)
    for index in indexes:
        for uplink in wires:
            yield (index, below[uplink.port + further]), (uplink.upper, above[uplink.upper_port(index)])


def _cages(ports: TierPorts) -> Sequence[int]:
    """Return the cage of every logical port."""
    cages: list[int] = []
    first = 0
    for count, breakout in ports.groups:
        cages += (first + port // breakout.per_cage for port in range(count * breakout.per_cage))
        first += count
    return cages
