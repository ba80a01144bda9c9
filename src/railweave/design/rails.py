"""Rail-only: every rail is a fabric of its own, one switch while its nodes fit, else leaves and spines.

No cable joins two rails: traffic between them takes the links between the GPUs of a node (arXiv 2307.12169).
"""

from collections.abc import Iterator, Sequence
from typing import NamedTuple

from railweave.design.hardware import TierHardware
from railweave.design.layout import Layout, NodeGroup, TierLayout
from railweave.design.leaf_class import LeafClass, NodePorts
from railweave.design.leaves import Faults, Leaves
from railweave.design.nodes import place_groups, rail_count
from railweave.design.ratios import asked_ratio
from railweave.design.split import all_down
from railweave.diagnostics import Diagnostic, error
from railweave.intent.model import Intent, Shape
from railweave.wording import counted


class SwitchRails(NamedTuple):
    """The outcome of giving a rail one switch: ``layout`` is None where that is refused, or two tiers are meant."""

    layout: Layout | None
    faults: Faults


def give_rails_a_switch(intent: Intent, node_ports: Sequence[NodePorts], classes: Sequence[LeafClass]) -> SwitchRails:
    """Return the layout of one switch for each rail and plane, or why it is refused; neither where the intent leaves
    the tiers open and asks for more than one switch holds."""
    topology, rails = intent.topology, rail_count(intent)
    if topology.shape is not Shape.RAIL_ONLY:
        return SwitchRails(None, (_joins_nothing(intent),) if topology.tiers == 1 else ())
    faults: Faults = tuple(_third_tier(intent))
    # Nothing joins the leaves that share a NIC where there is no spine (RW128 refuses tiers: 1).
    if faults or topology.tiers not in (None, 1) or topology.leaves_per_nic > 1:
        return SwitchRails(None, faults)
    hardware = classes[0].hardware
    ports = all_down(hardware.cages, hardware.down)
    one_switch = tuple(leaf._replace(down=ports.total, ports=ports) for leaf in classes)
    groups, faults = place_groups(intent, node_ports, one_switch)
    faults = faults or (*_spines(intent), *_counts(intent, rails), *_stripes(intent, groups, ports.total))
    if faults or (topology.tiers is None and not _holds_growth(intent, groups)):
        return SwitchRails(None, faults if topology.tiers == 1 else ())
    lowest = TierLayout(
        name=hardware.name,
        level=0,
        places=tuple(range(rails)),
        ports=ports,
        down=hardware.down,
        reserve=rails,
        rails=rails,
        group_size=1,
        groups=rails,
        group_reserve=1,
    )
    layout = Layout(
        fabric=intent.fabric,
        shape=topology.shape,
        planes=topology.planes,
        rails=rails,
        stripe_leaves=rails,
        groups=groups,
        classes=one_switch,
        stripes=(0,),
        ratio=asked_ratio(intent),
        tiers=(lowest,),
    )
    return SwitchRails(layout, ())


def rails_exceed_spines(intent: Intent, leaves: Leaves, spine: TierHardware) -> Faults:
    """Return the refusal of more stripes than the spines of a rail have ports for."""
    per_nic = intent.topology.leaves_per_nic
    needed = leaves.indexes // leaves.rails
    if needed <= spine.ports:
        return ()
    nodes = sum(group.entry.count for group in leaves.groups)
    most = spine.ports // per_nic * leaves.groups[-1].stripe_nodes
    return (
        error(
            "T-1",
            f"{counted(nodes, 'node')} need {needed} leaves of a rail; a spine of two tiers has {spine.ports} ports,"
            f" for at most {most:,} nodes",
            intent.where("nodes"),
            fix=f"use spines with at least {needed} ports, larger leaves, or more planes; rails that are apart have no"
            " third tier",
        ),
    )


def _holds_growth(intent: Intent, groups: Sequence[NodeGroup]) -> bool:
    growth = intent.workload.growth
    return growth is None or growth.gpus <= groups[0].stripe_nodes * groups[0].entry.gpus


def _joins_nothing(intent: Intent) -> Diagnostic:
    return error(
        "RW202",
        f"tiers: 1 has no spines, and in a {intent.topology.shape} fabric nothing else joins the leaves",
        intent.where("topology.tiers"),
        fix="use tiers: 2 or auto, or shape: rail-only, where each rail is one switch",
    )


def _third_tier(intent: Intent) -> Iterator[Diagnostic]:
    """Yield what a rail-only fabric has no place for."""
    topology = intent.topology
    asked = {
        "tiers": topology.tiers == 3,
        "super_spine": topology.super_spine is not None,
        "pod": topology.pod is not None,
        "reserve.pods": topology.reserve.pods is not None,
    }
    for key, stated in asked.items():
        if stated:
            yield error(
                "RW202",
                f"a rail-only fabric has one tier or two, and topology.{key} asks for a third",
                intent.where(f"topology.{key}"),
                fix="use tiers: auto, 1 or 2 without pods, or shape: rail-optimized",
            )


def _spines(intent: Intent) -> Iterator[Diagnostic]:
    """Yield what is stated of spines where none is built; without ``tiers`` a bare model is no wish for them."""
    topology = intent.topology
    asked = {
        "spine": topology.tiers == 1 and "topology.spine" in intent.places,
        "spine.count": topology.tiers is None and topology.spine.count is not None,
        "links_per_pair": topology.links_per_pair is not None,
        "reserve.spines": topology.reserve.spines is not None,
    }
    for key, stated in asked.items():
        if stated:
            yield error(
                "RW202",
                f"tiers: 1 builds one switch a rail and no spines, and topology.{key} is stated",
                intent.where(f"topology.{key}"),
                fix=f"leave topology.{key} out, or use tiers: 2",
            )


def _counts(intent: Intent, rails: int) -> Iterator[Diagnostic]:
    topology = intent.topology
    for key, count in (("leaf.count", topology.leaf.count), ("reserve.leaves", topology.reserve.leaves)):
        if count is not None and count != rails:
            yield error(
                "RW202",
                f"tiers: 1 builds one switch a rail, {rails} in all; topology.{key} is {count}",
                intent.where(f"topology.{key}"),
                fix=f"use {rails}, or tiers: 2",
            )


def _stripes(intent: Intent, groups: Sequence[NodeGroup], ports: int) -> Iterator[Diagnostic]:
    """Yield where the nodes are more than one switch a rail holds, or stand in other stripes than the first."""
    if len(groups) > 1 or any(group.first_stripe for group in groups):
        group = groups[-1]
        yield error(
            "RW202",
            f"tiers: 1 builds one switch a rail, which is stripe 0; nodes {group.entry.name!r} begin in stripe"
            f" {group.first_stripe}",
            intent.where(f"{group.path}.first_stripe"),
            fix="use tiers: 2, or one entry of nodes",
        )
    elif groups and groups[0].stripes > 1:
        (group,) = groups
        nodes, needed = group.entry.count, group.entry.count * group.ports_per_leaf
        limit = "the stripe" if intent.topology.stripe else f"a switch with {counted(ports, 'port')}"
        yield error(
            "T-1",
            f"{counted(nodes, 'node')} need {needed} ports on the one switch of a rail; {limit} holds"
            f" {counted(group.stripe_nodes, 'node')}",
            intent.where("nodes[0].count"),
            fix=f"use at most {counted(group.stripe_nodes, 'node')}, switches with {needed} ports, or tiers: 2",
        )
