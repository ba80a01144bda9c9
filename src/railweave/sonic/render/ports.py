"""PORT and BREAKOUT_CFG: every fabric port of the panel, the used ones up, the others down and reserved.

Lanes, aliases and breakout modes are the platform's own (catalog), never computed. Speeds are written in Mbit/s.
Autonegotiation and link training stay as the platform has them: they belong to copper only, and on optics they keep a
link down.
"""

from railweave.fabric.model import Panel, SwitchPort
from railweave.sonic.render.attachments import Attachment
from railweave.sonic.rows import Fields, Row

_MBPS_PER_GBPS = 1000

RESERVED = "reserved"
"""Description of a port without a cable; it depends on the layout alone."""


def port_fields(port: SwitchPort, mtu_bytes: int) -> dict[str, str]:
    """Return the fields of a port that follow from the panel and the fabric's MTU; the alias is added by the row."""
    fields = {"fec": port.fec} if port.fec else {}
    fields |= {
        "index": str(port.panel),
        "lanes": port.lanes,
        "mtu": str(mtu_bytes),
        "speed": str(port.speed_gbps * _MBPS_PER_GBPS),
    }
    if port.subport:
        fields["subport"] = str(port.subport)
    return fields


def used_port_row(attachment: Attachment, shared: Fields) -> Row:
    """Return the PORT row of a cabled port; ``shared`` are its fields that follow from the panel."""
    far = f"{attachment.neighbor}:{attachment.neighbor_port}"
    return Row(
        "PORT",
        attachment.port.name,
        {"admin_status": "up", "alias": attachment.port.alias, "description": f"to {far}", **shared},
        f"The cable plan joins this port to {far} (topology); lanes, alias and FEC are the platform's (catalog), "
        "the speed follows topology.leaf and topology.spine, the MTU mtu.fabric.",
    )


def reserved_port_row(port: SwitchPort, shared: Fields) -> Row:
    """Return the PORT row of a port without a cable."""
    return Row(
        "PORT",
        port.name,
        {"admin_status": "down", "alias": port.alias, "description": RESERVED, **shared},
        "No cable ends here yet: the port is laid out for growth (topology.reserve) and stays down.",
    )


def breakout_rows(panel: Panel) -> tuple[Row, ...]:
    """Return the BREAKOUT_CFG rows of a panel; none where the platform has no breakout modes."""
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
