"""What each port of a switch is cabled to: a device's links, seen from that device."""

from dataclasses import dataclass

from railweave.fabric.model import Fabric, Link, Switch, SwitchPort


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


def tier_lengths(fabric: Fabric) -> tuple[tuple[int, ...], ...]:
    """Return the cable lengths in meters that the switches of each tier meet, ascending."""
    met = {(link.length_m, link.level) for link in fabric.links}
    return tuple(
        tuple(sorted({length_m for length_m, level in met if level in (tier.level, tier.level + 1)}))
        for tier in fabric.tiers
    )


def attachments(fabric: Fabric, switch: Switch) -> tuple[Attachment, ...]:
    """Return the used ports of ``switch`` in panel order."""
    return tuple(_attachment(fabric, switch, link) for link in fabric.links_of[switch.name])


def _attachment(fabric: Fabric, switch: Switch, link: Link) -> Attachment:
    device, own = link.far(switch.name), switch.panel.ports[link.port_of(switch.name)]
    if link.is_access:
        name = fabric.host_of[device].ports[link.lower_port].name
        return Attachment(own, device, name, name, link.network, True, link.length_m)
    far = fabric.switch_of[device].panel.ports[link.port_of(device)]
    address = link.address_of(switch.name) if fabric.is_numbered(link) else None
    return Attachment(own, device, far.name, far.alias, address, False, link.length_m)
