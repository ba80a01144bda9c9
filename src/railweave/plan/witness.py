"""Which switches to ask whether the switches above them carry traffic.

A drain, SONiC's maintenance mode and a switch that is down have the same effect: the switches below use other uplinks.
So one switch below shows the state of all switches above it with one command. If an uplink is not used, each switch
above is asked for the reason.
"""

from collections.abc import Collection, Iterable, Sequence
from dataclasses import dataclass

from railweave.fabric.links import Link
from railweave.fabric.model import Fabric
from railweave.units import ipv4_text


@dataclass(frozen=True, slots=True)
class Witness:
    """A switch to ask which ports it uses for traffic to a prefix.

    It uses all of ``ports`` unless a switch at the far end of one is drained or down.
    """

    device: str
    # The loopback of a leaf.
    prefix: str
    ports: frozenset[str]


def witnesses(
    fabric: Fabric, above: Sequence[str], able: Collection[str], *, down: Collection[Link] = (), turn: int = 0
) -> tuple[Witness, ...]:
    """Return switches that together show whether all the switches ``above`` the leaves carry traffic.

    The result is empty if one of these has no neighbor below that can show it. ``able`` are the switches that answer
    and take part in the fabric; ``down`` are links that carry nothing already. ``turn`` selects among the neighbors
    below, so that not always the same switch is asked.
    """
    chosen_witnesses: list[Witness] = []
    uncovered = [*above]
    while uncovered:
        upper = uncovered[0]
        candidates = _candidates(fabric, upper, able)
        if not candidates:
            return ()
        device = candidates[turn % len(candidates)]
        links = _links_up(fabric, device, above, down)
        witness = _witness(fabric, device, links, able)
        covered = {link.upper for link in links}
        if witness is None or upper not in covered:
            return ()
        chosen_witnesses.append(witness)
        uncovered = [name for name in uncovered if name not in covered]
    return tuple(chosen_witnesses)


def _candidates(fabric: Fabric, upper: str, able: Collection[str]) -> list[str]:
    return [name for name in fabric.below(upper) if name in able]


def _links_up(fabric: Fabric, device: str, above: Collection[str], down: Collection[Link]) -> list[Link]:
    return [link for link in fabric.uplinks_of[device] if link.upper in above and link not in down]


def _witness(fabric: Fabric, device: str, links: Iterable[Link], able: Collection[str]) -> Witness | None:
    """Return ``device`` as a witness of the far ends of ``links``; None if no leaf is beyond all of them."""
    leaf = _leaf_beyond(fabric, device, able)
    if leaf is None:
        return None
    panel_ports = fabric.switch_of[device].panel.ports
    ports = frozenset(panel_ports[link.lower_port].name for link in links)
    return Witness(device, f"{ipv4_text(fabric.switch_of[leaf].loopback)}/32", ports)


def _leaf_beyond(fabric: Fabric, device: str, able: Collection[str]) -> str | None:
    """Return a leaf of ``able`` that ``device`` reaches over all switches above it; None if there is none."""
    own = fabric.switch_of[device]
    for leaf in fabric.tier_switches[0]:
        if leaf.name not in able or fabric.network_of(leaf) != fabric.network_of(own):
            continue
        if own.tier.attaches_nodes:
            is_beyond_uplinks = leaf.pod == own.pod and leaf.name != device
        else:
            # A spine reaches the leaves of its own pod over its downlinks.
            is_beyond_uplinks = leaf.pod != own.pod
        if is_beyond_uplinks:
            return leaf.name
    return None
