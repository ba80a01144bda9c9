"""GPU nodes and switches that leave a running fabric: out of use first, then out of their neighbors' configuration.

The nodes leave first, then the switches of each tier from below. What leaves is drained and shown to be unused; only
then do the ports towards it close. A spine whose cables go to other switches leaves with them (``restriping``). A leaf
that staying nodes use cannot leave in this way.
"""

from collections.abc import Collection, Iterator, Mapping
from dataclasses import replace
from typing import NamedTuple, TypeVar

from railweave.fabric.devices import Switch, Tier
from railweave.fabric.model import Fabric
from railweave.plan.phases.restriping import cables_change_switches
from railweave.wording import counted

_Block = TypeVar("_Block")


class RemovalStep(NamedTuple):
    """GPU nodes, or switches of one tier, that leave together: ``what`` counts them, ``fabric`` is the rest."""

    leaving: tuple[str, ...]
    what: str
    fabric: Fabric


def removal_steps(base: Fabric, head: Fabric) -> Iterator[RemovalStep]:
    """Yield what leaves on the way from ``base`` to ``head``, from the GPU nodes upwards."""
    fabric = base
    nodes = _closing_nodes(base, head)
    if nodes:
        fabric = _without(fabric, nodes)
        yield RemovalStep(nodes, counted(len(nodes), "GPU node"), fabric)
    for tier in base.tiers:
        names = _leaving_switches(tier, fabric, head)
        if not names:
            continue
        # Spines whose cables go to other switches leave with them, see ``restriping``.
        leaves_with_cables = not tier.attaches_nodes and cables_change_switches(fabric, head)
        if not leaves_with_cables:
            fabric = _without(fabric, names)
            yield RemovalStep(names, tier.counted(len(names)), fabric)


def _leaving_switches(tier: Tier, fabric: Fabric, head: Fabric) -> tuple[str, ...]:
    """Return the switches of a tier that can leave ``fabric``."""
    switches = [switch for switch in fabric.switches if switch.tier == tier]
    return tuple(switch.name for switch in switches if _can_leave(switch, fabric, head))


def _can_leave(switch: Switch, fabric: Fabric, head: Fabric) -> bool:
    """Tell whether ``head`` does not have a switch and no node of ``fabric`` is on it."""
    return switch.name not in head.switch_of and not fabric.nodes_on(switch.name)


def _closing_nodes(base: Fabric, head: Fabric) -> tuple[str, ...]:
    """Return the nodes that leave and leave ports unused; a node that is only renamed uses all of its ports again."""
    ports_in_use = {(link.upper, link.upper_port) for link in head.links}
    leaving = (host.name for host in base.hosts if host.name not in head.host_of)
    return tuple(name for name in leaving if not ports_in_use.issuperset(_leaf_ports(base, name)))


def _leaf_ports(fabric: Fabric, host: str) -> Iterator[tuple[str, int]]:
    for link in fabric.links_of[host]:
        yield link.upper, link.upper_port


def _without(fabric: Fabric, names: Collection[str]) -> Fabric:
    """Return ``fabric`` without these nodes or switches."""
    removed = frozenset(names)
    return replace(
        fabric,
        switches=tuple(switch for switch in fabric.switches if switch.name not in removed),
        hosts=tuple(host for host in fabric.hosts if host.name not in removed),
        links=tuple(link for link in fabric.links if removed.isdisjoint((link.lower, link.upper))),
        host_blocks=_kept(fabric.host_blocks, removed),
        ipv6_blocks=_kept(fabric.ipv6_blocks, removed),
        nic_blocks=_kept(fabric.nic_blocks, removed),
    )


def _kept(blocks: Mapping[str, _Block], removed: Collection[str]) -> dict[str, _Block]:
    return {name: block for name, block in blocks.items() if name not in removed}
