"""The design explained: every number with its formula. Steps of leaves and of spines have modules of their own."""

from collections import Counter
from collections.abc import Iterator, Sequence

from railweave.design.hardware import TierHardware
from railweave.design.identity import IPV6_BLOCK_SIZE, host_block_size, nic_block_size
from railweave.design.layout import Layout, NodeGroup
from railweave.design.leaf_steps import leaf_steps, stripe_steps, switch_steps
from railweave.design.ratios import bandwidth_text, exact_ratio_text, ratio_text
from railweave.design.room import StripeGrowth, end_of_growth
from railweave.design.spine_steps import pod_steps, spine_steps, super_spine_steps
from railweave.fabric.hashing import NCCL_QUEUE_PAIRS, spread
from railweave.fabric.model import IPV6_BLOCK_LENGTH
from railweave.fabric.sizing import CONNECTED_RATIO, NO_RAILS, RAILS, SizingStep
from railweave.intent.model import Intent
from railweave.units import format_speed
from railweave.wording import counted


def explain(
    intent: Intent, layout: Layout, hardware: Sequence[TierHardware], growth: StripeGrowth
) -> tuple[SizingStep, ...]:
    """Return the steps of a design in the order in which an engineer would calculate them."""
    if not layout.spines.count:
        return (
            *_node_steps(layout),
            *switch_steps(intent, layout, hardware[0]),
            *_block_steps(intent, layout),
            _growth_step(layout, growth),
        )
    return (
        *_node_steps(layout),
        *leaf_steps(intent, layout, hardware),
        *stripe_steps(intent, layout),
        *pod_steps(intent, layout, hardware),
        *spine_steps(intent, layout),
        *super_spine_steps(intent, layout),
        *_ratio_steps(intent, layout),
        *_reserve_steps(intent, layout, growth),
    )


def _node_steps(layout: Layout) -> Iterator[SizingStep]:
    """Yield the ports, bandwidth and rails of nodes, and what bandwidth is left after the loss of a plane or leaf."""
    for group in layout.groups:
        yield from _group_steps(layout, group)
    ports_at: Counter[int] = Counter()
    total_gbps = 0
    for group in layout.groups:
        speed_gbps = group.entry.nics.speed_gbps
        ports = group.entry.count * group.ports_per_plane * layout.planes
        ports_at[speed_gbps] += ports
        total_gbps += ports * speed_gbps
    terms = [f"{ports} × {format_speed(speed_gbps)}" for speed_gbps, ports in ports_at.items()]
    yield SizingStep("bandwidth of all nodes", " + ".join(terms), bandwidth_text(total_gbps))
    yield from _rails_step(layout)
    if layout.planes > 1:
        yield _lost_plane_step(layout, total_gbps)
    if layout.leaves_per_nic > 1:
        yield _lost_leaf_step(layout)


def _group_steps(layout: Layout, group: NodeGroup) -> Iterator[SizingStep]:
    """Yield the ports and the bandwidth of the nodes of an entry."""
    nics = group.entry.nics
    nodes = group.entry.count
    ports_of_nic = len(nics.own_ports)
    ports_of_node = nics.count * ports_of_nic
    speed = format_speed(nics.speed_gbps)
    of_entry = ""
    if len(layout.groups) > 1:
        of_entry = f" of {group.entry.name}"
    yield SizingStep(
        f"node ports{of_entry}",
        f"{nodes} nodes × {nics.count} NICs × {counted(ports_of_nic, 'port')}",
        f"{nodes * ports_of_node} × {speed}",
    )
    yield SizingStep(
        f"bandwidth of a node{of_entry}",
        f"{ports_of_node} × {speed}",
        bandwidth_text(ports_of_node * nics.speed_gbps),
    )


def _lost_plane_step(layout: Layout, total_gbps: int) -> SizingStep:
    """Return what bandwidth of all nodes is left after the loss of a plane."""
    planes = layout.planes
    # Every NIC has as many ports in each plane, so each loses the same part and no node is cut off.
    left_gbps = total_gbps * (planes - 1) // planes
    return SizingStep(
        "with one plane lost",
        f"{bandwidth_text(total_gbps)} × {planes - 1} ÷ {planes}",
        f"{bandwidth_text(left_gbps)}, {100 * (planes - 1) / planes:.3g} % of every NIC",
    )


def _lost_leaf_step(layout: Layout) -> SizingStep:
    """Return what part of a NIC is left after the loss of one of the leaves that share it."""
    leaves = layout.leaves_per_nic
    ports = layout.planes * leaves
    sharing = f"{counted(leaves, 'leaf')} share a NIC"
    left_text = f"{100 * (ports - 1) / ports:.3g} % of the NICs below it"
    if layout.planes > 1:
        sharing += f" in each of {layout.planes} planes"
        left_text += f": {leaves - 1} of {leaves} in its plane"
    return SizingStep("with one leaf lost", sharing, left_text)


def _rails_step(layout: Layout) -> Iterator[SizingStep]:
    """Yield the number of rails if it is not the number of NICs of a node, or why there are none."""
    if not layout.shape.has_rails:
        ports = "all ports"
        if layout.planes > 1:
            ports = "all ports of a plane"
        leaves = "one leaf"
        if layout.leaves_per_nic > 1:
            leaves = f"the {layout.leaves_per_nic} leaves of its rack"
        yield SizingStep(RAILS, f"rack-aligned: {ports} of a node on {leaves}", NO_RAILS)
        return
    nics = layout.groups[0].entry.nics.count
    if layout.rails != nics:
        formula = f"{counted(nics, 'NIC')} of a node on {counted(layout.rails, 'rail')}"
        yield SizingStep(RAILS, formula, str(layout.rails))


def _ratio_steps(intent: Intent, layout: Layout) -> Iterator[SizingStep]:
    """Yield the oversubscription of leaves, also with one spine lost, and the load of a leaf's busiest uplink."""
    lowest = layout.lowest
    spines = layout.spines.group_size
    yield SizingStep(
        "oversubscription",
        f"{bandwidth_text(lowest.down_gbps)} down ÷ {bandwidth_text(lowest.up_gbps)} up",
        ratio_text(lowest.ratio),
    )
    yield from _class_ratio_steps(layout)
    yield from _connected_steps(layout)
    worst = layout.worst_ratio
    if spines > 1:
        ratio_after_loss = worst * spines / (spines - 1)
        yield SizingStep(
            "with one spine lost",
            f"{ratio_text(worst)} × {spines} ÷ {spines - 1}",
            ratio_text(ratio_after_loss),
        )
    pairs = intent.policies.hosts.queue_pairs or NCCL_QUEUE_PAIRS
    hashed = f"{counted(pairs, 'queue pair')} of each of {counted(lowest.ports.down, 'downlink')} hashed onto"
    busiest = spread(lowest.ports.down, pairs, lowest.uplinks).load
    yield SizingStep("load of a leaf's busiest uplink", f"{hashed} {lowest.uplinks} uplinks", f"{busiest:.2f} × mean")


def _class_ratio_steps(layout: Layout) -> Iterator[SizingStep]:
    """Yield the ratio of leaves of each class with uplinks of its own, and the bandwidth between them and other leaves.

    Paths of equal cost carry equal shares, so the slower of two leaves limits each path.
    """
    first = layout.classes[0]
    spines = layout.spines.group_size
    for leaf in layout.classes:
        if leaf.has_uplinks_of(first):
            continue
        formula = f"{bandwidth_text(leaf.down_gbps)} down ÷ {bandwidth_text(leaf.up_gbps)} up"
        yield SizingStep(f"oversubscription of a leaf of {leaf.name}", formula, ratio_text(leaf.ratio))
        links = " and ".join(f"{side.pair} × {format_speed(side.hardware.up.speed_gbps)}" for side in (first, leaf))
        yield SizingStep(
            f"between a leaf of {leaf.name} and one of topology.leaf",
            f"{counted(spines, 'spine')} × the lesser of {links}, on paths of equal cost",
            bandwidth_text(spines * min(first.pair_gbps, leaf.pair_gbps)),
        )


def _connected_steps(layout: Layout) -> Iterator[SizingStep]:
    """Yield the highest oversubscription of a leaf by its connected ports, if it differs from that by all its ports."""
    group = max(layout.groups, key=layout.connected_ratio)
    leaf = layout.classes[group.leaf]
    ratio = layout.connected_ratio(group)
    if ratio != layout.worst_ratio:
        formula = f"{bandwidth_text(layout.connected_gbps(group))} down ÷ {bandwidth_text(leaf.up_gbps)} up"
        yield SizingStep(CONNECTED_RATIO, formula, exact_ratio_text(ratio))


def _reserve_steps(intent: Intent, layout: Layout, growth: StripeGrowth) -> Iterator[SizingStep]:
    """Yield the reserve, the blocks of addresses that follow from it, and how far the fabric can grow."""
    name = "reserve"
    if layout.planes > 1:
        name = "reserve of a plane"
    switches = f"{counted(layout.lowest.reserve, 'leaf')}, {counted(layout.spines.reserve, 'spine')}"
    if layout.pod:
        switches = f"{counted(layout.spines.groups, 'pod')}, {switches}"
    yield SizingStep(name, _reserve_formula(intent, layout), switches)
    yield from _block_steps(intent, layout)
    yield _growth_step(layout, growth)


def _block_steps(intent: Intent, layout: Layout) -> Iterator[SizingStep]:
    """Yield the prefix lengths of the blocks of addresses of a leaf."""
    addressing = intent.policies.addressing
    if addressing.hosts is not None:
        yield SizingStep(
            "host block of a leaf",
            f"2 addresses × {layout.lowest.ports.total} ports, rounded up to a prefix",
            f"/{32 - (host_block_size(layout) - 1).bit_length()}",
        )
    if layout.leaves_per_nic > 1:
        each = counted(layout.leaves_per_nic, "leaf")
        size = nic_block_size(layout)
        yield SizingStep(
            f"NIC addresses of {each}",
            f"1 address × {layout.lowest.ports.total} ports, rounded up to a prefix; a /32 announced for each",
            f"/{32 - (size - 1).bit_length()}",
        )
    pool = addressing.hosts_ipv6
    if pool is not None:
        blocks = pool.size // IPV6_BLOCK_SIZE
        yield SizingStep("IPv6 block of a leaf", f"one of {blocks} in {pool}", f"/{IPV6_BLOCK_LENGTH}")


def _growth_step(layout: Layout, growth: StripeGrowth) -> SizingStep:
    return SizingStep(
        "max. nodes without recabling",
        f"{counted(growth.stripes, 'stripe')}; {end_of_growth(layout, growth.first)} first",
        str(growth.nodes),
    )


def _reserve_formula(intent: Intent, layout: Layout) -> str:
    """Return the rules for the pods, leaves and spines of the reserve."""
    lowest = layout.lowest
    spines = layout.spines
    reserve = intent.topology.reserve
    pair = counted(lowest.links_per_pair, "link")
    rails = ""
    if lowest.rails:
        rails = f"{counted(layout.rails, 'rail')} × "
    parts = []
    if layout.super_spines is not None and not reserve.pods:
        links_above = counted(spines.links_per_pair, "link")
        parts.append(f"pods ⌊{layout.super_spines.ports.total} super-spine ports ÷ {links_above}⌋")
    elif layout.pod:
        parts.append("pods from the intent")
    if reserve.leaves:
        parts.append("leaves from the intent")
    elif layout.pod:
        parts.append(f"leaves {counted(spines.groups, 'pod')} × {layout.pod_leaves}")
    else:
        parts.append(f"leaves {rails}⌊{spines.ports.down} spine ports ÷ {pair}⌋")
    if reserve.spines:
        parts.append("spines from the intent")
    elif lowest.fixed_pair:
        parts.append(f"spines {rails}⌊{lowest.ports.room} uplink ports ÷ {pair}⌋")
    else:
        parts.append("no free uplinks for more spines")
    return "; ".join(parts)
