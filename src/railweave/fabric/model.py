"""A fabric as a graph of tiers: every switch, GPU node and link, with its identity, ports and addresses.

GPU nodes attach to the switches of the lowest tier; every other link joins a tier with the one above. Whoever works on
a fabric asks this graph: the links up and down of a device, its far ends, the tier above. Addresses are integers.
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
from railweave.fabric.racks import Racks
from railweave.fabric.sizing import Sizing
from railweave.wording import counted, plural

LINK_KINDS = ("host_leaf", "leaf_spine", "spine_super_spine")
"""Which tiers a link joins, by the level of its upper end: the words of ``fabric.json`` and ``cables.csv``."""


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


class Panel(NamedTuple):
    """The fabric ports of one switch model in one breakout; service ports (management 10G) are left out.

    ``breakout`` holds (parent port, mode) for BREAKOUT_CFG where the chosen speeds are not the HWSKU's native ones
    or the platform's breakout modes are known; empty where the platform has none. ``buffers`` is None where the HWSKU
    ships no buffer configuration. ``hash_fields`` tells that SONiC sets the fields of the ASIC's ECMP hash,
    ``ecmp_limit`` is the most next hops that it has for a route, None where no source states it. ``card_cages`` are the
    cages of each line card of a chassis, 0 of a switch without line cards.
    """

    model: str
    hwsku: str
    platform: str
    asic: str
    ports: tuple[SwitchPort, ...]
    breakout: tuple[tuple[str, str], ...]
    buffers: Buffers | None = None
    hash_fields: bool = False
    ecmp_limit: int | None = None
    card_cages: int = 0

    def card_of(self, port: SwitchPort) -> int | None:
        """Return the line card of a port, from 1; None of a switch without."""
        if not self.card_cages:
            return None
        return (port.panel - 1) // self.card_cages + 1


IPV6_BLOCK_LENGTH = 64
"""Prefix length of what a switch announces for the IPv6 addresses of its nodes."""

IPV6_LINK_LENGTH = 127
"""Prefix length of a link to a node (RFC 6164)."""

TIER_NAMES = ("leaf", "spine", "super-spine")
"""The names of tiers by their level: the words of people, of devices' names and of the intent's overrides."""


@dataclass(frozen=True, slots=True)
class Tier:
    """The switches that are equally far from the GPU nodes.

    A tier is the same in two designs of a fabric, whatever its size. Leaves whose uplinks differ from those of all are
    a tier of their own, with the ``entry`` of nodes that has them.
    """

    # The role of its switches, for people, for names and for SONiC's ``type``.
    name: str
    # Counted from 0 at the tier that attaches GPU nodes.
    level: int
    # Switches of one plane.
    count: int = field(compare=False)
    # Switches of one plane that ports, addresses and AS numbers are laid out for.
    reserve: int = field(compare=False)
    # Of one switch: ports in use towards the tier below.
    ports_down: int = field(compare=False)
    down_gbps: int = field(compare=False)
    # Of one switch: ports in use towards the tier above; 0 at the top.
    ports_up: int = field(default=0, compare=False)
    up_gbps: int = field(default=0, compare=False)
    # Parallel links to each switch above.
    links_per_pair: int = field(default=0, compare=False)
    # Pods, and above them groups of super-spines, that the reserve is of.
    groups: int = field(default=1, compare=False)
    # Switches of the reserve in one group.
    group_reserve: int = field(default=0, compare=False)
    # Ports of a switch that are not downlinks, whether cabled or not.
    ports_above: int = field(default=0, compare=False)
    # The name of the entry of nodes that has these leaves for itself.
    entry: str = field(default="", compare=False)
    # Where the intent states them.
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
        """Return the name for several with the entry of nodes that has them for itself: ``leaves of 'old'``."""
        if self.entry:
            return f"{self.plural} of {self.entry!r}"
        return self.plural


class Switch(NamedTuple):
    """A switch of a tier."""

    name: str
    tier: Tier
    # Its identity within the tier, from which name, AS number and addresses follow (design.md section 3).
    number: int
    # Its index within its plane.
    place: int
    plane: int
    # None above the lowest tier.
    stripe: int | None
    # None in a rack-aligned fabric; spines have one where rails are apart.
    rail: int | None
    asn: int
    # An IPv4 address as an integer.
    loopback: int
    panel: Panel
    # None in two tiers and of super-spines.
    pod: int | None = None
    # Of a super-spine, and of the spines that join it, one of every pod.
    group: int | None = None


RAIL = "rail"
"""What interfaces of nodes are named after where an intent has one fabric; else after the fabric."""


class HostPort(NamedTuple):
    """A fabric port of a GPU node; all numbers count from 0."""

    # The persistent interface name: ``rail0``, with several ports a NIC ``rail0p1``, ``storage0`` in one of several
    # fabrics.
    name: str
    nic: int
    # Of its NIC.
    port: int
    rail: int
    plane: int
    speed_gbps: int
    # The PCI address that pins the name; empty if the intent does not state it.
    pci: str = ""
    # The kernel's name of the RDMA device; empty if the intent does not state it.
    rdma: str = ""
    # The NIC's cage, which several ports may share.
    cage: int = 0
    # Which of the leaves that share the NIC it goes to.
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
    # The name of its entry in the intent.
    kind: str
    # Within the entry, from 0.
    number: int
    # The nodes that share leaves.
    stripe: int
    # Its index in the stripe.
    place: int
    nic_model: str
    # One tuple for all nodes of an entry.
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
    """A cable. ``lower`` is the end nearer to the GPUs, a node or a switch; ``upper`` a switch of the tier ``level``.

    ``lower_port`` and ``upper_port`` index the device's ports. ``network`` is the even address of the link's /31: the
    upper end's own address, the lower end has ``network + 1`` (RFC 3021). ``rail`` is None between switches. A link
    without a /31 has 0 (``Fabric.is_numbered``): between switches where the underlay is unnumbered, and to nodes that
    have IPv6 addresses alone. A fabric has a quarter of a million links, and a tuple is made twice as fast as a frozen
    dataclass.
    """

    level: int
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

    @property
    def is_access(self) -> bool:
        """Tell whether it attaches a GPU node; all others are fabric links, between two switches."""
        return self.level == 0

    @property
    def kind(self) -> str:
        """Return which tiers it joins, for people and files."""
        return LINK_KINDS[self.level]

    def far(self, device: str) -> str:
        """Return the device at the other end."""
        if device == self.lower:
            return self.upper
        return self.lower

    def port_of(self, device: str) -> int:
        """Return the index of the port at ``device``'s end."""
        if device == self.lower:
            return self.lower_port
        return self.upper_port

    def address_of(self, device: str) -> int:
        """Return the address of ``device``'s end."""
        # The upper end has the even address of the /31, the lower end the odd one.
        if device == self.lower:
            return self.network + 1
        return self.network


Links = Mapping[str, tuple[Link, ...]]
"""Links of every device of a fabric by its name, in the order of its own ports."""


_LENGTH_M = attrgetter("length_m")


class Graph(Protocol):
    """What of a fabric follows from its devices and cables alone, not from its policies: whoever takes a graph reads
    none of them. Two fabrics that differ in nothing else have the same."""

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
    """A whole fabric: ``tiers`` from the one that attaches the GPU nodes upwards, ``switches`` tier by tier.

    ``host_blocks`` are the (network, prefix length) that switches of the lowest tier announce for their nodes, none
    where nodes have no IPv4, and ``ipv6_blocks`` the first addresses of the /64s, none where they have no IPv6.
    ``rail_only`` tells that no switch joins two rails, ``racks`` and ``management`` are None where the intent has none.
    Where ``leaves_per_nic`` leaves share the ports of a NIC in a plane (dual-ToR), ``nic_blocks`` are the addresses of
    the NICs that each leaf announces, else there are none.
    Of an intent with several fabrics ``part`` is the name of this one and ``rdma_beside`` are those of the others that
    carry RDMA. What is asked of the graph is computed once, when it is asked for the first time.
    """

    name: str
    rails: int
    planes: int
    policies: Policies
    sizing: Sizing
    tiers: tuple[Tier, ...]
    switches: tuple[Switch, ...]
    hosts: tuple[Host, ...]
    links: tuple[Link, ...]
    host_blocks: Mapping[str, tuple[int, int]]
    rail_only: bool = False
    ipv6_blocks: Mapping[str, int] = field(default_factory=dict)
    racks: Racks | None = None
    part: str = ""
    rdma_beside: tuple[str, ...] = ()
    management: Management | None = None
    leaves_per_nic: int = 1
    nic_blocks: Mapping[str, Pool] = field(default_factory=dict)

    @property
    def interfaces(self) -> str:
        """Return what the names of nodes' interfaces begin with."""
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
        return {name: down + up[name] if up[name] else down for name, down in self.downlinks_of.items()}

    @cached_property
    def ports_of(self) -> Mapping[str, tuple[SwitchPort, ...] | tuple[HostPort, ...]]:
        """Return the ports of every switch and GPU node by its name."""
        of_switches = {switch.name: switch.panel.ports for switch in self.switches}
        return of_switches | {host.name: host.ports for host in self.hosts}

    @cached_property
    def cable_lengths_m(self) -> tuple[tuple[int, ...], ...]:
        """Return the lengths of the cables that the switches of each tier meet, ascending."""
        # Cables have a few lengths, and a fabric has a quarter of a million links.
        lengths = {(link.length_m, link.level) for link in self.links}
        by_tier = []
        for tier in self.tiers:
            own = {length_m for length_m, level in lengths if level in (tier.level, tier.level + 1)}
            by_tier.append(tuple(sorted(own)))
        return tuple(by_tier)

    @cached_property
    def fabric_links(self) -> tuple[Link, ...]:
        """Return the links between switches."""
        return tuple(link for link in self.links if link.level)

    @cached_property
    def tier_switches(self) -> tuple[tuple[Switch, ...], ...]:
        """Return the switches of each tier."""
        by_level: dict[int, list[Switch]] = {tier.level: [] for tier in self.tiers}
        for switch in self.switches:
            by_level[switch.tier.level].append(switch)
        return tuple(map(tuple, by_level.values()))

    @cached_property
    def uplink_kinds(self) -> tuple[Tier, ...]:
        """Return the tiers, the lowest once more for each entry of nodes whose leaves have uplinks of their own."""
        own = {switch.tier.entry: switch.tier for switch in self.tier_switches[0] if switch.tier.entry}
        return (*self.tiers, *own.values())

    def switches_of(self, kind: Tier) -> tuple[Switch, ...]:
        """Return the switches of one of `uplink_kinds`."""
        return tuple(switch for switch in self.tier_switches[kind.level] if switch.tier.entry == kind.entry)

    @cached_property
    def host_block_lengths(self) -> tuple[int, ...]:
        """Return the prefix lengths of the host blocks: one, where all switches that have some are of one model."""
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
        """Return which of the networks that no cable joins a switch is of: its plane, and its rail where rails are."""
        if self.rail_only:
            return switch.plane, switch.rail
        return switch.plane, None

    def pod_of(self, host: Host) -> int | None:
        """Return the pod of a GPU node, None in two tiers."""
        return self.switch_of[self.uplinks_of[host.name][0].upper].pod

    def lengths_m_of(self, device: str) -> tuple[int, ...]:
        """Return the lengths of the cables that a device meets, ascending."""
        links = (*self.downlinks_of[device], *self.uplinks_of[device])
        return tuple(sorted({*map(_LENGTH_M, links)}))

    def fabric_links_of(self, device: str) -> tuple[Link, ...]:
        """Return a switch's links to other switches; none for a device that is not there."""
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
        """Return the even address of the /127 of a link to a node, the switch's own; the node has the next one. None
        if there is no IPv6."""
        if not link.is_access or link.upper not in self.ipv6_blocks:
            return None
        # The first /127 of a block is left out: its even address is the Subnet-Router anycast address of the /64 (RFC
        # 6164 section 5.2).
        return self.ipv6_blocks[link.upper] + 2 * (link.upper_port + 1)

    def nic_address(self, link: Link) -> int | None:
        """Return the address of the NIC whose port a link attaches, which all leaves of the NIC in the plane announce.
        None if a NIC has one leaf."""
        if not link.is_access or link.upper not in self.nic_blocks:
            return None
        block = self.nic_blocks[link.upper]
        # Its position in the common block of the leaves is the port of the NIC's first port on each of them.
        port = self.host_of[link.lower].ports[link.lower_port].port
        return block.first + link.upper_port - port // (self.planes * self.leaves_per_nic)

    def _by_device(self, end: str, port: str) -> Links:
        links_of: dict[str, list[Link]] = {name: [] for name in (*self.switch_of, *self.host_of)}
        device = attrgetter(end)
        own_port = attrgetter(port)
        for link in self.links:
            links_of[device(link)].append(link)
        return {name: tuple(sorted(links, key=own_port)) for name, links in links_of.items()}
