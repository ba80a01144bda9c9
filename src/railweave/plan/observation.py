"""What one device was seen to do: interfaces, addresses, LLDP neighbors and BGP sessions, as plain values."""

from collections.abc import Mapping
from dataclasses import dataclass, field


@dataclass(frozen=True, slots=True)
class PortState:
    """An interface: administratively enabled, operationally up, MTU in bytes."""

    enabled: bool
    up: bool
    mtu_bytes: int


@dataclass(frozen=True, slots=True)
class LldpNeighbor:
    """A neighbor as LLDP names it (IEEE 802.1AB): system name, port id and port description."""

    system: str
    port: str
    description: str = ""


@dataclass(frozen=True, slots=True)
class BgpSession:
    """A BGP session: the neighbor's AS number and whether it is established (RFC 4271 section 8.2.2).

    ``prefixes`` is the number of prefixes accepted from the neighbor over all address families, -1 where unknown.
    """

    remote_asn: int
    established: bool
    prefixes: int = -1


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
    """One device as it was read. ``addresses`` are ``10.0.0.1/31`` by interface; ``bgp`` is by the peer's address,
    or by interface for an unnumbered session."""

    ports: Mapping[str, PortState] = field(default_factory=dict)
    addresses: Mapping[str, frozenset[str]] = field(default_factory=dict)
    lldp: Mapping[str, tuple[LldpNeighbor, ...]] = field(default_factory=dict)
    bgp: Mapping[str, BgpSession] = field(default_factory=dict)
