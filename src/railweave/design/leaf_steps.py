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
    """Yield the steps of a fabric of one tier: the ports and nodes of a switch, and the number of switches."""
    lowest = layout.lowest
    first_ports = layout.classes[0].ports
    groups = layout.groups
    if len(groups) > 1:
        yield panel_step("leaf ports", first_ports)
    else:
        cages = f"{hardware.cages} cages × {hardware.down.per_cage} × {format_speed(lowest.down.speed_gbps)}"
        yield SizingStep("leaf ports", cages, f"{lowest.ports.total} ports, {bandwidth_text(lowest.down_gbps)}")
    for group in groups:
        formula = _switch_formula(intent, layout, group)
        yield SizingStep(f"nodes{_of_entry(layout, group)} of one switch", formula, str(group.stripe_nodes))
    yield SizingStep("tiers", _why_one_tier(intent, layout), "1")
    terms = []
    ports_in_use = 0
    for group in groups:
        terms.append(f"{counted(group.entry.count, 'node')} × {counted(group.ports_per_leaf, 'port')}")
        ports_in_use += group.entry.count * group.ports_per_leaf
    yield SizingStep("ports in use on a leaf", " + ".join(terms), f"{ports_in_use} of {first_ports.total}")
    switches = "1 switch"
    if lowest.rails:
        switches = f"{counted(layout.rails, 'rail')} × 1 switch"
    if layout.planes > 1:
        switches += f" × {layout.planes} planes"
    yield SizingStep("leaves", switches, str(lowest.count * layout.planes))


def _switch_formula(intent: Intent, layout: Layout, group: NodeGroup) -> str:
    """Return the rule for the number of nodes of a group on one switch."""
    if _states_stripe(intent, group):
        return "from the intent"
    if layout.sharing:
        return _ports_of_stripe(group)
    return f"⌊{layout.lowest.ports.total} ports ÷ {counted(group.ports_per_leaf, 'port')} of a node⌋"


def _why_one_tier(intent: Intent, layout: Layout) -> str:
    """Return why one tier is enough, as the formula of a step."""
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
    """Return the part of a step's name that names its entry of nodes, empty if there is only one entry."""
    if len(layout.groups) == 1:
        return ""
    return f" of {group.entry.name}"


def _states_stripe(intent: Intent, group: NodeGroup) -> bool:
    """Tell whether the intent states how many nodes of a group are in a stripe.

    ``topology.stripe`` states it for nodes with leaves of their own only.
    """
    if group.entry.stripe:
        return True
    return bool(intent.topology.stripe) and not group.entry.share_leaves


def _ports_of_stripe(group: NodeGroup) -> str:
    return f"{group.stripe_nodes * group.ports_per_leaf} ports from port {group.first_port + 1} on"


def leaf_steps(intent: Intent, layout: Layout, hardware: Sequence[TierHardware]) -> Iterator[SizingStep]:
    """Yield the ports of a leaf of each class, and how they are split between nodes and spines."""
    lowest = layout.lowest
    yield panel_step("leaf ports", layout.classes[0].ports)
    formula = _first_class_formula(intent, layout, hardware[0])
    yield SizingStep("leaf port split", formula, f"{lowest.ports.down} down + {lowest.uplinks} up")
    for leaf in layout.classes[1:]:
        yield panel_step(f"ports of a leaf of {leaf.name}", leaf.ports)
        formula = _class_formula(intent, layout, leaf)
        yield SizingStep(f"leaf port split of {leaf.name}", formula, f"{leaf.down} down + {leaf.uplinks} up")


def _first_class_formula(intent: Intent, layout: Layout, hardware: TierHardware) -> str:
    """Return the rule by which the ports of the first class are split."""
    lowest = layout.lowest
    if not lowest.fixed_pair:
        formula = split_formula(hardware, layout.ratio)
        if intent.stripe_caps_split:
            return f"stripe of {layout.groups[0].stripe_nodes} nodes; {formula}"
        return formula
    downlinks = f"split at {ratio_text(layout.ratio)}"
    if intent.topology.stripe:
        downlinks = f"stripe of {intent.topology.stripe} nodes"
    return f"{downlinks}; {_uplinks_by_pair(layout, lowest.links_per_pair)}"


def _uplinks_by_pair(layout: Layout, pair: int) -> str:
    """Return the uplinks of a leaf with ``pair`` links to each spine, as a formula."""
    return f"{counted(pair, 'link')} a pair × {counted(layout.spines.group_size, 'spine')}"


def _class_formula(intent: Intent, layout: Layout, leaf: LeafClass) -> str:
    """Return the rule by which the ports of a class after the first are split."""
    lowest = layout.lowest
    states_stripe = lowest.fixed_pair and intent.topology.stripe
    stripe = f"stripe of {intent.topology.stripe} nodes"
    if leaf.block:
        downlinks = f"split at {ratio_text(layout.ratio)}"
        if states_stripe:
            downlinks = stripe
        return f"{downlinks}; {_uplinks_by_pair(layout, leaf.pair)}"
    if states_stripe:
        return stripe
    if leaf.uplinks < lowest.uplinks:
        return split_formula(leaf.hardware, layout.ratio)
    down_limit = bandwidth_text(lowest.down_gbps)
    return f"{lowest.uplinks} up as on every leaf; down ≤ {down_limit} and the ports of topology.leaf"


def panel_step(name: str, ports: TierPorts) -> SizingStep:
    """Return a step that counts the ports of a switch and their bandwidth from its cages."""
    terms = []
    capacity_gbps = 0
    for cages, breakout in ports.groups:
        terms.append(f"{cages} cages × {breakout.per_cage} × {format_speed(breakout.speed_gbps)}")
        capacity_gbps += cages * breakout.per_cage * breakout.speed_gbps
    return SizingStep(name, " + ".join(terms), f"{ports.total} ports, {bandwidth_text(capacity_gbps)}")


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
    """Leaves whose uplinks have one number and speed."""

    # The class of the leaves for the name of a step, ` of NAME`; empty for the first.
    of: str
    # In all planes.
    leaves: int
    uplinks: int
    speed_gbps: int

    @property
    def gbps(self) -> int:
        """Return the bandwidth of the uplinks of one of them."""
        return self.uplinks * self.speed_gbps


def uplink_kinds(layout: Layout) -> tuple[UplinkKind, ...]:
    """Return the leaves with the uplinks of the first class, then those of each class with other uplinks.

    Leaves of other classes with the same uplinks are counted with the first.
    """
    lowest = layout.lowest
    planes = layout.planes
    other_kinds = []
    for leaf in layout.classes:
        if not leaf.has_uplinks_of(layout.classes[0]):
            leaves = layout.leaves_of(leaf) * planes
            other_kinds.append(UplinkKind(f" of {leaf.name}", leaves, leaf.uplinks, leaf.hardware.up.speed_gbps))
    leaves_like_first = lowest.count * planes - sum(kind.leaves for kind in other_kinds)
    return UplinkKind("", leaves_like_first, lowest.uplinks, lowest.up.speed_gbps), *other_kinds


def _first_stripe_step(intent: Intent, layout: Layout, group: NodeGroup) -> SizingStep:
    """Return the rule for an automatic first stripe."""
    first = layout.groups[0]
    step = stripe_step(intent, first)
    reason = f"the next power of two above 2 × {counted(first.stripes, 'stripe')}"
    if intent.topology.reserve.leaves is not None:
        reason = "the reserved stripes"
    formula = f"the next multiple of {step}: {reason} of {first.entry.name}"
    return SizingStep(f"first stripe of {group.entry.name}", formula, str(group.first_stripe))


def _leaf_count_step(layout: Layout) -> SizingStep:
    """Return the number of leaves, including those of stripes without nodes."""
    factors = []
    if layout.planes > 1:
        factors.append(f"{layout.planes} planes")
    if layout.shape.has_rails:
        factors.append(f"{layout.rails} rails")
    if layout.leaves_per_nic > 1:
        factors.append(f"{layout.leaves_per_nic} leaves a NIC")
    used_stripes: set[int] = set()
    for group in layout.groups:
        used_stripes.update(range(group.first_stripe, group.end_stripe))
    factors.append(_stripes_formula(layout, len(used_stripes)))
    formula = " × ".join(factors)
    unused_stripes = len(layout.stripes) - len(used_stripes)
    if unused_stripes:
        formula += f", and {counted(unused_stripes * layout.stripe_leaves * layout.planes, 'leaf')} without nodes"
    return SizingStep("leaves", formula, str(layout.lowest.count * layout.planes))


def _stripes_formula(layout: Layout, used_stripes: int) -> str:
    """Return the formula of the number of stripes with nodes; a sum is in parentheses."""
    terms = []
    stripes_of_owners = 0
    for group in layout.groups:
        if not group.entry.share_leaves:
            terms.append(f"⌈{group.entry.count} nodes ÷ {group.stripe_nodes}⌉")
            stripes_of_owners += group.stripes
    if used_stripes > stripes_of_owners:
        terms.append(f"{used_stripes - stripes_of_owners} more of nodes that share leaves")
    if len(terms) == 1:
        return terms[0]
    return f"({' + '.join(terms)})"
