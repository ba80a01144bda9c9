"""The out-of-band management network of a fabric: which port of a device has which address and which cable.

Plain values, as ``design.management`` makes them; nothing of the fabric itself depends on them.
"""

from collections.abc import Mapping
from typing import NamedTuple

from railweave.fabric.policy import Pool

SWITCH_PORT = "eth0"
"""The management port of a SONiC switch (sonic-buildimage, MGMT_PORT)."""


class ManagementPort(NamedTuple):
    """The management port of a switch or node: its ``address`` in the pool, and the ``port``, from 1, of the management
    switch ``switch`` that its cable goes to."""

    device: str
    name: str
    address: int
    switch: str
    port: int


class Management(NamedTuple):
    """A management network: the addresses are of ``pool``, whose first one after the network's is the gateway's.

    ``switches`` are the management switches by name, each with where it stands or whom it serves; ``model`` is what the
    user calls them, and ``length_m`` the length of every cable to them. ``ports`` are in natural order of devices.
    """

    pool: Pool
    model: str
    switch_ports: int
    length_m: int
    switches: Mapping[str, str]
    ports: tuple[ManagementPort, ...]

    @property
    def gateway(self) -> int:
        """Return the address that is kept for the gateway."""
        return self.pool.first + 1
