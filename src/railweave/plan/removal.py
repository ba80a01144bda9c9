"""GPU nodes and switches that leave a running fabric: out of use first, then out of their neighbors' configuration.

From below: the nodes, then the switches of each tier. What leaves is drained and shown to be unused; only then do the
ports towards it close. A spine whose cables go to other switches leaves with them (``restriping``), and a leaf that
staying nodes use has no such way.
"""

from collections.abc import Collection, Iterator
from dataclasses import replace
from typing import NamedTuple

from railweave.fabric.model import Fabric
from railweave.plan.restriping import cables_change_switches
from railweave.wording import counted


class RemovalStep(NamedTuple):
    """GPU nodes, or switches of one tier, that leave together: ``what`` counts them, ``fabric`` is the rest."""

    leaving: tuple[str, ...]
    what: str
    fabric: Fabric


def removal_steps(base: Fabric, head: Fabric) -> Iterator[RemovalStep]:
    """Yield what leaves on the way from ``base`` to ``head``, from the GPU nodes upwards."""
    fabric = base
    if nodes := _closing_nodes(base, head):
        fabric = _without(fabric, nodes)
        yield RemovalStep(nodes, counted(len(nodes), "GPU node"), fabric)
    for tier in base.tiers:
        names = tuple(
            one.name
            for one in fabric.switches
            if one.tier == tier and one.name not in head.switch_of and not fabric.nodes_on(one.name)
        )
        if names and (tier.attaches_nodes or not cables_change_switches(fabric, head)):
            fabric = _without(fabric, names)
            yield RemovalStep(names, tier.counted(len(names)), fabric)


def _closing_nodes(base: Fabric, head: Fabric) -> tuple[str, ...]:
    """Return the nodes that leave and whose ports nobody takes over, as a node with another name does."""
    taken = {(link.upper, link.upper_port) for link in head.links}
    return tuple(
        host.name
        for host in base.hosts
        if host.name not in head.host_of
        and any((link.upper, link.upper_port) not in taken for link in base.links_of[host.name])
    )


def _without(fabric: Fabric, names: Collection[str]) -> Fabric:
    gone = frozenset(names)
    return replace(
        fabric,
        switches=tuple(one for one in fabric.switches if one.name not in gone),
        hosts=tuple(one for one in fabric.hosts if one.name not in gone),
        links=tuple(one for one in fabric.links if one.lower not in gone and one.upper not in gone),
        host_blocks={name: block for name, block in fabric.host_blocks.items() if name not in gone},
        ipv6_blocks={name: block for name, block in fabric.ipv6_blocks.items() if name not in gone},
        nic_blocks={name: block for name, block in fabric.nic_blocks.items() if name not in gone},
    )
