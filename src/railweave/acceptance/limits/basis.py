"""The payload of a line: what the packets of RoCEv2 leave of line rate.

    payload = line_gbps * packet_bytes / (packet_bytes + overhead_bytes)

The packet is the largest of 256 to 4096 bytes that the MTU of the nodes carries with its headers. On the wire it takes
82 bytes more: Ethernet 14, IPv4 20, UDP 8, BTH 12, ICRC 4, FCS 4, preamble and gap 20. So 98.0 % of line rate is
payload with packets of 4096 bytes, 392.1 of 400 Gb/s. IPv6 takes 20 bytes more. Only the first packet of a message has
an RETH of 16 bytes, which is left out. iperf3 sends TCP with timestamps instead.
"""

from typing import NamedTuple

from railweave.acceptance.model import UNITS, Metric, MetricLimit, NicPort, Tool
from railweave.fabric.model import Fabric
from railweave.fabric.policy import AddressFamily
from railweave.hosts.values import roce_mtu_bytes

# Ethernet 14, FCS 4, preamble and gap 20.
_FRAME_BYTES = 38
# UDP 8, BTH 12, ICRC 4.
_ROCE_BYTES = 24
# TCP 20 with timestamps 12 (RFC 7323).
_TCP_BYTES = 32
_IP_BYTES = {AddressFamily.IPV4: 20, AddressFamily.IPV6: 40}

PAYLOAD_FORMULA = "line_gbps * packet_bytes / (packet_bytes + overhead_bytes)"
"""The payload of a line in Gb/s."""


class NicPair(NamedTuple):
    """A test of one direction between two NIC ports of one plane."""

    sender: NicPort
    receiver: NicPort
    queue_pairs: int


PairLimits = tuple[MetricLimit, ...]
"""The limits of one test; tests with equal limits have the same object, so that a plan writes it once."""


Inputs = dict[str, float | int | str]


class LimitShares(NamedTuple):
    """The shares of an expectation below which a test fails and warns (``acceptance:`` of the intent)."""

    fail: float = 0.90
    warn: float = 0.96


class Payload(NamedTuple):
    """Bytes of payload in a packet, and what a packet takes on the wire beside them."""

    packet_bytes: int
    overhead_bytes: int

    def of(self, line_gbps: float) -> float:
        """Return the payload of a line in Gb/s (`PAYLOAD_FORMULA`)."""
        return line_gbps * self.packet_bytes / (self.packet_bytes + self.overhead_bytes)


def payload_of(fabric: Fabric, tool: Tool = Tool.PERFTEST) -> Payload:
    """Return the packets that a tool sends at the MTU of the nodes: TCP for iperf3, RoCEv2 for all others."""
    mtu_bytes = fabric.policies.mtu.hosts_bytes
    ip_bytes = _IP_BYTES[fabric.policies.hosts.rdma_family]
    if tool is Tool.IPERF3:
        headers_bytes = ip_bytes + _TCP_BYTES
        return Payload(mtu_bytes - headers_bytes, headers_bytes + _FRAME_BYTES)
    return Payload(roce_mtu_bytes(mtu_bytes), ip_bytes + _ROCE_BYTES + _FRAME_BYTES)


def lower_limit(
    metric: Metric, expect: float, shares: LimitShares, formula: str, inputs: Inputs, part: float = 1.0
) -> MetricLimit:
    """Return a limit that fails and warns below ``shares`` of ``part * expect``; ``part`` is at most 1.

    ``formula`` yields ``expect`` from ``inputs``.
    """
    fail = shares.fail * expect * part
    warn = shares.warn * expect * part
    return MetricLimit(
        metric=metric, unit=UNITS[metric], expect=expect, fail=fail, warn=warn, formula=formula, inputs=inputs
    )
