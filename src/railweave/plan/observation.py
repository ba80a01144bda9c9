"""One device as it was read: interfaces, addresses, LLDP neighbors, BGP sessions and what its daemons apply."""

from collections.abc import Mapping
from dataclasses import dataclass, field

from railweave.plan.unapplied import Unapplied
from railweave.sonic.rows import ConfigDb


@dataclass(frozen=True, slots=True)
class PortState:
    """An interface: administratively enabled, operationally up, MTU in bytes."""

    enabled: bool
    up: bool
    mtu_bytes: int


@dataclass(frozen=True, slots=True)
class LldpNeighbor:
    """A neighbor as LLDP names it (IEEE 802.1AB): system name and port id."""

    system: str
    port: str


@dataclass(frozen=True, slots=True)
class SessionTimers:
    """The timers of a BGP session in seconds: those in force, and those that this end is configured with.

    The ends agree on the smaller hold time as the session opens (RFC 4271 section 4.2), and keep it while it is open.
    """

    keepalive_s: int
    hold_s: int
    configured_keepalive_s: int
    configured_hold_s: int


@dataclass(frozen=True, slots=True)
class ObservedSession:
    """A BGP session as a switch reports it; a count is -1 if unknown."""

    # The neighbor's AS number.
    remote_asn: int
    # RFC 4271 section 8.2.2.
    established: bool
    # Accepted from the neighbor over all address families but IPv6.
    prefixes: int = -1
    ipv4_accepted: int = -1
    ipv4_announced: int = -1
    # Address families that both ends agreed on, such as ``ipv4``.
    families: frozenset[str] = frozenset()
    # IPv6 prefixes accepted from the neighbor.
    ipv6_prefixes: int = -1
    # None if unknown.
    timers: SessionTimers | None = None


@dataclass(frozen=True, slots=True)
class Counters:
    """Packets that ports lost so far, both directions together, read at ``at_s`` of a steady clock (seconds).

    A port that does not count is missing.
    """

    at_s: float
    errors: Mapping[str, int] = field(default_factory=dict)
    discards: Mapping[str, int] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class Observation:
    """One device as it was read."""

    ports: Mapping[str, PortState] = field(default_factory=dict)
    # By interface, such as ``10.0.0.1/31``, of both families; link-local ones are left out, every interface has one.
    addresses: Mapping[str, frozenset[str]] = field(default_factory=dict)
    lldp: Mapping[str, tuple[LldpNeighbor, ...]] = field(default_factory=dict)
    # By the neighbor's address, by interface for an unnumbered session.
    bgp: Mapping[str, ObservedSession] = field(default_factory=dict)
    # Values of SONiC's daemons that differ from CONFIG_DB; None if unknown.
    unapplied: tuple[Unapplied, ...] | None = None
    # The SONiC release; empty if unknown.
    release: str = ""
    # BFD's state of the sessions that have it, ``up`` or ``down``, by peer as in ``bgp``; None if unknown.
    bfd: Mapping[str, str] | None = None
    # The commit that awaits its confirmation or revert, in words.
    waiting: str = ""
    # Port fields for which SONiC does not report the value in force.
    unseen: tuple[str, ...] = ()
    # After how much silence BFD declares the neighbor down, by peer, in milliseconds; None if unknown.
    bfd_ms: Mapping[str, int] | None = None
    # The daemons that a change ended and that do not run, in words.
    broken: str = ""
    # The switch's own program answered, which reports all of this: what is missing is reported as unknown.
    is_whole: bool = False
    # The running tables, where the checks need them; else None.
    tables: ConfigDb | None = field(default=None, repr=False)
