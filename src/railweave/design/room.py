"""How far a fabric can grow without moving a cable, and the next steps after that.

Each step is designed, and the cables that it moves are counted.
"""

from collections.abc import Iterator
from dataclasses import replace
from itertools import count as numbers
from math import ceil
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
"""What limits growth, as a clause."""


def end_of_growth(layout: Layout, first: str) -> str:
    """Return the clause of the resource that limits growth first; ``first`` is a key of ENDS.

    In three tiers spine ports are those of super-spines: the spines of a pod have ports for all its leaves.
    """
    if first == "spine_ports" and layout.super_spines:
        return f"super-{ENDS[first]}"
    return ENDS[first]


class StripeGrowth(NamedTuple):
    """The largest growth without moving a cable."""

    # How many stripe indexes there can be.
    stripes: int
    # With all stripes full.
    nodes: int
    gpus: int
    # The resource that limits them: a key of ENDS.
    first: str

    @property
    def limits(self) -> Limits:
        """Return the limits as the sizing states them."""
        return Limits(self.nodes, self.first)


def find_growth(layout: Layout, addressing: Addressing) -> StripeGrowth:
    """Return the largest growth by new stripes.

    Leaf uplinks do not limit it: the split of a leaf sets them before the first node, and new leaves bring their own.
    """
    ports = "leaf_ports"
    if layout.spines.count:
        ports = "spine_ports"
    # The number of leaf indexes of a plane that each resource allows. Of equal limits the first one is reported.
    leaf_limits = {
        ports: _leaves_by_ports(layout),
        "reserve": _reserved_leaves(layout),
        "address_pool": min(need.leaves for need in pool_needs(layout, addressing)),
        "asn": asn_leaves(layout, addressing),
    }
    stripe_limits = {name: leaves // layout.stripe_leaves for name, leaves in leaf_limits.items()}
    first = min(stripe_limits, key=lambda name: stripe_limits[name])
    stripes = stripe_limits[first]
    nodes = 0
    gpus = 0
    for stripe in range(stripes):
        if layout.has_spine_ports(stripe):
            group = layout.owner(stripe)
            nodes += group.stripe_nodes
            gpus += group.stripe_nodes * group.entry.gpus
    # Nodes that share leaves are counted as they are today: the ports for more of them depend on the other nodes.
    for group in layout.sharing:
        nodes += group.entry.count
        gpus += group.entry.count * group.entry.gpus
    return StripeGrowth(stripes, nodes, gpus, first)


def _reserved_leaves(layout: Layout) -> int:
    """Return how many leaf indexes of a plane are reserved, at most as many as the reserved pods have."""
    if not layout.pod:
        return layout.lowest.reserve
    return min(layout.lowest.reserve, layout.spines.groups * layout.pod_leaves)


def _leaves_by_ports(layout: Layout) -> int:
    """Return how many leaf indexes of a plane the ports of the top tier allow; the top tier may be only reserved."""
    # One switch, or one for each rail.
    if not layout.spines.count:
        return layout.lowest.reserve
    if layout.pod:
        pods = layout.most_pods // (layout.spines.links_per_pair or 1)
        return pods * layout.pod_leaves
    if layout.spines.ports.blocks:
        return _first_stripe_without_ports(layout) * layout.stripe_leaves
    return layout.spines.ports.down // layout.lowest.links_per_pair * layout.networks


def _first_stripe_without_ports(layout: Layout) -> int:
    """Return the first future stripe without spine ports."""
    return next(stripe for stripe in numbers(layout.stripes[-1] + 1) if not layout.has_spine_ports(stripe))


class CountedDesign(NamedTuple):
    """A layout with what it was made of, so that one for a changed intent can be made in the same way."""

    intent: Intent
    node_ports: tuple[NodePorts, ...]
    classes: tuple[LeafClass, ...]
    hardware: tuple[TierHardware, ...]
    layout: Layout

    def lay_out(self, intent: Intent) -> Layout | None:
        """Return the layout of an intent with the same nodes and switches, None if it has errors."""
        layout, _ = lay_out(intent, self.node_ports, self.classes, self.hardware)
        return layout


def remaining_capacity(designed: CountedDesign, growth: StripeGrowth) -> RoomLeft:
    """Return what can be added to each plane without moving a cable, and the next steps in a sentence."""
    layout = designed.layout
    stripes_with_ports = sum(map(layout.has_spine_ports, range(growth.stripes)))
    more_stripes = max(0, stripes_with_ports - len(layout.stripes))
    leaves = more_stripes * layout.stripe_leaves
    spines = _more_spines(layout)
    next_steps = list(_steps_with_room(layout, growth, spines))
    if not more_stripes:
        next_steps += _steps_beyond(designed, growth)
    per_plane = ""
    if layout.planes > 1:
        per_plane = " a plane"
    room = f"room left: {counted(leaves, 'leaf')}{per_plane}, {counted(spines, 'spine')}{per_plane}"
    if next_steps:
        room += f"; next: {', or '.join(next_steps)}"
    return RoomLeft(leaves, spines, room)


def _more_spines(layout: Layout) -> int:
    """Return how many spines of a plane can be added without moving a cable."""
    # With automatic links of a pair all uplinks are connected.
    if not layout.lowest.fixed_pair:
        return 0
    spines = layout.spines
    most_of_pod = min(spines.group_reserve, layout.spine_room)
    return max(0, most_of_pod - spines.group_size) * len(layout.pods)


def _steps_with_room(layout: Layout, growth: StripeGrowth, spines: int) -> Iterator[str]:
    """Yield what can be added without moving a cable; ``spines`` are those for which there is room."""
    free_places = sum(group.stripes * group.stripe_nodes - group.entry.count for group in layout.groups)
    if free_places:
        yield f"{counted(free_places, 'node')} on the leaves of today (no cable moves)"
    stripe = _next_stripe(layout, growth)
    if stripe is not None:
        nodes = layout.owner(stripe).stripe_nodes
        yield f"{_switches_of_stripe(layout, stripe)} for {counted(nodes, 'node')} (no cable moves)"
    if spines:
        ratio = layout.worst_ratio * layout.spines.count / (layout.spines.count + spines)
        yield f"{counted(spines, 'spine')} more, which give {ratio_text(ratio)} (no cable moves)"


def _next_stripe(layout: Layout, growth: StripeGrowth) -> int | None:
    """Return the first stripe that can be added without moving a cable, None if there is none."""
    existing = set(layout.stripes)
    for stripe in range(growth.stripes):
        if stripe not in existing and layout.has_spine_ports(stripe):
            return stripe
    return None


def _switches_of_stripe(layout: Layout, stripe: int) -> str:
    """Return the switches of a new stripe for a message, with those of its pod if it is the first stripe there."""
    switches = counted(layout.stripe_leaves, "leaf")
    pod, _ = layout.lowest.group_of(stripe * layout.stripe_leaves)
    if pod in layout.pods:
        return switches
    switches += f" and {counted(layout.spines.group_size, 'spine')}, which begin a pod,"
    if layout.super_spines is None:
        switches += " and a third tier"
    return switches


def _steps_beyond(designed: CountedDesign, growth: StripeGrowth) -> Iterator[str]:
    """Yield each change that would allow one more stripe, as a clause; the resource ``growth.first`` allows none."""
    layout = designed.layout
    leaves = max(growth.stripes * layout.stripe_leaves, layout.lowest.indexes) + layout.stripe_leaves
    needs_pod = layout.pod and leaves > layout.spines.groups * layout.pod_leaves
    if growth.first == "reserve" and needs_pod:
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
    """Yield each change that gives spines or super-spines ports for ``leaves`` leaf indexes."""
    layout = designed.layout
    if layout.super_spines is not None:
        # Pods are numbered from 0, and one more is needed.
        pods = layout.pods[-1] + 2
        yield from _more_super_spines(designed, pods)
        yield f"super-spines with {pods * layout.spines.links_per_pair} ports"
    elif layout.pod:
        yield f"super-spines with {layout.most_pods + 1} ports"
    elif layout.leaf_class(growth.stripes).block:
        group = layout.owner(growth.stripes)
        reserve = (growth.stripes + 1 - group.first_stripe) * layout.stripe_leaves
        yield f"{group.path}.leaf.reserve: {reserve}, which moves the cables of these leaves at the spines"
    else:
        fewer_links = list(_fewer_links(designed, leaves))
        yield from fewer_links
        # A third tier is the last resort.
        if not fewer_links:
            yield from _third_tier(designed, leaves)
        yield f"spines with {leaves // layout.networks * layout.lowest.links_per_pair} ports"


def _larger_pools(designed: CountedDesign, leaves: int) -> Iterator[str]:
    """Yield the pools that are too small for ``leaves``, with the prefix length that they need."""
    layout = designed.layout
    lowest, *above = layout.tiers
    if layout.pod:
        pods = max(layout.spines.groups, ceil(leaves / layout.pod_leaves))
        above[0] = replace(layout.spines, groups=pods)
    grown = layout._replace(tiers=(replace(lowest, reserve=leaves), *above))
    for need in pool_needs(grown, designed.intent.policies.addressing):
        if need.addresses > need.pool.size:
            yield f"addressing.{need.key} of a /{need.prefix_length}"


def _moved_cables(layout: Layout, grown: Layout) -> str:
    """Return how many cables of today a step moves, for a message."""
    return f"({counted(count_moves(layout, grown), 'cable')} move)"


def _more_super_spines(designed: CountedDesign, pods: int) -> Iterator[str]:
    """Yield the least number of super-spines that join ``pods``, with the cables that move; nothing if none can."""
    layout = designed.layout
    intent = designed.intent
    topology = intent.topology
    top = topology.super_spine
    reserve = topology.reserve.with_values(pods=pods, leaves=None)
    if top is not None:
        top = top.with_values(count=None)
    grown = designed.lay_out(replace(intent, topology=topology.with_values(super_spine=top, reserve=reserve)))
    if grown is not None and grown.super_spines is not None:
        yield f"{counted(grown.super_spines.count, 'super-spine')} {_moved_cables(layout, grown)}"


def _fewer_links(designed: CountedDesign, leaves: int) -> Iterator[str]:
    """Yield the smallest change that gives spines ports for ``leaves`` by fewer links between a leaf and a spine.

    The clause says how many cables move. Nothing is yielded if no such change is possible.
    """
    layout = designed.layout
    leaves_of_network = leaves // layout.networks
    if layout.lowest.fixed_pair:
        pair = layout.spines.ports.down // leaves_of_network
        if pair == 0:
            return
        spines = ceil(layout.lowest.uplinks / pair) * layout.networks
        change = f"links_per_pair: {pair} with {spines} spines"
    else:
        pair = None
        spines = _spines_with_ports(layout, leaves_of_network) * layout.networks
        if spines == 0:
            return
        change = counted(spines, "spine")
    topology = designed.intent.topology
    topology = topology.with_values(
        links_per_pair=pair,
        spine=topology.spine.with_values(count=spines),
        reserve=topology.reserve.with_values(leaves=None, spines=None),
    )
    grown = designed.lay_out(replace(designed.intent, topology=topology))
    if grown is not None:
        yield f"{change} {_moved_cables(layout, grown)}"


def _spines_with_ports(layout: Layout, leaves: int) -> int:
    """Return the least number of spines, above today's, that have ports for ``leaves``; 0 if there is none.

    The number divides the uplinks of a leaf.
    """
    uplinks = layout.lowest.uplinks
    for count in spine_counts(uplinks):
        if count > layout.spines.group_size and leaves * (uplinks // count) <= layout.spines.ports.down:
            return count
    return 0


def _third_tier(designed: CountedDesign, leaves: int) -> Iterator[str]:
    """Yield a third tier with pods for ``leaves``, with the cables that move; nothing if there can be none."""
    layout = designed.layout
    with_pods = _in_three_tiers(designed, None)
    if with_pods is None or not with_pods.pod:
        return
    pods = ceil(leaves / with_pods.pod_leaves)
    grown = _in_three_tiers(designed, pods)
    if grown is None:
        return
    change = "tiers: 3"
    if designed.intent.topology.spine.count is not None:
        change += " without spine.count"
    yield f"{change} with reserve.pods: {pods} {_moved_cables(layout, grown)}"


def _in_three_tiers(designed: CountedDesign, pods: int | None) -> Layout | None:
    """Return the layout in three tiers with a reserve of ``pods`` and automatic spines, None if it has errors."""
    topology = designed.intent.topology
    three_tiers = topology.with_values(
        tiers=3,
        spine=topology.spine.with_values(count=None),
        reserve=topology.reserve.with_values(leaves=None, spines=None, pods=pods),
    )
    return designed.lay_out(replace(designed.intent, topology=three_tiers))
