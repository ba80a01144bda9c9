"""The settings of a GPU node: rails with addresses, tables and routes, as a function of (fabric, node).

Every rail is a /31 to its leaf (RFC 3021; the node has the odd address), a /127 of IPv6 (RFC 6164), or both, with a
routing table of its own, so that a packet leaves on the rail whose address it carries. For sockets that bind no address
the main table has one route a rail to the pool of all nodes, or, if no switch joins rails, to the nodes of that rail;
the default route stays with the front end.

A NIC that several leaves share (dual-ToR) has in addition an address of its own on each of its ports, which these
leaves announce. Packets from it leave by the NIC's first port, and by the next one while that has no link; the first
port changes from node to node, so that the leaves share the load. No route has several next hops, because networkd
installs such a route only once all of them are reachable, and netplan cannot express it.
"""

from collections.abc import Mapping, Sequence
from math import ceil
from typing import NamedTuple

from railweave.catalog.load import load_catalog
from railweave.fabric.devices import Host, Switch
from railweave.fabric.links import Link
from railweave.fabric.model import IPV6_BLOCK_LENGTH, Fabric
from railweave.fabric.policy import ClassRole, Pool, TrafficClass
from railweave.qos.mapping import PRIORITY_COUNT, map_chain
from railweave.qos.mmu.headroom import nic_headroom_bytes

# The ECN bits of a sender that is capable of ECN (RFC 3168).
_ECT_0 = 2
ROCE_MTUS = (4096, 2048, 1024, 512, 256)
ROCE_HEADERS_BYTES = 96
"""Reserved by Linux in a packet for IP, UDP and the RoCE headers (``iboe_get_mtu``)."""


def roce_mtu_bytes(mtu_bytes: int) -> int:
    """Return the largest RoCE packet that fits an IP MTU, 0 if none does."""
    return next((size for size in ROCE_MTUS if size + ROCE_HEADERS_BYTES <= mtu_bytes), 0)


def tos_of(dscp: int) -> int:
    """Return the ToS byte of a code point with ECT(0), such as 106 of 26."""
    return dscp * 4 + _ECT_0


def same_class(tos: int, other_tos: int) -> bool:
    """Tell whether two ToS bytes have the same code point: the last two bits are ECN's."""
    return tos // 4 == other_tos // 4


class NicMarking(NamedTuple):
    """Code points and priorities of a node's NICs."""

    # Of RDMA packets.
    dscp: int
    priority: int
    # None if no class carries notifications.
    cnp_dscp: int | None
    cnp_priority: int
    # Priorities with PFC.
    lossless: tuple[int, ...]
    # (DSCP, priority) of every DSCP that a class names; all others have `rest_priority`.
    class_dscp: tuple[tuple[int, int], ...]
    rest_priority: int
    # The RDMA class's part of the port.
    share_percent: int
    # (priority, percent) of every class; None for a strict one.
    shares: tuple[tuple[int, int | None], ...] = ()
    # Priorities whose packets ECN marks.
    marked: tuple[int, ...] = ()
    # RDMA does without PFC (roce-lossy).
    is_lossy: bool = False

    @property
    def tos(self) -> int:
        """Return the ToS byte of RDMA packets, able to carry ECN."""
        return tos_of(self.dscp)

    @property
    def pfc(self) -> tuple[bool, ...]:
        """Return for each of the eight priorities whether PFC pauses it."""
        return tuple(priority in self.lossless for priority in range(PRIORITY_COUNT))


def marking(classes: Sequence[TrafficClass]) -> NicMarking | None:
    """Return the marking of ``classes``; None if no class with a DSCP of its own carries RDMA."""
    rdma = _class_with_dscp(classes, ClassRole.RDMA)
    if rdma is None:
        return None
    cnp_dscp = None
    cnp_priority = 0
    cnp = _class_with_dscp(classes, ClassRole.CNP)
    if cnp is not None:
        cnp_dscp = cnp.dscp[0]
        cnp_priority = cnp.priority
    return NicMarking(
        dscp=rdma.dscp[0],
        priority=rdma.priority,
        cnp_dscp=cnp_dscp,
        cnp_priority=cnp_priority,
        lossless=map_chain(classes).lossless,
        class_dscp=tuple((dscp, traffic.priority) for traffic in classes for dscp in traffic.dscp),
        rest_priority=next((traffic.priority for traffic in classes if traffic.is_default), 0),
        share_percent=rdma.share_percent,
        shares=tuple(map(_priority_and_share, classes)),
        marked=tuple(sorted({traffic.priority for traffic in classes if traffic.marks})),
        is_lossy=rdma.is_lossy_rdma,
    )


def _class_with_dscp(classes: Sequence[TrafficClass], role: ClassRole) -> TrafficClass | None:
    """Return the first class of a role that has code points of its own; None if there is none."""
    return next((traffic for traffic in classes if traffic.role is role and traffic.dscp), None)


def _priority_and_share(traffic: TrafficClass) -> tuple[int, int | None]:
    """Return the priority of a class, and its share in percent or None for a strict class."""
    percent = None if traffic.strict else traffic.share_percent
    return traffic.priority, percent


FIRST_TABLE = 100
"""Routing table of the first rail; the others follow, across all fabrics of a node."""

FIRST_PRIORITY = 1000
"""Priority of the first rail's rule, before the main table's 32766."""

FIRST_NIC_PRIORITY = 2000
"""Priority of the first rule of a NIC's own address, after the rules of ports."""

LINK_PREFIX_LENGTH = 31
NIC_PREFIX_LENGTH = 32


class RailAddress(NamedTuple):
    """The addresses of a fabric interface in one family.

    ``gateway`` is the address of the far end; ``reached`` are the prefixes of nodes that the interface leads to.
    """

    address: int
    gateway: int
    reached: tuple[Pool, ...]


class NicAddress(NamedTuple):
    """An address that the ports of a NIC in a plane share, because several leaves announce it.

    The rule with ``rule_priority`` leads to the table of one port; ``tables`` are those of all ports in rule order.
    """

    address: int
    rule_priority: int
    tables: tuple[int, ...]


class Rail(NamedTuple):
    """A fabric interface of a node."""

    name: str
    # The PCI address that pins the name; empty if it is pinned otherwise.
    pci: str
    # The RDMA device; empty without a vendor pack.
    rdma: str
    # The number of its routing table, and the priority of the rule that leads to it.
    table: int
    rule_priority: int
    # The leaf at the far end.
    switch: str
    plane: int
    # The order of the rails for sockets that bind no address.
    metric: int
    # None if nodes have no addresses of the family.
    ipv4: RailAddress | None = None
    ipv6: RailAddress | None = None
    # None if a NIC has one leaf a plane.
    nic: NicAddress | None = None

    @property
    def ipv4_addresses(self) -> tuple[tuple[int, int], ...]:
        """Return its IPv4 addresses with the lengths of their prefixes."""
        addresses = []
        if self.ipv4:
            addresses.append((self.ipv4.address, LINK_PREFIX_LENGTH))
        if self.nic:
            addresses.append((self.nic.address, NIC_PREFIX_LENGTH))
        return tuple(addresses)


class NicReceive(NamedTuple):
    """The values that size a NIC's receive buffers.

    These are the length of its cable in meters, and the bytes of a lossless buffer: a frame and the headroom.
    """

    cable_m: int
    lossless_bytes: int


class NodeSettings(NamedTuple):
    """Everything that a node's files depend on.

    ``vendor`` names the pack of its NICs; ``marking`` is None if no class carries RDMA. ``mtu_bytes`` is the NICs' MTU,
    ``sent_mtu_bytes`` the largest packet that the node's routes let it send; ``receive`` is None for a node without
    links.
    """

    name: str
    fabric: str
    vendor: str | None
    rails: tuple[Rail, ...]
    mtu_bytes: int
    sent_mtu_bytes: int
    marking: NicMarking | None
    receive: NicReceive | None


def node_of(fabric: Fabric, host: Host) -> NodeSettings:
    """Return the settings of ``host``."""
    policies = fabric.policies
    vendor = host_vendor(fabric, host)
    rdma_prefix = ""
    if vendor:
        rdma_prefix = load_catalog().vendor_pack(vendor).rdma_prefix
    links = fabric.links_of[host.name]
    return NodeSettings(
        name=host.name,
        fabric=fabric.name,
        vendor=vendor,
        rails=tuple(_rail(fabric, host, link, rdma_prefix) for link in links),
        mtu_bytes=policies.mtu.hosts_bytes,
        sent_mtu_bytes=policies.mtu.hosts_bytes,
        marking=marking(policies.classes),
        receive=_receive(links, policies.mtu.hosts_bytes),
    )


def _rail(fabric: Fabric, host: Host, link: Link, rdma_prefix: str) -> Rail:
    """Return the interface of a node at a link.

    The names of its driver's RDMA devices begin with ``rdma_prefix``, which is empty if they are not known.
    """
    port = host.ports[link.lower_port]
    # Counted over all fabrics of the node.
    number = host.port_number(link.lower_port)
    rank = _rank(fabric, host, link.lower_port)
    rdma = port.rdma
    if not rdma and rdma_prefix:
        # The kernel numbers the devices of a driver from 0, like mlx5_0.
        rdma = f"{rdma_prefix}{number}"
    return Rail(
        name=port.name,
        pci=port.pci,
        rdma=rdma,
        table=FIRST_TABLE + number,
        rule_priority=FIRST_PRIORITY + number,
        switch=link.upper,
        plane=link.plane,
        metric=FIRST_TABLE + rank,
        ipv4=_ipv4_address(fabric, link),
        ipv6=_ipv6_address(fabric, link),
        nic=_nic_address(fabric, host, link, rank),
    )


def _rank(fabric: Fabric, host: Host, index: int) -> int:
    """Return the rank of the port ``index`` among those of its node, over all fabrics.

    Sockets that bind no address use the ports in this order.
    """
    if fabric.leaves_per_nic == 1:
        return host.port_number(index)
    port = host.ports[index]
    planes = fabric.planes
    ports_of_nic = max(node_port.port for node_port in host.ports) + 1
    ports_of_plane = ports_of_nic // planes
    # The ports of a NIC take turns as the first of their plane, node by node and NIC by NIC, so that the leaves share
    # the load.
    turn = (port.port // planes - host.place - port.nic) % ports_of_plane
    return host.first_port + port.nic * ports_of_nic + turn * planes + port.plane


def _nic_address(fabric: Fabric, host: Host, link: Link, rank: int) -> NicAddress | None:
    """Return the address that a port shares with the other ports of its NIC and plane; None if it has only its own."""
    address = fabric.nic_address(link)
    if address is None:
        return None
    port = host.ports[link.lower_port]
    sharing_ports = []
    for index, node_port in enumerate(host.ports):
        if node_port.nic == port.nic and node_port.plane == port.plane:
            sharing_ports.append(index)
    sharing_ports.sort(key=lambda index: _rank(fabric, host, index))
    tables = tuple(FIRST_TABLE + host.port_number(index) for index in sharing_ports)
    return NicAddress(address, FIRST_NIC_PRIORITY + rank, tables)


def _ipv4_address(fabric: Fabric, link: Link) -> RailAddress | None:
    """Return the IPv4 addresses of a node's interface; None if nodes have no IPv4."""
    pool = fabric.policies.addressing.hosts
    if pool is None:
        return None
    _, block_length = fabric.host_blocks[link.upper]
    reached = _reached(fabric, link, pool, block_length)
    return RailAddress(link.network + 1, link.network, (*reached, *_nics_reached(fabric, link)))


def _ipv6_address(fabric: Fabric, link: Link) -> RailAddress | None:
    """Return the IPv6 addresses of a node's interface; None if nodes have no IPv6."""
    network = fabric.ipv6_network(link)
    pool = fabric.policies.addressing.hosts_ipv6
    if network is None or pool is None:
        return None
    return RailAddress(network + 1, network, _reached(fabric, link, pool, IPV6_BLOCK_LENGTH))


def _reached(fabric: Fabric, link: Link, pool: Pool, length: int) -> tuple[Pool, ...]:
    """Return the prefixes that a link leads to: the whole pool, or the blocks of its rail if no switch joins rails.

    ``length`` is the prefix length of a block.
    """
    if not fabric.rail_only:
        return (pool,)
    block_addresses = 1 << (pool.bits - length)
    # Also the blocks of the reserve, so that nodes need no change when the rail grows.
    numbers = _numbers_of_rail(fabric, fabric.switch_of[link.upper])
    # The pool is an IPv4 or an IPv6 one.
    return tuple(type(pool)(pool.first + number * block_addresses, length) for number in numbers)


def _nics_reached(fabric: Fabric, link: Link) -> tuple[Pool, ...]:
    """Return the prefixes of NICs' own addresses that a link leads to; none if NICs have no such addresses."""
    block = fabric.nic_blocks.get(link.upper)
    pool = fabric.policies.addressing.nics
    if block is None:
        return ()
    if not fabric.rail_only:
        return (pool,)
    # The leaves that share NICs share a block, so blocks count rails and planes of a stripe, not its leaves.
    blocks_of_stripe = fabric.rails * fabric.planes
    first = fabric.switch_of[link.upper].number % blocks_of_stripe
    stripes = ceil(fabric.lowest.reserve / (fabric.rails * fabric.leaves_per_nic))
    numbers = range(first, stripes * blocks_of_stripe, blocks_of_stripe)
    return tuple(Pool(pool.first + number * block.size, block.length) for number in numbers)


def _numbers_of_rail(fabric: Fabric, leaf: Switch) -> range:
    """Return the numbers of the leaves of a rail-only fabric's rail, up to the reserve."""
    stripe_leaves = fabric.rails * fabric.planes
    return range(leaf.number % stripe_leaves, fabric.lowest.reserve * fabric.planes, stripe_leaves)


def _receive(links: Sequence[Link], mtu_bytes: int) -> NicReceive | None:
    """Return what sizes the receive buffers for the longest of a node's cables; None without a cable."""
    if not links:
        return None
    cable_m = max(link.length_m for link in links)
    # Of several longest cables the fastest one needs the largest buffer.
    headroom_bytes = max(
        nic_headroom_bytes(link.speed_gbps, link.length_m, mtu_bytes) for link in links if link.length_m == cable_m
    )
    return NicReceive(cable_m, headroom_bytes + mtu_bytes)


def host_vendor(fabric: Fabric, host: Host) -> str | None:
    """Return the vendor of a node's NICs: the one of the intent, else the one whose pack has the model, else None."""
    return fabric.policies.hosts.vendor or load_catalog().vendor_of(host.nic_model)


def kernel_settings(rails: tuple[Rail, ...]) -> Mapping[str, str]:
    """Return the sysctls of a node with several rails (check N-3)."""
    settings: dict[str, str] = {}
    if not rails or any(rail.ipv4 for rail in rails):
        # Linux answers ARP on any interface by default, so a leaf would learn a rail's address on another rail's port.
        settings |= {"net.ipv4.conf.all.arp_ignore": "1", "net.ipv4.conf.all.arp_announce": "2"}
    for rail in rails:
        if rail.ipv4 is not None:
            # Loose: strict reverse-path filtering (1) drops packets that come back on another rail.
            settings[f"net.ipv4.conf.{rail.name}.rp_filter"] = "2"
            settings[f"net.ipv4.conf.{rail.name}.accept_local"] = "0"
        if rail.nic is not None:
            # Another port of the NIC takes over; by default Linux keeps using a route whose link is down.
            settings[f"net.ipv4.conf.{rail.name}.ignore_routes_with_linkdown"] = "1"
        if rail.ipv6 is not None:
            # Nothing like ARP is needed: Linux answers neighbor solicitations only on the interface that has the
            # address (net/ipv6/ndisc.c).
            settings[f"net.ipv6.conf.{rail.name}.accept_ra"] = "0"
    return settings
