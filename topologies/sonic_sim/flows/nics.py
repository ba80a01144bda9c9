"""NICs of nodes as flows see them: what a node runs on them, and the counters that its tools read."""

from collections.abc import Callable, Collection, Iterable, Mapping, MutableMapping, Sequence
from ipaddress import ip_interface
from typing import NamedTuple, Protocol

from sonic_sim.network import End

PRIORITIES = range(8)


class FlowNic(Protocol):
    """A port of a NIC. The simulated nodes keep these values and change them as their programs set them."""

    @property
    def name(self) -> str:
        """The interface, which is the port of its cable: ``rail0``."""

    @property
    def rdma(self) -> str:
        """The RDMA device, ``mlx5_0``; empty for a NIC without."""

    @property
    def vendor(self) -> str:
        """Whose driver names its counters: nvidia, broadcom, amd or intel; empty for another."""

    @property
    def nic(self) -> int:
        """The number of the NIC from 0; its ports share it."""

    @property
    def up(self) -> bool:
        """Whether the node has set it up."""

    @property
    def mtu(self) -> int:
        """Bytes of an IP packet."""

    @property
    def addresses(self) -> Sequence[str]:
        """Addresses with their length: ``10.32.0.1/31``."""

    @property
    def trusts_dscp(self) -> bool:
        """Whether priorities are those of the DSCP; else every packet has priority 0."""

    @property
    def priority_of(self) -> Mapping[int, int]:
        """Priorities by DSCP; a DSCP that is not in it has that of its upper three bits."""

    @property
    def pfc(self) -> Collection[int]:
        """Priorities with PFC."""

    @property
    def traffic_class(self) -> int | None:
        """The IP traffic class that the node forces upon all queue pairs."""

    @property
    def cnp_dscp(self) -> int:
        """The DSCP of CNPs."""

    @property
    def counters(self) -> MutableMapping[str, int]:
        """Counters as ``ethtool -S`` and ``hw_counters`` show them."""


class Place(NamedTuple):
    """A NIC and its node."""

    node: str
    nic: FlowNic

    @property
    def end(self) -> End:
        """The end of its cable."""
        return End(self.node, self.nic.name)


Nics = Mapping[str, Sequence[FlowNic]]
"""The NICs of each node."""


class NicIndex:
    """Finds NICs. ``read`` returns those of all nodes that run, as they are now."""

    def __init__(self, read: Callable[[], Nics]) -> None:
        self.read = read

    def all(self) -> Iterable[Place]:
        """Yield every NIC."""
        for node, nics in self.read().items():
            for nic in nics:
                yield Place(node, nic)

    def of_node(self, node: str) -> Sequence[FlowNic]:
        """Return the NICs of a node."""
        return self.read().get(node, ())

    def by_device(self, node: str, rdma: str) -> Place | None:
        """Return the NIC of a node with this RDMA device, or its first one with any if ``rdma`` is empty; else None."""
        for nic in self.of_node(node):
            if nic.rdma and rdma in ("", nic.rdma):
                return Place(node, nic)
        return None

    def by_address(self, address: str) -> Place | None:
        """Return the NIC that has an address; None if no NIC has it."""
        for place in self.all():
            if address in addresses_of(place.nic):
                return place
        return None


def addresses_of(nic: FlowNic) -> list[str]:
    """Return the addresses of a NIC without their lengths; link-local ones are left out."""
    interfaces = [ip_interface(address) for address in nic.addresses]
    return [str(interface.ip) for interface in interfaces if not interface.ip.is_link_local]


def priority_of(nic: FlowNic, dscp: int) -> int:
    """Return the priority with which a NIC sends packets of a DSCP."""
    if not nic.trusts_dscp:
        return 0
    return nic.priority_of.get(dscp, dscp >> 3)
