"""Leaves: which stripes have them, as many as the nodes need or as the intent gives."""

from itertools import count as numbers
from itertools import islice

from railweave.design.layout import NodeGroup
from railweave.diagnostics import Diagnostic, error
from railweave.intent.model import Intent, Shape
from railweave.wording import counted


def stripe_leaves(intent: Intent, rails: int) -> int:
    """Return the leaves of one stripe: one a rail, or one where racks are aligned."""
    return rails if intent.topology.shape is Shape.RAIL_OPTIMIZED else 1


def place_leaves(
    intent: Intent, groups: tuple[NodeGroup, ...], per_stripe: int
) -> tuple[tuple[int, ...], tuple[Diagnostic, ...]]:
    """Return the indexes of the stripes that have leaves.

    A given count beyond what the nodes need adds stripes without nodes, from the lowest free index on.
    """
    used = sorted(stripe for group in groups for stripe in range(group.first_stripe, group.end_stripe))
    count = intent.topology.leaf.count
    if count is None:
        return tuple(used), ()
    if count % per_stripe:
        better = max(len(used), count // per_stripe + 1) * per_stripe
        return (), (_not_whole_stripes(intent, count, better, per_stripe),)
    if count < len(used) * per_stripe:
        return (), (_too_few(intent, groups, count, len(used), per_stripe),)
    taken = set(used)
    free = count // per_stripe - len(used)
    extra = islice((stripe for stripe in numbers() if stripe not in taken), free)
    return tuple(sorted((*used, *extra))), ()


def _not_whole_stripes(intent: Intent, count: int, better: int, rails: int) -> Diagnostic:
    return error(
        "RW206",
        f"{counted(count, 'leaf')} cannot be shared out over {rails} rails: every stripe has one leaf a rail",
        intent.where("topology.leaf.count"),
        fix=f"use a multiple of {rails}, such as {better}",
    )


def _too_few(intent: Intent, groups: tuple[NodeGroup, ...], count: int, stripes: int, per_stripe: int) -> Diagnostic:
    nodes = sum(group.entry.count for group in groups)
    needed = stripes * per_stripe
    if len(groups) > 1:
        return error(
            "T-1",
            f"{nodes} nodes in {stripes} stripes need {needed} leaves; {counted(count, 'leaf')} cannot hold them",
            intent.where("topology.leaf.count"),
            fix=f"use {needed} leaves, or leave the count to auto",
        )
    (group,) = groups
    room = count // per_stripe * group.stripe_nodes
    return error(
        "T-1",
        f"{nodes} nodes need {needed} leaves: {counted(count, 'leaf')} have ports for {room}"
        f" nodes, {group.stripe_nodes} in a stripe of {counted(per_stripe, 'leaf')}",
        intent.where("topology.leaf.count"),
        fix=f"use {needed} leaves, or at most {room} nodes",
    )
