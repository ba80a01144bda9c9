"""What all limits share: the pair that a test measures, the payload share of its packets, and shares of what is expected."""

from typing import NamedTuple

from railweave.acceptance.model import NicPort, Tool
from railweave.fabric.model import Fabric


class NicPair(NamedTuple):
    """A test of one direction between two NIC ports of one plane."""

    sender: NicPort
    receiver: NicPort
    queue_pairs: int


class LimitShares(NamedTuple):
    """The shares of an expectation below which a test fails and warns (``acceptance:`` of the intent)."""

    fail: float = 0.90
    warn: float = 0.96


class Payload(NamedTuple):
    """Bytes of payload in a packet, and what a packet takes on the wire beside them."""

    packet_bytes: int
    overhead_bytes: int

    @property
    def share(self) -> float:
        """Return the payload's share of line rate."""
        return self.packet_bytes / (self.packet_bytes + self.overhead_bytes)


def payload_of(fabric: Fabric, tool: Tool = Tool.PERFTEST) -> Payload:
    """Return the packets that a tool sends at the MTU of the nodes: RoCEv2, for iperf3 TCP."""
    raise NotImplementedError
