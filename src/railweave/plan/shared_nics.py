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
    """Return the other leaves that the NICs of ``leaf`` are attached to, in the same plane; none of other switches."""
    if leaf.name not in fabric.nic_blocks:
        return ()
    place = (leaf.plane, leaf.stripe, leaf.rail)
    leaves = fabric.tier_switches[0]
    return tuple(other.name for other in leaves if other != leaf and (other.plane, other.stripe, other.rail) == place)


def half_linked(fabric: Fabric, checks: Iterable[VerifyCheck]) -> tuple[str, ...]:
    """Return a sentence for every port of a shared NIC without a link while another port of the NIC has one, in the
    order of nodes and ports; a port without a check is not judged."""
    if not fabric.nic_blocks:
        return ()
    states = {(check.device, check.subject): check.actual for check in checks if check.kind is CheckKind.LINK}
    return tuple(sentence for host in fabric.hosts for sentence in _of_node(fabric, host, states))


def _of_node(fabric: Fabric, host: Host, states: Mapping[tuple[str, str], str]) -> Iterable[str]:
    """Yield the sentences of one node; ``states`` are the link states by leaf and port."""
    state_of = {link: states.get((link.upper, _port(fabric, link))) for link in fabric.uplinks_of[host.name]}
    for link, state in state_of.items():
        if state is None or state == _UP:
            continue
        # The ports of a shared NIC have one address.
        address = fabric.nic_address(link)
        alive = [other for other in state_of if state_of[other] == _UP and fabric.nic_address(other) == address]
        if alive:
            yield _half_linked(fabric, host, link, alive)


def _half_linked(fabric: Fabric, host: Host, link: Link, alive: Sequence[Link]) -> str:
    lost = f"{host.name} {host.ports[link.lower_port].name} has no link to {link.upper} {_port(fabric, link)}"
    if all(other.upper != link.upper for other in alive):
        # No other port of the NIC is on this leaf, so the leaf has no route to the NIC.
        lost += f", which does not announce the NIC ({ipv4_text(fabric.nic_address(link) or 0)})"
    other_port = host.ports[alive[0].lower_port].name
    return (
        f"{lost}, while {other_port} of the same"
        f" NIC has one to {alive[0].upper}: look at the cable and the port of the NIC"
    )


def _port(fabric: Fabric, link: Link) -> str:
    return fabric.switch_of[link.upper].panel.ports[link.upper_port].name
