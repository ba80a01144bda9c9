"""From intent, node ports and hardware to the layout, tier by tier: split the ports, then count the switches.

The lowest tier is counted from the nodes, each tier above from the uplinks of the one below.
"""

from collections.abc import Iterator, Sequence
from dataclasses import replace

from railweave.design.apart import keep_ports_apart
from railweave.design.hardware import TierHardware
from railweave.design.layout import Layout, TierLayout
from railweave.design.leaves import Faults, Leaves, asked_ratio, count_leaves, place_leaf_ports, place_own_leaves
from railweave.design.nodes import NodePorts
from railweave.design.pods import GroupTier, Pods, divide_into_pods, join_pods, share_out
from railweave.design.rails import give_rails_a_switch
from railweave.design.reserve import reserve_diagnostics
from railweave.design.spines import SpineRoom, SpineTier, UplinkDemand, divide_uplinks, multiply_pairs
from railweave.design.split import TierPorts, all_down, downlink_room
from railweave.diagnostics import Diagnostic
from railweave.intent.model import Intent


def lay_out(
    intent: Intent, node_ports: tuple[NodePorts, ...], hardware: Sequence[TierHardware]
) -> tuple[Layout | None, Faults]:
    """Return the layout of a fabric of one to three tiers, or every reason why there is none.

    ``hardware`` is that of three tiers, whether or not the third is built.
    """
    layout, diagnostics = give_rails_a_switch(intent, node_ports, hardware[0])
    if layout is not None:
        return layout, reserve_diagnostics(intent, layout)
    if diagnostics:
        return None, diagnostics
    leaves, diagnostics = count_leaves(intent, node_ports, hardware[0])
    if leaves is None:
        return None, diagnostics
    pods, diagnostics = divide_into_pods(intent, leaves, hardware)
    if pods is None:
        return None, diagnostics
    apart, diagnostics = keep_ports_apart(intent, leaves, pods, hardware)
    if apart is None:
        return None, diagnostics
    return _lay_out(intent, leaves._replace(groups=apart.groups), pods._replace(ports=apart.ports), hardware)


def _lay_out(
    intent: Intent, leaves: Leaves, pods: Pods, hardware: Sequence[TierHardware]
) -> tuple[Layout | None, Faults]:
    """Return the layout of two or three tiers whose leaves and pods are counted."""
    tiers, diagnostics = _lay_out_tiers(intent, leaves, pods, hardware)
    groups, own_diagnostics = place_own_leaves(intent, leaves.groups, tiers[0]) if tiers else ((), ())
    diagnostics = (*diagnostics, *own_diagnostics)
    if diagnostics:
        return None, diagnostics
    layout = Layout(
        fabric=intent.fabric,
        shape=intent.topology.shape,
        planes=intent.topology.planes,
        rails=leaves.rails,
        stripe_leaves=leaves.per_stripe,
        groups=groups,
        stripes=leaves.stripes,
        ratio=asked_ratio(intent),
        tiers=tiers,
        pod=pods.size,
        most_pods=hardware[2].ports if pods.size else 0,
        leaves_per_nic=intent.topology.leaves_per_nic,
    )
    return layout, reserve_diagnostics(intent, layout)


def _lay_out_tiers(
    intent: Intent, leaves: Leaves, pods: Pods, hardware: Sequence[TierHardware]
) -> tuple[tuple[TierLayout, ...], Faults]:
    reserve = intent.topology.reserve
    reserved, diagnostics = share_out(
        intent, "reserve.spines", reserve.spines, reserve.pods or len(pods.indexes), pods.each
    )
    if diagnostics:
        return (), diagnostics
    ports = place_leaf_ports(intent, hardware[0], leaves, reserved)
    if isinstance(ports, Diagnostic):
        return (), (ports,)
    spines, diagnostics = _count_spines(intent, leaves, ports, pods, hardware)
    if spines is None:
        return (), diagnostics
    if pods.tiers == 2:
        return _tiers(intent, leaves, ports, pods, spines, None, hardware), ()
    group, diagnostics = join_pods(intent, pods, spines.spines, hardware[2])
    return (() if diagnostics else _tiers(intent, leaves, ports, pods, spines, group, hardware)), diagnostics


def _count_spines(
    intent: Intent, leaves: Leaves, ports: TierPorts, pods: Pods, hardware: Sequence[TierHardware]
) -> tuple[SpineTier | None, Faults]:
    """Return the spines that the uplinks of a leaf reach, and the links to each."""
    low, spine = hardware[0], intent.topology.spine
    given, diagnostics = share_out(intent, "spine.count", spine.count, len(pods.indexes), pods.each)
    if diagnostics:
        return None, diagnostics
    room = SpineRoom(
        pods.size * leaves.per_stripe or leaves.indexes // pods.rails,
        pods.ports.down,
        given,
        len(pods.indexes),
        pods.each,
        pods.ports.apart,
    )
    if leaves.uplinks is not None:
        return divide_uplinks(intent, leaves.uplinks, room)
    return multiply_pairs(intent, ports, list(_demands(intent, leaves, ports, low)), room)


def _demands(intent: Intent, leaves: Leaves, ports: TierPorts, low: TierHardware) -> Iterator[UplinkDemand]:
    """Yield what leaves ask of their uplinks: first those that share them, then each entry with uplinks of its own."""
    pair, ratio = intent.topology.links_per_pair or 1, asked_ratio(intent)
    shared = [one.leaf for one in leaves.groups if one.leaf and one.leaf.block is None]
    down_gbps = max(ports.down * low.down.speed_gbps, *(one.down_gbps for one in shared), 0)
    yield UplinkDemand(down_gbps, low.up.speed_gbps, ratio, pair, "links_per_pair", ports.room)
    for group in leaves.groups:
        own = group.leaf
        if own is not None and own.block is not None:
            one, key = own.hardware, f"{group.path}.leaf.links_per_pair"
            room = downlink_room(one.cages, one.up, one.down, own.downlinks)
            of = f" of {group.entry.name!r}"
            yield UplinkDemand(own.down_gbps, one.up.speed_gbps, ratio, own.block.pair, key, room, of)


def _tiers(
    intent: Intent,
    leaves: Leaves,
    ports: TierPorts,
    pods: Pods,
    spines: SpineTier,
    group: GroupTier | None,
    hardware: Sequence[TierHardware],
) -> tuple[TierLayout, ...]:
    (low, middle, top), reserve, pair = hardware, intent.topology.reserve, spines.links_per_pair
    fixed, pod_leaves = leaves.uplinks is None, pods.size * leaves.per_stripe
    groups, rails = reserve.pods or (top.ports // group.links_per_pair if group else pods.rails), pods.apart
    room = pods.size * leaves.per_stripe or pods.ports.down // pair
    spare = ports.room // pair if fixed else spines.spines
    own = (one.first_stripe * leaves.per_stripe + block.leaves * pods.rails for one, block in leaves.blocks)
    lowest = TierLayout(
        name=low.name,
        level=0,
        places=leaves.places,
        ports=ports,
        down=low.down,
        reserve=reserve.leaves or max(groups * room, *own, 0),
        up=low.up,
        uplinks=spines.spines * pair,
        links_per_pair=pair,
        fixed_pair=fixed,
        stride=pod_leaves,
        rails=rails,
        group_size=pod_leaves,
        groups=groups,
        group_reserve=pod_leaves,
    )
    stride = lowest.stride_above
    above = TierLayout(
        name=middle.name,
        level=1,
        places=(),
        ports=pods.ports,
        down=middle.down,
        reserve=reserve.spines or spare * groups,
        stride=stride,
        rails=rails,
        group_size=spines.spines,
        groups=groups,
        group_reserve=reserve.spines // groups if reserve.spines else spare,
    )
    places = (above.place(pod, spine) for pod in pods.indexes for spine in range(spines.spines))
    above = replace(above, places=tuple(sorted(places)))
    if group is None:
        return lowest, above
    above = replace(above, up=middle.up, uplinks=pods.uplinks, links_per_pair=group.links_per_pair)
    stride = above.stride_above
    return (
        lowest,
        above,
        TierLayout(
            name=top.name,
            level=2,
            places=tuple(one * stride + member for one in range(spines.spines) for member in range(group.members)),
            ports=all_down(top.cages, top.down),
            down=top.down,
            reserve=above.group_reserve * group.members,
            stride=stride,
            group_size=group.members,
            groups=above.group_reserve,
            group_reserve=group.members,
        ),
    )
