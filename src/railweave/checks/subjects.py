"""What rules look at beside an intent: the two ends of a link, the tables of a switch, and what was read of a node."""

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from railweave.fabric.model import Fabric, Host
from railweave.fabric.policy import Policies
from railweave.hosts.values import Rail, node_of
from railweave.qos.buffering import BufferPlan
from railweave.sonic.port_settings import PortSettings
from railweave.sonic.rows import ConfigDb

Plans = Callable[[str], BufferPlan | None]
"""How a switch divides its buffer, by name; None where its buffer is not known."""


@dataclass(frozen=True, slots=True)
class LinkEnds:
    """A link: the end nearer to the GPUs, and the other; speed in Gb/s, length in metres and medium are as designed."""

    lower: PortSettings
    upper: PortSettings
    speed_gbps: int
    length_m: int
    media: str
    policies: Policies
    plans: Plans

    @property
    def ends(self) -> tuple[PortSettings, PortSettings]:
        """Return both ends, the upper one first."""
        return self.upper, self.lower

    @property
    def switches(self) -> tuple[PortSettings, ...]:
        """Return the ends that are switches."""
        return tuple(end for end in (self.lower, self.upper) if not end.is_host)

    @property
    def lossless(self) -> frozenset[int]:
        """Return the priorities that are to be lossless on it."""
        return frozenset(one.priority for one in self.policies.classes if one.lossless)

    def far(self, end: PortSettings) -> PortSettings:
        """Return the other end."""
        return self.upper if end is self.lower else self.lower


@dataclass(frozen=True, slots=True)
class SwitchRead:
    """A switch of a fabric and its tables, as they are intended or as they were read."""

    fabric: Fabric
    name: str
    tables: ConfigDb


@dataclass(frozen=True, slots=True)
class NodePort:
    """A port of a node: what was read, the switch at its other end, and what the ports of its NIC need together."""

    name: str
    facts: Mapping[str, Any]
    far: str
    devices: tuple[str, ...]
    nic_gbps: int

    def __str__(self) -> str:
        """Return ``device:port``."""
        return self.name


@dataclass(frozen=True, slots=True)
class NodeRead:
    """A GPU node and what was read of it."""

    fabric: Fabric
    host: Host
    document: Mapping[str, Any]

    @property
    def ports(self) -> Iterator[NodePort]:
        """Yield the node's ports in their order."""
        far_of = {link.lower_port: link.upper for link in self.fabric.links_of[self.host.name]}
        for index, port in enumerate(self.host.ports):
            far = far_of.get(index, "")
            devices = (self.host.name, far) if far else (self.host.name,)
            needed = sum(one.speed_gbps for one in self.host.ports if one.nic == port.nic)
            yield NodePort(f"{self.host.name}:{port.name}", self.nic(port.name), far, devices, needed)

    @property
    def rails(self) -> tuple[Rail, ...]:
        """Return the rails of the node as they are intended."""
        return node_of(self.fabric, self.host).rails

    @property
    def switches(self) -> tuple[str, ...]:
        """Return the switches that the node is connected to."""
        return tuple(sorted({link.upper for link in self.fabric.links_of[self.host.name]}))

    def nic(self, name: str) -> Mapping[str, Any]:
        """Return what was read of an interface."""
        found: Mapping[str, Any] = self.document.get("nics", {}).get(name, {})
        return found
