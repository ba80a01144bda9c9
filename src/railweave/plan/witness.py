"""Who shows that switches carry traffic: a neighbor below them that sends its own over all of them.

A drain, SONiC's maintenance mode and a switch that is down have the same effect: the switches below use other uplinks.
So one switch below shows the state of all switches above it with one command. Where an uplink is not used, each switch
above is asked for the reason.
"""

from collections.abc import Collection, Iterable, Sequence
from dataclasses import dataclass

from railweave.fabric.links import Link
from railweave.fabric.model import Fabric
from railweave.units import ipv4_text


@dataclass(frozen=True, slots=True)
class Witness:
    """A switch to ask: ``device`` sends what goes to ``prefix``, the loopback of a leaf, over all of its ``ports``,
    unless somebody led traffic away from a switch that they lead to."""

    device: str
    prefix: str
    ports: frozenset[str]


def witnesses(
    fabric: Fabric, above: Sequence[str], able: Collection[str], *, down: Collection[Link] = (), turn: int = 0
) -> tuple[Witness, ...]:
    """Return switches that together show whether all the switches ``above`` the leaves carry traffic; none if one of
    these has no neighbor below that can show it.

    ``able`` are the switches that answer and take part in the fabric, ``down`` the links that carry nothing as it is.
    Among equal ones the ``turn`` decides, so that no switch is asked each time.
    """
    chosen: list[Witness] = []
    left = [*above]
    while left:
        below = _able_below(fabric, left[0], able)
        if not below:
            return ()
        device = below[turn % len(below)]
        links = _links_up(fabric, device, above, down)
        witness = _witness(fabric, device, links, able)
        shown = {link.upper for link in links}
        if witness is None or left[0] not in shown:
            return ()
        chosen.append(witness)
        left = [name for name in left if name not in shown]
    return tuple(chosen)


def _able_below(fabric: Fabric, upper: str, able: Collection[str]) -> list[str]:
    return [name for name in fabric.below(upper) if name in able]


def _links_up(fabric: Fabric, device: str, above: Collection[str], down: Collection[Link]) -> list[Link]:
    return [link for link in fabric.uplinks_of[device] if link.upper in above and link not in down]


def _witness(fabric: Fabric, device: str, links: Iterable[Link], able: Collection[str]) -> Witness | None:
    """Return ``device`` as a witness of the far ends of ``links``; None if no leaf is beyond all of them."""
    target = _target(fabric, device, able)
    if target is None:
        return None
    panel = fabric.switch_of[device].panel.ports
    ports = frozenset(panel[link.lower_port].name for link in links)
    return Witness(device, f"{ipv4_text(fabric.switch_of[target].loopback)}/32", ports)


def _target(fabric: Fabric, device: str, able: Collection[str]) -> str | None:
    """Return a leaf that ``device`` reaches over all switches above it: another one of its pod, or of another pod."""
    own = fabric.switch_of[device]
    for leaf in fabric.tier_switches[0]:
        # A spine reaches the leaves of its own pod over its downlinks.
        is_beyond = leaf.pod != own.pod
        if own.tier.attaches_nodes:
            is_beyond = leaf.pod == own.pod and leaf.name != device
        if is_beyond and leaf.name in able and fabric.network_of(leaf) == fabric.network_of(own):
            return leaf.name
    return None
