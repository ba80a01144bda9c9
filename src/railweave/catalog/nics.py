"""NICs of GPU nodes: the ports that a model can form and its PCIe slot, and the packs of the vendors' tools."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any


@dataclass(frozen=True, slots=True)
class NicPorts:
    """A way to use a NIC: ``ports`` Ethernet ports of ``speed_gbps``, at one of ``lane_gbps`` per lane.

    ``shared_gbps`` is what all its ports together can carry.
    """

    ports: int
    speed_gbps: int
    lane_gbps: tuple[int, ...]
    shared_gbps: int


@dataclass(frozen=True, slots=True)
class NotSupported:
    """A combination of ports and speed that people expect and the NIC refuses, with the reason and the fix."""

    ports: int
    speed_gbps: int
    reason: str
    fix: str


@dataclass(frozen=True, slots=True)
class NicModel:
    """A NIC model. ``form_factors`` are the cages that its cards come with, ``pcie`` the slots it was made for;
    ``reorders`` tells that it takes the packets of a flow in any order, as spraying over several paths brings them."""

    id: str
    title: str
    source: str
    form_factors: tuple[str, ...]
    pcie: tuple[str, ...]
    combinations: tuple[NicPorts, ...]
    not_supported: tuple[NotSupported, ...]
    notes: str
    reorders: bool = False

    def find(self, ports: int, speed_gbps: int) -> NicPorts | None:
        """Return the use as ``ports`` ports of a speed, None where the NIC cannot do it."""
        return next((one for one in self.combinations if (one.ports, one.speed_gbps) == (ports, speed_gbps)), None)

    def refusal_of(self, ports: int, speed_gbps: int) -> NotSupported | None:
        """Return why a combination is refused where the source says so, None where it is only not listed."""
        return next((one for one in self.not_supported if (one.ports, one.speed_gbps) == (ports, speed_gbps)), None)


Step = Mapping[str, Any]
"""What a vendor's tools read and set of one NIC; see ``data/README.md``."""


@dataclass(frozen=True, slots=True)
class VendorPack:
    """The tools of one NIC vendor, as ``data/nic_vendors/ID.json`` describes them.

    ``nics`` are ids of NIC models. ``rdma_prefix`` begins the kernel's names of RDMA devices. ``firmware`` are settings
    that survive a reboot and need a reset, which are reported and never changed; ``firmware_query`` shows them,
    ``firmware_set`` begins the command by which a person sets them. ``names`` are further names for the steps, each
    read on the node. ``facts`` tells which read of the steps gives a fact of ``check --facts``, and what its values
    mean there.
    """

    id: str
    title: str
    source: str
    nics: tuple[str, ...]
    rdma_prefix: str
    firmware: tuple[str, ...]
    firmware_query: tuple[str, ...]
    firmware_set: str
    steps: tuple[Step, ...]
    names: Mapping[str, Mapping[str, Any]]
    facts: Mapping[str, Mapping[str, Any]]


@dataclass(frozen=True, slots=True)
class PcieSlot:
    """A slot: ``raw_gbps`` is the link after its line coding, the bound for pass or fail.

    ``payload_gbps`` is the lower and upper estimate of what is left for data with payloads of 256 and 512 bytes.
    ``slots`` is 2 where one NIC uses two slots (socket direct).
    """

    id: str
    generation: int
    lanes: int
    slots: int
    raw_gbps: float
    payload_gbps: tuple[float, float]
