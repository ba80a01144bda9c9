"""eBGP sessions: one for each link, single hop over its /31 or, unnumbered, over its link-local addresses (RFC 8950),
with the AS number of the far end written out.

An explicit AS number refuses a mis-cabled neighbour, which ``remote-as external`` would accept (RFC 7938
section 5.2.1; design: one session a link keeps ECMP by link).
"""

from dataclasses import dataclass

from railweave.fabric.model import Fabric, Link, LinkKind, Switch


@dataclass(frozen=True, slots=True)
class Session:
    """One BGP session; ``address`` is the neighbour's, None where the session runs over the interface ``port``;
    ``upwards`` tells that the neighbour is of the tier farther from the GPUs."""

    port: str
    address: int | None
    remote_asn: int
    description: str
    upwards: bool


def sessions(fabric: Fabric, switch: Switch) -> tuple[Session, ...]:
    """Return the sessions of ``switch`` by ascending neighbour address or port; links to GPU nodes carry none."""
    found = [
        _session(fabric, switch, link) for link in fabric.links_of[switch.name] if link.kind is not LinkKind.HOST_LEAF
    ]
    if not fabric.policies.addressing.unnumbered:
        found.sort(key=lambda one: one.address or 0)
    return tuple(found)


def _session(fabric: Fabric, switch: Switch, link: Link) -> Session:
    upwards = link.lower == switch.name
    if upwards:
        far, port, address = fabric.switch_of[link.upper], link.upper_port, link.network
    else:
        far, port, address = fabric.switch_of[link.lower], link.lower_port, link.network + 1
    own = switch.panel.ports[link.lower_port if upwards else link.upper_port].name
    over_interface = fabric.policies.addressing.unnumbered
    return Session(
        own, None if over_interface else address, far.asn, f"{far.name}:{far.panel.ports[port].name}", upwards
    )
