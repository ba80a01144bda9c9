"""DEVICE_NEIGHBOR and DEVICE_NEIGHBOR_METADATA: what SONiC should find at the far end of each port.

The port is written as LLDP shows it: a SONiC switch announces its ports by alias, a GPU node by interface name, so
``show interfaces neighbor expected`` and ``show lldp table`` can be compared by eye.
"""

from collections.abc import Mapping

from railweave.fabric.model import Switch
from railweave.sonic.render.attachments import Attachment
from railweave.sonic.render.metadata import SONIC_TYPE
from railweave.sonic.rows import Row
from railweave.units import ipv4_text

_HOST_FIELDS: Mapping[str, str] = {"type": "Server"}
_HOST_REASON = "A GPU node that is cabled to this leaf (nodes); its type tells SONiC that the cable is short."


def neighbor_row(attachment: Attachment) -> Row:
    """Return the DEVICE_NEIGHBOR row of a used port."""
    return Row(
        "DEVICE_NEIGHBOR",
        attachment.port.name,
        {"name": attachment.neighbor, "port": attachment.neighbor_lldp_port},
        f"The cable plan ends at {attachment.neighbor}:{attachment.neighbor_port} (topology); "
        "SONiC's QoS templates take the ports named here as the active ones.",
    )


def host_metadata_row(name: str) -> Row:
    """Return the DEVICE_NEIGHBOR_METADATA row of a GPU node."""
    return Row("DEVICE_NEIGHBOR_METADATA", name, _HOST_FIELDS, _HOST_REASON)


def switch_metadata_row(switch: Switch) -> Row:
    """Return the DEVICE_NEIGHBOR_METADATA row of a neighboring switch."""
    return Row(
        "DEVICE_NEIGHBOR_METADATA",
        switch.name,
        {
            "hwsku": switch.panel.hwsku,
            "lo_addr": f"{ipv4_text(switch.loopback)}/32",
            "type": SONIC_TYPE[switch.tier.name],
        },
        f"A {switch.tier.name} that is cabled to this switch (topology), with its own model and address.",
    )
