"""The network of a GPU node of the lab, as ``ip`` commands.

Each rail's leaves are reached through that rail's own port, so traffic between two nodes of a rail stays on it. An
answer leaves by the port whose address it carries (a table for each port), as on a real node with several NICs.
"""

from collections.abc import Iterator

from railweave.fabric.model import Fabric, Host, HostPort, Link, Switch
from railweave.units import ipv4_text

_FIRST_TABLE = 100


def network_script(fabric: Fabric, host: Host) -> str:
    """Return the shell commands that give ``host`` its addresses and routes.

    ``fabric`` is the whole reserve: routes to leaves that do not run yet do no harm.
    """
    return "\n".join(["#!/bin/sh", "set -e", *_commands(fabric, host), ""])


def _commands(fabric: Fabric, host: Host) -> Iterator[str]:
    mtu = fabric.policies.mtu.hosts_bytes
    reached: set[tuple[int, int]] = set()
    for link in fabric.links_of[host.name]:
        port = host.ports[link.lower_port]
        own, gateway = ipv4_text(link.network + 1), ipv4_text(link.network)
        table = _FIRST_TABLE + link.lower_port
        yield f"ip link set dev {port.name} mtu {mtu} up"
        yield f"ip addr add {own}/31 dev {port.name}"
        for pool in (fabric.policies.addressing.hosts, fabric.policies.addressing.loopbacks):
            yield f"ip route add {ipv4_text(pool.first)}/{pool.length} via {gateway} table {table}"
        yield f"ip rule add from {own} table {table}"
        for network, length in _blocks(fabric, link, port):
            if (network, length) not in reached:
                reached.add((network, length))
                yield f"ip route add {ipv4_text(network)}/{length} via {gateway} src {own}"
    loopbacks = fabric.policies.addressing.loopbacks
    first = fabric.links_of[host.name][0]
    yield (
        f"ip route add {ipv4_text(loopbacks.first)}/{loopbacks.length} via {ipv4_text(first.network)}"
        f" src {ipv4_text(first.network + 1)}"
    )


def _blocks(fabric: Fabric, link: Link, port: HostPort) -> Iterator[tuple[int, int]]:
    """Yield the host blocks of the leaves on the rail and plane of ``port``."""
    own_leaf = fabric.switch_of[link.upper]
    for name, block in fabric.host_blocks.items():
        if _same_rail(fabric.switch_of[name], own_leaf, port):
            yield block


def _same_rail(leaf: Switch, own: Switch, port: HostPort) -> bool:
    return leaf.plane == port.plane and (leaf.rail == own.rail)
