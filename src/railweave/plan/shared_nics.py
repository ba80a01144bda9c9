"""NICs that several leaves share (dual-ToR): whose leaves these are, and ports that have lost their link alone.

A node may be switched off, so that its links may be down. One that has a link to one leaf of a NIC and none to another
is on, and reached by fewer leaves than by design: nothing fails yet, and the next failure cuts the NIC off.
"""

from collections.abc import Iterable, Mapping

from railweave.fabric.model import Fabric, Host, Link, Switch
from railweave.plan.outcome import CheckKind, VerifyCheck
from railweave.units import ipv4_text

_UP = "up"


def sharing(fabric: Fabric, leaf: Switch) -> tuple[str, ...]:
    """Return the other leaves that the NICs of ``leaf`` are attached to, in the same plane; none of other switches."""
    if leaf.name not in fabric.nic_blocks:
        return ()
    own = leaf.plane, leaf.stripe, leaf.rail
    return tuple(
        one.name for one in fabric.tier_switches[0] if one != leaf and (one.plane, one.stripe, one.rail) == own
    )


def half_linked(fabric: Fabric, checks: Iterable[VerifyCheck]) -> tuple[str, ...]:
    """Return a sentence for every port of a shared NIC without a link while another port of the NIC has one, in the
    order of nodes and ports; what no check has seen is not judged."""
    if not fabric.nic_blocks:
        return ()
    seen = {(one.device, one.subject): one.actual for one in checks if one.kind is CheckKind.LINK}
    return tuple(sentence for host in fabric.hosts for sentence in _of_node(fabric, host, seen))


def _of_node(fabric: Fabric, host: Host, seen: Mapping[tuple[str, str], str]) -> Iterable[str]:
    states = {link: seen.get((link.upper, _port(fabric, link))) for link in fabric.uplinks_of[host.name]}
    for link, state in states.items():
        alike = {one: found for one, found in states.items() if fabric.nic_address(one) == fabric.nic_address(link)}
        alive = [one for one, found in alike.items() if found == _UP]
        if state is not None and state != _UP and alive:
            own, other = (host.ports[one.lower_port].name for one in (link, alive[0]))
            silent = f", which does not announce the NIC ({ipv4_text(fabric.nic_address(link) or 0)})"
            told = "" if any(one.upper == link.upper for one in alive) else silent
            yield (
                f"{host.name} {own} has no link to {link.upper} {_port(fabric, link)}{told}, while {other} of the same"
                f" NIC has one to {alive[0].upper}: look at the cable and the port of the NIC"
            )


def _port(fabric: Fabric, link: Link) -> str:
    return fabric.switch_of[link.upper].panel.ports[link.upper_port].name
