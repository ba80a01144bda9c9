"""What each port of a switch is cabled to: a device's links, seen from that device."""

from dataclasses import dataclass

from railweave.fabric.model import Fabric, Link, LinkKind, Switch, SwitchPort


@dataclass(frozen=True, slots=True)
class Attachment:
    """A used port: the far device, its port's name and what LLDP calls that port, and this end's /31 address."""

    port: SwitchPort
    neighbour: str
    neighbour_port: str
    neighbour_lldp_port: str
    address: int
    is_host: bool


def attachments(fabric: Fabric, switch: Switch) -> tuple[Attachment, ...]:
    """Return the used ports of ``switch`` in panel order."""
    return tuple(_attachment(fabric, switch, link) for link in fabric.links_of[switch.name])


def _attachment(fabric: Fabric, switch: Switch, link: Link) -> Attachment:
    ports = switch.panel.ports
    if link.kind is LinkKind.HOST_LEAF:
        name = fabric.host_of[link.lower].ports[link.lower_port].name
        return Attachment(ports[link.upper_port], link.lower, name, name, link.network, is_host=True)
    if link.lower == switch.name:
        far = fabric.switch_of[link.upper].panel.ports[link.upper_port]
        return Attachment(ports[link.lower_port], link.upper, far.name, far.alias, link.network + 1, is_host=False)
    far = fabric.switch_of[link.lower].panel.ports[link.lower_port]
    return Attachment(ports[link.upper_port], link.lower, far.name, far.alias, link.network, is_host=False)
