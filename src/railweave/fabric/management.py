"""The out-of-band management network of a fabric: the addresses and cables of management ports.

``design.management`` computes these values; nothing else in the fabric depends on them.
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
    """A management network with addresses of ``pool``.

    ``switches`` are the management switches by name, each with its place or the devices that it serves; ``model`` is
    the user's word for them, ``length_m`` the length of every cable to them. ``ports`` are in natural order of devices.
    """

    pool: Pool
    model: str
    switch_ports: int
    length_m: int
    switches: Mapping[str, str]
    ports: tuple[ManagementPort, ...]

    @property
    def gateway(self) -> int:
        """Return the gateway's address, the first after the network's."""
        return self.pool.first + 1
