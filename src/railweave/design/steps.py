"""The design explained: every number with the formula that gives it (fabric-facts 2.1 and 2.3)."""

from collections.abc import Iterator, Sequence
from fractions import Fraction

from railweave.design.hardware import TierHardware
from railweave.design.identity import host_block_size
from railweave.design.layout import Layout, NodeGroup
from railweave.design.ratios import bandwidth_text, ratio_text
from railweave.design.room import ENDS, Growth
from railweave.fabric.hashing import NCCL_QUEUE_PAIRS, spread
from railweave.fabric.sizing import Step
from railweave.intent.model import Intent, Shape
from railweave.units import format_speed
from railweave.wording import counted


def explain(intent: Intent, layout: Layout, hardware: Sequence[TierHardware], growth: Growth) -> tuple[Step, ...]:
    """Return the steps of a design in the order in which an engineer would take them."""
    return (
        *_node_steps(layout),
        *_leaf_steps(intent, layout, hardware),
        *_stripe_steps(intent, layout),
        *_spine_steps(intent, layout, hardware),
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
    yield Step(
        "bandwidth of all nodes",
        f"{layout.node_ports} × {format_speed(layout.lowest.down.speed_gbps)}",
        bandwidth_text(layout.node_ports * layout.lowest.down.speed_gbps),
    )


def _leaf_steps(intent: Intent, layout: Layout, hardware: Sequence[TierHardware]) -> Iterator[Step]:
    low, top = layout.lowest, layout.top
    ports, down, up = low.ports, low.down, low.up
    cages = " + ".join(
        f"{count} cages × {group.per_cage} × {format_speed(group.speed_gbps)}" for count, group in ports.groups
    )
    capacity = sum(count * group.per_cage * group.speed_gbps for count, group in ports.groups)
    yield Step("leaf ports", cages, f"{ports.total} ports, {bandwidth_text(capacity)}")
    if low.fixed_pair:
        given = intent.topology.stripe
        formula = f"stripe of {given} nodes" if given else f"split at {ratio_text(layout.ratio)}"
        formula += f"; {counted(low.links_per_pair, 'link')} a pair × {counted(top.count, 'spine')}"
    elif down.speed_gbps == up.speed_gbps:
        formula = f"down ÷ up ≤ {ratio_text(layout.ratio)}, down + up ≤ {ports.total}"
    else:
        formula = (
            f"down × {format_speed(down.speed_gbps)} ÷ (up × {format_speed(up.speed_gbps)}) ≤"
            f" {ratio_text(layout.ratio)} in {hardware[0].cages} cages"
        )
    yield Step("split of a leaf", formula, f"{ports.down} down + {low.uplinks} up")


def _stripe_steps(intent: Intent, layout: Layout) -> Iterator[Step]:
    low = layout.lowest
    many = len(layout.groups) > 1
    for group in layout.groups:
        name = f" of {group.entry.name}" if many else ""
        if intent.topology.stripe:
            formula = "given"
        else:
            formula = f"⌊{low.ports.down} downlinks ÷ {counted(group.ports_per_leaf, 'port')} of a node⌋"
        yield Step(f"nodes in a stripe{name}", formula, str(group.stripe_nodes))
    yield _leaf_count_step(layout)
    uplink = low.up_gbps
    speed = format_speed(low.up.speed_gbps)
    yield Step("uplink of a leaf", f"{low.uplinks} × {speed}", bandwidth_text(uplink))
    leaves = low.count * layout.planes
    yield Step("uplink of all leaves", f"{leaves} × {bandwidth_text(uplink)}", bandwidth_text(leaves * uplink))


def _leaf_count_step(layout: Layout) -> Step:
    stripes = " + ".join(_stripes_of(group) for group in layout.groups)
    if len(layout.groups) > 1:
        stripes = f"({stripes})"
    railed = f"{layout.rails} rails × " if layout.shape is Shape.RAIL_OPTIMIZED else ""
    planes = f"{layout.planes} planes × " if layout.planes > 1 else ""
    spare = len(layout.stripes) - sum(group.stripes for group in layout.groups)
    extra = f", and {counted(spare * layout.stripe_leaves * layout.planes, 'leaf')} without nodes" if spare else ""
    return Step("leaves", f"{planes}{railed}{stripes}{extra}", str(layout.lowest.count * layout.planes))


def _stripes_of(group: NodeGroup) -> str:
    return f"⌈{group.entry.count} nodes ÷ {group.stripe_nodes}⌉"


def _spine_steps(intent: Intent, layout: Layout, hardware: Sequence[TierHardware]) -> Iterator[Step]:
    low, top = layout.lowest, layout.top
    ports, leaves = top.ports.total, low.indexes
    speed_gbps = hardware[1].down.speed_gbps
    yield Step(
        "spine ports",
        f"{hardware[1].cages} cages × {hardware[1].down.per_cage} × {format_speed(speed_gbps)}",
        f"{ports} ports, {bandwidth_text(ports * speed_gbps)}",
    )
    plane = " of a plane" if layout.planes > 1 else ""
    yield Step(f"spines{plane}", _spine_formula(intent, layout), str(top.count))
    if not low.fixed_pair:
        yield Step(
            "links of a leaf-spine pair",
            f"{low.uplinks} uplinks ÷ {top.count} spines",
            str(low.links_per_pair),
        )
    else:
        yield Step("links of a leaf-spine pair", "given", str(low.links_per_pair))
    used = leaves * low.links_per_pair
    indexed = "leaves" if leaves == low.count else "leaf indexes"  # stripes left out cost ports too
    yield Step(
        "ports in use on a spine",
        f"{leaves} {indexed} × {counted(low.links_per_pair, 'link')}",
        f"{used} of {ports}",
    )
    links = low.count * low.uplinks * layout.planes
    yield Step(
        "leaf-spine cables",
        f"{low.count * layout.planes} leaves × {low.uplinks} uplinks",
        str(links),
    )


def _spine_formula(intent: Intent, layout: Layout) -> str:
    low, top = layout.lowest, layout.top
    least = f"⌈{low.indexes} leaves × {low.uplinks} uplinks ÷ {top.ports.total} ports⌉"
    needed = -(-low.indexes * low.uplinks // top.ports.total)
    if low.fixed_pair:
        needed_gbps = Fraction(low.down_gbps) / layout.ratio
        asked = f"{low.links_per_pair} × spines × {format_speed(low.up.speed_gbps)} ≥ {float(needed_gbps):g} Gb/s"
        return f"given; {asked}" if intent.topology.spine.count else f"the least with {asked}"
    if intent.topology.spine.count:
        return f"given; at least {least} = {needed}, {low.uplinks} mod {top.count} = 0"
    return f"{least} = {needed}; the least divisor of {low.uplinks} from there on, at least 2"


def _ratio_steps(intent: Intent, layout: Layout) -> Iterator[Step]:
    low, top = layout.lowest, layout.top
    yield Step(
        "oversubscription",
        f"{bandwidth_text(low.down_gbps)} down ÷ {bandwidth_text(low.up_gbps)} up",
        ratio_text(low.ratio),
    )
    if top.count > 1:
        lost = low.ratio * top.count / (top.count - 1)
        yield Step(
            "with one spine lost",
            f"{ratio_text(low.ratio)} × {top.count} ÷ {top.count - 1}",
            ratio_text(lost),
        )
    pairs = intent.policies.hosts.queue_pairs or NCCL_QUEUE_PAIRS
    found = spread(low.ports.down, pairs, low.uplinks)
    each = f"{counted(pairs, 'queue pair')} of each of {counted(low.ports.down, 'downlink')}"
    yield Step(
        "load of a leaf's busiest uplink", f"{each} hashed onto {low.uplinks} uplinks", f"{found.load:.2f} × mean"
    )


def _reserve_steps(intent: Intent, layout: Layout, growth: Growth) -> Iterator[Step]:
    plane = " of a plane" if layout.planes > 1 else ""
    yield Step(
        f"reserve{plane}",
        _reserve_formula(intent, layout),
        f"{counted(layout.lowest.reserve, 'leaf')}, {counted(layout.top.reserve, 'spine')}",
    )
    yield Step(
        "host block of a leaf",
        f"2 addresses × {layout.lowest.ports.total} ports, rounded up to a prefix",
        f"/{32 - (host_block_size(layout) - 1).bit_length()}",
    )
    yield Step(
        "most nodes without moving a cable",
        f"{counted(growth.stripes, 'stripe')}; {ENDS[growth.first]} first",
        str(growth.nodes),
    )


def _reserve_formula(intent: Intent, layout: Layout) -> str:
    low, top = layout.lowest, layout.top
    reserve, pair = intent.topology.reserve, counted(low.links_per_pair, "link")
    leaves = "given" if reserve.leaves else f"⌊{top.ports.total} spine ports ÷ {pair}⌋"
    if reserve.spines:
        spines = "given"
    elif low.fixed_pair:
        spines = f"⌊{low.ports.room} uplink ports ÷ {pair}⌋"
    else:
        spines = "today's, all uplinks are connected"
    return f"leaves {leaves}; spines {spines}"
