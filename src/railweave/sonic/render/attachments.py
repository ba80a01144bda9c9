"""What each port of a switch is cabled to: a device's links, seen from that device."""

from typing import NamedTuple

from railweave.fabric.model import Fabric, Switch, SwitchPort


class Attachment(NamedTuple):
    """A used port: the far device, its port's name and what LLDP calls that port, this end's /31 address
    (None on an unnumbered link), and the length of the cable in metres."""

    port: SwitchPort
    neighbor: str
    neighbor_port: str
    neighbor_lldp_port: str
    address: int | None
    is_host: bool
    length_m: int


def attachments(fabric: Fabric, switch: Switch) -> tuple[Attachment, ...]:
    """Return the used ports of ``switch`` in panel order."""
    own, switches, numbered = switch.panel.ports, fabric.switch_of, not fabric.policies.addressing.unnumbered
    found = []
    for link in fabric.downlinks_of[switch.name]:
        port = own[link.upper_port]
        if link.level:
            far, address = switches[link.lower].panel.ports[link.lower_port], link.network if numbered else None
            found.append(Attachment(port, link.lower, far.name, far.alias, address, False, link.length_m))
        else:
            name = fabric.host_of[link.lower].ports[link.lower_port].name
            found.append(Attachment(port, link.lower, name, name, link.network, True, link.length_m))
    for link in fabric.uplinks_of[switch.name]:
        far, address = switches[link.upper].panel.ports[link.upper_port], link.network + 1 if numbered else None
        found.append(Attachment(own[link.lower_port], link.upper, far.name, far.alias, address, False, link.length_m))
    return tuple(found)
