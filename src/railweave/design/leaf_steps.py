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
    if len(groups) > 1:
        yield panel_step("leaf ports", layout.classes[0].ports)
    else:
        cages = f"{hardware.cages} cages × {hardware.down.per_cage} × {format_speed(low.down.speed_gbps)}"
        yield SizingStep("leaf ports", cages, f"{low.ports.total} ports, {bandwidth_text(low.down_gbps)}")
    for group in groups:
        formula = f"⌊{low.ports.total} ports ÷ {counted(group.ports_per_leaf, 'port')} of a node⌋"
        if layout.sharing:
            formula = _ports_of_stripe(group)
        if _states_stripe(intent, group):
            formula = "from the intent"
        yield SizingStep(f"nodes{_of_entry(layout, group)} of one switch", formula, str(group.stripe_nodes))
    yield SizingStep("tiers", _why_one_tier(intent, layout), "1")
    used = [f"{counted(group.entry.count, 'node')} × {counted(group.ports_per_leaf, 'port')}" for group in groups]
    ports = sum(group.entry.count * group.ports_per_leaf for group in groups)
    yield SizingStep("ports in use on a leaf", " + ".join(used), f"{ports} of {layout.classes[0].ports.total}")
    formula = "1 switch"
    if low.rails:
        formula = f"{counted(layout.rails, 'rail')} × 1 switch"
    if layout.planes > 1:
        formula += f" × {layout.planes} planes"
    yield SizingStep("leaves", formula, str(low.count * layout.planes))


def _why_one_tier(intent: Intent, layout: Layout) -> str:
    if intent.topology.tiers and layout.lowest.rails:
        return "from the intent"
    if intent.topology.tiers:
        return "leaf.count: 1 without a spine"
    first = layout.groups[0]
    why = f"{first.entry.count} nodes ≤ {first.stripe_nodes} of one switch"
    if layout.lowest.rails:
        why += " a rail"
    return why


def _of_entry(layout: Layout, group: NodeGroup) -> str:
    """Return the entry of nodes that a step is of, empty where there is one."""
    if len(layout.groups) == 1:
        return ""
    return f" of {group.entry.name}"


def _states_stripe(intent: Intent, group: NodeGroup) -> bool:
    """Tell whether the intent states the nodes of a stripe; ``topology.stripe`` is for nodes with leaves of their
    own."""
    if group.entry.stripe:
        return True
    return bool(intent.topology.stripe) and not group.entry.share_leaves


def _ports_of_stripe(group: NodeGroup) -> str:
    return f"{group.stripe_nodes * group.ports_per_leaf} ports from port {group.first_port + 1} on"


def leaf_steps(intent: Intent, layout: Layout, hardware: Sequence[TierHardware]) -> Iterator[SizingStep]:
    """Yield what a leaf has, and how its ports are split between nodes and spines."""
    low = layout.lowest
    top = layout.spines
    ports = low.ports
    yield panel_step("leaf ports", layout.classes[0].ports)
    if low.fixed_pair:
        formula = f"split at {ratio_text(layout.ratio)}"
        if intent.topology.stripe:
            formula = f"stripe of {intent.topology.stripe} nodes"
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
    for group in layout.groups:
        formula = _stripe_formula(intent, layout, group)
        yield SizingStep(f"nodes in a stripe{_of_entry(layout, group)}", formula, str(group.stripe_nodes))
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


def _stripe_formula(intent: Intent, layout: Layout, group: NodeGroup) -> str:
    """Return the rule by which the nodes of a stripe are counted."""
    if _states_stripe(intent, group):
        return "from the intent"
    if layout.sharing and group.leaf == 0:
        formula = _ports_of_stripe(group)
        if group.entry.share_leaves:
            formula += "; the nodes of a stripe, rounded up to a power of two"
        return formula
    down = layout.classes[group.leaf].down
    return f"⌊{down} downlinks ÷ {counted(group.ports_per_leaf, 'port')} of a node⌋"


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
    used: set[int] = set()
    for group in layout.groups:
        used.update(range(group.first_stripe, group.end_stripe))
    stripes = [_stripes_of(group) for group in owners]
    beyond = len(used) - sum(group.stripes for group in owners)
    if beyond:
        stripes.append(f"{beyond} more of nodes that share leaves")
    factors = []
    if layout.planes > 1:
        factors.append(f"{layout.planes} planes")
    if layout.shape.has_rails:
        factors.append(f"{layout.rails} rails")
    if layout.leaves_per_nic > 1:
        factors.append(f"{layout.leaves_per_nic} leaves a NIC")
    if len(stripes) > 1:
        factors.append(f"({' + '.join(stripes)})")
    else:
        factors += stripes
    formula = " × ".join(factors)
    spare = len(layout.stripes) - len(used)
    if spare:
        formula += f", and {counted(spare * layout.stripe_leaves * layout.planes, 'leaf')} without nodes"
    return SizingStep("leaves", formula, str(layout.lowest.count * layout.planes))


def _stripes_of(group: NodeGroup) -> str:
    return f"⌈{group.entry.count} nodes ÷ {group.stripe_nodes}⌉"
