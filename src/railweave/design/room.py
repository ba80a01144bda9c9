"""How far a fabric grows without moving a cable, and the next step when that ends: each way is designed, and the cables
that move are counted."""

from collections.abc import Iterator
from dataclasses import replace
from itertools import count as numbers
from typing import NamedTuple

from railweave.design.hardware import TierHardware
from railweave.design.layout import Layout
from railweave.design.leaf_class import LeafClass, NodePorts
from railweave.design.ratios import ratio_text
from railweave.design.reserve import asn_leaves, pool_needs
from railweave.design.spines import spine_counts
from railweave.design.tiers import lay_out
from railweave.design.wiring import count_moves
from railweave.fabric.policy import Addressing
from railweave.fabric.sizing import Limits, RoomLeft
from railweave.intent.model import Intent
from railweave.wording import counted

ENDS = {
    "leaf_ports": "leaf ports end",
    "spine_ports": "spine ports end",
    "leaf_uplinks": "leaf uplinks end",
    "reserve": "the reserve ends",
    "address_pool": "an address pool ends",
    "asn": "the AS numbers end",
}
"""What ends growth, as a clause; in the order in which a tie is decided."""


def end_of_growth(layout: Layout, first: str) -> str:
    """Return what ends growth ``first`` as a clause.

    In three tiers spine ports are those of super-spines: the ports of the spines of a pod are all laid out.
    """
    if first == "spine_ports" and layout.super_spines:
        return f"super-{ENDS[first]}"
    return ENDS[first]


class StripeGrowth(NamedTuple):
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


def find_growth(layout: Layout, addressing: Addressing) -> StripeGrowth:
    """Return the largest growth by new stripes; on a tie the resource named first ends it.

    Leaf uplinks end nothing here: they are laid out before the first node and new leaves bring their own.
    """
    ports = "leaf_ports"
    if layout.spines.count:
        ports = "spine_ports"
    leaf_indexes = {
        ports: _leaves_by_ports(layout),
        "reserve": _reserved_leaves(layout),
        "address_pool": min(need.leaves for need in pool_needs(layout, addressing)),
        "asn": asn_leaves(layout, addressing),
    }
    stripes = {name: count // layout.stripe_leaves for name, count in leaf_indexes.items()}
    first = min(stripes, key=lambda name: stripes[name])
    nodes = 0
    gpus = 0
    for stripe in range(stripes[first]):
        if layout.has_spine_ports(stripe):
            group = layout.owner(stripe)
            nodes += group.stripe_nodes
            gpus += group.stripe_nodes * group.entry.gpus
    # Nodes that share leaves are counted as they are: how many more there can be depends on the others.
    for group in layout.sharing:
        nodes += group.entry.count
        gpus += group.entry.count * group.entry.gpus
    return StripeGrowth(stripes[first], nodes, gpus, first)


def _reserved_leaves(layout: Layout) -> int:
    """Return the leaf indexes of a plane that are reserved, in three tiers those of the reserved pods at most."""
    if not layout.pod:
        return layout.lowest.reserve
    return min(layout.lowest.reserve, layout.spines.groups * layout.pod_leaves)


def _leaves_by_ports(layout: Layout) -> int:
    """Return the leaf indexes of a plane that the top tier, or the one that is reserved above it, has ports for;
    without spines those of one switch a rail."""
    if not layout.spines.count:
        return layout.lowest.reserve
    if layout.pod:
        return layout.most_pods // (layout.spines.links_per_pair or 1) * layout.pod_leaves
    if layout.spines.ports.blocks:
        return _end_of_ports(layout) * layout.stripe_leaves
    return layout.spines.ports.down // layout.lowest.links_per_pair * layout.networks


def _end_of_ports(layout: Layout) -> int:
    """Return the first stripe behind those of today for whose leaves spines have no ports; stripes before it that no
    entry of nodes can reach are left out of what is counted."""
    return next(stripe for stripe in numbers(layout.stripes[-1] + 1) if not layout.has_spine_ports(stripe))


class CountedDesign(NamedTuple):
    """A layout together with what it came from, so that a grown one can be designed the same way."""

    intent: Intent
    node_ports: tuple[NodePorts, ...]
    classes: tuple[LeafClass, ...]
    hardware: tuple[TierHardware, ...]
    layout: Layout

    def lay_out(self, intent: Intent) -> Layout | None:
        """Return the layout of an intent of the same nodes and switches, None where there is none."""
        layout, _ = lay_out(intent, self.node_ports, self.classes, self.hardware)
        return layout


def remaining_capacity(designed: CountedDesign, growth: StripeGrowth) -> RoomLeft:
    """Return what fits without moving a cable, per plane, and the sentence that names the next step."""
    layout = designed.layout
    stripes = max(0, sum(map(layout.has_spine_ports, range(growth.stripes))) - len(layout.stripes))
    leaves = stripes * layout.stripe_leaves
    spines = 0
    if layout.lowest.fixed_pair:
        above = layout.spines
        most = layout.spine_room
        of_pod = max(0, min(above.group_reserve, most) - above.group_size)
        spines = of_pod * len(layout.pods)
    ways = list(_ways_with_room(layout, growth, spines))
    if not stripes:
        ways += _ways_beyond(designed, growth)
    plane = ""
    if layout.planes > 1:
        plane = " a plane"
    room = f"room left: {counted(leaves, 'leaf')}{plane}, {counted(spines, 'spine')}{plane}"
    if ways:
        room += f"; next: {', or '.join(ways)}"
    return RoomLeft(leaves, spines, room)


def _ways_with_room(layout: Layout, growth: StripeGrowth, spines: int) -> Iterator[str]:
    """Yield what can be added now; no cable moves."""
    places = sum(group.stripes * group.stripe_nodes - group.entry.count for group in layout.groups)
    if places:
        yield f"{counted(places, 'node')} on the leaves of today (no cable moves)"
    free = _next_stripe(layout, growth)
    if free is not None:
        nodes = layout.owner(free).stripe_nodes
        yield f"{_switches_of_stripe(layout, free)} for {counted(nodes, 'node')} (no cable moves)"
    if spines:
        ratio = layout.worst_ratio * layout.spines.count / (layout.spines.count + spines)
        yield f"{counted(spines, 'spine')} more, which give {ratio_text(ratio)} (no cable moves)"


def _next_stripe(layout: Layout, growth: StripeGrowth) -> int | None:
    """Return the first stripe that can be added now."""
    today = set(layout.stripes)
    for stripe in range(growth.stripes):
        if stripe not in today and layout.has_spine_ports(stripe):
            return stripe
    return None


def _switches_of_stripe(layout: Layout, stripe: int) -> str:
    """Return the switches that a new stripe brings, with those of its pod if it is the first there."""
    leaves = counted(layout.stripe_leaves, "leaf")
    pod, _ = layout.lowest.group_of(stripe * layout.stripe_leaves)
    if pod in layout.pods:
        return leaves
    leaves += f" and {counted(layout.spines.group_size, 'spine')}, which begin a pod,"
    if layout.super_spines is None:
        leaves += " and a third tier"
    return leaves


def _ways_beyond(designed: CountedDesign, growth: StripeGrowth) -> Iterator[str]:
    """Yield what makes room for one stripe more when the resource ``growth.first`` has ended."""
    layout = designed.layout
    leaves = max(growth.stripes * layout.stripe_leaves, layout.lowest.indexes) + layout.stripe_leaves
    if growth.first == "reserve" and layout.pod and leaves > layout.spines.groups * layout.pod_leaves:
        yield f"reserve.pods: {layout.spines.groups + 1}"
    elif growth.first == "reserve":
        yield f"reserve.leaves: {leaves}"
    elif growth.first == "leaf_ports" and layout.lowest.rails:
        yield "tiers: 2, which moves cables"
    elif growth.first == "leaf_ports":
        yield "spines and more leaves, which moves cables"
    elif growth.first == "asn":
        yield "AS numbers of the leaves that lie further from those of other tiers"
    elif growth.first == "address_pool":
        yield " and ".join(_larger_pools(designed, leaves))
    else:
        yield from _more_ports(designed, growth, leaves)


def _more_ports(designed: CountedDesign, growth: StripeGrowth, leaves: int) -> Iterator[str]:
    """Yield what gives ports above to ``leaves``, when those of spines or super-spines have ended."""
    layout = designed.layout
    if layout.super_spines is not None:
        yield from _more_super_spines(designed, layout.pods[-1] + 2)
        yield f"super-spines with {(layout.pods[-1] + 2) * layout.spines.links_per_pair} ports"
    elif layout.pod:
        yield f"super-spines with {layout.most_pods + 1} ports"
    elif layout.leaf_class(growth.stripes).block:
        group = layout.owner(growth.stripes)
        more = (growth.stripes + 1 - group.first_stripe) * layout.stripe_leaves
        yield f"{group.path}.leaf.reserve: {more}, which moves the cables of these leaves at the spines"
    else:
        yield from list(_fewer_links(designed, leaves)) or _third_tier(designed, leaves)
        yield f"spines with {leaves // layout.networks * layout.lowest.links_per_pair} ports"


def _larger_pools(designed: CountedDesign, leaves: int) -> Iterator[str]:
    layout = designed.layout
    lowest, *above = layout.tiers
    if layout.pod:
        pods = max(layout.spines.groups, -(-leaves // layout.pod_leaves))
        above[0] = replace(layout.spines, groups=pods)
    grown = layout._replace(tiers=(replace(lowest, reserve=leaves), *above))
    for need in pool_needs(grown, designed.intent.policies.addressing):
        if need.addresses > need.pool.size:
            yield f"addressing.{need.key} of a /{need.pool.bits - (need.addresses - 1).bit_length()}"


def _more_super_spines(designed: CountedDesign, pods: int) -> Iterator[str]:
    """Yield the least number of super-spines that joins ``pods``, with the cables of today that move."""
    layout = designed.layout
    intent = designed.intent
    topology = intent.topology
    top = topology.super_spine
    reserve = topology.reserve.with_values(pods=pods, leaves=None)
    if top is not None:
        top = top.with_values(count=None)
    grown = designed.lay_out(replace(intent, topology=topology.with_values(super_spine=top, reserve=reserve)))
    if grown is not None and grown.super_spines is not None:
        moved = counted(count_moves(layout, grown), "cable")
        yield f"{counted(grown.super_spines.count, 'super-spine')} ({moved} move)"


def _fewer_links(designed: CountedDesign, leaves: int) -> Iterator[str]:
    """Yield the least change that gives each leaf fewer links to a spine, with the cables of today that move."""
    layout = designed.layout
    intent = designed.intent
    topology = intent.topology.with_values(reserve=intent.topology.reserve.with_values(leaves=None))
    unreserved = topology.reserve.with_values(spines=None)
    if layout.lowest.fixed_pair:
        pair = layout.spines.ports.down // (leaves // layout.networks)
        if pair == 0:
            return
        spines = -(-layout.lowest.uplinks // pair) * layout.networks
        topology = topology.with_values(
            links_per_pair=pair, spine=topology.spine.with_values(count=spines), reserve=unreserved
        )
        words = f"links_per_pair: {pair} with {spines} spines"
    else:
        own = leaves // layout.networks
        uplinks = layout.lowest.uplinks
        more = (count for count in spine_counts(uplinks) if count > layout.spines.group_size)
        fitting = (count for count in more if own * (uplinks // count) <= layout.spines.ports.down)
        spines = next(fitting, 0) * layout.networks
        if spines == 0:
            return
        topology = topology.with_values(spine=topology.spine.with_values(count=spines), reserve=unreserved)
        words = counted(spines, "spine")
    grown = designed.lay_out(replace(intent, topology=topology))
    if grown is not None:
        yield f"{words} ({counted(count_moves(layout, grown), 'cable')} move)"


def _third_tier(designed: CountedDesign, leaves: int) -> Iterator[str]:
    """Yield a third tier with a pod for ``leaves``, with the cables of today that move."""
    layout = designed.layout
    pod = _with_pods(designed, None)
    if pod is None or not pod.pod:
        return
    pods = -(-leaves // pod.pod_leaves)
    grown = _with_pods(designed, pods)
    if grown is None:
        return
    tiers = "tiers: 3"
    if designed.intent.topology.spine.count is not None:
        tiers += " without spine.count"
    yield f"{tiers} with reserve.pods: {pods} ({counted(count_moves(layout, grown), 'cable')} move)"


def _with_pods(designed: CountedDesign, pods: int | None) -> Layout | None:
    """Return the layout in three tiers with as many spines as that takes, None where there is none."""
    topology = designed.intent.topology
    three = topology.with_values(
        tiers=3,
        spine=topology.spine.with_values(count=None),
        reserve=topology.reserve.with_values(leaves=None, spines=None, pods=pods),
    )
    return designed.lay_out(replace(designed.intent, topology=three))
