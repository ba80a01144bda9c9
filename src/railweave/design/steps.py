"""The design explained: every number with the formula that gives it (fabric-facts 2.1 and 2.3)."""

from collections.abc import Iterator, Sequence
from fractions import Fraction
from typing import NamedTuple

from railweave.design.hardware import TierHardware
from railweave.design.identity import IPV6_BLOCK_SIZE, host_block_size, nic_block_size
from railweave.design.layout import Layout, NodeGroup
from railweave.design.pods import spine_ratio
from railweave.design.ratios import bandwidth_text, ratio_text
from railweave.design.room import Growth, end_of_growth
from railweave.design.split import TierPorts, automatic_split
from railweave.fabric.hashing import NCCL_QUEUE_PAIRS, spread
from railweave.fabric.model import IPV6_BLOCK_LENGTH
from railweave.fabric.sizing import Step
from railweave.intent.model import Intent
from railweave.units import format_speed
from railweave.wording import counted


def explain(intent: Intent, layout: Layout, hardware: Sequence[TierHardware], growth: Growth) -> tuple[Step, ...]:
    """Return the steps of a design in the order in which an engineer would take them."""
    if not layout.spines.count:
        return (
            *_node_steps(layout),
            *_switch_steps(intent, layout, hardware[0]),
            *_block_steps(intent, layout),
            _growth_step(layout, growth),
        )
    return (
        *_node_steps(layout),
        *_leaf_steps(intent, layout, hardware),
        *_stripe_steps(intent, layout),
        *_pod_steps(intent, layout, hardware),
        *_spine_steps(intent, layout, hardware),
        *_super_spine_steps(intent, layout, hardware),
        *_ratio_steps(intent, layout),
        *_reserve_steps(intent, layout, growth),
    )


def _node_steps(layout: Layout) -> Iterator[Step]:
    for group in layout.groups:
        nics, count = group.entry.nics, group.entry.count
        ports = nics.count * nics.ports
        speed = format_speed(nics.speed_gbps)
        of_node = f"{nics.count} NICs × {nics.ports} port{'s' if nics.ports > 1 else ''}"
        name = "" if len(layout.groups) == 1 else f" of {group.entry.name}"
        yield Step(f"node ports{name}", f"{count} nodes × {of_node}", f"{count * ports} × {speed}")
        yield Step(f"bandwidth of a node{name}", f"{ports} × {speed}", bandwidth_text(ports * nics.speed_gbps))
    by_speed: dict[int, int] = {}
    for group in layout.groups:
        speed_gbps, ports = group.entry.nics.speed_gbps, group.entry.count * group.ports_per_plane * layout.planes
        by_speed[speed_gbps] = by_speed.get(speed_gbps, 0) + ports
    yield Step(
        "bandwidth of all nodes",
        " + ".join(f"{ports} × {format_speed(speed_gbps)}" for speed_gbps, ports in by_speed.items()),
        bandwidth_text(total_gbps := sum(ports * speed_gbps for speed_gbps, ports in by_speed.items())),
    )
    if (planes := layout.planes) > 1:
        # Every NIC has as many ports in each plane, so each loses the same part and no node is cut off.
        left_gbps = total_gbps * (planes - 1) // planes
        yield Step(
            "with one plane lost",
            f"{bandwidth_text(total_gbps)} × {planes - 1} ÷ {planes}",
            f"{bandwidth_text(left_gbps)}, {100 * (planes - 1) / planes:.3g} % of every NIC",
        )
    if (leaves := layout.leaves_per_nic) > 1:
        ports = planes * leaves
        left = "of the NICs below it" if planes == 1 else f"of the NICs below it: {leaves - 1} of {leaves} in its plane"
        yield Step(
            "with one leaf lost",
            f"{counted(leaves, 'leaf')} share a NIC{f' in each of {planes} planes' if planes > 1 else ''}",
            f"{100 * (ports - 1) / ports:.3g} % {left}",
        )


def _switch_steps(intent: Intent, layout: Layout, hardware: TierHardware) -> Iterator[Step]:
    """Yield what the one switch of a rail holds."""
    low, (group,) = layout.lowest, layout.groups
    speed, total, used = format_speed(low.down.speed_gbps), low.ports.total, group.entry.count * group.ports_per_leaf
    cages = f"{hardware.cages} cages × {hardware.down.per_cage} × {speed}"
    yield Step("leaf ports", cages, f"{total} ports, {bandwidth_text(low.down_gbps)}")
    each = counted(group.ports_per_leaf, "port")
    formula = "given" if intent.topology.stripe else f"⌊{total} ports ÷ {each} of a node⌋"
    yield Step("nodes of one switch", formula, str(group.stripe_nodes))
    why = "given" if intent.topology.tiers else f"{group.entry.count} nodes ≤ {group.stripe_nodes} of one switch a rail"
    yield Step("tiers", why, "1")
    yield Step("ports in use on a leaf", f"{counted(group.entry.count, 'node')} × {each}", f"{used} of {total}")
    planes = f" × {layout.planes} planes" if layout.planes > 1 else ""
    yield Step("leaves", f"{counted(layout.rails, 'rail')} × 1 switch{planes}", str(low.count * layout.planes))


def _leaf_steps(intent: Intent, layout: Layout, hardware: Sequence[TierHardware]) -> Iterator[Step]:
    low, top = layout.lowest, layout.spines
    ports = low.ports
    yield _panel_step("leaf ports", ports)
    if low.fixed_pair:
        given = intent.topology.stripe
        formula = f"stripe of {given} nodes" if given else f"split at {ratio_text(layout.ratio)}"
        formula += f"; {counted(low.links_per_pair, 'link')} a pair × {counted(top.group_size, 'spine')}"
    else:
        formula = _split_formula(hardware[0], layout.ratio)
    yield Step("split of a leaf", formula, f"{ports.down} down + {low.uplinks} up")
    for group in layout.groups:
        if group.leaf:
            own, name, uplinks = group.leaf, group.entry.name, layout.uplinks_of(group)
            yield _panel_step(f"ports of a leaf of {name}", own.ports)
            most = bandwidth_text(low.down_gbps)
            formula = f"{low.uplinks} up as on every leaf; down ≤ {most} and the ports of topology.leaf"
            if low.fixed_pair and intent.topology.stripe:
                formula = f"stripe of {group.stripe_nodes} nodes"
            elif own.block:
                formula = f"split at {ratio_text(layout.ratio)}"
            if own.block:
                pair = counted(own.block.pair, "link")
                formula += f"; {pair} a pair × {counted(top.group_size, 'spine')}"
            yield Step(f"split of a leaf of {name}", formula, f"{own.downlinks} down + {uplinks} up")


def _panel_step(name: str, ports: TierPorts) -> Step:
    cages = " + ".join(
        f"{count} cages × {group.per_cage} × {format_speed(group.speed_gbps)}" for count, group in ports.groups
    )
    capacity = sum(count * group.per_cage * group.speed_gbps for count, group in ports.groups)
    return Step(name, cages, f"{ports.total} ports, {bandwidth_text(capacity)}")


def _split_formula(hardware: TierHardware, ratio: Fraction) -> str:
    down, up = hardware.down, hardware.up
    if down.speed_gbps == up.speed_gbps:
        return f"down ÷ up ≤ {ratio_text(ratio)}, down + up ≤ {hardware.ports}"
    return (
        f"down × {format_speed(down.speed_gbps)} ÷ (up × {format_speed(up.speed_gbps)}) ≤ {ratio_text(ratio)} in"
        f" {hardware.cages} cages"
    )


def _stripe_steps(intent: Intent, layout: Layout) -> Iterator[Step]:
    low = layout.lowest
    many = len(layout.groups) > 1
    for group in layout.groups:
        name = f" of {group.entry.name}" if many else ""
        if intent.topology.stripe:
            formula = "given"
        else:
            down = group.leaf.downlinks if group.leaf else low.ports.down
            formula = f"⌊{down} downlinks ÷ {counted(group.ports_per_leaf, 'port')} of a node⌋"
        yield Step(f"nodes in a stripe{name}", formula, str(group.stripe_nodes))
    yield _leaf_count_step(layout)
    for one in (kinds := _uplink_kinds(layout)):
        yield Step(
            f"uplink of a leaf{one.of}", f"{one.uplinks} × {format_speed(one.speed_gbps)}", bandwidth_text(one.gbps)
        )
    formula = " + ".join(f"{one.leaves} × {bandwidth_text(one.gbps)}" for one in kinds)
    yield Step("uplink of all leaves", formula, bandwidth_text(sum(one.leaves * one.gbps for one in kinds)))


class _UplinkKind(NamedTuple):
    """Leaves with uplinks of one number and speed, over all planes; ``of`` names the nodes whose they are."""

    of: str
    leaves: int
    uplinks: int
    speed_gbps: int

    @property
    def gbps(self) -> int:
        """Return the bandwidth of the uplinks of one of them."""
        return self.uplinks * self.speed_gbps


def _uplink_kinds(layout: Layout) -> tuple[_UplinkKind, ...]:
    """Return the leaves of all, then those of every entry whose uplinks are its own."""
    low, planes = layout.lowest, layout.planes
    own = tuple(
        _UplinkKind(
            f" of {one.entry.name}",
            layout.leaves_of(one) * planes,
            layout.uplinks_of(one),
            one.leaf.hardware.up.speed_gbps,
        )
        for one in layout.groups
        if one.leaf and one.leaf.block
    )
    others = low.count * planes - sum(one.leaves for one in own)
    return _UplinkKind("", others, low.uplinks, low.up.speed_gbps), *own


def _leaf_count_step(layout: Layout) -> Step:
    stripes = " + ".join(_stripes_of(group) for group in layout.groups)
    if len(layout.groups) > 1:
        stripes = f"({stripes})"
    railed = f"{layout.rails} rails × " if layout.shape.has_rails else ""
    if layout.leaves_per_nic > 1:
        railed += f"{layout.leaves_per_nic} leaves a NIC × "
    planes = f"{layout.planes} planes × " if layout.planes > 1 else ""
    spare = len(layout.stripes) - sum(group.stripes for group in layout.groups)
    extra = f", and {counted(spare * layout.stripe_leaves * layout.planes, 'leaf')} without nodes" if spare else ""
    return Step("leaves", f"{planes}{railed}{stripes}{extra}", str(layout.lowest.count * layout.planes))


def _stripes_of(group: NodeGroup) -> str:
    return f"⌈{group.entry.count} nodes ÷ {group.stripe_nodes}⌉"


def _pod_steps(intent: Intent, layout: Layout, hardware: Sequence[TierHardware]) -> Iterator[Step]:
    """Yield why there is a third tier, or ports for one, and what a pod holds."""
    if not layout.pod:
        return
    spines, topology, cages = layout.spines, intent.topology, hardware[1]
    if layout.super_spines is None:
        why = "reserve.pods keeps the uplinks of spines free"
    elif topology.tiers == 3:
        why = "given"
    elif topology.reserve.pods:
        why = f"{counted(layout.lowest.indexes, 'leaf')} > {layout.pod_leaves} of one pod (reserve.pods)"
    elif layout.lowest.indexes > cages.ports:
        why = f"{layout.lowest.indexes} leaves > {cages.ports} ports of a spine: two tiers are too few"
    else:
        why = f"workload.growth needs more leaves than the {cages.ports} ports of a spine: two tiers are too few"
    yield Step("tiers", why, str(len(layout.tiers)))
    split = _split_formula(cages, spine_ratio(intent))
    yield Step("split of a spine", split, f"{spines.ports.down} down + {_spine_uplinks(layout, hardware, intent)} up")
    pair = intent.topology.links_per_pair or 1
    formula = "given" if topology.pod else _pod_formula(layout, pair)
    leaves = counted(layout.pod_leaves, "leaf")
    yield Step("stripes of a pod", formula, f"{layout.pod}, {leaves}")
    plane = " of a plane" if layout.planes > 1 else ""
    yield Step(f"pods{plane}", f"⌈{counted(len(layout.stripes), 'stripe')} ÷ {layout.pod}⌉", str(len(layout.pods)))


def _spine_uplinks(layout: Layout, hardware: Sequence[TierHardware], intent: Intent) -> int:
    spine = hardware[1]
    split = automatic_split(spine.cages, spine.down, spine.up, spine_ratio(intent))
    return layout.spines.uplinks or (split.up if split else 0)


def _pod_formula(layout: Layout, pair: int) -> str:
    leaves, down = layout.stripe_leaves, layout.spines.ports.down
    most = f"⌊{down} ports down ÷ ({counted(leaves, 'leaf')} × {counted(pair, 'link')})⌋"
    if layout.pod == down // (leaves * pair):
        return most
    return f"the most up to {most} with {counted(layout.spines.count, 'spine')} shared out evenly"


def _spine_steps(intent: Intent, layout: Layout, hardware: Sequence[TierHardware]) -> Iterator[Step]:
    low, spines = layout.lowest, layout.spines
    ports, leaves, down = spines.ports.down, layout.joined_leaves, " down" if layout.pod else ""
    yield _panel_step("spine ports", spines.ports)
    yield Step(f"spines{layout.of_spines}", _spine_formula(intent, layout), str(spines.group_size))
    if layout.super_spines or low.rails:
        planes = f" × {layout.planes} planes" if layout.planes > 1 else ""
        formula = f"{counted(len(layout.pods), 'rail' if low.rails else 'pod')} × {spines.group_size}{planes}"
        yield Step("spines", formula, str(spines.count * layout.planes))
    if not low.fixed_pair:
        yield Step(
            "links of a leaf-spine pair",
            f"{low.uplinks} uplinks ÷ {spines.group_size} spines",
            str(low.links_per_pair),
        )
    else:
        yield Step("links of a leaf-spine pair", "given", str(low.links_per_pair))
    used = leaves * low.links_per_pair
    whole = layout.pod or low.indexes == low.count
    indexed = "leaves" if whole else "leaf indexes"  # stripes left out cost ports too
    yield Step(
        f"ports{down} in use on a spine",
        f"{leaves} {indexed} × {counted(low.links_per_pair, 'link')}",
        f"{used} of {ports}",
    )
    yield from _block_of_spine_steps(layout)
    yield Step(
        "leaf-spine cables",
        " + ".join(f"{one.leaves} leaves × {one.uplinks} uplinks" for one in _uplink_kinds(layout)),
        str(layout.leaf_spine_links * layout.planes),
    )


def _block_of_spine_steps(layout: Layout) -> Iterator[Step]:
    """Yield the ports that a spine keeps apart for the leaves of some entries."""
    for group in layout.groups:
        block = group.spine_block
        if block is not None:
            name, cages = group.entry.name, f"{counted(block.cages, 'cage')} × {block.breakout.per_cage}"
            links = f"{block.leaves} leaves of the reserve × {counted(block.pair, 'link')}"
            ports = f"ports {block.first + 1} to {block.first + block.ports}"
            speed = format_speed(block.breakout.speed_gbps)
            yield Step(f"ports of a spine for leaves of {name}", links, f"{ports}, {cages} × {speed}")


def _spine_formula(intent: Intent, layout: Layout) -> str:
    low, spines = layout.lowest, layout.spines
    leaves, ports = layout.joined_leaves, f"{spines.ports.down} ports{' down' if layout.pod else ''}"
    least = f"⌈{leaves} leaves × {low.uplinks} uplinks ÷ {ports}⌉"
    needed = -(-leaves * low.uplinks // spines.ports.down)
    if low.fixed_pair:
        demands = [(low.down_gbps, low.links_per_pair, low.up.speed_gbps)]
        own = [one.leaf for one in layout.groups if one.leaf]
        demands += [(one.down_gbps, one.block.pair, one.hardware.up.speed_gbps) for one in own if one.block]
        down_gbps, pair, up_gbps = max(demands, key=lambda one: Fraction(one[0], one[1] * one[2]))
        needed_gbps = Fraction(down_gbps) / layout.ratio
        asked = f"{pair} × spines × {format_speed(up_gbps)} ≥ {float(needed_gbps):g} Gb/s"
        return f"given; {asked}" if intent.topology.spine.count else f"the least with {asked}"
    if intent.topology.spine.count:
        return f"given; at least {least} = {needed}, {low.uplinks} mod {spines.group_size} = 0"
    return f"{least} = {needed}; the least divisor of {low.uplinks} from there on, at least 2"


def _super_spine_steps(intent: Intent, layout: Layout, hardware: Sequence[TierHardware]) -> Iterator[Step]:
    spines, top = layout.spines, layout.super_spines
    if top is None:
        return
    ports = top.ports.total
    yield _panel_step("super-spine ports", top.ports)
    pods = max(layout.pods[-1] + 1, intent.topology.reserve.pods or 0)
    kept = "pods of the reserve" if pods == intent.topology.reserve.pods else "pods"
    least = f"⌈{pods} {kept} × {spines.uplinks} uplinks ÷ {ports} ports⌉ = {-(-pods * spines.uplinks // ports)}"
    given = intent.topology.super_spine is not None and intent.topology.super_spine.count is not None
    rule = f"given; at least {least}" if given else f"{least}; the least divisor of {spines.uplinks} from there on"
    yield Step("super-spines of a group", rule, str(top.group_size))
    planes = f" × {layout.planes} planes" if layout.planes > 1 else ""
    groups = f"{spines.group_size} groups, one for each spine of a pod, × {top.group_size}{planes}"
    yield Step("super-spines", groups, str(top.count * layout.planes))
    yield Step(
        "links of a spine-super-spine pair",
        f"{spines.uplinks} uplinks ÷ {counted(top.group_size, 'super-spine')} of its group",
        str(spines.links_per_pair),
    )
    yield Step(
        "spine-super-spine cables",
        f"{spines.count * layout.planes} spines × {spines.uplinks} uplinks",
        str(spines.count * spines.uplinks * layout.planes),
    )
    yield Step(
        "oversubscription of a spine",
        f"{bandwidth_text(spines.down_gbps)} down ÷ {bandwidth_text(spines.up_gbps)} up",
        ratio_text(spines.ratio),
    )


def _ratio_steps(intent: Intent, layout: Layout) -> Iterator[Step]:
    low, top = layout.lowest, layout.spines
    yield Step(
        "oversubscription",
        f"{bandwidth_text(low.down_gbps)} down ÷ {bandwidth_text(low.up_gbps)} up",
        ratio_text(low.ratio),
    )
    yield from _own_ratio_steps(layout)
    worst = layout.worst_ratio
    if top.group_size > 1:
        lost = worst * top.group_size / (top.group_size - 1)
        yield Step(
            "with one spine lost",
            f"{ratio_text(worst)} × {top.group_size} ÷ {top.group_size - 1}",
            ratio_text(lost),
        )
    pairs = intent.policies.hosts.queue_pairs or NCCL_QUEUE_PAIRS
    found = spread(low.ports.down, pairs, low.uplinks)
    each = f"{counted(pairs, 'queue pair')} of each of {counted(low.ports.down, 'downlink')}"
    yield Step(
        "load of a leaf's busiest uplink", f"{each} hashed onto {low.uplinks} uplinks", f"{found.load:.2f} × mean"
    )


def _own_ratio_steps(layout: Layout) -> Iterator[Step]:
    """Yield the ratio of leaves with uplinks of their own, and what they and the others carry between them: each
    spine has the same links to a leaf, so that paths of equal cost carry equal parts, up to the slower leaf's."""
    low, spines = layout.lowest, layout.spines.group_size
    for group in layout.groups:
        own = group.leaf
        if own is None or own.block is None:
            continue
        name, up_gbps = group.entry.name, own.pair_gbps(0) * spines
        formula = f"{bandwidth_text(own.down_gbps)} down ÷ {bandwidth_text(up_gbps)} up"
        yield Step(f"oversubscription of a leaf of {name}", formula, ratio_text(layout.ratio_of(group)))
        each = (low.links_per_pair, low.up.speed_gbps), (own.block.pair, own.hardware.up.speed_gbps)
        least = " and ".join(f"{pair} × {format_speed(gbps)}" for pair, gbps in each)
        least_gbps = spines * min(pair * gbps for pair, gbps in each)
        yield Step(
            f"between a leaf of {name} and one of topology.leaf",
            f"{counted(spines, 'spine')} × the lesser of {least}, on paths of equal cost",
            bandwidth_text(least_gbps),
        )


def _reserve_steps(intent: Intent, layout: Layout, growth: Growth) -> Iterator[Step]:
    plane = " of a plane" if layout.planes > 1 else ""
    pods = f"{counted(layout.spines.groups, 'pod')}, " if layout.pod else ""
    yield Step(
        f"reserve{plane}",
        _reserve_formula(intent, layout),
        f"{pods}{counted(layout.lowest.reserve, 'leaf')}, {counted(layout.spines.reserve, 'spine')}",
    )
    yield from _block_steps(intent, layout)
    yield _growth_step(layout, growth)


def _block_steps(intent: Intent, layout: Layout) -> Iterator[Step]:
    addressing = intent.policies.addressing
    if addressing.hosts is not None:
        yield Step(
            "host block of a leaf",
            f"2 addresses × {layout.lowest.ports.total} ports, rounded up to a prefix",
            f"/{32 - (host_block_size(layout) - 1).bit_length()}",
        )
    if layout.leaves_per_nic > 1:
        each, size = counted(layout.leaves_per_nic, "leaf"), nic_block_size(layout)
        yield Step(
            f"NIC addresses of {each}",
            f"1 address × {layout.lowest.ports.total} ports, rounded up to a prefix; a /32 announced for each",
            f"/{32 - (size - 1).bit_length()}",
        )
    if (pool := addressing.hosts_ipv6) is not None:
        held = pool.size // IPV6_BLOCK_SIZE
        yield Step("IPv6 block of a leaf", f"one of {held} in {pool}", f"/{IPV6_BLOCK_LENGTH}")


def _growth_step(layout: Layout, growth: Growth) -> Step:
    return Step(
        "most nodes without moving a cable",
        f"{counted(growth.stripes, 'stripe')}; {end_of_growth(layout, growth.first)} first",
        str(growth.nodes),
    )


def _reserve_formula(intent: Intent, layout: Layout) -> str:
    low, top = layout.lowest, layout.spines
    reserve, pair = intent.topology.reserve, counted(low.links_per_pair, "link")
    if layout.pod:
        leaves = "given" if reserve.leaves else f"{counted(top.groups, 'pod')} × {layout.pod_leaves}"
    else:
        rails = f"{counted(layout.rails, 'rail')} × " if low.rails else ""
        leaves = "given" if reserve.leaves else f"{rails}⌊{top.ports.down} spine ports ÷ {pair}⌋"
    if reserve.spines:
        spines = "given"
    elif low.fixed_pair:
        rails = f"{counted(layout.rails, 'rail')} × " if low.rails else ""
        spines = f"{rails}⌊{low.ports.room} uplink ports ÷ {pair}⌋"
    else:
        spines = "today's, all uplinks are connected"
    if layout.super_spines is None or reserve.pods:
        pods = "pods given; " if layout.pod else ""
    else:
        link = counted(top.links_per_pair, "link")
        pods = f"pods ⌊{layout.super_spines.ports.total} super-spine ports ÷ {link}⌋; "
    return f"{pods}leaves {leaves}; spines {spines}"
