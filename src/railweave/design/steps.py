"""The design explained: every number with the formula that gives it (fabric-facts 2.1 and 2.3)."""

from collections.abc import Iterator
from fractions import Fraction

from railweave.design.hardware import Hardware
from railweave.design.identity import host_block_size
from railweave.design.layout import Layout, NodeGroup
from railweave.design.limits import ENDS, Growth
from railweave.design.ratios import bandwidth_text, count_text, ratio_text
from railweave.fabric.sizing import Step
from railweave.intent.model import Intent, Shape
from railweave.units import format_speed


def explain(intent: Intent, layout: Layout, hardware: Hardware, growth: Growth) -> tuple[Step, ...]:
    """Return the steps of a design in the order in which an engineer would take them."""
    return (
        *_node_steps(layout),
        *_leaf_steps(intent, layout, hardware),
        *_stripe_steps(intent, layout),
        *_spine_steps(intent, layout, hardware),
        *_ratio_steps(layout),
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
        f"{layout.node_ports} × {format_speed(layout.down.speed_gbps)}",
        bandwidth_text(layout.node_ports * layout.down.speed_gbps),
    )


def _leaf_steps(intent: Intent, layout: Layout, hardware: Hardware) -> Iterator[Step]:
    ports, down, up = layout.leaf_ports, layout.down, layout.up
    cages = " + ".join(
        f"{count} cages × {group.per_cage} × {format_speed(group.speed_gbps)}" for count, group in ports.groups
    )
    capacity = sum(count * group.per_cage * group.speed_gbps for count, group in ports.groups)
    yield Step("leaf ports", cages, f"{ports.total} ports, {bandwidth_text(capacity)}")
    if layout.fixed_pair:
        given = intent.topology.stripe
        formula = f"stripe of {given} nodes" if given else f"split at {ratio_text(layout.ratio)}"
        formula += f"; {count_text(layout.links_per_pair, 'link')} a pair × {count_text(layout.spines, 'spine')}"
    elif down.speed_gbps == up.speed_gbps:
        formula = f"down ÷ up ≤ {ratio_text(layout.ratio)}, down + up ≤ {ports.total}"
    else:
        formula = (
            f"down × {format_speed(down.speed_gbps)} ÷ (up × {format_speed(up.speed_gbps)}) ≤"
            f" {ratio_text(layout.ratio)} in {hardware.leaf_cages} cages"
        )
    yield Step("split of a leaf", formula, f"{ports.down} down + {layout.uplinks} up")


def _stripe_steps(intent: Intent, layout: Layout) -> Iterator[Step]:
    many = len(layout.groups) > 1
    for group in layout.groups:
        name = f" of {group.entry.name}" if many else ""
        if intent.topology.stripe:
            formula = "given"
        else:
            formula = f"⌊{layout.leaf_ports.down} downlinks ÷ {count_text(group.ports_per_leaf, 'port')} of a node⌋"
        yield Step(f"nodes in a stripe{name}", formula, str(group.stripe_nodes))
    yield _leaf_count_step(layout)
    uplink = layout.up_gbps
    speed = format_speed(layout.up.speed_gbps)
    yield Step("uplink of a leaf", f"{layout.uplinks} × {speed}", bandwidth_text(uplink))
    leaves = layout.leaves * layout.planes
    yield Step("uplink of all leaves", f"{leaves} × {bandwidth_text(uplink)}", bandwidth_text(leaves * uplink))


def _leaf_count_step(layout: Layout) -> Step:
    stripes = " + ".join(_stripes_of(group) for group in layout.groups)
    if len(layout.groups) > 1:
        stripes = f"({stripes})"
    railed = f"{layout.rails} rails × " if layout.shape is Shape.RAIL_OPTIMIZED else ""
    planes = f"{layout.planes} planes × " if layout.planes > 1 else ""
    spare = len(layout.stripes) - sum(group.stripes for group in layout.groups)
    extra = f", and {count_text(spare * layout.stripe_leaves * layout.planes, 'leaf')} without nodes" if spare else ""
    return Step("leaves", f"{planes}{railed}{stripes}{extra}", str(layout.leaves * layout.planes))


def _stripes_of(group: NodeGroup) -> str:
    return f"⌈{group.entry.count} nodes ÷ {group.stripe_nodes}⌉"


def _spine_steps(intent: Intent, layout: Layout, hardware: Hardware) -> Iterator[Step]:
    ports, leaves = layout.spine_ports, layout.leaf_indexes
    speed_gbps = hardware.spine_down.speed_gbps
    yield Step(
        "spine ports",
        f"{hardware.spine_cages} cages × {hardware.spine_down.per_cage} × {format_speed(speed_gbps)}",
        f"{ports} ports, {bandwidth_text(ports * speed_gbps)}",
    )
    plane = " of a plane" if layout.planes > 1 else ""
    yield Step(f"spines{plane}", _spine_formula(intent, layout), str(layout.spines))
    if not layout.fixed_pair:
        yield Step(
            "links of a leaf-spine pair",
            f"{layout.uplinks} uplinks ÷ {layout.spines} spines",
            str(layout.links_per_pair),
        )
    else:
        yield Step("links of a leaf-spine pair", "given", str(layout.links_per_pair))
    used = leaves * layout.links_per_pair
    indexed = "leaves" if leaves == layout.leaves else "leaf indexes"  # stripes left out cost ports too
    yield Step(
        "ports in use on a spine",
        f"{leaves} {indexed} × {count_text(layout.links_per_pair, 'link')}",
        f"{used} of {ports}",
    )
    links = layout.leaves * layout.uplinks * layout.planes
    yield Step("leaf-spine cables", f"{layout.leaves * layout.planes} leaves × {layout.uplinks} uplinks", str(links))


def _spine_formula(intent: Intent, layout: Layout) -> str:
    least = f"⌈{layout.leaf_indexes} leaves × {layout.uplinks} uplinks ÷ {layout.spine_ports} ports⌉"
    needed = -(-layout.leaf_indexes * layout.uplinks // layout.spine_ports)
    if layout.fixed_pair:
        needed_gbps = Fraction(layout.down_gbps) / layout.ratio
        asked = f"{layout.links_per_pair} × spines × {format_speed(layout.up.speed_gbps)} ≥ {float(needed_gbps):g} Gb/s"
        return f"given; {asked}" if intent.topology.spine.count else f"the least with {asked}"
    if intent.topology.spine.count:
        return f"given; at least {least} = {needed}, {layout.uplinks} mod {layout.spines} = 0"
    return f"{least} = {needed}; the least divisor of {layout.uplinks} from there on, at least 2"


def _ratio_steps(layout: Layout) -> Iterator[Step]:
    yield Step(
        "oversubscription",
        f"{bandwidth_text(layout.down_gbps)} down ÷ {bandwidth_text(layout.up_gbps)} up",
        ratio_text(layout.leaf_ratio),
    )
    if layout.spines > 1:
        lost = layout.leaf_ratio * layout.spines / (layout.spines - 1)
        yield Step(
            "with one spine lost",
            f"{ratio_text(layout.leaf_ratio)} × {layout.spines} ÷ {layout.spines - 1}",
            ratio_text(lost),
        )


def _reserve_steps(intent: Intent, layout: Layout, growth: Growth) -> Iterator[Step]:
    plane = " of a plane" if layout.planes > 1 else ""
    yield Step(
        f"reserve{plane}",
        _reserve_formula(intent, layout),
        f"{count_text(layout.reserve_leaves, 'leaf')}, {count_text(layout.reserve_spines, 'spine')}",
    )
    yield Step(
        "host block of a leaf",
        f"2 addresses × {layout.leaf_ports.total} ports, rounded up to a prefix",
        f"/{32 - (host_block_size(layout) - 1).bit_length()}",
    )
    yield Step(
        "most nodes without moving a cable",
        f"{count_text(growth.stripes, 'stripe')}; {ENDS[growth.first]} first",
        str(growth.nodes),
    )


def _reserve_formula(intent: Intent, layout: Layout) -> str:
    reserve, pair = intent.topology.reserve, count_text(layout.links_per_pair, "link")
    leaves = "given" if reserve.leaves else f"⌊{layout.spine_ports} spine ports ÷ {pair}⌋"
    if reserve.spines:
        spines = "given"
    elif layout.fixed_pair:
        spines = f"⌊{layout.leaf_ports.room} uplink ports ÷ {pair}⌋"
    else:
        spines = "today's, all uplinks are connected"
    return f"leaves {leaves}; spines {spines}"
