"""Flows, and the sizes of their packets."""

from dataclasses import dataclass
from enum import StrEnum

from sonic_sim.flows.forwarding import Hop
from sonic_sim.flows.nics import Place

# RoCEv2: Ethernet 14, IPv4 20, UDP 8, BTH 12, ICRC 4 and FCS 4 bytes; IPv6 has 20 more.
ROCE_HEADER_BYTES = 62
# TCP: Ethernet 14, IP 20, TCP with time stamps 32 and FCS 4 bytes.
TCP_HEADER_BYTES = 70
# Preamble and gap, which no counter counts.
GAP_BYTES = 20
ACK_BYTES = 66
# RC acknowledges a message, or every so many packets of a long one.
PACKETS_PER_ACK = 16
CNP_BYTES = 82
# One Gb/s in bytes per second.
BYTES_PER_GBPS = 1.25e8


class Transport(StrEnum):
    """What a flow is carried by."""

    RDMA = "rdma"
    TCP = "tcp"


@dataclass(frozen=True, slots=True)
class FlowKind:
    """What a tool sends."""

    transport: Transport = Transport.RDMA
    # IP traffic class: DSCP and the ECN bits.
    tos: int = 0
    # Of a full packet.
    payload_bytes: int = 4096
    packets_per_ack: float = PACKETS_PER_ACK
    # Most that the tool sends, such as one whose messages are small.
    limit_gbps: float = 1e6


@dataclass(slots=True, eq=False)
class Flow:
    """A queue pair or a TCP connection that sends as fast as it may; rates are in Gb/s on the wire with all gaps."""

    sender: Place
    receiver: Place
    kind: FlowKind
    path: tuple[Hop, ...]
    # The way of acknowledgments and CNPs.
    back: tuple[Hop, ...]
    rate: float = 0.0
    # What arrives of the payload, after losses and what is sent again.
    goodput: float = 0.0
    # Bytes of payload that arrived, and packets that were lost, since the flow began.
    arrived: float = 0.0
    lost_per_s: float = 0.0
    lost: float = 0.0
    # A flow whose packets do not come through at all: too large for a link, or no way.
    is_stuck: bool = False
    # What its tool measures of what arrives: drawn for every flow.
    measured_share: float = 1.0
    fair_share: float = 1.0

    @property
    def dscp(self) -> int:
        """The DSCP that its packets have."""
        return self.kind.tos >> 2

    @property
    def can_be_marked(self) -> bool:
        """Whether packets are ECN-capable (RFC 3168: ECT(0) or ECT(1))."""
        return self.kind.tos & 3 in (1, 2)

    @property
    def frame_bytes(self) -> int:
        """Bytes of a full packet as ports count it."""
        header = ROCE_HEADER_BYTES if self.kind.transport is Transport.RDMA else TCP_HEADER_BYTES
        return self.kind.payload_bytes + header

    @property
    def wire_bytes(self) -> int:
        """Bytes of a full packet with the gap before it."""
        return self.frame_bytes + GAP_BYTES

    @property
    def packets_per_s(self) -> float:
        """Packets that it sends."""
        return self.rate * BYTES_PER_GBPS / self.wire_bytes
