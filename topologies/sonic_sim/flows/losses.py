"""Packets that cables lose: what FEC cannot correct, what nobody counts, and what both cost a flow."""

from dataclasses import dataclass, replace
from math import expm1, log1p, sqrt

from sonic_sim.device import Fabric
from sonic_sim.faults import FaultKind
from sonic_sim.flows.codewords import RS544, Code, codeword_shares
from sonic_sim.flows.constants import Constants
from sonic_sim.flows.link_faults import added_rates, fault_at
from sonic_sim.flows.wires import Wire
from sonic_sim.network import End

# RoCE packets of the largest path MTU; with half of a codeword at each end.
_PACKET_BITS = 4096 * 8


@dataclass(frozen=True, slots=True)
class LinkQuality:
    """What happens to bits that arrive at a port."""

    # The share of packets that is lost, and the share that is lost and counted as errors by the port.
    lost: float
    counted: float
    # The share that is lost by a fault of the cable and counted: the port counts lost codewords for these as well.
    corrupted: float
    # Bit error rate of each lane before FEC.
    lanes: tuple[float, ...]
    # None without FEC.
    code: Code | None = RS544

    @property
    def ber(self) -> float:
        """The bit error rate of the port."""
        return sum(self.lanes) / len(self.lanes)

    @property
    def codewords(self) -> tuple[float, ...]:
        """The shares of codewords by their wrong symbols, as `codeword_shares` returns them; none without FEC."""
        if self.code is None:
            return ()
        return codeword_shares(self.code, self.lanes)

    @property
    def uncorrectable(self) -> float:
        """The share of codewords that FEC does not correct."""
        if self.code is None:
            return 0.0
        return self.codewords[-1]

    @property
    def damaged(self) -> float:
        """The share of packets that arrive with wrong bits."""
        if self.code is None:
            return -expm1(_PACKET_BITS * log1p(-min(self.ber, 0.5)))
        return min(1.0, self.uncorrectable * (_PACKET_BITS / self.code.bits + 1))


def quality_at(
    net: Fabric, end: End, nic: int, wire: Wire, constants: Constants, at: float | None = None
) -> LinkQuality:
    """Return the quality of the direction of a link that ends at ``end``; ``nic`` is the number of a NIC there.

    ``at`` is a time in Unix seconds of the switches, None for now.
    """
    if at is None:
        at = next(iter(net.devices.values())).clock.now()
    healthy = constants.healthy_ber
    if wire.code is None:
        # Without FEC a healthy link has so few bit errors that hardly any packet is lost.
        healthy = constants.loss_ratio
    lanes = tuple(healthy + rate for rate in added_rates(net, end, nic, wire.lanes, at))
    lossy = fault_at(net, FaultKind.LOSSY, end, nic)
    lost = constants.loss_ratio
    corrupted = constants.loss_ratio
    if lossy is not None:
        lost += lossy.ratio
        if lossy.counted:
            corrupted += lossy.ratio
    # Without the losses yet: the share of packets that bit errors damage follows from lanes and code.
    without_losses = LinkQuality(0.0, 0.0, corrupted, lanes, wire.code)
    damaged = without_losses.damaged
    return replace(without_losses, lost=min(1.0, lost + damaged), counted=min(1.0, corrupted + damaged))


def rdma_efficiency(lost: float, gbps: float, frame_bytes: int, round_trip_us: float) -> float:
    """Return the share of packets that are useful, with go-back-N: after a loss all that follow are sent again."""
    window_packets = max(1.0, gbps * 125 * round_trip_us / frame_bytes)
    return (1 - lost) / (1 + lost * window_packets)


def tcp_limit_gbps(lost: float, payload_bytes: int, round_trip_us: float) -> float:
    """Return the rate that losses leave a TCP connection (Mathis et al. 1997): 1.22 x MSS / (RTT x sqrt(p))."""
    if lost <= 0:
        return 1e6
    return 1.22 * payload_bytes * 8 / (round_trip_us * sqrt(lost)) / 1000
