"""eBGP sessions: one for each link, single hop over its /31, with the AS number of the far end written out.

An explicit AS number refuses a mis-cabled neighbour, which ``remote-as external`` would accept (RFC 7938
section 5.2.1; design: one session a link keeps ECMP by link).
"""

from dataclasses import dataclass

from railweave.fabric.model import Fabric, Link, LinkKind, Switch


@dataclass(frozen=True, slots=True)
class Session:
    """One BGP session; ``address`` is the neighbour's, ``upwards`` tells that it is the tier farther from the GPUs."""

    address: int
    remote_asn: int
    description: str
    upwards: bool


def sessions(fabric: Fabric, switch: Switch) -> tuple[Session, ...]:
    """Return the sessions of ``switch`` by ascending neighbour address; links to GPU nodes carry none."""
    found = [
        _session(fabric, switch, link) for link in fabric.links_of[switch.name] if link.kind is not LinkKind.HOST_LEAF
    ]
    found.sort(key=lambda one: one.address)
    return tuple(found)


def _session(fabric: Fabric, switch: Switch, link: Link) -> Session:
    upwards = link.lower == switch.name
    if upwards:
        far, port, address = fabric.switch_of[link.upper], link.upper_port, link.network
    else:
        far, port, address = fabric.switch_of[link.lower], link.lower_port, link.network + 1
    return Session(address, far.asn, f"{far.name}:{far.panel.ports[port].name}", upwards)
