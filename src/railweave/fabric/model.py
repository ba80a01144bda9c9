"""A fabric as a graph of tiers: every switch, GPU node and link, with its identity, ports and addresses.

GPU nodes attach to the switches of the lowest tier; every other link joins a tier with the one above. The graph answers
for the rest of the program: the links up and down of a device, its far ends, the tier above. Addresses are integers.
Objects are shared, never copied: all switches of one model and breakout share one ``Panel``.
"""

from collections.abc import Mapping
from dataclasses import dataclass, field
from enum import StrEnum
from functools import cached_property
from operator import attrgetter
from typing import NamedTuple, Protocol

from railweave.fabric.buffers import Buffers
from railweave.fabric.management import Management
from railweave.fabric.policy import Policies, Pool
from railweave.fabric.racks import RackLayout
from railweave.fabric.sizing import Sizing
from railweave.wording import counted, plural

LINK_KINDS = ("host_leaf", "leaf_spine", "spine_super_spine")
"""Which tiers a link joins, by the level of its upper end: the words of ``fabric.json`` and ``cables.csv``."""


@dataclass(frozen=True, slots=True)
class SwitchPort:
    """A logical port after breakout, as SONiC names it.

    ``index`` counts logical ports in panel order from 0; ``panel`` is the front-panel number (PORT.index);
    ``lanes`` is SONiC's comma-separated list; ``subport`` is 0 for a whole cage, else 1..n.
    """

    index: int
    name: str
    alias: str
    lanes: str
    speed_gbps: int
    panel: int
    subport: int
    fec: str


class Panel(NamedTuple):
    """The fabric ports of one switch model in one breakout; service ports (management 10G) are left out."""

    # The id of the switch model.
    model: str
    hwsku: str
    platform: str
    # Vendor and family in one phrase.
    asic: str
    ports: tuple[SwitchPort, ...]
    # (parent port, mode) for BREAKOUT_CFG; empty on a platform without breakout modes.
    breakout: tuple[tuple[str, str], ...]
    # None if the HWSKU ships no buffer configuration.
    buffers: Buffers | None = None
    # SONiC sets the fields of the ASIC's ECMP hash.
    hash_fields: bool = False
    # The most next hops of a route; None if no source states it.
    ecmp_limit: int | None = None
    # The number of cages of a line card; 0 for a switch without.
    card_cages: int = 0

    def card_of(self, port: SwitchPort) -> int | None:
        """Return the line card of a port, from 1; None for a switch without."""
        if not self.card_cages:
            return None
        return (port.panel - 1) // self.card_cages + 1


IPV6_BLOCK_LENGTH = 64
"""Prefix length of the block that a switch announces for the IPv6 addresses of its nodes."""

IPV6_LINK_LENGTH = 127
"""Prefix length of a link to a node (RFC 6164)."""

TIER_NAMES = ("leaf", "spine", "super-spine")
"""The names of tiers by level, for people, in names of devices and in the intent's overrides."""


@dataclass(frozen=True, slots=True)
class Tier:
    """The switches at the same distance from the GPU nodes.

    Tiers of two designs of a fabric are equal whatever their sizes; so are leaves of one entry of nodes whose uplinks
    differ from those of all leaves.
    """

    # The role of its switches, for people, in names and in SONiC's `type`.
    name: str
    # Counts from 0 at the tier that attaches nodes.
    level: int
    # Switches of one plane.
    count: int = field(compare=False)
    # Switches of one plane that ports, addresses and AS numbers are laid out for.
    reserve: int = field(compare=False)
    # Ports of one switch in use to the tier below, and their speed.
    ports_down: int = field(compare=False)
    down_gbps: int = field(compare=False)
    # The same to the tier above; 0 at the top.
    ports_up: int = field(default=0, compare=False)
    up_gbps: int = field(default=0, compare=False)
    # Parallel links to each switch above.
    links_per_pair: int = field(default=0, compare=False)
    # Pods, or groups of super-spines, in the reserve, and the switches of each.
    groups: int = field(default=1, compare=False)
    group_reserve: int = field(default=0, compare=False)
    # Ports of one switch that are not for downlinks, cabled or not.
    ports_above: int = field(default=0, compare=False)
    # The entry of nodes whose leaves have uplinks of their own, and the path that states them; else empty.
    entry: str = field(default="", compare=False)
    path: str = field(default="", compare=False)

    @property
    def attaches_nodes(self) -> bool:
        """Tell whether GPU nodes are cabled to it."""
        return self.level == 0

    def counted(self, count: int) -> str:
        """Return a number of its switches: ``1 leaf``, ``4 leaves``."""
        return counted(count, self.name)

    @property
    def plural(self) -> str:
        """Return the name for several: ``leaves``."""
        return plural(self.name)

    @property
    def titled(self) -> str:
        """Return the name for several, with their entry of nodes if they are of one: ``leaves of 'old'``."""
        if not self.entry:
            return self.plural
        return f"{self.plural} of {self.entry!r}"


class Switch(NamedTuple):
    """A switch of a tier."""

    name: str
    tier: Tier
    # Its identity within the tier (design.md section 3), from which name, AS number and addresses follow.
    number: int
    # Its index within its plane.
    place: int
    plane: int
    # None above the lowest tier.
    stripe: int | None
    # None if racks are aligned; spines have one only if no switch joins rails.
    rail: int | None
    asn: int
    loopback: int
    panel: Panel
    # None in two tiers, and for super-spines.
    pod: int | None = None
    # Of a super-spine, and of the spines that join it, one of every pod.
    group: int | None = None


RAIL = "rail"
"""The start of the names of nodes' interfaces if an intent has one fabric; else they begin with the fabric's name."""


class HostPort(NamedTuple):
    """A fabric port of a GPU node."""

    # The persistent interface name: rail0, rail0p1 with several ports a NIC, storage0 in one of several fabrics.
    name: str
    # The NIC of the node and the port of the NIC, from 0.
    nic: int
    port: int
    rail: int
    plane: int
    speed_gbps: int
    # The PCI address that pins the name; empty if the intent states none.
    pci: str = ""
    # The kernel's name of the RDMA device; empty if the intent states none.
    rdma: str = ""
    # The cage of the NIC, from 0; several ports may share one.
    cage: int = 0
    # Which of the leaves that share the NIC it goes to, from 0.
    leaf: int = 0


class NodeRole(StrEnum):
    """What a node is; only GPU nodes run NCCL."""

    GPU = "gpu"
    STORAGE = "storage"
    CPU = "cpu"


@dataclass(frozen=True, slots=True)
class Host:
    """A GPU node, or a storage or CPU node by its ``role``."""

    name: str
    # The name of its entry of nodes.
    kind: str
    # Its index within the entry.
    number: int
    # The group of nodes that share leaves, and the index within it.
    stripe: int
    place: int
    nic_model: str
    # All nodes of an entry have the same tuple.
    ports: tuple[HostPort, ...]
    role: NodeRole = NodeRole.GPU
    # In one of several fabrics: the number of the node's NIC ports in the groups before.
    first_port: int = 0
    # Its GPUs meet in this fabric.
    collectives: bool = True

    @property
    def runs_nccl(self) -> bool:
        """Tell whether it has GPUs, whose collectives are NCCL's, in this fabric."""
        return self.role is NodeRole.GPU and self.collectives


class Link(NamedTuple):
    """A cable.

    A named tuple, because a fabric has up to a quarter of a million links, and a tuple is created twice as fast as a
    frozen dataclass.
    """

    # The level of the tier of `upper`.
    level: int
    plane: int
    # None between switches.
    rail: int | None
    # The end nearer to the GPUs, a node or a switch, and the index of its port.
    lower: str
    lower_port: int
    # The other end, a switch.
    upper: str
    upper_port: int
    # The even address of the link's /31, which the upper end has; the lower end has the next one (RFC 3021). 0 for a
    # link without a /31 (`Fabric.is_numbered`): to nodes with IPv6 alone, between switches of an unnumbered underlay.
    network: int
    speed_gbps: int
    length_m: int
    # The id of the medium.
    media: str

    @property
    def is_access(self) -> bool:
        """Tell whether it attaches a GPU node; all others are fabric links, between two switches."""
        return self.level == 0

    @property
    def kind(self) -> str:
        """Return the tiers that it joins, as a word for people and files."""
        return LINK_KINDS[self.level]

    def far(self, device: str) -> str:
        """Return the device at the other end."""
        return self.upper if device == self.lower else self.lower

    def port_of(self, device: str) -> int:
        """Return the index of the port at ``device``'s end."""
        return self.lower_port if device == self.lower else self.upper_port

    def address_of(self, device: str) -> int:
        """Return the address of ``device``'s end of the /31."""
        return self.network + 1 if device == self.lower else self.network


Links = Mapping[str, tuple[Link, ...]]
"""The links of every device of a fabric by name, in the order of the device's ports."""


_LENGTH_M = attrgetter("length_m")


class Graph(Protocol):
    """The part of a fabric that depends on devices and cables, not on policies.

    A function that takes a graph does not depend on policies: fabrics that differ only in these give the same result.
    """

    @property
    def tiers(self) -> tuple[Tier, ...]:
        """Return the tiers from the lowest up."""

    @property
    def ipv6_blocks(self) -> Mapping[str, int]:
        """Return the first addresses of the switches' /64s."""

    @property
    def switch_of(self) -> Mapping[str, Switch]:
        """Return the switches by name."""

    @property
    def ports_of(self) -> Mapping[str, tuple[SwitchPort, ...] | tuple[HostPort, ...]]:
        """Return the ports of every device by its name."""

    @property
    def uplinks_of(self) -> Links:
        """Return the links of every device to the tier above."""

    @property
    def downlinks_of(self) -> Links:
        """Return the links of every device to the tier below, or to GPU nodes."""

    def fabric_links_of(self, device: str) -> tuple[Link, ...]:
        """Return a switch's links to other switches."""

    def ipv6_network(self, link: Link) -> int | None:
        """Return the even address of the /127 of a link to a node."""


@dataclass(frozen=True)
class Fabric:
    """A whole fabric. Views of the graph are computed once, when they are first used."""

    name: str
    rails: int
    planes: int
    policies: Policies
    sizing: Sizing
    # From the tier that attaches the GPU nodes upwards.
    tiers: tuple[Tier, ...]
    # Tier by tier.
    switches: tuple[Switch, ...]
    # All nodes, those of storage, too.
    hosts: tuple[Host, ...]
    links: tuple[Link, ...]
    # (network, prefix length) that a switch of the lowest tier announces for its nodes; empty if nodes have no IPv4.
    host_blocks: Mapping[str, tuple[int, int]]
    # No switch joins two rails.
    rail_only: bool = False
    # The first address of the /64 that a switch announces for its nodes; empty if nodes have no IPv6.
    ipv6_blocks: Mapping[str, int] = field(default_factory=dict)
    # None if the intent has no racks.
    racks: RackLayout | None = None
    # In an intent with several fabrics: the name of this one, and those of the others that carry RDMA.
    part: str = ""
    rdma_beside: tuple[str, ...] = ()
    # None if the intent has no management network.
    management: Management | None = None
    # The leaves of a plane that share the ports of a NIC; 2 is dual-ToR.
    leaves_per_nic: int = 1
    # The addresses of NICs that a leaf announces; empty if each NIC has one leaf a plane.
    nic_blocks: Mapping[str, Pool] = field(default_factory=dict)

    @property
    def interfaces(self) -> str:
        """Return the start of the names of nodes' interfaces."""
        return self.part or RAIL

    @cached_property
    def switch_of(self) -> Mapping[str, Switch]:
        """Return the switches by name."""
        return {switch.name: switch for switch in self.switches}

    @cached_property
    def host_of(self) -> Mapping[str, Host]:
        """Return the GPU nodes by name."""
        return {host.name: host for host in self.hosts}

    @cached_property
    def uplinks_of(self) -> Links:
        """Return the links of every device to the tier above; a GPU node's are those to the lowest tier."""
        return self._by_device("lower", "lower_port")

    @cached_property
    def downlinks_of(self) -> Links:
        """Return the links of every device to the tier below, or to GPU nodes."""
        return self._by_device("upper", "upper_port")

    @cached_property
    def links_of(self) -> Links:
        """Return all links of every device; downlinks are on the ports before the uplinks."""
        up = self.uplinks_of
        return {name: down + up[name] for name, down in self.downlinks_of.items()}

    @cached_property
    def ports_of(self) -> Mapping[str, tuple[SwitchPort, ...] | tuple[HostPort, ...]]:
        """Return the ports of every switch and GPU node by its name."""
        ports: dict[str, tuple[SwitchPort, ...] | tuple[HostPort, ...]] = {}
        for switch in self.switches:
            ports[switch.name] = switch.panel.ports
        for host in self.hosts:
            ports[host.name] = host.ports
        return ports

    @cached_property
    def cable_lengths_m(self) -> tuple[tuple[int, ...], ...]:
        """Return the lengths of the cables at the switches of each tier, ascending."""
        # Level by level first: a fabric has many links and few lengths.
        lengths_m: list[set[int]] = [set() for _ in range(len(self.tiers) + 1)]
        for link in self.links:
            lengths_m[link.level].add(link.length_m)
        return tuple(tuple(sorted(lengths_m[tier.level] | lengths_m[tier.level + 1])) for tier in self.tiers)

    @cached_property
    def fabric_links(self) -> tuple[Link, ...]:
        """Return the links between switches."""
        return tuple(link for link in self.links if link.level)

    @cached_property
    def tier_switches(self) -> tuple[tuple[Switch, ...], ...]:
        """Return the switches of each tier."""
        switches: list[list[Switch]] = [[] for _ in self.tiers]
        for switch in self.switches:
            switches[switch.tier.level].append(switch)
        return tuple(map(tuple, switches))

    @cached_property
    def uplink_kinds(self) -> tuple[Tier, ...]:
        """Return the tiers, and one more for each entry of nodes whose leaves have uplinks of their own."""
        tiers_by_entry = {switch.tier.entry: switch.tier for switch in self.tier_switches[0] if switch.tier.entry}
        return (*self.tiers, *tiers_by_entry.values())

    def switches_of(self, kind: Tier) -> tuple[Switch, ...]:
        """Return the switches of one of `uplink_kinds`."""
        return tuple(switch for switch in self.tier_switches[kind.level] if switch.tier.entry == kind.entry)

    @cached_property
    def host_block_lengths(self) -> tuple[int, ...]:
        """Return the prefix lengths of the host blocks: one if all switches with a block are of one model."""
        return tuple(sorted({length for _, length in self.host_blocks.values()}))

    @property
    def lowest(self) -> Tier:
        """Return the tier that attaches the GPU nodes."""
        return self.tiers[0]

    @property
    def top(self) -> Tier:
        """Return the tier that has none above."""
        return self.tiers[-1]

    @property
    def has_pods(self) -> bool:
        """Tell whether a third tier joins pods."""
        return len(self.tiers) > 2

    def network_of(self, switch: Switch) -> tuple[int, int | None]:
        """Return the separate network of a switch: its plane, and its rail if no switch joins rails."""
        rail = switch.rail if self.rail_only else None
        return switch.plane, rail

    def pod_of(self, host: Host) -> int | None:
        """Return the pod of a GPU node, None in two tiers."""
        return self.switch_of[self.uplinks_of[host.name][0].upper].pod

    def lengths_m_of(self, device: str) -> tuple[int, ...]:
        """Return the lengths of the cables at a device, ascending."""
        downlinks = map(_LENGTH_M, self.downlinks_of[device])
        return tuple(sorted({*downlinks, *map(_LENGTH_M, self.uplinks_of[device])}))

    def fabric_links_of(self, device: str) -> tuple[Link, ...]:
        """Return a switch's links to other switches; none for an unknown device."""
        return self._fabric_links_of.get(device, ())

    @cached_property
    def _fabric_links_of(self) -> Links:
        return {name: tuple(link for link in links if link.level) for name, links in self.links_of.items()}

    def nodes_on(self, device: str) -> tuple[str, ...]:
        """Return the GPU nodes that are attached to a switch, each once."""
        return tuple(dict.fromkeys(link.lower for link in self.downlinks_of.get(device, ()) if not link.level))

    def above(self, device: str) -> tuple[str, ...]:
        """Return the neighbors of a device in the tier above, each once."""
        return tuple(dict.fromkeys(link.upper for link in self.uplinks_of[device]))

    def below(self, device: str) -> tuple[str, ...]:
        """Return the neighboring switches of a switch in the tier below, each once."""
        return tuple(dict.fromkeys(link.lower for link in self.downlinks_of[device] if link.level))

    def is_numbered(self, link: Link) -> bool:
        """Tell whether the ends of a link have addresses of its own /31."""
        addressing = self.policies.addressing
        if link.is_access:
            return addressing.hosts is not None
        return not addressing.unnumbered

    def ipv6_network(self, link: Link) -> int | None:
        """Return the even address of the /127 of a link to a node, which the switch has; the node has the next one.

        None without IPv6.
        """
        if not link.is_access or link.upper not in self.ipv6_blocks:
            return None
        # Not the first /127 of the /64: its even address is the Subnet-Router anycast address (RFC 6164 section 5.2).
        return self.ipv6_blocks[link.upper] + 2 * (link.upper_port + 1)

    def nic_address(self, link: Link) -> int | None:
        """Return the address of the NIC at a link, which all leaves of the NIC in the plane announce.

        None if a NIC has one leaf a plane.
        """
        if not link.is_access or link.upper not in self.nic_blocks:
            return None
        # Its offset in the leaves' common block is the leaf's port of the NIC's first port there.
        port = self.host_of[link.lower].ports[link.lower_port].port
        first_port = link.upper_port - port // (self.planes * self.leaves_per_nic)
        return self.nic_blocks[link.upper].first + first_port

    def _by_device(self, end: str, port: str) -> Links:
        """Return the links by the device at one of their ends; ``end`` and ``port`` are fields of a link."""
        by_device: dict[str, list[Link]] = {name: [] for name in (*self.switch_of, *self.host_of)}
        device = attrgetter(end)
        for link in self.links:
            by_device[device(link)].append(link)
        by_port = attrgetter(port)
        return {name: tuple(sorted(links, key=by_port)) for name, links in by_device.items()}
