"""What a GPU node is to be: rails with addresses, tables and routes, as a function of (fabric, node).

Every rail is a /31 to its leaf (RFC 3021; the node has the odd address) with a routing table of its own, so that a
packet leaves on the rail whose address it carries. The main table has one route a rail to the pool of all nodes, or
where rails are apart to the nodes of that rail alone, for whoever does not bind an address; the default route stays
with the front end (fabric-facts section 6.4).
"""

from collections.abc import Mapping, Sequence
from typing import NamedTuple

from railweave.catalog.load import load_catalog
from railweave.fabric.model import IPV6_BLOCK_LENGTH, Fabric, Host, Link, Switch
from railweave.fabric.policy import ClassRole, Ipv6Pool, Pool, TrafficClass
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
    rdma = next((one for one in classes if one.role is ClassRole.RDMA and one.dscp), None)
    if rdma is None:
        return None
    cnp = next((one for one in classes if one.role is ClassRole.CNP and one.dscp), None)
    chain = map_chain(classes)
    return NicMarking(
        dscp=rdma.dscp[0],
        priority=rdma.priority,
        cnp_dscp=cnp.dscp[0] if cnp else None,
        cnp_priority=cnp.priority if cnp else 0,
        lossless=chain.lossless,
        class_dscp=tuple((dscp, one.priority) for one in classes for dscp in one.dscp),
        rest_priority=next((one.priority for one in classes if one.is_default), 0),
        share_percent=rdma.share_percent,
        shares=tuple((one.priority, None if one.strict else one.share_percent) for one in classes),
    )


FIRST_TABLE = 100
"""Routing table of the first rail; the others follow, also those of a node's groups of NICs in other fabrics."""

FIRST_PRIORITY = 1000
"""Priority of the first rail's rule, before the main table's 32766."""

LINK_PREFIX_LENGTH = 31


class Ipv6Rail(NamedTuple):
    """The IPv6 side of a fabric interface: its address, that of the far end, and the prefixes that it leads to."""

    address: int
    gateway: int
    reached: tuple[Pool, ...]


class Rail(NamedTuple):
    """A fabric interface of a node. ``rdma`` is its RDMA device, empty without a vendor pack; ``pci`` the address that
    pins its name, empty where the name is pinned otherwise. ``switch`` is the far end,
    ``gateway`` its address, ``reached`` the prefixes of the nodes that it leads to. ``ipv6`` is None where nodes have
    IPv4 addresses alone."""

    name: str
    pci: str
    rdma: str
    address: int
    gateway: int
    table: int
    rule_priority: int
    switch: str
    plane: int
    reached: tuple[Pool, ...]
    ipv6: Ipv6Rail | None = None


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
        rails.append(
            Rail(
                name=port.name,
                pci=port.pci,
                rdma=port.rdma or (f"{prefix}{host.first_port + index}" if prefix else ""),
                address=link.network + 1,
                gateway=link.network,
                table=FIRST_TABLE + host.first_port + index,
                rule_priority=FIRST_PRIORITY + host.first_port + index,
                switch=link.upper,
                plane=link.plane,
                reached=_reached(fabric, fabric.switch_of[link.upper]),
                ipv6=_ipv6_rail(fabric, link),
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


def _reached(fabric: Fabric, leaf: Switch) -> tuple[Pool, ...]:
    """Return where a leaf leads: to the whole pool, or to the host blocks that its rail has or gets by the reserve, so
    that a node stays as it is when its rail grows."""
    pool = fabric.policies.addressing.hosts
    if not fabric.rail_only:
        return (pool,)
    length = fabric.host_blocks[leaf.name][1]
    block = 1 << (32 - length)
    return tuple(Pool(pool.first + number * block, length) for number in _numbers_of_rail(fabric, leaf))


def _numbers_of_rail(fabric: Fabric, leaf: Switch) -> range:
    """Return the numbers of the leaves of a rail that is apart, up to the reserve."""
    stripe_leaves = fabric.rails * fabric.planes
    return range(leaf.number % stripe_leaves, fabric.lowest.reserve * fabric.planes, stripe_leaves)


def _ipv6_rail(fabric: Fabric, link: Link) -> Ipv6Rail | None:
    network, pool = fabric.ipv6_network(link), fabric.policies.addressing.hosts_ipv6
    if network is None or pool is None:
        return None
    reached: tuple[Pool, ...] = (pool,)
    if fabric.rail_only:
        block, length = 1 << (128 - IPV6_BLOCK_LENGTH), IPV6_BLOCK_LENGTH
        numbers = _numbers_of_rail(fabric, fabric.switch_of[link.upper])
        reached = tuple(Ipv6Pool(pool.first + number * block, length) for number in numbers)
    return Ipv6Rail(network + 1, network, reached)


def _receive(links: Sequence[Link], mtu_bytes: int) -> NicReceive | None:
    """Return the buffers for the longest of a node's cables."""
    cables = [(link.length_m, nic_headroom_bytes(link.speed_gbps, link.length_m, mtu_bytes)) for link in links]
    return NicReceive(max(cables)[0], max(cables)[1] + mtu_bytes) if cables else None


def host_vendor(fabric: Fabric, host: Host) -> str | None:
    """Return the vendor of a node's NICs: the intent's, else the one whose pack knows the model."""
    return fabric.policies.hosts.vendor or load_catalog().vendor_of(host.nic_model)


def kernel_settings(rails: tuple[Rail, ...]) -> Mapping[str, str]:
    """Return the sysctls of a node with several rails (check N-3).

    Linux answers ARP on any interface by default, so a leaf would learn a rail's address on another rail's port.
    Strict reverse-path filtering drops what comes back on another rail. Of IPv6 only router advertisements are turned
    off: Linux answers neighbor solicitations on the interface that has the address (net/ipv6/ndisc.c).
    """
    settings = {"net.ipv4.conf.all.arp_ignore": "1", "net.ipv4.conf.all.arp_announce": "2"}
    for rail in rails:
        settings[f"net.ipv4.conf.{rail.name}.rp_filter"] = "2"
        settings[f"net.ipv4.conf.{rail.name}.accept_local"] = "0"
        if rail.ipv6 is not None:
            settings[f"net.ipv6.conf.{rail.name}.accept_ra"] = "0"
    return settings
