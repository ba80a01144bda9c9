"""The out-of-band management network of the intent: its addresses, and the switches that its ports are cabled to."""

from typing import Annotated

from railweave.fabric.policy import Pool
from railweave.intent.keys import Keys, default, key, section
from railweave.intent.kinds import Text, Whole
from railweave.intent.notations import Prefix

# Linux allows 15 characters for an interface.
_PORT = r"[A-Za-z0-9](?:[A-Za-z0-9._-]{0,14})"
PortName = Annotated[str, Text(what="a name of a port", pattern=_PORT, example="bmc")]
ModelName = Annotated[
    str, Text(what="a name of a switch", pattern=r"[A-Za-z0-9](?:[A-Za-z0-9 ()./+_-]{0,62})", example="SN2201")
]


class ManagementSwitchKeys(Keys):
    """The switches of the management network."""

    model: ModelName = default("management switch", "what they are, for the bill of materials; no entry of the catalog")
    ports: Annotated[int, Whole(least=2, most=512)] = default(48, "ports of one of them for management ports")


class ManagementKeys(Keys):
    """The out-of-band management network: an address and a cable for the management port of every switch and node."""

    pool: Annotated[Pool, Prefix()] = key(
        "addresses: the gateway's first, leaves in the first quarter, spines in the second, nodes in the upper half"
    )
    switch: ManagementSwitchKeys = section(ManagementSwitchKeys, "the switches that the ports are cabled to")
    node_ports: tuple[PortName, ...] = default(
        ["bmc"], "management ports of a node, each with an address and a cable, like bmc or eno1; [] for none"
    )
    length_m: Annotated[int, Whole(least=1, most=100)] = default(5, "longest of these cables in meters")
