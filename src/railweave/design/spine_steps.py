"""The spines, pods and super-spines explained: how many, and their ports in use."""

from collections.abc import Iterator, Sequence
from fractions import Fraction

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
    """Yield why there is a third tier, or ports for one, and what a pod holds."""
    if not layout.pod:
        return
    spines = layout.spines
    topology = intent.topology
    cages = hardware[1]
    if layout.super_spines is None:
        why = "reserve.pods keeps the uplinks of spines free"
    elif topology.tiers == 3:
        why = "from the intent"
    elif topology.reserve.pods:
        why = f"{counted(layout.lowest.indexes, 'leaf')} > {layout.pod_leaves} of one pod (reserve.pods)"
    elif layout.lowest.indexes > cages.ports:
        why = f"{layout.lowest.indexes} leaves > {cages.ports} ports of a spine: two tiers are too few"
    else:
        why = f"workload.growth needs more leaves than the {cages.ports} ports of a spine: two tiers are too few"
    yield SizingStep("tiers", why, str(len(layout.tiers)))
    split = split_formula(cages, spine_ratio(intent))
    yield SizingStep(
        "split of a spine", split, f"{spines.ports.down} down + {_spine_uplinks(layout, hardware, intent)} up"
    )
    pair = intent.topology.links_per_pair or 1
    formula = "from the intent" if topology.pod else _pod_formula(layout, pair)
    leaves = counted(layout.pod_leaves, "leaf")
    yield SizingStep("stripes of a pod", formula, f"{layout.pod}, {leaves}")
    plane = " of a plane" if layout.planes > 1 else ""
    yield SizingStep(
        f"pods{plane}", f"⌈{counted(len(layout.stripes), 'stripe')} ÷ {layout.pod}⌉", str(len(layout.pods))
    )


def _spine_uplinks(layout: Layout, hardware: Sequence[TierHardware], intent: Intent) -> int:
    spine = hardware[1]
    split = automatic_split(spine.cages, spine.down, spine.up, spine_ratio(intent))
    return layout.spines.uplinks or (split.up if split else 0)


def _pod_formula(layout: Layout, pair: int) -> str:
    leaves = layout.stripe_leaves
    down = layout.spines.ports.down
    most = f"⌊{down} ports down ÷ ({counted(leaves, 'leaf')} × {counted(pair, 'link')})⌋"
    if layout.pod == down // (leaves * pair):
        return most
    return f"the most up to {most} with {counted(layout.spines.count, 'spine')} shared out evenly"


def spine_steps(intent: Intent, layout: Layout) -> Iterator[SizingStep]:
    """Yield the number of spines, and what of their ports the leaves take."""
    low = layout.lowest
    spines = layout.spines
    ports = spines.ports.down
    leaves = layout.joined_leaves
    down = " down" if layout.pod else ""
    yield panel_step("spine ports", spines.ports)
    yield SizingStep(f"spines{layout.of_spines}", _spine_formula(intent, layout), str(spines.group_size))
    if layout.super_spines or low.rails:
        planes = f" × {layout.planes} planes" if layout.planes > 1 else ""
        formula = f"{counted(len(layout.pods), 'rail' if low.rails else 'pod')} × {spines.group_size}{planes}"
        yield SizingStep("spines", formula, str(spines.count * layout.planes))
    if not low.fixed_pair:
        yield SizingStep(
            "links of a leaf-spine pair",
            f"{low.uplinks} uplinks ÷ {spines.group_size} spines",
            str(low.links_per_pair),
        )
    else:
        yield SizingStep("links of a leaf-spine pair", "from the intent", str(low.links_per_pair))
    whole = layout.pod or low.indexes == low.count
    indexed = "leaves" if whole else "leaf indexes"  # stripes left out cost ports too
    fewer = _leaves_with_fewer_links(layout)
    alike = leaves - sum(fewer.values())
    terms = [f"{alike} {indexed} × {counted(low.links_per_pair, 'link')}"]
    terms += [f"{count} leaves of {leaf.name} × {counted(leaf.pair, 'link')}" for leaf, count in fewer.items()]
    used = alike * low.links_per_pair + sum(count * leaf.pair for leaf, count in fewer.items())
    yield SizingStep(f"ports{down} in use on a spine", " + ".join(terms), f"{used} of {ports}")
    yield from _block_of_spine_steps(layout)
    yield SizingStep(
        "leaf-spine cables",
        " + ".join(f"{one.leaves} leaves × {one.uplinks} uplinks" for one in uplink_kinds(layout)),
        str(layout.leaf_spine_links * layout.planes),
    )


def _leaves_with_fewer_links(layout: Layout) -> dict[LeafClass, int]:
    """Return the leaves below a spine of each class with fewer links to it, which leave ports of their index free.

    Pods differ in them; one of leaves like the first has the ports of all in use.
    """
    if layout.pod:
        return {}
    classes = (leaf for leaf in layout.classes if not leaf.block and leaf.pair < layout.lowest.links_per_pair)
    return {leaf: layout.leaves_of(leaf) // layout.networks for leaf in classes}


def _block_of_spine_steps(layout: Layout) -> Iterator[SizingStep]:
    """Yield the blocks of ports that a spine keeps for some leaf classes."""
    for leaf in layout.classes:
        block = leaf.block
        if block is not None:
            cages = f"{counted(block.cages, 'cage')} × {block.breakout.per_cage}"
            links = f"{block.leaves} leaves of the reserve × {counted(leaf.pair, 'link')}"
            ports = f"ports {block.first + 1} to {block.first + block.ports}"
            speed = format_speed(block.breakout.speed_gbps)
            yield SizingStep(f"ports of a spine for leaves of {leaf.name}", links, f"{ports}, {cages} × {speed}")


def _spine_formula(intent: Intent, layout: Layout) -> str:
    low = layout.lowest
    spines = layout.spines
    leaves = layout.joined_leaves
    ports = f"{spines.ports.down} ports{' down' if layout.pod else ''}"
    least = f"⌈{leaves} leaves × {low.uplinks} uplinks ÷ {ports}⌉"
    needed = -(-leaves * low.uplinks // spines.ports.down)
    # A reserve that no number of spines holds does not change it.
    for_reserve = not layout.pod and leaves < layout.reserved_leaves() <= spines.ports.down // low.links_per_pair
    if low.fixed_pair:
        demands = [(low.down_gbps, low.links_per_pair, low.up.speed_gbps)]
        demands += [(leaf.down_gbps, leaf.pair, leaf.hardware.up.speed_gbps) for leaf in layout.classes if leaf.block]
        down_gbps, pair, up_gbps = max(demands, key=lambda one: Fraction(one[0], one[1] * one[2]))
        needed_gbps = Fraction(down_gbps) / layout.ratio
        asked = f"{pair} × spines × {format_speed(up_gbps)} ≥ {float(needed_gbps):g} Gb/s"
        return f"from the intent; {asked}" if intent.topology.spine.count else f"the least with {asked}"
    if intent.topology.spine.count:
        return f"from the intent; at least {least} = {needed}, {low.uplinks} mod {spines.group_size} = 0"
    if for_reserve and intent.topology.reserve.leaves:
        least = f"⌈{layout.reserved_leaves()} leaves of the reserve × {low.uplinks} uplinks ÷ {ports}⌉"
        needed = -(-layout.reserved_leaves() * low.uplinks // spines.ports.down)
    return f"{least} = {needed}; rounded up to a divisor of {low.uplinks}, at least 2"


def super_spine_steps(intent: Intent, layout: Layout) -> Iterator[SizingStep]:
    """Yield the number of super-spines and of their cables; nothing in a fabric of two tiers."""
    spines = layout.spines
    top = layout.super_spines
    if top is None:
        return
    ports = top.ports.total
    yield panel_step("super-spine ports", top.ports)
    pods = max(layout.pods[-1] + 1, intent.topology.reserve.pods or 0)
    kept = "pods of the reserve" if pods == intent.topology.reserve.pods else "pods"
    least = f"⌈{pods} {kept} × {spines.uplinks} uplinks ÷ {ports} ports⌉ = {-(-pods * spines.uplinks // ports)}"
    given = intent.topology.super_spine is not None and intent.topology.super_spine.count is not None
    rule = f"from the intent; at least {least}" if given else f"{least}; rounded up to a divisor of {spines.uplinks}"
    yield SizingStep("super-spines of a group", rule, str(top.group_size))
    planes = f" × {layout.planes} planes" if layout.planes > 1 else ""
    groups = f"{spines.group_size} groups, one for each spine of a pod, × {top.group_size}{planes}"
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
