"""NIC models of GPU nodes: which ports they can form, on which lanes, and what their PCIe slot must give."""

from dataclasses import dataclass


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
    """A combination of ports and speed that people expect and the NIC refuses, with the reason and the way out."""

    ports: int
    speed_gbps: int
    reason: str
    way_out: str


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
