"""The spines, pods and super-spines explained: how many, and their ports in use."""

from collections.abc import Iterator, Sequence
from fractions import Fraction
from math import ceil

from railweave.design.hardware import TierHardware
from railweave.design.layout import Layout
from railweave.design.leaf_class import LeafClass
from railweave.design.leaf_steps import panel_step, split_formula, uplink_kinds
from railweave.design.pods import spine_ratio
from railweave.design.ratios import bandwidth_text, ratio_text
from railweave.design.split import automatic_split
from railweave.fabric.sizing import SizingStep
from railweave.intent.model import Intent
from railweave.units import format_speed
from railweave.wording import counted


def pod_steps(intent: Intent, layout: Layout, hardware: Sequence[TierHardware]) -> Iterator[SizingStep]:
    """Yield why there is a third tier or ports for one, the split of a spine, and the size and number of pods.

    Nothing is yielded if the fabric neither has nor reserves pods.
    """
    if not layout.pod:
        return
    spine = hardware[1]
    yield SizingStep("tiers", _why_pods(intent, layout, spine), str(len(layout.tiers)))
    ports = f"{layout.spines.ports.down} down + {_spine_uplinks(intent, layout, spine)} up"
    yield SizingStep("split of a spine", split_formula(spine, spine_ratio(intent)), ports)
    leaves = counted(layout.pod_leaves, "leaf")
    yield SizingStep("stripes of a pod", _pod_formula(intent, layout), f"{layout.pod}, {leaves}")
    name = "pods"
    if layout.planes > 1:
        name = "pods of a plane"
    yield SizingStep(name, f"⌈{counted(len(layout.stripes), 'stripe')} ÷ {layout.pod}⌉", str(len(layout.pods)))


def _why_pods(intent: Intent, layout: Layout, spine: TierHardware) -> str:
    """Return why there is a third tier, or ports for one, as the formula of a step."""
    leaves = layout.lowest.indexes
    if layout.super_spines is None:
        return "reserve.pods keeps the uplinks of spines free"
    if intent.topology.tiers == 3:
        return "from the intent"
    if intent.topology.reserve.pods:
        return f"{counted(leaves, 'leaf')} > {layout.pod_leaves} of one pod (reserve.pods)"
    if leaves > spine.ports:
        return f"{leaves} leaves > {spine.ports} ports of a spine: two tiers are too few"
    return f"workload.growth needs more leaves than the {spine.ports} ports of a spine: two tiers are too few"


def _spine_uplinks(intent: Intent, layout: Layout, spine: TierHardware) -> int:
    """Return the uplinks of a spine; in two tiers those that it keeps for a third."""
    if layout.spines.uplinks:
        return layout.spines.uplinks
    split = automatic_split(spine.cages, spine.down, spine.up, spine_ratio(intent))
    if split is None:
        return 0
    return split.up


def _pod_formula(intent: Intent, layout: Layout) -> str:
    """Return the rule for the stripes of a pod."""
    if intent.topology.pod:
        return "from the intent"
    pair = intent.topology.links_per_pair or 1
    leaves = layout.stripe_leaves
    down = layout.spines.ports.down
    largest = f"⌊{down} ports down ÷ ({counted(leaves, 'leaf')} × {counted(pair, 'link')})⌋"
    if layout.pod == down // (leaves * pair):
        return largest
    return f"the most up to {largest} with {counted(layout.spines.count, 'spine')} shared out evenly"


def spine_steps(intent: Intent, layout: Layout) -> Iterator[SizingStep]:
    """Yield the number of spines, the links of a pair, the ports of a spine in use, and the cables to leaves."""
    lowest = layout.lowest
    spines = layout.spines
    yield panel_step("spine ports", spines.ports)
    yield SizingStep(f"spines{layout.of_spines}", _spine_formula(intent, layout), str(spines.group_size))
    if layout.super_spines or lowest.rails:
        yield _all_spines_step(layout)
    formula = "from the intent"
    if not lowest.fixed_pair:
        formula = f"{lowest.uplinks} uplinks ÷ {spines.group_size} spines"
    yield SizingStep("links of a leaf-spine pair", formula, str(lowest.links_per_pair))
    yield _ports_in_use_step(layout)
    yield from _block_of_spine_steps(layout)
    cables = [f"{kind.leaves} leaves × {kind.uplinks} uplinks" for kind in uplink_kinds(layout)]
    yield SizingStep("leaf-spine cables", " + ".join(cables), str(layout.leaf_spine_links * layout.planes))


def _all_spines_step(layout: Layout) -> SizingStep:
    """Return the number of spines of all pods or rails and planes."""
    group = "pod"
    if layout.lowest.rails:
        group = "rail"
    formula = f"{counted(len(layout.pods), group)} × {layout.spines.group_size}{_times_planes(layout)}"
    return SizingStep("spines", formula, str(layout.spines.count * layout.planes))


def _times_planes(layout: Layout) -> str:
    if layout.planes == 1:
        return ""
    return f" × {layout.planes} planes"


def _ports_in_use_step(layout: Layout) -> SizingStep:
    """Return how many ports of a spine the leaves use, without those of leaf classes with a block of ports."""
    lowest = layout.lowest
    leaves = "leaves"
    if not layout.pod and lowest.indexes != lowest.count:
        # Indexes without a leaf take ports too.
        leaves = "leaf indexes"
    fewer_links = _leaves_with_fewer_links(layout)
    other_leaves = layout.joined_leaves - sum(fewer_links.values())
    terms = [f"{other_leaves} {leaves} × {counted(lowest.links_per_pair, 'link')}"]
    ports_in_use = other_leaves * lowest.links_per_pair
    for leaf, count in fewer_links.items():
        terms.append(f"{count} leaves of {leaf.name} × {counted(leaf.pair, 'link')}")
        ports_in_use += count * leaf.pair
    name = "ports in use on a spine"
    if layout.pod:
        name = "ports down in use on a spine"
    return SizingStep(name, " + ".join(terms), f"{ports_in_use} of {layout.spines.ports.down}")


def _leaves_with_fewer_links(layout: Layout) -> dict[LeafClass, int]:
    """Return how many leaves of each class with fewer links to a spine it joins; they leave ports of their index free.

    Empty with pods, which differ in these leaves: the ports in use are then those of a pod without such leaves.
    """
    if layout.pod:
        return {}
    leaves = {}
    for leaf in layout.classes:
        if not leaf.block and leaf.pair < layout.lowest.links_per_pair:
            leaves[leaf] = layout.leaves_of(leaf) // layout.networks
    return leaves


def _block_of_spine_steps(layout: Layout) -> Iterator[SizingStep]:
    """Yield the blocks of ports that a spine keeps for leaf classes."""
    for leaf in layout.classes:
        block = leaf.block
        if block is not None:
            cages = f"{counted(block.cages, 'cage')} × {block.breakout.per_cage}"
            links = f"{block.leaves} leaves of the reserve × {counted(leaf.pair, 'link')}"
            ports = f"ports {block.first + 1} to {block.first + block.ports}"
            speed = format_speed(block.breakout.speed_gbps)
            yield SizingStep(f"ports of a spine for leaves of {leaf.name}", links, f"{ports}, {cages} × {speed}")


def _spine_formula(intent: Intent, layout: Layout) -> str:
    """Return the rule for the number of spines."""
    lowest = layout.lowest
    spines = layout.spines
    is_stated = bool(intent.topology.spine.count)
    if lowest.fixed_pair:
        condition = _needed_uplinks(layout)
        if is_stated:
            return f"from the intent; {condition}"
        return f"the least with {condition}"
    ports = f"{spines.ports.down} ports"
    if layout.pod:
        ports += " down"
    leaves = layout.joined_leaves
    leaves_text = f"{leaves} leaves"
    if not is_stated and _spines_are_for_reserve(intent, layout):
        leaves = layout.reserved_leaves()
        leaves_text = f"{leaves} leaves of the reserve"
    needed = ceil(leaves * lowest.uplinks / spines.ports.down)
    minimum = f"⌈{leaves_text} × {lowest.uplinks} uplinks ÷ {ports}⌉ = {needed}"
    if is_stated:
        return f"from the intent; at least {minimum}, {lowest.uplinks} mod {spines.group_size} = 0"
    return f"{minimum}; rounded up to a divisor of {lowest.uplinks}, at least 2"


def _spines_are_for_reserve(intent: Intent, layout: Layout) -> bool:
    """Tell whether an automatic number of spines follows from the stated reserve of leaves."""
    if layout.pod or not intent.topology.reserve.leaves:
        return False
    # A reserve that no number of spines has ports for does not change the number.
    most_leaves = layout.spines.ports.down // layout.lowest.links_per_pair
    return layout.joined_leaves < layout.reserved_leaves() <= most_leaves


def _needed_uplinks(layout: Layout) -> str:
    """Return the condition that spines meet with stated links of a pair, as a formula.

    It is that of the leaf class that needs the most spines.
    """
    lowest = layout.lowest
    # The spines that a class needs at a ratio of 1.
    most_spines = Fraction(lowest.down_gbps, lowest.links_per_pair * lowest.up.speed_gbps)
    down_gbps = lowest.down_gbps
    links = f"{lowest.links_per_pair} × spines × {format_speed(lowest.up.speed_gbps)}"
    for leaf in layout.classes:
        if leaf.block is None:
            continue
        spines = Fraction(leaf.down_gbps, leaf.pair_gbps)
        if spines > most_spines:
            most_spines = spines
            down_gbps = leaf.down_gbps
            links = f"{leaf.pair} × spines × {format_speed(leaf.hardware.up.speed_gbps)}"
    return f"{links} ≥ {float(Fraction(down_gbps) / layout.ratio):g} Gb/s"


def _members_formula(intent: Intent, layout: Layout, ports: int) -> str:
    """Return the rule for the super-spines of a group, each with ``ports`` ports."""
    uplinks = layout.spines.uplinks
    pods = max(layout.pods[-1] + 1, intent.topology.reserve.pods or 0)
    pods_text = f"{pods} pods"
    if pods == intent.topology.reserve.pods:
        pods_text += " of the reserve"
    minimum = f"⌈{pods_text} × {uplinks} uplinks ÷ {ports} ports⌉ = {ceil(pods * uplinks / ports)}"
    super_spine = intent.topology.super_spine
    if super_spine is not None and super_spine.count is not None:
        return f"from the intent; at least {minimum}"
    return f"{minimum}; rounded up to a divisor of {uplinks}"


def super_spine_steps(intent: Intent, layout: Layout) -> Iterator[SizingStep]:
    """Yield the number of super-spines, their links and cables, and the oversubscription of a spine.

    Nothing is yielded in a fabric of two tiers.
    """
    spines = layout.spines
    top = layout.super_spines
    if top is None:
        return
    yield panel_step("super-spine ports", top.ports)
    yield SizingStep("super-spines of a group", _members_formula(intent, layout, top.ports.total), str(top.group_size))
    groups = f"{spines.group_size} groups, one for each spine of a pod, × {top.group_size}{_times_planes(layout)}"
    yield SizingStep("super-spines", groups, str(top.count * layout.planes))
    yield SizingStep(
        "links of a spine-super-spine pair",
        f"{spines.uplinks} uplinks ÷ {counted(top.group_size, 'super-spine')} of its group",
        str(spines.links_per_pair),
    )
    yield SizingStep(
        "spine-super-spine cables",
        f"{spines.count * layout.planes} spines × {spines.uplinks} uplinks",
        str(spines.count * spines.uplinks * layout.planes),
    )
    yield SizingStep(
        "oversubscription of a spine",
        f"{bandwidth_text(spines.down_gbps)} down ÷ {bandwidth_text(spines.up_gbps)} up",
        ratio_text(spines.ratio),
    )
