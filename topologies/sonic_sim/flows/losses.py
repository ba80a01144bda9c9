"""Packets that cables lose: what FEC cannot correct, what nobody counts, and what both cost a flow."""

from dataclasses import dataclass
from functools import cache
from math import exp, lgamma, log, sqrt

from sonic_sim.device import Fabric
from sonic_sim.faults import Fault, FaultKind
from sonic_sim.flows.constants import Constants
from sonic_sim.network import End

# RS(544,514) over 10-bit symbols (IEEE 802.3 clause 91): a codeword with more than 15 bad symbols is lost.
SYMBOL_BITS = 10
CODEWORD_SYMBOLS = 544
CODEWORD_BITS = CODEWORD_SYMBOLS * SYMBOL_BITS
CORRECTABLE_SYMBOLS = 15
_LANE_GBPS = 100
_MOST_LANES = 8


@dataclass(frozen=True, slots=True)
class LinkQuality:
    """What happens to bits that arrive at a port."""

    # Share of packets that is lost, and those of them that the port counts as errors.
    lost: float
    counted: float
    # Of these, lost by the fault of a cable that is counted: the port counts codewords as well.
    corrupted: float
    # Bit error rate of each lane before FEC.
    lanes: tuple[float, ...]

    @property
    def ber(self) -> float:
        """The bit error rate of the port."""
        return sum(self.lanes) / len(self.lanes)

    @property
    def uncorrectable(self) -> float:
        """The share of codewords that FEC does not correct."""
        return tail(CODEWORD_BITS * self.ber)


@cache
def tail(mean_symbols: float) -> float:
    """Return the probability that more symbols of a codeword are bad than FEC corrects (Poisson)."""
    if mean_symbols <= 0:
        return 0.0
    below = 0.0
    for count in range(CORRECTABLE_SYMBOLS + 1):
        below += _poisson(mean_symbols, count)
    if below < 0.999:
        return 1.0 - below
    # Rare: the first terms beyond, which 1 - below would lose.
    return sum(_poisson(mean_symbols, count) for count in range(CORRECTABLE_SYMBOLS + 1, 2 * CORRECTABLE_SYMBOLS))


def _poisson(mean: float, count: int) -> float:
    return exp(count * log(mean) - mean - lgamma(count + 1))


def quality_at(net: Fabric, end: End, nic: int, gbps: float, constants: Constants) -> LinkQuality:
    """Return the quality of the direction of a link that ends at ``end``; ``nic`` is the number of a NIC there."""
    lossy = fault_at(net, FaultKind.LOSSY, end, nic)
    bad = fault_at(net, FaultKind.BER, end, nic)
    count = max(1, min(_MOST_LANES, round(gbps / _LANE_GBPS)))
    lanes = [constants.healthy_ber] * count
    if bad is not None:
        lanes[bad.lane % count] += bad.ber
    lost = constants.loss_ratio
    corrupted = constants.loss_ratio
    if lossy is not None:
        lost += lossy.ratio
        if lossy.counted:
            corrupted += lossy.ratio
    codewords = 4096 * 8 / (CODEWORD_BITS * 514 / 544) + 1
    by_errors = min(1.0, tail(CODEWORD_BITS * sum(lanes) / count) * codewords)
    return LinkQuality(min(1.0, lost + by_errors), min(1.0, corrupted + by_errors), corrupted, tuple(lanes))


def fault_at(net: Fabric, kind: FaultKind, end: End, nic: int) -> Fault | None:
    """Return the fault of a kind at an end of a cable: of the port of a switch, or of a NIC of a node."""
    if end.node in net.hosts:
        faults = net.host_faults.get(end.node)
        return None if faults is None else faults.of_nic(kind, nic)
    device = net.devices.get(end.node)
    return None if device is None else device.faults.of_port(kind, end.port)


def rdma_efficiency(lost: float, gbps: float, frame_bytes: int, round_trip_us: float) -> float:
    """Return the share of the packets sent that are new, with go-back-N: a loss repeats what was on its way."""
    window = max(1.0, gbps * 125 * round_trip_us / frame_bytes)
    return (1 - lost) / (1 + lost * window)


def tcp_limit_gbps(lost: float, payload_bytes: int, round_trip_us: float) -> float:
    """Return the rate that losses leave a TCP connection (Mathis et al. 1997): 1.22 x MSS / (RTT x sqrt(p))."""
    if lost <= 0:
        return 1e6
    return 1.22 * payload_bytes * 8 / (round_trip_us * sqrt(lost)) / 1000
