"""The devices of a fabric: tiers of switches, and the nodes that attach to the lowest one."""

from dataclasses import dataclass, field
from enum import StrEnum
from typing import NamedTuple

from railweave.fabric.panel import Panel
from railweave.wording import counted, plural

TIER_NAMES = ("leaf", "spine", "super-spine")
"""The names of tiers by level, for people, in names of devices and in the intent's overrides."""


@dataclass(frozen=True, slots=True)
class Tier:
    """The switches at the same distance from the GPU nodes.

    Tiers of two designs of a fabric are equal whatever their sizes; so are leaves of one entry of nodes whose uplinks
    differ from those of all leaves.
    """

    # The role of its switches, for people, in names and in SONiC's `type`.
    name: str
    # Counts from 0 at the tier that attaches nodes.
    level: int
    # Switches of one plane.
    count: int = field(compare=False)
    # Switches of one plane that ports, addresses and AS numbers are laid out for.
    reserve: int = field(compare=False)
    # Ports of one switch in use to the tier below, and their speed.
    ports_down: int = field(compare=False)
    down_gbps: int = field(compare=False)
    # The same to the tier above; 0 at the top.
    ports_up: int = field(default=0, compare=False)
    up_gbps: int = field(default=0, compare=False)
    # Parallel links to each switch above.
    links_per_pair: int = field(default=0, compare=False)
    # Pods, or groups of super-spines, in the reserve, and the switches of each.
    groups: int = field(default=1, compare=False)
    group_reserve: int = field(default=0, compare=False)
    # Ports of one switch that are not for downlinks, cabled or not.
    ports_above: int = field(default=0, compare=False)
    # The entry of nodes whose leaves have uplinks of their own, and the path that states them; else empty.
    entry: str = field(default="", compare=False)
    path: str = field(default="", compare=False)

    @property
    def attaches_nodes(self) -> bool:
        """Tell whether GPU nodes are cabled to it."""
        return self.level == 0

    def counted(self, count: int) -> str:
        """Return a number of its switches: ``1 leaf``, ``4 leaves``."""
        return counted(count, self.name)

    @property
    def plural(self) -> str:
        """Return the name for several: ``leaves``."""
        return plural(self.name)

    @property
    def titled(self) -> str:
        """Return the plural name, with the entry of nodes that the switches belong to: ``leaves of 'old'``."""
        if not self.entry:
            return self.plural
        return f"{self.plural} of {self.entry!r}"


class Switch(NamedTuple):
    """A switch of a tier."""

    name: str
    tier: Tier
    # Its identity within the tier, from which name, AS number and addresses follow.
    number: int
    # Its index within its plane.
    place: int
    plane: int
    # None above the lowest tier.
    stripe: int | None
    # None if racks are aligned; spines have one only if no switch joins rails.
    rail: int | None
    asn: int
    loopback: int
    panel: Panel
    # None in two tiers, and for super-spines.
    pod: int | None = None
    # Of a super-spine, and of the spines that join it, one of every pod.
    group: int | None = None


RAIL = "rail"
"""The start of the names of nodes' interfaces if an intent has one fabric; else they begin with the fabric's name."""


class HostPort(NamedTuple):
    """A fabric port of a GPU node."""

    # The persistent interface name: rail0, rail0p1 with several ports a NIC, storage0 in one of several fabrics.
    name: str
    # The NIC of the node and the port of the NIC, from 0.
    nic: int
    port: int
    rail: int
    plane: int
    speed_gbps: int
    # The PCI address that pins the name; empty if the intent states none.
    pci: str = ""
    # The kernel's name of the RDMA device; empty if the intent states none.
    rdma: str = ""
    # The cage of the NIC, from 0; several ports may share one.
    cage: int = 0
    # Which of the leaves that share the NIC it goes to, from 0.
    leaf: int = 0


class NodeRole(StrEnum):
    """What a node is; only GPU nodes run NCCL."""

    GPU = "gpu"
    STORAGE = "storage"
    CPU = "cpu"


@dataclass(frozen=True, slots=True)
class Host:
    """A GPU node, or a storage or CPU node by its ``role``."""

    name: str
    # The name of its entry of nodes.
    kind: str
    # Its index within the entry.
    number: int
    # The group of nodes that share leaves, and the index within it.
    stripe: int
    place: int
    nic_model: str
    # All nodes of an entry have the same tuple.
    ports: tuple[HostPort, ...]
    role: NodeRole = NodeRole.GPU
    # In one of several fabrics: the number of the node's NIC ports in the groups before.
    first_port: int = 0
    # Its GPUs meet in this fabric.
    collectives: bool = True
    # All ports of a NIC if some are in another fabric, else 0.
    shared_ports: int = 0

    def port_number(self, index: int) -> int:
        """Return the number of a port among all of the node, in the order of the fabrics' groups of NICs."""
        if not self.shared_ports:
            return self.first_port + index
        port = self.ports[index]
        return self.first_port + port.nic * self.shared_ports + port.port

    @property
    def runs_nccl(self) -> bool:
        """Tell whether it has GPUs, whose collectives are NCCL's, in this fabric."""
        return self.role is NodeRole.GPU and self.collectives
