"""The constants of the modelled fabric, and what is wrong with it."""

from dataclasses import dataclass, field, replace


@dataclass(frozen=True)
class Constants:
    """What differs from site to site. A healthy fabric stays healthy if one of these is half or twice as large."""

    # Measured bandwidth lies at most this share below what the wire could carry (NIC, PCIe, start of the test).
    measurement_noise: float = 0.012
    # DCQCN shares a link less evenly than max-min does.
    unfairness: float = 0.015
    # From a mark to a slower sender.
    reaction_us: float = 25.0
    # RTT of an idle path: with the line rate the packets that go-back-N sends again.
    round_trip_us: float = 8.0
    ecn_min_bytes: float = 1.0e6
    ecn_max_bytes: float = 4.0e6
    ecn_max_probability: float = 0.05
    # A priority group pauses at alpha x the free shared buffer.
    buffer_bytes: float = 64.0e6
    alpha: float = 0.125
    headroom_bytes: float = 120.0e3
    # A port that needs no FEC at all does not exist at 50G a lane and more.
    healthy_ber: float = 2.0e-9
    nic_latency_us: float = 1.6
    hop_latency_us: float = 0.55
    tail_us: float = 4.0
    # LLDP, BGP and ARP in both directions of a link.
    background_bytes_per_s: float = 220.0
    # From the reading before to the start, and from the end to the reading after.
    pause_around_s: float = 4.0
    clock_skew_s: float = 0.4
    collective_alpha_us: float = 5.0

    def scaled(self, name: str, factor: float) -> "Constants":
        """Return these with one of them larger or smaller."""
        return replace(self, **{name: getattr(self, name) * factor})


@dataclass(frozen=True)
class Loss:
    """Packets lost on the way to the end of a link: a share of them, and whether the port counts them as FEC errors."""

    ratio: float
    counted: bool = False


@dataclass
class Conditions:
    """What is wrong; a link is named by its place in the plan, its direction by ``up`` (away from the nodes)."""

    constants: Constants = field(default_factory=Constants)
    loss: dict[tuple[int, bool], Loss] = field(default_factory=dict)
    # Bit error rate of one lane of a direction.
    bad_lane: dict[tuple[int, bool], tuple[float, int]] = field(default_factory=dict)
    # Share of the rate of a NIC port that its PCIe slot carries: it pauses the leaf when more arrives.
    slow_nic: dict[tuple[str, int], float] = field(default_factory=dict)
    # Share of the rate that all NICs of a node or a rail reach; they are slow in sending only.
    slow_node: dict[str, float] = field(default_factory=dict)
    slow_rail: dict[int, float] = field(default_factory=dict)
    # Pairs of nodes that are slow with each other and with nobody else.
    slow_pair: dict[tuple[str, str], float] = field(default_factory=dict)
    # Share of the rate that a node reaches from the memory of its host, which collectives of GPUs do not use.
    slow_host: dict[str, float] = field(default_factory=dict)
    # Share of its part that the hash of a switch gives to a direction of a link: 0 where it never chooses it.
    unpopular: dict[tuple[int, bool], float] = field(default_factory=dict)
    # Bit error rate of a direction of which FEC still corrects all.
    aging: dict[tuple[int, bool], float] = field(default_factory=dict)
    # Share of the packets that a switch loses inside, uncounted.
    leaky: dict[str, float] = field(default_factory=dict)
    # PFC frames a second of a NIC whose receive buffer is too small, while several senders send to it.
    small_receiver: dict[tuple[str, int], float] = field(default_factory=dict)
    # The priority whose pauses a port sends, instead of that of the lossless class.
    other_priority: dict[tuple[str, str], int] = field(default_factory=dict)
    # Share of the user's number that a job reaches; None without a job.
    job: float | None = None
    # Share of its bus bandwidth that the GPUs of a node reach in collectives.
    slow_gpu: dict[str, float] = field(default_factory=dict)
    # Microseconds that the slowest packets of a node take longer.
    long_tail: dict[str, float] = field(default_factory=dict)
    # PFC storms that the watchdog of the leaf ends in each round, by NIC.
    storms: dict[tuple[str, int], int] = field(default_factory=dict)
    dscp: dict[str, int] = field(default_factory=dict)
    no_pfc: set[tuple[str, str]] = field(default_factory=set)
    # Share of the buffer of its peers' constants that a switch has: older models have less.
    buffer_share: dict[str, float] = field(default_factory=dict)
    # Ports at which a missing pause had an effect: packets were dropped, or pauses not heard.
    missed_pauses: set[tuple[str, str]] = field(default_factory=set)
    # Bytes at which priority groups of a switch pause, whatever is free.
    small_buffer: dict[str, float] = field(default_factory=dict)
    # Pairs of links whose upper ends are exchanged.
    swapped: list[tuple[int, int]] = field(default_factory=list)
    # Numbered links (/31) carry nothing once they are swapped.
    numbered: bool = True
    missing_planes: set[int] = field(default_factory=set)
    # Share of what really happened that a counter of a port shows.
    lying: dict[tuple[str, str, str], float] = field(default_factory=dict)
    # Gb/s that somebody else sends over a link, by round.
    strangers: dict[tuple[str, int, bool], float] = field(default_factory=dict)
    # Nodes without any file.
    silent: set[str] = field(default_factory=set)
    # Nodes on which no tool starts, and those on which only tools for latency do.
    without_tools: set[str] = field(default_factory=set)
    without_bandwidth: set[str] = field(default_factory=set)
