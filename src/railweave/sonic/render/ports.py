"""The ports of a switch: PORT and BREAKOUT_CFG, what is attached to them, and their INTERFACE rows.

Every fabric port of the panel has a row, the used ones up, the others down and reserved.

Lanes, aliases and breakout modes are the platform's own (catalog), never computed. Speeds are written in Mbit/s.
Autonegotiation and link training stay as the platform has them: they are for copper only, and on optics they keep a
link down.
"""

from collections.abc import Iterator
from typing import NamedTuple

from railweave.fabric.devices import Switch
from railweave.fabric.model import IPV6_LINK_LENGTH, Graph
from railweave.fabric.panel import Panel, SwitchPort
from railweave.fabric.policy import Addressing
from railweave.sonic.rows import Fields, Row
from railweave.units import ipv4_text, ipv6_text


class Attachment(NamedTuple):
    """A used port and its far end.

    ``far`` is the far end as people write it (``pod1-spine1:Ethernet0``), ``neighbor_lldp_port`` the far port as LLDP
    names it. ``address`` is the address of this end in the link's /31, None on an unnumbered link. ``ipv6`` is its
    address in the /127 of a link to a node, None without IPv6.
    """

    port: SwitchPort
    neighbor: str
    far: str
    neighbor_lldp_port: str
    address: int | None
    is_host: bool
    length_m: int
    ipv6: int | None = None


def attachments(graph: Graph, addressing: Addressing, switch: Switch) -> tuple[Attachment, ...]:
    """Return the used ports of ``switch`` in panel order."""
    return (*_downward(graph, addressing, switch), *_upward(graph, addressing, switch))


# A fabric has a million ends of links, and unpacking a link takes the time of reading two of its names.
def _downward(graph: Graph, addressing: Addressing, switch: Switch) -> Iterator[Attachment]:
    """Yield the ports of a switch with links to lower tiers and to nodes."""
    own_ports = switch.panel.ports
    numbered = not addressing.unnumbered
    has_ipv4 = addressing.hosts is not None
    has_ipv6 = bool(graph.ipv6_blocks)
    ports = graph.ports_of
    for link in graph.downlinks_of[switch.name]:
        level, _, _, lower, lower_port, _, upper_port, network, _, length_m, _ = link
        port = ports[lower][lower_port]
        far = f"{lower}:{port.name}"
        # Level 0 is a link to a node.
        has_address = numbered if level else has_ipv4
        address = network if has_address else None
        if isinstance(port, SwitchPort):
            yield Attachment(
                port=own_ports[upper_port],
                neighbor=lower,
                far=far,
                neighbor_lldp_port=port.alias,
                address=address,
                is_host=False,
                length_m=length_m,
            )
        else:
            ipv6 = graph.ipv6_network(link) if has_ipv6 else None
            yield Attachment(
                port=own_ports[upper_port],
                neighbor=lower,
                far=far,
                neighbor_lldp_port=port.name,
                address=address,
                is_host=True,
                length_m=length_m,
                ipv6=ipv6,
            )


def _upward(graph: Graph, addressing: Addressing, switch: Switch) -> Iterator[Attachment]:
    """Yield the ports of a switch with links to the tier above."""
    own_ports = switch.panel.ports
    numbered = not addressing.unnumbered
    switches = graph.switch_of
    for _, _, _, _, lower_port, upper, upper_port, network, _, length_m, _ in graph.uplinks_of[switch.name]:
        port = switches[upper].panel.ports[upper_port]
        # The upper end of a link has the even address of its /31, the lower end the odd one.
        address = network + 1 if numbered else None
        yield Attachment(
            port=own_ports[lower_port],
            neighbor=upper,
            far=f"{upper}:{port.name}",
            neighbor_lldp_port=port.alias,
            address=address,
            is_host=False,
            length_m=length_m,
        )


_MBPS_PER_GBPS = 1000

RESERVED = "reserved"
"""Description of a port without a cable; it depends on the layout alone."""


def port_fields(port: SwitchPort, mtu_bytes: int) -> dict[str, str]:
    """Return the fields of PORT that follow from the panel and the fabric's MTU, without the alias."""
    fields: dict[str, str] = {}
    if port.fec:
        fields["fec"] = port.fec
    fields |= {
        "index": str(port.panel),
        "lanes": port.lanes,
        "mtu": str(mtu_bytes),
        "speed": str(port.speed_gbps * _MBPS_PER_GBPS),
    }
    # 0 is the port of an undivided cage (sonic-config-engine portconfig.py).
    if port.subport:
        fields["subport"] = str(port.subport)
    return fields


_CABLED = (
    "The cable plan joins this port to {} (topology); lanes, alias and FEC are the platform's (catalog), the speed "
    "follows topology.leaf and topology.spine, the MTU mtu.fabric."
)


def used_port_row(far: str, reserved: Row) -> Row:
    """Return the PORT row of a port with a cable to ``far``; ``reserved`` is its row without one."""
    fields = {**reserved.fields, "admin_status": "up", "description": f"to {far}"}
    return Row("PORT", reserved.key, fields, _CABLED, far)


def reserved_port_row(port: SwitchPort, shared: Fields) -> Row:
    """Return the PORT row of a port without a cable."""
    return Row(
        "PORT",
        port.name,
        {"admin_status": "down", "alias": port.alias, "description": RESERVED, **shared},
        "No cable ends here yet: the port is laid out for growth (topology.reserve) and stays down.",
    )


def breakout_rows(panel: Panel) -> tuple[Row, ...]:
    """Return the BREAKOUT_CFG rows of a panel; none if the platform has no breakout modes."""
    return tuple(
        Row(
            "BREAKOUT_CFG",
            parent,
            {"brkout_mode": mode},
            f"The speeds of topology.leaf and topology.spine split this cage as {mode}, "
            f"a mode of platform.json of {panel.platform} (catalog).",
        )
        for parent, mode in panel.breakout
    )


LOOPBACK = "Loopback0"
_LINK_LENGTH = 31


def bare_interface_row(port: str) -> Row:
    """Return the row that makes ``port`` a routed port."""
    return Row("INTERFACE", port, {}, "A fabric port is routed, not bridged: no flooding reaches lossless queues.")


def link_local_row(port: str) -> Row:
    """Return the row that makes ``port`` a routed port without an address of its own (unnumbered)."""
    fields = {"ipv6_use_link_local_only": "enable"}
    return Row("INTERFACE", port, fields, "An unnumbered link: IPv6 link-local next hops carry IPv4 routes (RFC 8950).")


def link_rows(attachment: Attachment, bare: Row) -> tuple[Row, ...]:
    """Return the INTERFACE rows of a used port: the port, and its addresses.

    ``bare`` is the row of the port without fields. An unnumbered link has a row of another form, and no address.
    """
    # Unpacked at once, because a fabric has a million attachments.
    port, neighbor, _, _, address, is_host, _, ipv6 = attachment
    if address is None:
        if ipv6 is None:
            return (link_local_row(port.name),)
        return (bare, _ipv6_row(attachment, ipv6))
    why = _OF_NODE if is_host else _OF_SWITCH
    ipv4_row = Row("INTERFACE", f"{port.name}|{ipv4_text(address)}/{_LINK_LENGTH}", {}, why, neighbor)
    if ipv6 is None:
        return (bare, ipv4_row)
    return (bare, ipv4_row, _ipv6_row(attachment, ipv6))


_COUNTED = " by leaf and leaf port, the even address at the upper end (RFC 3021)."
_OF_NODE = f"The /31 of the link to {{}}, counted from addressing.hosts{_COUNTED}"
_OF_SWITCH = f"The /31 of the link to {{}}, counted from addressing.links{_COUNTED}"


_IPV6_OF_NODE = (
    "The /127 of the link to {}, counted from addressing.hosts_ipv6 by leaf and leaf port, the even address at the "
    "leaf (RFC 6164)."
)


def _ipv6_row(attachment: Attachment, address: int) -> Row:
    return Row(
        "INTERFACE",
        f"{attachment.port.name}|{ipv6_text(address)}/{IPV6_LINK_LENGTH}",
        {},
        _IPV6_OF_NODE,
        attachment.neighbor,
    )


def loopback_rows(address: int) -> tuple[Row, Row]:
    """Return the rows of Loopback0 and of its address."""
    return (
        Row("LOOPBACK_INTERFACE", LOOPBACK, {}, "The interface of the switch's own address, which never goes down."),
        Row(
            "LOOPBACK_INTERFACE",
            f"{LOOPBACK}|{ipv4_text(address)}/32",
            {},
            "The switch's own address and BGP router id, counted from addressing.loopbacks by its number.",
        ),
    )
