"""From intent, node ports and hardware to the layout, tier by tier: split the ports, then count the switches.

The lowest tier is counted from the nodes, each tier above from the uplinks of the one below.
"""

from collections.abc import Iterator, Sequence
from dataclasses import replace
from itertools import product
from math import ceil

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
    """Return the layout of a fabric of one to three tiers with its diagnostics, or None and all errors.

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
    """Return the intent with one rail for each stated leaf, and the ports of its nodes.

    Both are returned as they are if rails do not follow from the leaves, or if all nodes then do not fit into one
    stripe.
    """
    with_rails = with_fewer_rails(intent)
    if with_rails is None:
        return intent, node_ports
    ports = distribute_ports(with_rails)
    if ports is None:
        return intent, node_ports
    leaves, _ = count_leaves(with_rails, ports, classes)
    if leaves is None or len(leaves.stripes) > 1:
        return intent, node_ports
    return with_rails, ports


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
    most_pods = 0
    if pods.size:
        most_pods = hardware[2].ports
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
        most_pods=most_pods,
        leaves_per_nic=intent.topology.leaves_per_nic,
    )
    return layout, reserve_diagnostics(intent, layout)


def _lay_out_tiers(
    intent: Intent, leaves: Leaves, pods: Pods, hardware: Sequence[TierHardware]
) -> tuple[tuple[TierLayout, ...], Faults]:
    """Return the tiers in numbers, or why there are none."""
    reserve = intent.topology.reserve
    reserved_pods = reserve.pods or len(pods.indexes)
    reserved_spines, diagnostics = share_out(intent, "reserve.spines", reserve.spines, reserved_pods, pods.each)
    if diagnostics:
        return (), diagnostics
    ports = place_leaf_ports(intent, leaves, reserved_spines)
    if isinstance(ports, Diagnostic):
        return (), (ports,)
    spines, diagnostics = _count_spines(intent, leaves, ports, pods, hardware)
    if spines is None:
        return (), diagnostics
    if pods.tiers == 2:
        return _tiers(intent, leaves, ports, pods, spines, None, hardware), ()
    group, diagnostics = join_pods(intent, pods, spines.spines, hardware[2])
    if diagnostics:
        return (), diagnostics
    return _tiers(intent, leaves, ports, pods, spines, group, hardware), ()


def _count_spines(
    intent: Intent, leaves: Leaves, ports: TierPorts, pods: Pods, hardware: Sequence[TierHardware]
) -> tuple[SpineTier | None, Faults]:
    """Return the spines that the uplinks of a leaf reach, and the links to each, or why there are none."""
    given, diagnostics = share_out(intent, "spine.count", intent.topology.spine.count, len(pods.indexes), pods.each)
    if diagnostics:
        return None, diagnostics
    if pods.size:
        # A pod has as many leaves as its spines have ports for, so a reserve of leaves adds none to it.
        joined_leaves = pods.size * leaves.per_stripe
        reserved_leaves = 0
    else:
        joined_leaves = leaves.indexes // pods.rails
        reserved_leaves = ceil((intent.topology.reserve.leaves or 0) / pods.rails)
    panel_uplinks = 1
    if intent.stripe_caps_split:
        panel_uplinks = leaves.panel.up
    room = SpineRoom(
        leaves=joined_leaves,
        ports=pods.ports.down,
        given=given,
        groups=len(pods.indexes),
        group=pods.each,
        blocks=pods.ports.blocks,
        reserved=reserved_leaves,
        panel_uplinks=panel_uplinks,
    )
    if leaves.uplinks is not None:
        return divide_uplinks(intent, leaves.uplinks, leaves.shared_uplinks, room)
    return multiply_pairs(intent, ports, list(_demands(intent, leaves, ports)), room)


def _demands(intent: Intent, leaves: Leaves, ports: TierPorts) -> Iterator[UplinkDemand]:
    """Yield what leaves need of their uplinks: once for all classes without a spine block, then for each other class.

    ``ports`` are those of a leaf of the first class.
    """
    ratio = asked_ratio(intent)
    first = leaves.classes[0]
    yield UplinkDemand(
        down_gbps=max(leaf.down_gbps for leaf in leaves.classes if leaf.block is None),
        uplink_gbps=first.hardware.up.speed_gbps,
        ratio=ratio,
        pair=first.pair,
        key="links_per_pair",
        room=ports.room,
    )
    for leaf in leaves.classes:
        if leaf.block is None:
            continue
        hardware = leaf.hardware
        yield UplinkDemand(
            down_gbps=leaf.down_gbps,
            uplink_gbps=hardware.up.speed_gbps,
            ratio=ratio,
            pair=leaf.pair,
            key=f"{leaf.path}.links_per_pair",
            # The directions change places: how many uplinks fit beside the downlinks.
            room=downlink_room(hardware.cages, hardware.up, hardware.down, leaf.down),
            of=f" of {leaf.name!r}",
        )


def _tiers(
    intent: Intent,
    leaves: Leaves,
    ports: TierPorts,
    pods: Pods,
    spines: SpineTier,
    group: GroupTier | None,
    hardware: Sequence[TierHardware],
) -> tuple[TierLayout, ...]:
    """Return the tiers; ``group`` are the super-spines of a group, None in two tiers."""
    leaf_hardware, spine_hardware, top_hardware = hardware
    groups = intent.topology.reserve.pods or pods.rails
    if group is not None and intent.topology.reserve.pods is None:
        groups = top_hardware.ports // group.links_per_pair
    lowest = _leaf_tier(intent, leaves, ports, pods, spines, leaf_hardware, groups)
    spine_tier = _spine_tier(intent, lowest, pods, spines, spine_hardware, groups)
    if group is None:
        return lowest, spine_tier
    spine_tier = replace(
        spine_tier,
        up=spine_hardware.up,
        uplinks=pods.uplinks,
        links_per_pair=group.links_per_pair,
        cages_together=lowest.cages_together,
    )
    return lowest, spine_tier, _super_spine_tier(spine_tier, spines, group, top_hardware)


def _leaf_tier(
    intent: Intent,
    leaves: Leaves,
    ports: TierPorts,
    pods: Pods,
    spines: SpineTier,
    hardware: TierHardware,
    groups: int,
) -> TierLayout:
    """Return the leaves; ``groups`` are the pods or rails of the reserve."""
    pod_leaves = pods.size * leaves.per_stripe
    group_leaves = pod_leaves
    if not pod_leaves:
        group_leaves = pods.ports.down // spines.links_per_pair
    most_leaves = groups * group_leaves
    for leaf in leaves.classes:
        if leaf.block:
            most_leaves = max(most_leaves, (leaf.block.base + leaf.block.leaves) * pods.rails)
    return TierLayout(
        name=hardware.name,
        level=0,
        places=leaves.places,
        ports=ports,
        down=hardware.down,
        reserve=leaves.reserve(intent.topology.reserve.leaves) or most_leaves,
        up=hardware.up,
        uplinks=spines.spines * spines.links_per_pair,
        links_per_pair=spines.links_per_pair,
        fixed_pair=leaves.uplinks is None,
        cages_together=intent.topology.wiring is UplinkWiring.CAGES,
        stride=pod_leaves,
        rails=pods.apart,
        group_size=pod_leaves,
        groups=groups,
        group_reserve=pod_leaves,
    )


def _spine_tier(
    intent: Intent, lowest: TierLayout, pods: Pods, spines: SpineTier, hardware: TierHardware, groups: int
) -> TierLayout:
    """Return the spines without links to a tier above; ``groups`` are the pods or rails of the reserve."""
    reserved = intent.topology.reserve.spines
    if reserved:
        reserved_of_group = reserved // groups
    elif lowest.fixed_pair:
        reserved_of_group = lowest.ports.room // spines.links_per_pair
    else:
        # All uplinks are connected: a spine more would move cables.
        reserved_of_group = spines.spines
    tier = TierLayout(
        name=hardware.name,
        level=1,
        places=(),
        ports=pods.ports,
        down=hardware.down,
        reserve=reserved or reserved_of_group * groups,
        stride=lowest.stride_above,
        rails=pods.apart,
        group_size=spines.spines,
        groups=groups,
        group_reserve=reserved_of_group,
    )
    places = (tier.place(pod, spine) for pod, spine in product(pods.indexes, range(spines.spines)))
    return replace(tier, places=tuple(sorted(places)))


def _super_spine_tier(below: TierLayout, spines: SpineTier, group: GroupTier, hardware: TierHardware) -> TierLayout:
    """Return the super-spines, a group for each spine of a pod; ``below`` is the tier of spines."""
    tier = TierLayout(
        name=hardware.name,
        level=2,
        places=(),
        ports=all_down(hardware.cages, hardware.down),
        down=hardware.down,
        reserve=below.group_reserve * group.members,
        stride=below.stride_above,
        group_size=group.members,
        groups=below.group_reserve,
        group_reserve=group.members,
    )
    places = (tier.place(spine, member) for spine, member in product(range(spines.spines), range(group.members)))
    return replace(tier, places=tuple(places))
