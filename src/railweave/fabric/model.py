"""A fabric as a graph of tiers: every switch, GPU node and link, with its identity, ports and addresses.

GPU nodes attach to the switches of the lowest tier; every other link joins a tier with the one above. The graph answers
for the rest of the program: the links up and down of a device, its far ends, the tier above. Addresses are integers.
Objects are shared, never copied: all switches of one model and breakout share one ``Panel``.
"""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from functools import cached_property
from operator import attrgetter
from typing import Protocol

from railweave.fabric.devices import RAIL, Host, HostPort, Switch, Tier
from railweave.fabric.links import Link, Links
from railweave.fabric.management import Management
from railweave.fabric.panel import SwitchPort
from railweave.fabric.policy import Policies, Pool
from railweave.fabric.racks import RackLayout
from railweave.fabric.sizing import Sizing

IPV6_BLOCK_LENGTH = 64
"""Prefix length of the block that a switch announces for the IPv6 addresses of its nodes."""

IPV6_LINK_LENGTH = 127
"""Prefix length of a link to a node (RFC 6164)."""

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
    # The nodes of a full stripe by their kind.
    stripe_nodes: Mapping[str, int] = field(default_factory=dict)
    # The entries of nodes, after the first, whose first stripe follows from the entries before them.
    automatic_stripes: tuple[str, ...] = ()
    # Stripes of a pod (leaves where they belong to racks), 0 where there are none and none are reserved.
    pod_stripes: int = 0

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

    def neighbors_of(self, switches: Iterable[str]) -> tuple[str, ...]:
        """Return the switches that have a link with any of ``switches``, each once."""
        far_ends = (link.far(name) for name in switches for link in self.fabric_links_of(name))
        return tuple(dict.fromkeys(far_ends))

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
