"""The values of an acceptance plan: rounds of tests, the limit of each metric, and the links that rounds load.

``plan.json`` holds them under the same names (design: "After the deployment"). A NIC and its port count from 0.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from enum import StrEnum
from typing import NamedTuple


class Level(StrEnum):
    """How thorough a plan is."""

    SMOKE = "smoke"
    QUICK = "quick"
    FULL = "full"
    SOAK = "soak"


class RoundKind(StrEnum):
    """What the tests of a round measure."""

    # One tested sender and one receiver a leaf: every test has its path for itself.
    ISOLATED = "isolated"
    # All NIC ports send and receive at once.
    LOADED = "loaded"
    # Several senders to one port: the only rounds in which a port is used more than once.
    INCAST = "incast"
    LATENCY = "latency"
    COLLECTIVE = "collective"
    SOAK = "soak"


class Tool(StrEnum):
    """The program that carries out a test."""

    PERFTEST = "perftest"
    NCCL = "nccl"
    RCCL = "rccl"
    IPERF3 = "iperf3"


class Metric(StrEnum):
    """What a test yields; each metric has one unit (`UNITS`)."""

    # Payload of one direction, averaged over the test.
    BANDWIDTH = "bandwidth"
    # The same, averaged over all tests of a round.
    ROUND_BANDWIDTH = "round_bandwidth"
    # Tests of a loaded round whose bandwidth is below the `warn` of their own limit.
    BELOW_LIMIT = "below_limit"
    # Half of a round trip for WRITE and SEND.
    LATENCY_P999 = "latency_p999"
    LATENCY_TYPICAL = "latency_typical"
    # Bus bandwidth of a collective as nccl-tests defines it, in GB/s a rank.
    BUS_BANDWIDTH = "bus_bandwidth"


UNITS: Mapping[Metric, str] = {
    Metric.BANDWIDTH: "Gb/s",
    Metric.ROUND_BANDWIDTH: "Gb/s",
    Metric.BELOW_LIMIT: "tests",
    Metric.LATENCY_P999: "us",
    Metric.LATENCY_TYPICAL: "us",
    Metric.BUS_BANDWIDTH: "GB/s",
}

HIGHER_IS_WORSE = frozenset({Metric.BELOW_LIMIT, Metric.LATENCY_P999, Metric.LATENCY_TYPICAL})
"""Metrics that fail above their limit; all others fail below it."""


class NicPort(NamedTuple):
    """A port of a NIC of a node."""

    node: str
    nic: int
    port: int


@dataclass(frozen=True, slots=True)
class MetricLimit:
    """What is expected of a metric, below which value (or above, `HIGHER_IS_WORSE`) the test warns and fails, and why.

    ``formula`` is an expression over the names of ``inputs`` that yields ``expect``; many tests share one limit.
    """

    metric: Metric
    unit: str
    expect: float
    fail: float
    warn: float
    formula: str
    inputs: Mapping[str, float | int | str]


class PlannedTest(NamedTuple):
    """A test of one round: from one NIC port to another, or among a group (collectives).

    A named tuple, because a plan of 4,096 nodes has a hundred thousand tests.
    """

    id: str
    round: str
    kind: RoundKind
    tool: Tool
    sender: NicPort
    # None for a group.
    receiver: NicPort | None
    # Empty for a pair.
    group: tuple[NicPort, ...]
    queue_pairs: int
    # The size of a message.
    message_bytes: int
    # The command of each node that takes part, as words.
    argv: Mapping[str, tuple[str, ...]]
    limits: tuple[MetricLimit, ...]


class AcceptanceRound(NamedTuple):
    """Tests that start at the same time; ``seconds`` is how long they run, start-up and fetching not included."""

    id: str
    kind: RoundKind
    seconds: int
    tests: tuple[str, ...]
    # Of the round as a whole, such as the mean of its tests.
    limits: tuple[MetricLimit, ...] = ()


class PortEnd(NamedTuple):
    """An end of a link: the device and its port as the operating system names it."""

    device: str
    port: str


class CoveredLink(NamedTuple):
    """A link of the fabric with the rounds that may load it, and the probability that at least one of them does."""

    # The name of its cable, as `bom --labels` prints it; links of one cable share it.
    cable: str
    # The end nearer to the GPUs.
    lower: PortEnd
    upper: PortEnd
    probability: float
    rounds: tuple[str, ...]
    # The tiers that it joins, one of `fabric.links.LINK_KINDS`.
    kind: str
    speed_gbps: int
    plane: int
    # None between switches.
    rail: int | None
    # The NIC port at the lower end; None between switches.
    nic_port: NicPort | None

    def end_at(self, device: str) -> PortEnd:
        """Return the end at one of its two devices."""
        if self.upper.device == device:
            return self.upper
        return self.lower

    def far_end(self, end: PortEnd) -> PortEnd:
        """Return the other end than ``end``."""
        if end == self.lower:
            return self.upper
        return self.lower


class PlannedDevice(NamedTuple):
    """A switch that takes part, with its place in the fabric; what an index does not apply to is None."""

    name: str
    tier: str
    plane: int
    stripe: int | None
    rail: int | None
    pod: int | None


class PlannedNode(NamedTuple):
    """A node that takes part."""

    name: str
    # The name of its entry of nodes.
    kind: str
    stripe: int


class PlannedClass(NamedTuple):
    """A traffic class as the judge meets it in counters."""

    name: str
    # "rdma", "cnp", "bulk" and so on.
    role: str
    priority: int
    queue: int
    lossless: bool
    # The switches mark its packets (ECN).
    ecn: bool
    dscp: tuple[int, ...]


@dataclass(frozen=True, slots=True)
class JudgeSettings:
    """The keys of `acceptance:` that the judge needs beside the limits."""

    # A link is covered if some round loaded it with at least this share of its rate.
    covered_share: float
    # Bytes beyond those that the plan explains, as a share of a link's rate, above which a round is disturbed.
    disturbed_share: float
    # A rail, plane or stripe is slower than its peers below this share of their median.
    peer_share: float
    # The largest coefficient of variation of a repeated measurement.
    variation: float


@dataclass(frozen=True, slots=True)
class AcceptancePlan:
    """``plan.json`` of a directory: everything that a runner and the judge need."""

    fabric: str
    intent_sha256: str
    level: Level
    seed: int
    # All rounds with start-up and fetching.
    duration_s: int
    rounds: tuple[AcceptanceRound, ...]
    tests: tuple[PlannedTest, ...]
    links: tuple[CoveredLink, ...]
    devices: tuple[PlannedDevice, ...]
    nodes: tuple[PlannedNode, ...]
    classes: tuple[PlannedClass, ...]
    settings: JudgeSettings
