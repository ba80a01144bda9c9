"""The expanded fabric: every switch, GPU node and link, with its identity, ports and addresses.

Addresses are integers. Objects are shared, never copied: all switches of one model and breakout share one ``Panel``.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from enum import StrEnum

from railweave.fabric.buffers import Buffers
from railweave.fabric.policy import Policies
from railweave.fabric.sizing import Sizing


class Role(StrEnum):
    """The role of a device in the Clos."""

    LEAF = "leaf"
    SPINE = "spine"
    SUPER_SPINE = "super-spine"
    HOST = "host"


class LinkKind(StrEnum):
    """Which tiers a link joins; the words of ``fabric.json`` and ``cables.csv``."""

    HOST_LEAF = "host_leaf"
    LEAF_SPINE = "leaf_spine"


@dataclass(frozen=True, slots=True)
class SwitchPort:
    """A logical port after breakout, as SONiC names it.

    ``index`` counts logical ports in panel order from 0; ``panel`` is the front-panel number (PORT.index);
    ``lanes`` is SONiC's own comma list; ``subport`` is 0 for an unbroken cage, else 1..n.
    """

    index: int
    name: str
    alias: str
    lanes: str
    speed_gbps: int
    panel: int
    subport: int
    fec: str


@dataclass(frozen=True, slots=True)
class Panel:
    """The fabric ports of one switch model in one breakout; service ports (management 10G) are left out.

    ``breakout`` holds (parent port, mode) for BREAKOUT_CFG where the chosen speeds are not the HWSKU's native ones
    or the platform's breakout modes are known; empty where the platform has none. ``buffers`` is None where the HWSKU
    ships no buffer configuration.
    """

    model: str
    hwsku: str
    platform: str
    asic: str
    ports: tuple[SwitchPort, ...]
    breakout: tuple[tuple[str, str], ...]
    buffers: Buffers | None = None


@dataclass(frozen=True, slots=True)
class Switch:
    """A leaf or spine. ``number`` is its identity (leaf number or spine number, design.md section 3), from which name,
    AS number and addresses follow; ``place`` is its index within its plane. ``stripe`` and ``rail`` are None on a
    spine, ``rail`` is None on a rack-aligned leaf."""

    name: str
    role: Role
    number: int
    place: int
    plane: int
    stripe: int | None
    rail: int | None
    asn: int
    loopback: int
    panel: Panel


@dataclass(frozen=True, slots=True)
class HostPort:
    """A fabric port of a GPU node. ``name`` is the persistent interface name (``rail0``, with several ports a NIC
    ``rail0p1``); ``nic`` and ``port`` count from 0. ``pci`` is the PCI address that pins the name and ``rdma`` the
    kernel's name of the RDMA device, both empty where the intent does not state them."""

    name: str
    nic: int
    port: int
    rail: int
    plane: int
    speed_gbps: int
    pci: str = ""
    rdma: str = ""


@dataclass(frozen=True, slots=True)
class Host:
    """A GPU node: ``kind`` is its entry's name, ``number`` counts within the entry from 0, ``stripe`` is the group of
    nodes that share leaves, ``place`` its index in the stripe. ``ports`` is shared by all nodes of an entry."""

    name: str
    kind: str
    number: int
    stripe: int
    place: int
    nic_model: str
    ports: tuple[HostPort, ...]


@dataclass(frozen=True, slots=True)
class Link:
    """A cable. ``lower`` is the end nearer to the GPUs (host or leaf), ``upper`` the other (leaf or spine).

    ``lower_port`` and ``upper_port`` index the device's ports. ``network`` is the even address of the link's /31: the
    upper end's own address, the lower end has ``network + 1`` (RFC 3021). ``rail`` is None between leaf and spine.
    On an unnumbered underlay a leaf-spine link has no /31 and ``network`` is 0.
    """

    kind: LinkKind
    plane: int
    rail: int | None
    lower: str
    lower_port: int
    upper: str
    upper_port: int
    network: int
    speed_gbps: int
    length_m: int
    media: str


@dataclass(frozen=True, slots=True)
class Fabric:
    """A whole fabric. ``links_of`` gives a device's links in the order of its own ports; ``host_blocks`` the
    (network, prefix length) that each leaf announces for its hosts.

    ``reserve_leaves`` and ``reserve_spines`` are per plane, and ``links_per_pair`` is the parallel links of one
    leaf-spine pair at today's size.
    """

    name: str
    rails: int
    planes: int
    policies: Policies
    sizing: Sizing
    switches: tuple[Switch, ...]
    hosts: tuple[Host, ...]
    links: tuple[Link, ...]
    links_of: Mapping[str, tuple[Link, ...]]
    host_blocks: Mapping[str, tuple[int, int]]
    switch_of: Mapping[str, Switch]
    host_of: Mapping[str, Host]
    reserve_leaves: int
    reserve_spines: int
    links_per_pair: int
