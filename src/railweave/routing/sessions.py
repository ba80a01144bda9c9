"""eBGP sessions: one for each link, single hop over its /31 or, unnumbered, over its link-local addresses (RFC 8950),
with the AS number of the far end written out.

An explicit AS number refuses a mis-cabled neighbor, which ``remote-as external`` would accept (RFC 7938
section 5.2.1; design: one session a link keeps ECMP by link).
"""

from collections.abc import Sequence
from typing import NamedTuple

from railweave.fabric.model import Fabric, Link, Switch, Tier


class Session(NamedTuple):
    """One BGP session; ``address`` is the neighbor's, None where the session runs over the interface ``port``;
    ``group`` is the peer group of the neighbor's tier."""

    port: str
    address: int | None
    remote_asn: int
    description: str
    group: str


def group_name(tier: Tier) -> str:
    """Return the name of the peer group of a tier's switches, which its route maps carry too: ``SPINES``."""
    return tier.plural.upper()


def sessions(fabric: Fabric, switch: Switch) -> tuple[Session, ...]:
    """Return the sessions of ``switch`` by ascending neighbor address or port; links to GPU nodes carry none."""
    groups, numbered = [group_name(tier) for tier in fabric.tiers], not fabric.policies.addressing.unnumbered
    found = [_session(fabric, switch, link, groups, numbered) for link in fabric.fabric_links_of(switch.name)]
    if numbered:
        found.sort(key=lambda one: one.address or 0)
    return tuple(found)


def _session(fabric: Fabric, switch: Switch, link: Link, groups: Sequence[str], numbered: bool) -> Session:
    if link.lower == switch.name:
        far, own, port, address = fabric.switch_of[link.upper], link.lower_port, link.upper_port, link.network
    else:
        far, own, port, address = fabric.switch_of[link.lower], link.upper_port, link.lower_port, link.network + 1
    return Session(
        switch.panel.ports[own].name,
        address if numbered else None,
        far.asn,
        f"{far.name}:{far.panel.ports[port].name}",
        groups[far.tier.level],
    )
