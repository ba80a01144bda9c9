"""From intent, node ports and hardware to the layout, tier by tier: split the ports, then count the switches.

The lowest tier is counted from the nodes, each tier above from the uplinks of the one below.
"""

from collections.abc import Iterator, Sequence
from dataclasses import replace

from railweave.design.hardware import TierHardware
from railweave.design.layout import Layout, TierLayout
from railweave.design.leaf_class import LeafClass, NodePorts
from railweave.design.leaves import Faults, Leaves, count_leaves, place_classes, place_leaf_ports
from railweave.design.nodes import distribute_ports, with_fewer_rails
from railweave.design.pods import GroupTier, Pods, divide_into_pods, join_pods, share_out
from railweave.design.rails import lay_out_one_tier
from railweave.design.ratios import asked_ratio
from railweave.design.reserve import reserve_diagnostics
from railweave.design.spine_blocks import keep_blocks
from railweave.design.spines import SpineRoom, SpineTier, UplinkDemand, divide_uplinks, multiply_pairs
from railweave.design.split import TierPorts, all_down, downlink_room
from railweave.diagnostics import Diagnostic
from railweave.intent.model import Intent, UplinkWiring


def lay_out(
    intent: Intent, node_ports: Sequence[NodePorts], classes: Sequence[LeafClass], hardware: Sequence[TierHardware]
) -> tuple[Layout | None, Faults]:
    """Return the layout of a fabric of one to three tiers, or every reason why there is none.

    ``hardware`` is that of three tiers, whether or not the third is built.
    """
    layout, diagnostics = lay_out_one_tier(intent, node_ports, classes)
    if layout is not None:
        return layout, reserve_diagnostics(intent, layout)
    if diagnostics:
        return None, diagnostics
    intent, node_ports = _in_one_stripe(intent, node_ports, classes)
    leaves, diagnostics = count_leaves(intent, node_ports, classes)
    if leaves is None:
        return None, diagnostics
    pods, diagnostics = divide_into_pods(intent, leaves, hardware)
    if pods is None:
        return None, diagnostics
    blocks, diagnostics = keep_blocks(intent, leaves, pods, hardware)
    if blocks is None:
        return None, diagnostics
    return _lay_out(intent, leaves._replace(classes=blocks.classes), pods._replace(ports=blocks.ports), hardware)


def _in_one_stripe(
    intent: Intent, node_ports: Sequence[NodePorts], classes: Sequence[LeafClass]
) -> tuple[Intent, Sequence[NodePorts]]:
    """Return the intent with as many rails as it gives leaves, where these hold all nodes in one stripe."""
    fewer = with_fewer_rails(intent)
    ports = None if fewer is None else distribute_ports(fewer)
    if fewer is None or ports is None:
        return intent, node_ports
    leaves, _ = count_leaves(fewer, ports, classes)
    if leaves is None or len(leaves.stripes) > 1:
        return intent, node_ports
    return fewer, ports


def _lay_out(
    intent: Intent, leaves: Leaves, pods: Pods, hardware: Sequence[TierHardware]
) -> tuple[Layout | None, Faults]:
    """Return the layout of two or three tiers whose leaves and pods are counted."""
    tiers, diagnostics = _lay_out_tiers(intent, leaves, pods, hardware)
    if diagnostics:
        return None, diagnostics
    classes, diagnostics = place_classes(intent, leaves, tiers[0])
    if diagnostics:
        return None, diagnostics
    layout = Layout(
        fabric=intent.fabric,
        shape=intent.topology.shape,
        planes=intent.topology.planes,
        rails=leaves.rails,
        stripe_leaves=leaves.per_stripe,
        groups=leaves.groups,
        classes=classes,
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
    ports = place_leaf_ports(intent, leaves, reserved)
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
    given, diagnostics = share_out(intent, "spine.count", intent.topology.spine.count, len(pods.indexes), pods.each)
    if diagnostics:
        return None, diagnostics
    room = SpineRoom(
        pods.size * leaves.per_stripe or leaves.indexes // pods.rails,
        pods.ports.down,
        given,
        len(pods.indexes),
        pods.each,
        pods.ports.blocks,
        # A pod has as many leaves as its spines have ports for.
        0 if pods.size else -(-(intent.topology.reserve.leaves or 0) // pods.rails),
        leaves.panel.up if intent.stripe_caps_split else 1,
    )
    if leaves.uplinks is not None:
        return divide_uplinks(intent, leaves.uplinks, leaves.shared_uplinks, room)
    return multiply_pairs(intent, ports, list(_demands(intent, leaves, ports)), room)


def _demands(intent: Intent, leaves: Leaves, ports: TierPorts) -> Iterator[UplinkDemand]:
    """Yield what leaves ask of their uplinks: first the classes that share spine ports, then each with a block."""
    ratio, first = asked_ratio(intent), leaves.classes[0]
    down_gbps = max(leaf.down_gbps for leaf in leaves.classes if leaf.block is None)
    yield UplinkDemand(down_gbps, first.hardware.up.speed_gbps, ratio, first.pair, "links_per_pair", ports.room)
    for leaf in leaves.classes:
        if leaf.block is not None:
            hardware, key = leaf.hardware, f"{leaf.path}.links_per_pair"
            room = downlink_room(hardware.cages, hardware.up, hardware.down, leaf.down)
            of = f" of {leaf.name!r}"
            yield UplinkDemand(leaf.down_gbps, hardware.up.speed_gbps, ratio, leaf.pair, key, room, of)


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
    cages_together = intent.topology.wiring is UplinkWiring.CAGES
    ends = (leaf.block.base + leaf.block.leaves for leaf in leaves.classes if leaf.block)
    lowest = TierLayout(
        name=low.name,
        level=0,
        places=leaves.places,
        ports=ports,
        down=low.down,
        reserve=leaves.reserve(reserve.leaves) or max(groups * room, *(end * pods.rails for end in ends), 0),
        up=low.up,
        uplinks=spines.spines * pair,
        links_per_pair=pair,
        fixed_pair=fixed,
        cages_together=cages_together,
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
    above = replace(
        above,
        up=middle.up,
        uplinks=pods.uplinks,
        links_per_pair=group.links_per_pair,
        cages_together=cages_together,
    )
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
