"""The leaves explained: ports, split, stripes and uplinks."""

from collections.abc import Iterator, Sequence
from fractions import Fraction
from typing import NamedTuple

from railweave.design.hardware import TierHardware
from railweave.design.layout import Layout, NodeGroup
from railweave.design.leaf_class import LeafClass
from railweave.design.nodes import stripe_step
from railweave.design.ratios import bandwidth_text, ratio_text
from railweave.design.split import TierPorts
from railweave.fabric.sizing import SizingStep
from railweave.intent.model import Intent
from railweave.units import format_speed
from railweave.wording import counted


def switch_steps(intent: Intent, layout: Layout, hardware: TierHardware) -> Iterator[SizingStep]:
    """Yield what the one switch of a fabric or rail holds."""
    low = layout.lowest
    groups = layout.groups
    total = low.ports.total
    cages = f"{hardware.cages} cages × {hardware.down.per_cage}"
    cages += f" × {format_speed(low.down.speed_gbps)}"
    if len(groups) > 1:
        yield panel_step("leaf ports", layout.classes[0].ports)
    else:
        yield SizingStep("leaf ports", cages, f"{total} ports, {bandwidth_text(low.down_gbps)}")
    for group in groups:
        name = f" of {group.entry.name}" if len(groups) > 1 else ""
        formula = f"⌊{total} ports ÷ {counted(group.ports_per_leaf, 'port')} of a node⌋"
        if layout.sharing:
            formula = f"{group.stripe_nodes * group.ports_per_leaf} ports from port {group.first_port + 1} on"
        if group.entry.stripe or (intent.topology.stripe and not group.entry.share_leaves):
            formula = "from the intent"
        yield SizingStep(f"nodes{name} of one switch", formula, str(group.stripe_nodes))
    rail = " a rail" if low.rails else ""
    why = f"{groups[0].entry.count} nodes ≤ {groups[0].stripe_nodes} of one switch{rail}"
    if intent.topology.tiers:
        why = "from the intent" if low.rails else "leaf.count: 1 without a spine"
    yield SizingStep("tiers", why, "1")
    used = " + ".join(
        f"{counted(group.entry.count, 'node')} × {counted(group.ports_per_leaf, 'port')}" for group in groups
    )
    ports = sum(group.entry.count * group.ports_per_leaf for group in groups)
    yield SizingStep("ports in use on a leaf", used, f"{ports} of {layout.classes[0].ports.total}")
    planes = f" × {layout.planes} planes" if layout.planes > 1 else ""
    of = f"{counted(layout.rails, 'rail')} × " if low.rails else ""
    yield SizingStep("leaves", f"{of}1 switch{planes}", str(low.count * layout.planes))


def leaf_steps(intent: Intent, layout: Layout, hardware: Sequence[TierHardware]) -> Iterator[SizingStep]:
    """Yield what a leaf has, and how its ports are split between nodes and spines."""
    low = layout.lowest
    top = layout.spines
    ports = low.ports
    yield panel_step("leaf ports", layout.classes[0].ports)
    if low.fixed_pair:
        given = intent.topology.stripe
        formula = f"stripe of {given} nodes" if given else f"split at {ratio_text(layout.ratio)}"
        formula += f"; {counted(low.links_per_pair, 'link')} a pair × {counted(top.group_size, 'spine')}"
    else:
        formula = split_formula(hardware[0], layout.ratio)
        if intent.stripe_caps_split:
            formula = f"stripe of {layout.groups[0].stripe_nodes} nodes; {formula}"
    yield SizingStep("leaf port split", formula, f"{ports.down} down + {low.uplinks} up")
    for leaf in layout.classes[1:]:
        yield panel_step(f"ports of a leaf of {leaf.name}", leaf.ports)
        formula = _class_formula(intent, layout, leaf)
        yield SizingStep(f"leaf port split of {leaf.name}", formula, f"{leaf.down} down + {leaf.uplinks} up")


def _class_formula(intent: Intent, layout: Layout, leaf: LeafClass) -> str:
    """Return the rule by which the ports of a class beside the first are split."""
    low = layout.lowest
    most = bandwidth_text(low.down_gbps)
    formula = f"{low.uplinks} up as on every leaf; down ≤ {most} and the ports of topology.leaf"
    if not leaf.block and leaf.uplinks < low.uplinks:
        formula = split_formula(leaf.hardware, layout.ratio)
    if low.fixed_pair and intent.topology.stripe:
        formula = f"stripe of {intent.topology.stripe} nodes"
    elif leaf.block:
        formula = f"split at {ratio_text(layout.ratio)}"
    if leaf.block:
        formula += f"; {counted(leaf.pair, 'link')} a pair × {counted(layout.spines.group_size, 'spine')}"
    return formula


def panel_step(name: str, ports: TierPorts) -> SizingStep:
    """Return the ports of a switch and their bandwidth, by its cages."""
    cages = " + ".join(
        f"{count} cages × {group.per_cage} × {format_speed(group.speed_gbps)}" for count, group in ports.groups
    )
    capacity = sum(count * group.per_cage * group.speed_gbps for count, group in ports.groups)
    return SizingStep(name, cages, f"{ports.total} ports, {bandwidth_text(capacity)}")


def split_formula(hardware: TierHardware, ratio: Fraction) -> str:
    """Return the rule by which the ports of a switch are split at a ratio of bandwidth down to up."""
    down = hardware.down
    up = hardware.up
    if down.speed_gbps == up.speed_gbps:
        return f"down ÷ up ≤ {ratio_text(ratio)}, down + up ≤ {hardware.ports}"
    return (
        f"down × {format_speed(down.speed_gbps)} ÷ (up × {format_speed(up.speed_gbps)}) ≤ {ratio_text(ratio)} in"
        f" {hardware.cages} cages"
    )


def stripe_steps(intent: Intent, layout: Layout) -> Iterator[SizingStep]:
    """Yield the nodes of a stripe, the number of leaves, and the bandwidth of their uplinks."""
    many = len(layout.groups) > 1
    for group in layout.groups:
        name = f" of {group.entry.name}" if many else ""
        if group.entry.stripe or (intent.topology.stripe and not group.entry.share_leaves):
            formula = "from the intent"
        elif layout.sharing and group.leaf == 0:
            formula = f"{group.stripe_nodes * group.ports_per_leaf} ports from port {group.first_port + 1} on"
            if group.entry.share_leaves:
                formula += "; the nodes of a stripe, rounded up to a power of two"
        else:
            down = layout.classes[group.leaf].down
            formula = f"⌊{down} downlinks ÷ {counted(group.ports_per_leaf, 'port')} of a node⌋"
        yield SizingStep(f"nodes in a stripe{name}", formula, str(group.stripe_nodes))
    for group in layout.groups[1:]:
        if group.entry.first_stripe is None and not group.entry.share_leaves:
            yield _first_stripe_step(intent, layout, group)
    yield _leaf_count_step(layout)
    kinds = uplink_kinds(layout)
    for kind in kinds:
        uplinks = f"{kind.uplinks} × {format_speed(kind.speed_gbps)}"
        yield SizingStep(f"uplink of a leaf{kind.of}", uplinks, bandwidth_text(kind.gbps))
    formula = " + ".join(f"{kind.leaves} × {bandwidth_text(kind.gbps)}" for kind in kinds)
    yield SizingStep("uplink of all leaves", formula, bandwidth_text(sum(kind.leaves * kind.gbps for kind in kinds)))


class UplinkKind(NamedTuple):
    """Leaves with uplinks of one number and speed, over all planes; ``of`` names the nodes that give their class."""

    of: str
    leaves: int
    uplinks: int
    speed_gbps: int

    @property
    def gbps(self) -> int:
        """Return the bandwidth of the uplinks of one of them."""
        return self.uplinks * self.speed_gbps


def uplink_kinds(layout: Layout) -> tuple[UplinkKind, ...]:
    """Return the leaves with the uplinks of the first class, then those of each class with other uplinks."""
    low = layout.lowest
    planes = layout.planes
    others = tuple(
        UplinkKind(f" of {leaf.name}", layout.leaves_of(leaf) * planes, leaf.uplinks, leaf.hardware.up.speed_gbps)
        for leaf in layout.classes
        if not leaf.has_uplinks_of(layout.classes[0])
    )
    alike = low.count * planes - sum(kind.leaves for kind in others)
    return UplinkKind("", alike, low.uplinks, low.up.speed_gbps), *others


def _first_stripe_step(intent: Intent, layout: Layout, group: NodeGroup) -> SizingStep:
    first = layout.groups[0]
    step = stripe_step(intent, layout.groups[0])
    why = f"the next power of two above 2 × {counted(first.stripes, 'stripe')}"
    if intent.topology.reserve.leaves is not None:
        why = "the reserved stripes"
    formula = f"the next multiple of {step}: {why} of {first.entry.name}"
    return SizingStep(f"first stripe of {group.entry.name}", formula, str(group.first_stripe))


def _leaf_count_step(layout: Layout) -> SizingStep:
    owners = [group for group in layout.groups if not group.entry.share_leaves]
    stripes = " + ".join(_stripes_of(group) for group in owners)
    used = {stripe for group in layout.groups for stripe in range(group.first_stripe, group.end_stripe)}
    beyond = len(used) - sum(group.stripes for group in owners)
    if beyond:
        stripes += f" + {beyond} more of nodes that share leaves"
    if len(owners) > 1 or beyond:
        stripes = f"({stripes})"
    railed = f"{layout.rails} rails × " if layout.shape.has_rails else ""
    if layout.leaves_per_nic > 1:
        railed += f"{layout.leaves_per_nic} leaves a NIC × "
    planes = f"{layout.planes} planes × " if layout.planes > 1 else ""
    spare = len(layout.stripes) - len(used)
    extra = f", and {counted(spare * layout.stripe_leaves * layout.planes, 'leaf')} without nodes" if spare else ""
    return SizingStep("leaves", f"{planes}{railed}{stripes}{extra}", str(layout.lowest.count * layout.planes))


def _stripes_of(group: NodeGroup) -> str:
    return f"⌈{group.entry.count} nodes ÷ {group.stripe_nodes}⌉"
