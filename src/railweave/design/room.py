"""How far a fabric grows without moving a cable, and the next step when that ends: each way is designed, and the cables
that move are counted."""

from collections.abc import Iterator
from dataclasses import replace
from typing import NamedTuple

from railweave.design.graph import count_moves
from railweave.design.hardware import TierHardware
from railweave.design.layout import Layout
from railweave.design.nodes import NodePorts
from railweave.design.ratios import ratio_text
from railweave.design.reserve import asn_leaves, pool_needs
from railweave.design.spines import spine_counts
from railweave.design.tiers import lay_out
from railweave.fabric.policy import Addressing
from railweave.fabric.sizing import Limits, RoomLeft
from railweave.intent.model import Intent
from railweave.wording import counted

ENDS = {
    "spine_ports": "spine ports end",
    "leaf_uplinks": "leaf uplinks end",
    "reserve": "the reserve ends",
    "address_pool": "an address pool ends",
    "asn": "the AS numbers end",
}
"""What ends growth, as a clause; in the order in which a tie is decided."""


class Growth(NamedTuple):
    """The largest growth without moving a cable: ``stripes`` indexes, with ``nodes`` and ``gpus`` when all are full.

    ``first`` is the resource that ends there.
    """

    stripes: int
    nodes: int
    gpus: int
    first: str

    @property
    def limits(self) -> Limits:
        """Return the limits as the sizing states them."""
        return Limits(self.nodes, self.first)


def find_growth(layout: Layout, addressing: Addressing) -> Growth:
    """Return the largest growth by new stripes; on a tie the resource named first ends it.

    Leaf uplinks end nothing here: they are laid out before the first node and new leaves bring their own.
    """
    leaf_indexes = {
        "spine_ports": layout.top.ports.total // layout.lowest.links_per_pair,
        "reserve": layout.lowest.reserve,
        "address_pool": min(need.leaves for need in pool_needs(layout, addressing)),
        "asn": asn_leaves(layout, addressing),
    }
    stripes = {name: count // layout.stripe_leaves for name, count in leaf_indexes.items()}
    first = min(stripes, key=lambda name: stripes[name])
    owners = [layout.owner(stripe) for stripe in range(stripes[first])]
    return Growth(
        stripes=stripes[first],
        nodes=sum(group.stripe_nodes for group in owners),
        gpus=sum(group.stripe_nodes * group.entry.gpus for group in owners),
        first=first,
    )


class Designed(NamedTuple):
    """A layout together with what it came from, so that a grown one can be designed the same way."""

    intent: Intent
    node_ports: tuple[NodePorts, ...]
    hardware: tuple[TierHardware, ...]
    layout: Layout


def remaining_capacity(designed: Designed, growth: Growth) -> RoomLeft:
    """Return what fits without moving a cable, per plane, and the sentence that names the next step."""
    layout = designed.layout
    stripes = max(0, growth.stripes - len(layout.stripes))
    leaves = stripes * layout.stripe_leaves
    spines = max(
        0, min(layout.top.reserve, layout.lowest.ports.room // layout.lowest.links_per_pair) - layout.top.count
    )
    if not layout.lowest.fixed_pair:
        spines = 0
    ways = list(_ways_with_room(layout, growth, spines))
    if not stripes:
        ways += _ways_beyond(designed, growth)
    plane = " a plane" if layout.planes > 1 else ""
    room = f"room left: {counted(leaves, 'leaf')}{plane}, {counted(spines, 'spine')}{plane}"
    return RoomLeft(leaves, spines, f"{room}; next: {', or '.join(ways)}" if ways else room)


def _ways_with_room(layout: Layout, growth: Growth, spines: int) -> Iterator[str]:
    """Yield what can be added now; no cable moves."""
    places = sum(group.stripes * group.stripe_nodes - group.entry.count for group in layout.groups)
    if places:
        yield f"{counted(places, 'node')} on the leaves of today (no cable moves)"
    free = next((stripe for stripe in range(growth.stripes) if stripe not in set(layout.stripes)), None)
    if free is not None:
        nodes = layout.owner(free).stripe_nodes
        yield f"{counted(layout.stripe_leaves, 'leaf')} for {counted(nodes, 'node')} (no cable moves)"
    if spines:
        ratio = layout.lowest.ratio * layout.top.count / (layout.top.count + spines)
        yield f"{counted(spines, 'spine')} more, which give {ratio_text(ratio)} (no cable moves)"


def _ways_beyond(designed: Designed, growth: Growth) -> Iterator[str]:
    """Yield what makes room for one stripe more when the resource ``growth.first`` has ended."""
    layout = designed.layout
    leaves = max(growth.stripes * layout.stripe_leaves, layout.lowest.indexes) + layout.stripe_leaves
    if growth.first == "reserve":
        yield f"reserve.leaves: {leaves}"
    elif growth.first == "asn":
        yield "AS numbers of the leaves that lie further from those of other tiers"
    elif growth.first == "address_pool":
        yield " and ".join(_larger_pools(designed, leaves))
    else:
        yield from _fewer_links(designed, leaves)
        yield f"spines with {leaves * layout.lowest.links_per_pair} ports"


def _larger_pools(designed: Designed, leaves: int) -> Iterator[str]:
    lowest, *above = designed.layout.tiers
    grown = designed.layout._replace(tiers=(replace(lowest, reserve=leaves), *above))
    for need in pool_needs(grown, designed.intent.policies.addressing):
        if need.addresses > need.pool.size:
            yield f"addressing.{need.key} of a /{32 - (need.addresses - 1).bit_length()}"


def _fewer_links(designed: Designed, leaves: int) -> Iterator[str]:
    """Yield the least change that gives each leaf fewer links to a spine, with the cables of today that move."""
    layout, intent = designed.layout, designed.intent
    topology = intent.topology.with_values(reserve=intent.topology.reserve.with_values(leaves=None))
    unreserved = topology.reserve.with_values(spines=None)
    if layout.lowest.fixed_pair:
        pair = layout.top.ports.total // leaves
        if pair == 0:
            return
        spines = -(-layout.lowest.uplinks // pair)
        topology = topology.with_values(
            links_per_pair=pair, spine=topology.spine.with_values(count=spines), reserve=unreserved
        )
        words = f"links_per_pair: {pair} with {spines} spines"
    else:
        more = (count for count in spine_counts(layout.lowest.uplinks) if count > layout.top.count)
        fitting = (count for count in more if leaves * (layout.lowest.uplinks // count) <= layout.top.ports.total)
        spines = next(fitting, 0)
        if spines == 0:
            return
        topology = topology.with_values(spine=topology.spine.with_values(count=spines), reserve=unreserved)
        words = counted(spines, "spine")
    grown, _ = lay_out(replace(intent, topology=topology), designed.node_ports, designed.hardware)
    if grown is not None:
        yield f"{words} ({counted(count_moves(layout, grown), 'cable')} move)"
