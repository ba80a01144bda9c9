"""NICs that several leaves share (dual-ToR): whose leaves these are, and ports that have lost their link alone.

A node may be switched off, so that its links may be down. One that has a link to one leaf of a NIC and none to another
is on, and reached by fewer leaves than by design: nothing fails yet, and the next failure cuts the NIC off.
"""

from collections.abc import Iterable, Mapping, Sequence

from railweave.fabric.devices import Host, Switch
from railweave.fabric.links import Link
from railweave.fabric.model import Fabric
from railweave.plan.outcome import CheckKind, VerifyCheck
from railweave.units import ipv4_text

_UP = "up"


def sharing(fabric: Fabric, leaf: Switch) -> tuple[str, ...]:
    """Return the other leaves that share NICs with ``leaf``; empty if it is a switch without shared NICs."""
    if leaf.name not in fabric.nic_blocks:
        return ()
    nic_group = _nic_group(leaf)
    leaves = fabric.tier_switches[0]
    return tuple(other.name for other in leaves if other != leaf and _nic_group(other) == nic_group)


def _nic_group(leaf: Switch) -> tuple[int, int | None, int | None]:
    """Return what leaves that share NICs have in common."""
    return (leaf.plane, leaf.stripe, leaf.rail)


def half_linked(fabric: Fabric, checks: Iterable[VerifyCheck]) -> tuple[str, ...]:
    """Return a sentence for every port of a shared NIC that has no link while another port of the NIC has one.

    The sentences are in the order of nodes and ports. A port without a check is not judged.
    """
    if not fabric.nic_blocks:
        return ()
    states = {(check.device, check.subject): check.actual for check in checks if check.kind is CheckKind.LINK}
    sentences: list[str] = []
    for host in fabric.hosts:
        sentences += _half_linked_ports(fabric, host, states)
    return tuple(sentences)


def _half_linked_ports(fabric: Fabric, host: Host, states: Mapping[tuple[str, str], str]) -> Iterable[str]:
    """Yield the sentences of one node; ``states`` are the link states by leaf and port."""
    state_of: dict[Link, str | None] = {}
    for link in fabric.uplinks_of[host.name]:
        state_of[link] = states.get((link.upper, _leaf_port(fabric, link)))
    links_up = [link for link, state in state_of.items() if state == _UP]
    for link, state in state_of.items():
        if state in (None, _UP):
            continue
        # The ports of a shared NIC have one address.
        address = fabric.nic_address(link)
        links_of_same_nic = [link_up for link_up in links_up if fabric.nic_address(link_up) == address]
        if links_of_same_nic:
            yield _half_linked_sentence(fabric, host, link, links_of_same_nic)


def _half_linked_sentence(fabric: Fabric, host: Host, link: Link, links_up: Sequence[Link]) -> str:
    """Return the sentence for ``link``, which is down while ``links_up`` of the same NIC are up."""
    lost = f"{host.name} {host.ports[link.lower_port].name} has no link to {link.upper} {_leaf_port(fabric, link)}"
    if all(link_up.upper != link.upper for link_up in links_up):
        # No other port of the NIC is on this leaf, so the leaf has no route to the NIC.
        lost += f", which does not announce the NIC ({ipv4_text(fabric.nic_address(link) or 0)})"
    other_port = host.ports[links_up[0].lower_port].name
    return (
        f"{lost}, while {other_port} of the same"
        f" NIC has one to {links_up[0].upper}: look at the cable and the port of the NIC"
    )


def _leaf_port(fabric: Fabric, link: Link) -> str:
    return fabric.switch_of[link.upper].panel.ports[link.upper_port].name
