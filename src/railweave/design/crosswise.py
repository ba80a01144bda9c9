"""Which links share cages crosswise: one cage with links to several cages, of which one has links to several others.

No cable with fixed ends joins such cages, so copper and active optical cables are not made for them; fibers are sold as
shuffles. It is asked before a medium is chosen, so nothing but the layout is known.
"""

from collections import defaultdict
from collections.abc import Hashable, Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from itertools import pairwise, product
from typing import NamedTuple

from railweave.design.layout import Layout, NodeGroup, TierLayout
from railweave.design.leaf_class import LeafClass
from railweave.design.nodes import ports_by_leaf
from railweave.design.split import TierPorts
from railweave.design.wiring import Uplink, wire, wire_class


class _LinkCages(NamedTuple):
    """The cages at the two ends of a link."""

    lower: Hashable
    upper: Hashable


class Crosswise(NamedTuple):
    """The links that share cages crosswise."""

    # Those to nodes, by the name of the entry of nodes.
    access: frozenset[str] = frozenset()
    # Uplinks by the level of the lower switch and the number of its leaf class, 0 above the leaves.
    uplinks: frozenset[tuple[int, int]] = frozenset()


NOT_CROSSWISE = Crosswise()


def crosswise(layout: Layout) -> Crosswise:
    """Return the links of a layout that share cages crosswise, as if all nodes and switches that fit were there.

    If only those of today were counted, a new stripe could change the medium of existing links. So could a new spine if
    the intent states the links of a pair.
    """
    access = {group.entry.name for group in layout.groups if _is_crosswise(_access_cages(layout, group))}
    return Crosswise(frozenset(access), frozenset(_crosswise_uplinks(layout)))


def _crosswise_uplinks(layout: Layout) -> Iterator[tuple[int, int]]:
    """Yield the level and the leaf class number of uplinks that share cages crosswise."""
    # Links do not share a cage of one port.
    for lower, upper in pairwise(layout.tiers[1:]):
        if upper.down.per_cage > 1 and _crosses_between(lower, upper):
            yield lower.level, 0
    if not layout.spines.count:
        return
    for number, leaf in enumerate(layout.classes):
        if leaf.far.per_cage > 1 and _crosses_above(layout, leaf):
            yield 0, number


def _is_crosswise(links: Iterable[_LinkCages]) -> bool:
    """Tell whether links share cages crosswise: a lower cage leads to several upper cages, and one of these leads to
    several lower cages."""
    links = tuple(links)
    uppers_of: defaultdict[Hashable, set[Hashable]] = defaultdict(set)
    lowers_of: defaultdict[Hashable, set[Hashable]] = defaultdict(set)
    for link in links:
        uppers_of[link.lower].add(link.upper)
        lowers_of[link.upper].add(link.lower)
    return any(len(uppers_of[link.lower]) > 1 and len(lowers_of[link.upper]) > 1 for link in links)


def _access_cages(layout: Layout, group: NodeGroup) -> Iterator[_LinkCages]:
    """Yield the cages of the links to the nodes of a full stripe; none if either end's cages have one port."""
    per_cage = group.breakout.per_cage
    if group.entry.nics.ports_of_a_cage == 1 or per_cage == 1:
        return
    for leaf, ports in ports_by_leaf(group, layout).items():
        for node in range(group.stripe_nodes):
            for port in ports:
                leaf_port = group.first_port + node * group.ports_per_leaf + port.offset
                yield _LinkCages(lower=(node, port.nic, port.cage), upper=(leaf, leaf_port // per_cage))


def _crosses_between(lower: TierLayout, upper: TierLayout) -> bool:
    """Tell whether uplinks of spines to a group of super-spines share cages crosswise."""
    spine_indexes = range(upper.ports.down // lower.links_per_pair)
    if lower.fixed_pair:
        upper = _full_tier(upper, lower.ports.room // lower.links_per_pair)
    return _is_wired_crosswise(spine_indexes, wire(lower, upper), lower.ports, upper.ports)


def _full_tier(tier: TierLayout, room: int) -> TierLayout:
    """Return a tier with ``room`` switches in a group, or as many as it has if these are more.

    With stated links of a pair it can grow to as many as those below have ports for, without moving a cable.
    """
    return replace(tier, group_size=max(tier.group_size, room))


def _crosses_above(layout: Layout, leaf: LeafClass) -> bool:
    """Tell whether uplinks of a leaf class share cages crosswise.

    The leaves are those of the class's block, or, without a block, all that a spine has ports for.
    """
    lowest = layout.lowest
    spines = layout.spines
    can_have_more_spines = lowest.fixed_pair or leaf.block is not None
    if can_have_more_spines:
        spines = _full_tier(spines, layout.spine_room)
    wires = wire_class(leaf, lowest, spines)
    if leaf.block is None:
        indexes = range(spines.ports.down // lowest.links_per_pair)
        port_offset = leaf.ports.block - lowest.ports.block
    else:
        indexes = range(leaf.block.base, leaf.block.base + leaf.block.leaves)
        port_offset = leaf.ports.block
    return _is_wired_crosswise(indexes, wires, leaf.ports, spines.ports, port_offset)


def _is_wired_crosswise(
    indexes: Sequence[int], wires: Sequence[Uplink], lower: TierPorts, upper: TierPorts, port_offset: int = 0
) -> bool:
    """Tell whether uplinks of the lower switches with ``indexes`` share cages crosswise.

    The port of an uplink in ``wires`` plus ``port_offset`` is its port on the panel of the lower switch.
    """
    lower_cages = _cages(lower)
    upper_cages = _cages(upper)
    uplinks_of: defaultdict[int, list[Uplink]] = defaultdict(list)
    for uplink in wires:
        uplinks_of[lower_cages[uplink.port + port_offset]].append(uplink)
    # In most fabrics each cage leads to one upper cage. This is found without the cages of all switches.
    spread = [uplinks for uplinks in uplinks_of.values() if _leads_to_several(uplinks, indexes, upper_cages)]
    if not spread:
        return False
    shared = _shared_cages(indexes, uplinks_of, upper_cages)
    for uplinks, index in product(spread, indexes):
        reached = {(uplink.upper, upper_cages[uplink.upper_port(index)]) for uplink in uplinks}
        if len(reached) > 1 and not shared.isdisjoint(reached):
            return True
    return False


def _leads_to_several(uplinks: Sequence[Uplink], indexes: Sequence[int], upper_cages: Sequence[int]) -> bool:
    """Tell whether the uplinks of a cage lead to several upper cages, on any switch of ``indexes``."""
    first, *further = uplinks
    if any(uplink.upper != first.upper for uplink in further):
        return True
    for uplink in further:
        if any(upper_cages[uplink.upper_port(index)] != upper_cages[first.upper_port(index)] for index in indexes):
            return True
    return False


def _shared_cages(
    indexes: Sequence[int], uplinks_of: Mapping[int, Sequence[Uplink]], upper_cages: Sequence[int]
) -> set[tuple[int, int]]:
    """Return the upper cages to which several lower cages lead, as (index of the upper switch, cage).

    ``uplinks_of`` has the uplinks of every lower switch by their cage there.
    """
    first_lower: dict[tuple[int, int], tuple[int, int]] = {}
    shared = set()
    for index in indexes:
        for lower_cage, uplinks in uplinks_of.items():
            lower = index, lower_cage
            for uplink in uplinks:
                upper = uplink.upper, upper_cages[uplink.upper_port(index)]
                # Another lower cage leads there too.
                if first_lower.setdefault(upper, lower) != lower:
                    shared.add(upper)
    return shared


def _cages(ports: TierPorts) -> Sequence[int]:
    """Return the cage of every logical port, counted from 0 along the panel."""
    cages: list[int] = []
    first_cage = 0
    for count, breakout in ports.groups:
        for cage in range(first_cage, first_cage + count):
            cages += [cage] * breakout.per_cage
        first_cage += count
    return cages
