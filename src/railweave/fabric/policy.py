"""Policies that hold for a whole fabric: traffic classes, MTU, BGP timers and address pools."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from enum import StrEnum
from typing import NamedTuple

from railweave.fabric.releases import DEFAULT_RELEASE
from railweave.units import ipv4_text, ipv6_text, parse_ipv4, parse_ipv6


class ClassRole(StrEnum):
    """What a traffic class carries; the meaning that checks and renderers go by, whatever its name."""

    RDMA = "rdma"
    CNP = "cnp"
    CONTROL = "control"
    STORAGE = "storage"
    BULK = "bulk"


class Marking(NamedTuple):
    """ECN marking of a queue: it starts at ``minimum_bytes`` of queue and reaches ``probability_percent`` at
    ``maximum_bytes``; all beyond is marked. ``probability_percent`` None is the tool's own."""

    minimum_bytes: int
    maximum_bytes: int
    probability_percent: int | None


class TrafficClass(NamedTuple):
    """A traffic class."""

    name: str
    role: ClassRole
    # Its code points.
    dscp: tuple[int, ...]
    # It takes every code point that no class names.
    is_default: bool
    lossless: bool
    # Its traffic class, queue and PFC priority, 0 to 7.
    priority: int
    strict: bool
    # Its part of what strict classes leave; 0 for a strict class.
    share_percent: int
    # The thresholds that the intent states for its queue; None if they follow from the port.
    ecn: Marking | None = None


class Mtu(NamedTuple):
    """IP MTU in bytes of the fabric's ports and of the GPU nodes' NICs."""

    fabric_bytes: int
    hosts_bytes: int


class BgpPolicy(NamedTuple):
    """BGP keepalive and hold time in seconds (hold is at least three keepalives, RFC 4271 section 4.4); ``bfd`` tells
    that BFD (RFC 5880) watches every session."""

    keepalive_s: int
    hold_s: int
    bfd: bool = False


class Pool(NamedTuple):
    """An IPv4 address pool: ``first`` is the network address, ``length`` the prefix length."""

    first: int
    length: int

    @property
    def bits(self) -> int:
        """Return the bits of an address of its family."""
        return 32

    @property
    def version(self) -> int:
        """Return the IP version of its addresses."""
        if self.bits == 32:
            return 4
        return 6

    @property
    def size(self) -> int:
        """Return the number of addresses."""
        return 1 << (self.bits - self.length)

    def __str__(self) -> str:
        """Return ``10.32.0.0/11``."""
        return f"{ipv4_text(self.first)}/{self.length}"

    def holds(self, other: "Pool") -> bool:
        """Tell whether ``other`` lies within it."""
        return (
            self.bits == other.bits
            and self.length <= other.length
            and self.first <= other.first < self.first + self.size
        )

    def meets(self, other: "Pool") -> bool:
        """Tell whether it and ``other`` have an address in common."""
        return self.holds(other) or other.holds(self)


NO_POOL = "none"
"""What stands in an intent for a pool of which there are no addresses."""


class Ipv6Pool(Pool):
    """An IPv6 address pool."""

    __slots__ = ()

    @property
    def bits(self) -> int:
        """Return the bits of an address of its family."""
        return 128

    def __str__(self) -> str:
        """Return ``fd00:10::/44``."""
        return f"{ipv6_text(self.first)}/{self.length}"


def parse_pool(text: str) -> Pool:
    """Return the addresses of a prefix of either family, or of one address; raises ValueError for other text."""
    address, _, written = text.partition("/")
    is_ipv6 = ":" in address
    bits = 128 if is_ipv6 else 32
    length = int(written or bits)
    if not 0 <= length <= bits:
        raise ValueError(f"{text!r} is longer than an address")
    if is_ipv6:
        return Ipv6Pool(parse_ipv6(address), length)
    return Pool(parse_ipv4(address), length)


class Addressing(NamedTuple):
    """Pools and AS number bases, from which every identity follows (design rule: no identity depends on a count).

    ``core`` holds the /31s between spines and super-spines, ``links`` those below them. ``hosts`` holds a block for
    every leaf, None where nodes have IPv6 addresses alone; ``hosts_ipv6`` a /64, None where they have IPv4 alone.
    ``nics`` holds the addresses of NICs that several leaves share."""

    unnumbered: bool
    loopbacks: Pool
    links: Pool
    hosts: Pool | None
    core: Pool
    leaf_asn: int
    spine_asn: int
    super_spine_asn: int
    hosts_ipv6: Ipv6Pool | None = None
    nics: Pool = Pool(0x0A400000, 11)

    @property
    def pools(self) -> dict[str, Pool]:
        """Return the pools that every fabric uses by their keys."""
        links = {} if self.unnumbered else {"links": self.links}
        return {"loopbacks": self.loopbacks, **links, **self.host_pools}

    @property
    def host_pools(self) -> dict[str, Pool]:
        """Return the pools of the nodes' addresses by their keys, one for each family that nodes have."""
        pools = {"hosts": self.hosts, "hosts_ipv6": self.hosts_ipv6}
        return {key: pool for key, pool in pools.items() if pool is not None}


@dataclass(frozen=True, slots=True)
class Overrides:
    """CONFIG_DB rows that the tool does not know, by role or device: ``{scope: {table: {key: {field: text}}}}``.

    They may hold secrets, so they are no part of ``repr``, which logs write.
    """

    rows: Mapping[str, Mapping[str, Mapping[str, Mapping[str, str | tuple[str, ...]]]]] = field(repr=False)


class NetworkBackend(StrEnum):
    """What configures the interfaces of a GPU node."""

    NETWORKD = "networkd"
    NETWORKMANAGER = "networkmanager"
    NETPLAN = "netplan"


class AddressFamily(StrEnum):
    """A family of addresses."""

    IPV4 = "ipv4"
    IPV6 = "ipv6"


class HostPolicy(NamedTuple):
    """How GPU nodes are set up. ``vendor`` is the id of a vendor pack, None follows each node's NIC model; ``frontend``
    is the interface of the front end, on which NCCL finds its peers, None where NCCL may choose; ``queue_pairs`` are
    those of an NCCL connection, None for NCCL's own; ``rdma_family`` is the family of the addresses that RDMA uses.
    Unmanaged nodes are rendered only."""

    vendor: str | None = None
    manage: bool = False
    network: NetworkBackend = NetworkBackend.NETWORKD
    frontend: str | None = None
    queue_pairs: int | None = None
    rdma_family: AddressFamily = AddressFamily.IPV4


class WatchdogAction(StrEnum):
    """What the PFC watchdog does with the packets of a stormed queue."""

    DROP = "drop"
    FORWARD = "forward"
    ALERT = "alert"


class WatchdogPolicy(NamedTuple):
    """The PFC watchdog as the intent states it, times in milliseconds; None is SONiC's own rule."""

    enabled: bool = True
    detection_ms: int | None = None
    restoration_ms: int | None = None
    poll_ms: int | None = None
    action: WatchdogAction = WatchdogAction.DROP


class BufferModel(StrEnum):
    """Who computes headroom: a table on the switch (SONiC's traditional model), or the switch from speed, cable and
    MTU (dynamic)."""

    TRADITIONAL = "traditional"
    DYNAMIC = "dynamic"


class SonicPolicy(NamedTuple):
    """The SONiC release that the switches run, by its name as written, and the buffer model; None is what the platform
    ships with."""

    release: str = DEFAULT_RELEASE
    buffer_model: BufferModel | None = None


class MarkingPreset(NamedTuple):
    """Published ECN thresholds of a vendor: ``by_speed`` holds (from Gb/s, marking), the slowest first."""

    name: str
    source: str
    by_speed: tuple[tuple[int, Marking], ...]

    def at(self, speed_gbps: int) -> Marking:
        """Return the thresholds for ports of that speed."""
        return next(marking for least, marking in reversed(self.by_speed) if least <= speed_gbps or least == 0)


class FailureFloor(NamedTuple):
    """What is left at least when something fails, in percent of the intact fabric, and the most nodes that are cut off;
    None where nothing is stated."""

    ports_percent: int | None = None
    rail_percent: int | None = None
    uplinks_percent: int | None = None
    two_leaves_percent: int | None = None
    two_nodes_percent: int | None = None
    nodes_out: int | None = None


class FailureFloors(NamedTuple):
    """Floors for every single failure, and for every pair of failures."""

    single: FailureFloor = FailureFloor()
    pair: FailureFloor = FailureFloor()


class Policies(NamedTuple):
    """Everything of the intent that devices' configurations depend on beside their links."""

    classes: tuple[TrafficClass, ...]
    mtu: Mtu
    bgp: BgpPolicy
    addressing: Addressing
    overrides: Overrides
    hosts: HostPolicy = HostPolicy()
    watchdog: WatchdogPolicy = WatchdogPolicy()
    sonic: SonicPolicy = SonicPolicy()
    marking: MarkingPreset | None = None
    edge_guard: bool = False
    floors: FailureFloors = FailureFloors()
