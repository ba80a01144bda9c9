"""Policies that hold for a whole fabric: traffic classes, MTU, BGP timers and address pools."""

from collections.abc import Mapping
from dataclasses import dataclass
from enum import StrEnum


class ClassRole(StrEnum):
    """What a traffic class carries; the meaning that checks and renderers go by, whatever its name."""

    RDMA = "rdma"
    CNP = "cnp"
    CONTROL = "control"
    STORAGE = "storage"
    BULK = "bulk"


@dataclass(frozen=True, slots=True)
class TrafficClass:
    """A traffic class. ``priority`` is its traffic class, queue and PFC priority (0-7).

    ``dscp`` lists its code points; the class with ``is_default`` takes every code point that no class names.
    ``share_percent`` is its part of what strict classes leave; 0 for a strict class.
    """

    name: str
    role: ClassRole
    dscp: tuple[int, ...]
    is_default: bool
    lossless: bool
    priority: int
    strict: bool
    share_percent: int

    @property
    def priority_group(self) -> int:
        """Return the ingress priority group: its own for a lossless class, 0 for all others."""
        return self.priority if self.lossless else 0


@dataclass(frozen=True, slots=True)
class Mtu:
    """IP MTU in bytes of the fabric's ports and of the GPU nodes' NICs."""

    fabric_bytes: int
    hosts_bytes: int


@dataclass(frozen=True, slots=True)
class BgpTimers:
    """BGP keepalive and hold time in seconds (hold is at least three keepalives, RFC 4271 section 4.4)."""

    keepalive_s: int
    hold_s: int


@dataclass(frozen=True, slots=True)
class Pool:
    """An IPv4 address pool: ``first`` is the network address, ``length`` the prefix length."""

    first: int
    length: int

    @property
    def size(self) -> int:
        """Return the number of addresses."""
        return 1 << (32 - self.length)


@dataclass(frozen=True, slots=True)
class Addressing:
    """Pools and AS number bases, from which every identity follows (design rule: no identity depends on a count)."""

    unnumbered: bool
    loopbacks: Pool
    links: Pool
    hosts: Pool
    leaf_asn: int
    spine_asn: int
    super_spine_asn: int


@dataclass(frozen=True, slots=True)
class Overrides:
    """CONFIG_DB rows that the tool does not know, by role or device: ``{scope: {table: {key: {field: text}}}}``."""

    rows: Mapping[str, Mapping[str, Mapping[str, Mapping[str, str | tuple[str, ...]]]]]


@dataclass(frozen=True, slots=True)
class Policies:
    """Everything of the intent that devices' configurations depend on beside their links."""

    classes: tuple[TrafficClass, ...]
    mtu: Mtu
    bgp: BgpTimers
    addressing: Addressing
    overrides: Overrides
