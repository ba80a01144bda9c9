"""The fabric grown to its whole reserve: a lab is cabled for it from the start.

Containerlab recreates a switch node when its links change. So what the fabric may grow to is there from the beginning,
with its ports down, and growth only claims it. This rests on the design's rule that growth changes no identity and
moves no cable; where an intent is laid out so that it would (automatic links per pair), the lab has today's switches.
"""

from dataclasses import replace

from railweave.catalog.load import Catalog
from railweave.design.build import design
from railweave.fabric.model import Fabric, Link
from railweave.intent.model import Intent, Nodes, Shape


def whole_reserve(intent: Intent, today: Fabric, catalog: Catalog) -> Fabric:
    """Return the fabric with every leaf, spine and node of the reserve, or as much of it as moves no cable."""
    for spines in dict.fromkeys((today.top.reserve, intent.topology.spine.count)):
        grown = design(_grown(intent, today, spines), catalog).fabric
        if grown is not None and _cables(today) <= _cables(grown):
            return grown
    return today


def _grown(intent: Intent, today: Fabric, spines: int | None) -> Intent:
    topology = intent.topology
    leaves_of_stripe = today.rails if topology.shape is Shape.RAIL_OPTIMIZED else 1
    stripes = today.lowest.reserve // leaves_of_stripe
    return replace(
        intent,
        workload=intent.workload.with_values(gpus=None, growth=None),
        nodes=_full_stripes(intent.nodes, stripes, nodes_of_stripe(today)),
        topology=topology.with_values(
            leaf=topology.leaf.with_values(count=stripes * leaves_of_stripe),
            spine=topology.spine.with_values(count=spines),
        ),
    )


def _full_stripes(nodes: tuple[Nodes, ...], stripes: int, size: int) -> tuple[Nodes, ...]:
    """Return the entries, each filling its stripes up to the next entry's first, the last up to the reserve."""
    ends = [*(entry.first_stripe for entry in nodes[1:]), stripes]
    return tuple(
        entry.with_values(count=max(entry.count, (end - entry.first_stripe) * size))
        for entry, end in zip(nodes, ends, strict=True)
    )


def nodes_of_stripe(fabric: Fabric) -> int:
    """Return how many nodes one stripe holds: its places by the ports that its leaves have downwards."""
    first = fabric.hosts[0]
    ports_of_one_leaf = max(1, sum(1 for port in first.ports if port.plane == 0) // _leaves_of_stripe(fabric))
    return fabric.lowest.ports_down // ports_of_one_leaf


def _leaves_of_stripe(fabric: Fabric) -> int:
    """Return the leaves of one stripe in one plane: one a rail, one in all where leaves have no rail."""
    return 1 if fabric.switches[0].rail is None else fabric.rails


def _cables(fabric: Fabric) -> set[tuple[str, str, str, str, int]]:
    return {_cable(fabric, link) for link in fabric.links}


def _cable(fabric: Fabric, link: Link) -> tuple[str, str, str, str, int]:
    lower, upper = fabric.ports_of[link.lower][link.lower_port], fabric.ports_of[link.upper][link.upper_port]
    return link.lower, lower.name, link.upper, upper.name, link.network
