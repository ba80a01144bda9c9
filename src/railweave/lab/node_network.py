"""The commands that give a GPU node of a lab its addresses, routes and rules, as the intent's network has them."""

from collections.abc import Iterator, Mapping
from typing import TypeVar

from railweave.fabric.devices import Host, HostPort, Switch
from railweave.fabric.links import Link
from railweave.fabric.model import IPV6_BLOCK_LENGTH, IPV6_LINK_LENGTH, Fabric
from railweave.units import ipv4_text, ipv6_text

Block = TypeVar("Block")

# The kernel's own routing tables are 253 to 255; a node has far fewer than 150 ports.
_FIRST_TABLE = 100
# Before the kernel's rule of the main table, 32766.
_FIRST_NIC_PRIORITY = 1000


def network_script(fabric: Fabric, host: Host) -> str:
    """Return the shell commands that give ``host`` its addresses and routes.

    ``fabric`` is the whole reserve: routes to leaves that do not run yet do no harm.
    """
    return "\n".join(["#!/bin/sh", "set -e", *network_commands(fabric, host), ""])


def network_commands(fabric: Fabric, host: Host) -> Iterator[str]:
    """Yield the commands of ``network_script``."""
    mtu = fabric.policies.mtu.hosts_bytes
    reached_blocks: set[tuple[int, int]] = set()
    for link in fabric.links_of[host.name]:
        port = host.ports[link.lower_port]
        table = _FIRST_TABLE + host.port_number(link.lower_port)
        yield f"ip link set dev {port.name} mtu {mtu} up"
        if fabric.is_numbered(link):
            yield from _ipv4_commands(fabric, link, port, table)
            yield from _main_table_commands(fabric, link, port, reached_blocks)
        if fabric.nic_address(link) is not None:
            yield from _nic_commands(fabric, link, port, table)
        yield from _ipv6_commands(fabric, link, port, table)
    first_link = fabric.links_of[host.name][0]
    if fabric.is_numbered(first_link):
        source, gateway = _link_addresses(first_link)
        yield f"ip route add {fabric.policies.addressing.loopbacks} via {gateway} src {source}"


def _link_addresses(link: Link) -> tuple[str, str]:
    """Return the IPv4 addresses of a link to a node: the node's, and its gateway, the leaf's."""
    return ipv4_text(link.network + 1), ipv4_text(link.network)


def _main_table_commands(
    fabric: Fabric, link: Link, port: HostPort, reached_blocks: set[tuple[int, int]]
) -> Iterator[str]:
    """Yield the routes of the main table over a port, and add their blocks to ``reached_blocks``.

    Several ports may reach a block; the main table has it over the first one.
    """
    source, gateway = _link_addresses(link)
    leaf = fabric.switch_of[link.upper]
    for block in _rail_blocks(fabric, fabric.host_blocks, leaf, port):
        if block in reached_blocks:
            continue
        reached_blocks.add(block)
        network, length = block
        yield f"ip route add {ipv4_text(network)}/{length} via {gateway} src {source}"


def _ipv4_commands(fabric: Fabric, link: Link, port: HostPort, table: int) -> Iterator[str]:
    """Yield the commands that give a port its IPv4 address, and the routes for packets from that address."""
    source, gateway = _link_addresses(link)
    addressing = fabric.policies.addressing
    pools = [addressing.hosts, addressing.loopbacks]
    if fabric.nic_address(link) is not None:
        pools.append(addressing.nics)
    yield f"ip addr add {source}/31 dev {port.name}"
    for pool in pools:
        yield f"ip route add {pool} via {gateway} table {table}"
    yield f"ip rule add from {source} table {table}"


def _nic_commands(fabric: Fabric, link: Link, port: HostPort, table: int) -> Iterator[str]:
    """Yield the commands that give a port the address of its NIC, which several leaves announce, and its routes."""
    source = ipv4_text(fabric.nic_address(link) or 0)
    gateway = ipv4_text(link.network)
    # The NIC's ports are used in order, the next one when a port has lost its link: by priority, metric and this.
    yield f"sysctl -q -w net.ipv4.conf.{port.name}.ignore_routes_with_linkdown=1"
    yield f"ip addr add {source}/32 dev {port.name}"
    yield f"ip rule add from {source} table {table} priority {_FIRST_NIC_PRIORITY + table}"
    leaf = fabric.switch_of[link.upper]
    for block in dict.fromkeys(_rail_blocks(fabric, fabric.nic_blocks, leaf, port)):
        yield f"ip route add {block} via {gateway} src {source} metric {table}"


def _ipv6_commands(fabric: Fabric, link: Link, port: HostPort, table: int) -> Iterator[str]:
    """Yield the commands that give a port its IPv6 address and its routes."""
    network = fabric.ipv6_network(link)
    pool = fabric.policies.addressing.hosts_ipv6
    if network is None or pool is None:
        return
    source = ipv6_text(network + 1)
    gateway = ipv6_text(network)
    # Without duplicate address detection (nodad) the address can be used at once, also as the source of routes.
    yield f"ip address add {source}/{IPV6_LINK_LENGTH} dev {port.name} nodad"
    yield f"ip -6 route add {pool} via {gateway} table {table}"
    yield f"ip -6 rule add from {source} table {table}"
    # The kernel takes several ports of one leaf as equal paths, so only the first one has the routes.
    ports_to_leaf = [node_link.lower_port for node_link in fabric.links_of[link.lower] if node_link.upper == link.upper]
    if link.lower_port != min(ports_to_leaf):
        return
    for block in _rail_blocks(fabric, fabric.ipv6_blocks, fabric.switch_of[link.upper], port):
        yield f"ip -6 route add {ipv6_text(block)}/{IPV6_BLOCK_LENGTH} via {gateway} src {source}"


def _rail_blocks(fabric: Fabric, blocks: Mapping[str, Block], leaf: Switch, port: HostPort) -> Iterator[Block]:
    """Yield those of ``blocks`` whose leaves are on the plane of ``port`` and on the rail of ``leaf``.

    ``blocks`` has the block of addresses of each leaf.
    """
    for name, block in blocks.items():
        block_leaf = fabric.switch_of[name]
        if block_leaf.plane == port.plane and block_leaf.rail == leaf.rail:
            yield block
