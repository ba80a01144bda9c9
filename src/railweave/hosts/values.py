"""What a GPU node is to be: rails with addresses, tables and routes, as a function of (fabric, node).

Every rail is a /31 to its leaf (RFC 3021; the node has the odd address), a /127 of IPv6 (RFC 6164), or both, with a
routing table of its own, so that a packet leaves on the rail whose address it carries. The main table has one route a
rail to the pool of all nodes, or where rails are apart to the nodes of that rail alone, for whoever does not bind an
address; the default route stays with the front end (fabric-facts section 6.4).

A NIC that several leaves share (dual-ToR) has an address of its own beside, on each of its ports, which these leaves
announce. What is sent from it leaves by the NIC's first port, and by the next while that one has no link: which is the
first one changes from node to node, so that the leaves share the load. No route has several next hops, because networkd
installs none of it before all of them are there, and netplan has no words for it.
"""

from collections.abc import Mapping, Sequence
from typing import NamedTuple

from railweave.catalog.load import load_catalog
from railweave.fabric.model import IPV6_BLOCK_LENGTH, Fabric, Host, Link, Switch
from railweave.fabric.policy import ClassRole, Pool, TrafficClass
from railweave.qos.mapping import PRIORITY_COUNT, map_chain
from railweave.qos.mmu.headroom import nic_headroom_bytes

_ECT_0 = 2
ROCE_MTUS = (4096, 2048, 1024, 512, 256)
ROCE_HEADERS_BYTES = 96
"""What Linux keeps free in a packet for IP, UDP and the RoCE headers (``iboe_get_mtu``)."""


def roce_mtu_bytes(mtu_bytes: int) -> int:
    """Return the largest RoCE packet that an IP MTU carries, 0 where none does."""
    return next((size for size in ROCE_MTUS if size + ROCE_HEADERS_BYTES <= mtu_bytes), 0)


def tos_of(dscp: int) -> int:
    """Return the ToS byte of a code point with ECT(0), such as 106 of 26."""
    return dscp * 4 + _ECT_0


def same_class(tos: int, other: int) -> bool:
    """Tell whether two ToS bytes have one code point: the last two bits are ECN's."""
    return tos // 4 == other // 4


class NicMarking(NamedTuple):
    """Code points and priorities of a node's NICs. ``cnp_dscp`` is None where no class carries notifications.

    ``class_dscp`` holds (DSCP, priority) of every DSCP that a class names, all others have ``rest_priority``;
    ``share_percent`` is the RDMA class's part of the port, ``shares`` holds (priority, part) of every class, None for a
    strict one.
    """

    dscp: int
    priority: int
    cnp_dscp: int | None
    cnp_priority: int
    lossless: tuple[int, ...]
    class_dscp: tuple[tuple[int, int], ...]
    rest_priority: int
    share_percent: int
    shares: tuple[tuple[int, int | None], ...] = ()

    @property
    def tos(self) -> int:
        """Return the ToS byte of RDMA packets, able to carry ECN."""
        return tos_of(self.dscp)

    @property
    def pfc(self) -> tuple[bool, ...]:
        """Return which of the eight priorities are paused."""
        return tuple(priority in self.lossless for priority in range(PRIORITY_COUNT))


def marking(classes: Sequence[TrafficClass]) -> NicMarking | None:
    """Return the marking of ``classes``; None where no class with a DSCP of its own carries RDMA."""
    rdma = _first_of_role(classes, ClassRole.RDMA)
    if rdma is None:
        return None
    cnp = _first_of_role(classes, ClassRole.CNP)
    chain = map_chain(classes)
    default = next((traffic_class for traffic_class in classes if traffic_class.is_default), None)
    return NicMarking(
        dscp=rdma.dscp[0],
        priority=rdma.priority,
        cnp_dscp=cnp.dscp[0] if cnp else None,
        cnp_priority=cnp.priority if cnp else 0,
        lossless=chain.lossless,
        class_dscp=tuple((dscp, traffic_class.priority) for traffic_class in classes for dscp in traffic_class.dscp),
        rest_priority=default.priority if default else 0,
        share_percent=rdma.share_percent,
        shares=tuple(map(_share, classes)),
    )


def _first_of_role(classes: Sequence[TrafficClass], role: ClassRole) -> TrafficClass | None:
    """Return the first class of a role that names a code point: NICs mark packets with one."""
    return next((traffic_class for traffic_class in classes if traffic_class.role is role and traffic_class.dscp), None)


def _share(traffic_class: TrafficClass) -> tuple[int, int | None]:
    if traffic_class.strict:
        return traffic_class.priority, None
    return traffic_class.priority, traffic_class.share_percent


FIRST_TABLE = 100
"""Routing table of the first rail; the others follow, also those of a node's groups of NICs in other fabrics."""

FIRST_PRIORITY = 1000
"""Priority of the first rail's rule, before the main table's 32766."""

FIRST_NIC_PRIORITY = 2000
"""Priority of the first rule of an address of a NIC, after those of its ports."""

LINK_PREFIX_LENGTH = 31
NIC_PREFIX_LENGTH = 32


class RailAddress(NamedTuple):
    """What a fabric interface has of one family: its address, ``gateway``, that of the far end, and the prefixes of
    nodes that it leads to."""

    address: int
    gateway: int
    reached: tuple[Pool, ...]


class NicAddress(NamedTuple):
    """An address that the ports of a NIC in a plane have in common, since several leaves announce it. The rule with
    ``rule_priority`` leads from it to the table of one port; ``tables`` are those of all, in the order of rules."""

    address: int
    rule_priority: int
    tables: tuple[int, ...]


class Rail(NamedTuple):
    """A fabric interface of a node."""

    name: str
    # The PCI address that pins its name; empty if something else does.
    pci: str
    # Its RDMA device; empty without a vendor pack.
    rdma: str
    # Its own routing table.
    table: int
    rule_priority: int
    # The far end.
    switch: str
    plane: int
    # Orders the rails for sockets that bind no address.
    metric: int
    # None if nodes have no addresses of the family.
    ipv4: RailAddress | None = None
    ipv6: RailAddress | None = None
    # None if a NIC has one leaf.
    nic: NicAddress | None = None

    @property
    def ipv4_addresses(self) -> tuple[tuple[int, int], ...]:
        """Return its addresses of IPv4 with the lengths of their prefixes."""
        addresses = []
        if self.ipv4 is not None:
            addresses.append((self.ipv4.address, LINK_PREFIX_LENGTH))
        if self.nic is not None:
            addresses.append((self.nic.address, NIC_PREFIX_LENGTH))
        return tuple(addresses)


class NicReceive(NamedTuple):
    """What a NIC's receive buffers follow from: its cable in meters, and the bytes of a lossless buffer, which holds a
    frame and the headroom."""

    cable_m: int
    lossless_bytes: int


class Node(NamedTuple):
    """Everything that a node's files are made of. ``vendor`` names the pack of its NICs; ``marking`` is None
    where no class carries RDMA. ``mtu_bytes`` is what the NICs take, ``sent_mtu_bytes`` the largest packet that the
    node's routes let it send; ``receive`` is None for a node without links."""

    name: str
    fabric: str
    vendor: str | None
    rails: tuple[Rail, ...]
    mtu_bytes: int
    sent_mtu_bytes: int
    marking: NicMarking | None
    receive: NicReceive | None


def node_of(fabric: Fabric, host: Host) -> Node:
    """Return the values of ``host``."""
    policies = fabric.policies
    vendor = host_vendor(fabric, host)
    prefix = load_catalog().vendor_pack(vendor).rdma_prefix if vendor else ""
    rails = []
    for link in fabric.links_of[host.name]:
        index = link.lower_port
        port = host.ports[index]
        order = _order(fabric, host, index)
        rdma = port.rdma
        if not rdma and prefix:
            # A driver names its devices in the order of ports, such as mlx5_0.
            rdma = f"{prefix}{host.first_port + index}"
        rails.append(
            Rail(
                name=port.name,
                pci=port.pci,
                rdma=rdma,
                table=FIRST_TABLE + host.first_port + index,
                rule_priority=FIRST_PRIORITY + host.first_port + index,
                switch=link.upper,
                plane=link.plane,
                metric=FIRST_TABLE + order,
                ipv4=_ipv4_address(fabric, link),
                ipv6=_ipv6_address(fabric, link),
                nic=_nic_address(fabric, host, link, order),
            )
        )
    return Node(
        name=host.name,
        fabric=fabric.name,
        vendor=vendor,
        rails=tuple(rails),
        mtu_bytes=policies.mtu.hosts_bytes,
        sent_mtu_bytes=policies.mtu.hosts_bytes,
        marking=marking(policies.classes),
        receive=_receive(fabric.links_of[host.name], policies.mtu.hosts_bytes),
    )


def _order(fabric: Fabric, host: Host, index: int) -> int:
    """Return where a port stands among those of its node, in all fabrics: those of a NIC that several leaves share take
    turns at being the first one of their plane, node by node and NIC by NIC."""
    if fabric.leaves_per_nic == 1:
        return host.first_port + index
    port = host.ports[index]
    planes = fabric.planes
    per_nic = max(other.port for other in host.ports) + 1
    turn = (port.port // planes - host.place - port.nic) % (per_nic // planes)
    return host.first_port + port.nic * per_nic + turn * planes + port.plane


def _nic_address(fabric: Fabric, host: Host, link: Link, order: int) -> NicAddress | None:
    address = fabric.nic_address(link)
    if address is None:
        return None
    own = host.ports[link.lower_port]
    alike = [index for index, port in enumerate(host.ports) if (port.nic, port.plane) == (own.nic, own.plane)]
    alike.sort(key=lambda index: _order(fabric, host, index))
    tables = tuple(FIRST_TABLE + host.first_port + index for index in alike)
    return NicAddress(address, FIRST_NIC_PRIORITY + order, tables)


def _ipv4_address(fabric: Fabric, link: Link) -> RailAddress | None:
    pool = fabric.policies.addressing.hosts
    if pool is None:
        return None
    reached = _reached(fabric, link, pool, fabric.host_blocks[link.upper][1])
    return RailAddress(link.network + 1, link.network, (*reached, *_nics_reached(fabric, link)))


def _ipv6_address(fabric: Fabric, link: Link) -> RailAddress | None:
    network = fabric.ipv6_network(link)
    pool = fabric.policies.addressing.hosts_ipv6
    if network is None or pool is None:
        return None
    return RailAddress(network + 1, network, _reached(fabric, link, pool, IPV6_BLOCK_LENGTH))


def _reached(fabric: Fabric, link: Link, pool: Pool, length: int) -> tuple[Pool, ...]:
    """Return where a link leads: to the whole pool, or to the blocks that its rail has or gets by the reserve, so that
    a node stays as it is when its rail grows."""
    if not fabric.rail_only:
        return (pool,)
    block = 1 << (pool.bits - length)
    numbers = _numbers_of_rail(fabric, fabric.switch_of[link.upper])
    return tuple(type(pool)(pool.first + number * block, length) for number in numbers)


def _nics_reached(fabric: Fabric, link: Link) -> tuple[Pool, ...]:
    """Return the same of the addresses of NICs that several leaves share; these leaves share a block."""
    own = fabric.nic_blocks.get(link.upper)
    pool = fabric.policies.addressing.nics
    if own is None:
        return ()
    if not fabric.rail_only:
        return (pool,)
    of_stripe = fabric.rails * fabric.planes
    first = fabric.switch_of[link.upper].number
    stripes = -(-fabric.lowest.reserve // (fabric.rails * fabric.leaves_per_nic))
    numbers = range(first % of_stripe, stripes * of_stripe, of_stripe)
    return tuple(Pool(pool.first + number * own.size, own.length) for number in numbers)


def _numbers_of_rail(fabric: Fabric, leaf: Switch) -> range:
    """Return the numbers of the leaves of a rail that is apart, up to the reserve."""
    stripe_leaves = fabric.rails * fabric.planes
    return range(leaf.number % stripe_leaves, fabric.lowest.reserve * fabric.planes, stripe_leaves)


def _receive(links: Sequence[Link], mtu_bytes: int) -> NicReceive | None:
    """Return the buffers for the longest of a node's cables."""
    if not links:
        return None
    cables = [(link.length_m, nic_headroom_bytes(link.speed_gbps, link.length_m, mtu_bytes)) for link in links]
    length_m, headroom_bytes = max(cables)
    return NicReceive(length_m, headroom_bytes + mtu_bytes)


def host_vendor(fabric: Fabric, host: Host) -> str | None:
    """Return the vendor of a node's NICs: the intent's, else the one whose pack knows the model."""
    return fabric.policies.hosts.vendor or load_catalog().vendor_of(host.nic_model)


def kernel_settings(rails: tuple[Rail, ...]) -> Mapping[str, str]:
    """Return the sysctls of a node with several rails (check N-3).

    Linux answers ARP on any interface by default, so a leaf would learn a rail's address on another rail's port.
    Strict reverse-path filtering drops what comes back on another rail. Of IPv6 only router advertisements are turned
    off: Linux answers neighbor solicitations on the interface that has the address (net/ipv6/ndisc.c). The ports of a
    NIC that several leaves share stand in for each other: Linux keeps to a route whose link is down unless told.
    """
    settings: dict[str, str] = {}
    if not rails or any(rail.ipv4 for rail in rails):
        settings |= {"net.ipv4.conf.all.arp_ignore": "1", "net.ipv4.conf.all.arp_announce": "2"}
    for rail in rails:
        if rail.ipv4 is not None:
            settings[f"net.ipv4.conf.{rail.name}.rp_filter"] = "2"
            settings[f"net.ipv4.conf.{rail.name}.accept_local"] = "0"
        if rail.nic is not None:
            settings[f"net.ipv4.conf.{rail.name}.ignore_routes_with_linkdown"] = "1"
        if rail.ipv6 is not None:
            settings[f"net.ipv6.conf.{rail.name}.accept_ra"] = "0"
    return settings
