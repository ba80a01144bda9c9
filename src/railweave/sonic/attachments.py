"""What each port of a switch is cabled to: a device's links, seen from that device."""

from collections.abc import Mapping
from dataclasses import dataclass

from railweave.fabric.model import Fabric, Link, LinkKind, Role, Switch, SwitchPort


@dataclass(frozen=True, slots=True)
class Attachment:
    """A used port: the far device, its port's name and what LLDP calls that port, this end's /31 address
    (None on an unnumbered link), and the length of the cable in metres."""

    port: SwitchPort
    neighbour: str
    neighbour_port: str
    neighbour_lldp_port: str
    address: int | None
    is_host: bool
    length_m: int


def tier_lengths(fabric: Fabric) -> Mapping[Role, tuple[int, ...]]:
    """Return the cable lengths in metres that the switches of each tier meet, ascending."""
    found: dict[Role, set[int]] = {role: set() for role in (Role.LEAF, Role.SPINE)}
    for length_m, kind in {(link.length_m, link.kind) for link in fabric.links}:
        found[Role.LEAF].add(length_m)
        if kind is LinkKind.LEAF_SPINE:
            found[Role.SPINE].add(length_m)
    return {role: tuple(sorted(lengths)) for role, lengths in found.items()}


def attachments(fabric: Fabric, switch: Switch) -> tuple[Attachment, ...]:
    """Return the used ports of ``switch`` in panel order."""
    return tuple(_attachment(fabric, switch, link) for link in fabric.links_of[switch.name])


def _attachment(fabric: Fabric, switch: Switch, link: Link) -> Attachment:
    ports = switch.panel.ports
    if link.kind is LinkKind.HOST_LEAF:
        name = fabric.host_of[link.lower].ports[link.lower_port].name
        return Attachment(ports[link.upper_port], link.lower, name, name, link.network, True, link.length_m)
    unnumbered = fabric.policies.addressing.unnumbered
    if link.lower == switch.name:
        far = fabric.switch_of[link.upper].panel.ports[link.upper_port]
        address = None if unnumbered else link.network + 1
        return Attachment(ports[link.lower_port], link.upper, far.name, far.alias, address, False, link.length_m)
    far = fabric.switch_of[link.lower].panel.ports[link.lower_port]
    address = None if unnumbered else link.network
    return Attachment(ports[link.upper_port], link.lower, far.name, far.alias, address, False, link.length_m)
