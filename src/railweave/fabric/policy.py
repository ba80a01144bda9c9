"""Policies of a whole fabric: traffic classes, MTU, BGP timers, address pools and the like.

The keys of an intent that state them are pydantic models (``intent.schema``), which become these values in one place:
pydantic is for what is read, and the fabric, which everything imports, does without it.
"""

from collections.abc import Mapping
from dataclasses import dataclass, field
from enum import StrEnum
from typing import NamedTuple

from railweave.fabric.acceptance import AcceptancePolicy
from railweave.fabric.link_policy import LinkPolicy
from railweave.fabric.releases import DEFAULT_RELEASE
from railweave.fabric.telemetry import TelemetryPolicy
from railweave.units import ipv4_text, ipv6_text, parse_ipv4, parse_ipv6


class ClassRole(StrEnum):
    """What a traffic class carries; checks and renderers go by the role, whatever the class is called."""

    RDMA = "rdma"
    CNP = "cnp"
    CONTROL = "control"
    STORAGE = "storage"
    BULK = "bulk"


class Transport(StrEnum):
    """How a class of RDMA survives congestion: switches pause its senders (PFC), or NICs send lost packets again."""

    ROCE_LOSSLESS = "roce-lossless"
    ROCE_LOSSY = "roce-lossy"


class LoadBalancing(StrEnum):
    """How switches spread flows over equal paths; all but the hash need what no community release of SONiC has."""

    HASH = "hash"
    FLOWLET = "flowlet"
    PACKET = "packet"


class Marking(NamedTuple):
    """ECN marking of a queue: it starts at a depth of ``minimum_bytes`` and reaches ``probability_percent`` at
    ``maximum_bytes``; above that every packet is marked. ``probability_percent`` None is railweave's default."""

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
    # As the intent states it; None is roce-lossless where the class is lossless.
    transport: Transport | None = None

    @property
    def is_lossy_rdma(self) -> bool:
        """Tell whether it carries RDMA that does without PFC."""
        return self.transport is Transport.ROCE_LOSSY and not self.lossless

    @property
    def marks(self) -> bool:
        """Tell whether ECN marks its packets: all of them have to be capable of it, or the queue drops them."""
        return self.lossless or self.is_lossy_rdma


class Mtu(NamedTuple):
    """IP MTU in bytes of the fabric's ports and of the GPU nodes' NICs."""

    fabric_bytes: int
    hosts_bytes: int


class BgpPolicy(NamedTuple):
    """BGP keepalive and hold time in seconds (hold is at least three keepalives, RFC 4271 section 4.4); with ``bfd``
    BFD (RFC 5880) watches every session."""

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
"""The word of an intent for the absence of a pool."""


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
    """Parse a prefix of either family, or an address as a prefix of its full length; raises ValueError."""
    address, _, length = text.partition("/")
    pool: Pool
    if ":" in address:
        pool = Ipv6Pool(parse_ipv6(address), int(length or 128))
    else:
        pool = Pool(parse_ipv4(address), int(length or 32))
    if not 0 <= pool.length <= pool.bits:
        raise ValueError(f"{text!r} is longer than an address")
    return pool


class Addressing(NamedTuple):
    """Pools and AS number bases, from which every identity follows (design rule: no identity depends on a count)."""

    # Links between switches have IPv6 link-local next hops (RFC 8950) instead of a /31.
    unnumbered: bool
    loopbacks: Pool
    # The /31s between leaves and spines.
    links: Pool
    # A block for every leaf, a /31 for every link to a node; None if nodes have IPv6 alone.
    hosts: Pool | None
    # The /31s between spines and super-spines.
    core: Pool
    leaf_asn: int
    spine_asn: int
    super_spine_asn: int
    # A /64 for every leaf; None if nodes have IPv4 alone.
    hosts_ipv6: Ipv6Pool | None = None
    # Addresses of NICs that several leaves share; by default 10.64.0.0/11, as in the intent.
    nics: Pool = Pool(0x0A400000, 11)

    @property
    def pools(self) -> dict[str, Pool]:
        """Return the pools that a fabric of two tiers uses, by their keys."""
        pools = {"loopbacks": self.loopbacks}
        if not self.unnumbered:
            pools["links"] = self.links
        return pools | self.host_pools

    @property
    def host_pools(self) -> dict[str, Pool]:
        """Return the pools of the nodes' addresses by their keys, one for each family."""
        pools = {"hosts": self.hosts, "hosts_ipv6": self.hosts_ipv6}
        return {key: pool for key, pool in pools.items() if pool is not None}


@dataclass(frozen=True, slots=True)
class Overrides:
    """The user's further CONFIG_DB rows, by role or device: ``{scope: {table: {key: {field: text}}}}``.

    They may hold secrets, so ``repr``, which logs write, leaves them out.
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
    """How GPU nodes are set up."""

    # The id of a vendor pack; None follows each node's NIC model.
    vendor: str | None = None
    # Nodes are planned and changed; otherwise their files are only rendered.
    manage: bool = False
    network: NetworkBackend = NetworkBackend.NETWORKD
    # The interface on which NCCL finds its peers; None lets NCCL choose.
    frontend: str | None = None
    # Queue pairs of an NCCL connection; None is NCCL's default.
    queue_pairs: int | None = None
    # The family of the addresses that RDMA uses.
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
    # It estimates how long queues were paused (``telemetry.pfc_history``); only of a switch that can.
    estimates_pauses: bool = False


class BufferModel(StrEnum):
    """Who computes headroom: a table on the switch (SONiC's traditional model), or the switch from speed, cable and
    MTU (dynamic)."""

    TRADITIONAL = "traditional"
    DYNAMIC = "dynamic"


class SonicPolicy(NamedTuple):
    """The SONiC release that the switches run, by its name as written, the buffer model (None is the platform's
    default) and the rules that an ACL table of the leaves holds (None is what the catalog states)."""

    release: str = DEFAULT_RELEASE
    buffer_model: BufferModel | None = None
    acl_rules: int | None = None


class MarkingPreset(NamedTuple):
    """Published ECN thresholds of a vendor: ``by_speed`` holds (from Gb/s, marking), the slowest first."""

    name: str
    source: str
    by_speed: tuple[tuple[int, Marking], ...]

    def at(self, speed_gbps: int) -> Marking:
        """Return the thresholds for ports of that speed."""
        return next(marking for least_gbps, marking in reversed(self.by_speed) if least_gbps <= speed_gbps)


class FailureFloor(NamedTuple):
    """What must be left when something fails, in percent of the intact fabric, and the most nodes that may be cut off;
    None is no limit."""

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


class Tenant(NamedTuple):
    """A tenant as the intent states it: its nodes (names and ranges), the fabrics that it is in (empty: all), and the
    tenants whose nodes its own reach and are reached by."""

    name: str
    nodes: tuple[str, ...]
    fabrics: tuple[str, ...] = ()
    reaches: tuple[str, ...] = ()


class Policies(NamedTuple):
    """Everything in the intent that devices' configurations depend on besides their links."""

    # In the order of the intent.
    classes: tuple[TrafficClass, ...]
    mtu: Mtu
    bgp: BgpPolicy
    addressing: Addressing
    overrides: Overrides
    hosts: HostPolicy = HostPolicy()
    watchdog: WatchdogPolicy = WatchdogPolicy()
    sonic: SonicPolicy = SonicPolicy()
    # The ECN thresholds of the intent's preset; None leaves them to railweave's rule.
    marking: MarkingPreset | None = None
    # Leaves drop packets of nodes that misuse the notifications' DSCP.
    edge_guard: bool = False
    # What `check` demands of the failure analysis (T-13).
    floors: FailureFloors = FailureFloors()
    acceptance: AcceptancePolicy = AcceptancePolicy()
    telemetry: TelemetryPolicy = TelemetryPolicy()
    links: LinkPolicy = LinkPolicy()
    load_balancing: LoadBalancing = LoadBalancing.HASH
    # Empty: every node reaches every other.
    tenants: tuple[Tenant, ...] = ()
