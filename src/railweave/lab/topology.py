"""A fabric as a Containerlab topology: the document, and the files that its nodes are given.

Facts of Containerlab 0.69: a link's MTU is 9500 unless said; kind ``sonic-vs`` starts supervisord after the links are
there, kind ``sonic-vm`` boots a virtual machine with ``startup-config``; both number the ports of the virtual SKU
``eth1`` (Ethernet0), ``eth2`` (Ethernet4) and so on.
"""

import importlib.resources
import json
import zlib
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field, replace
from typing import Any

from railweave.diagnostics import Diagnostic, error
from railweave.fabric.model import (
    IPV6_BLOCK_LENGTH,
    IPV6_LINK_LENGTH,
    Fabric,
    Host,
    HostPort,
    Link,
    Switch,
    SwitchPort,
)
from railweave.lab.cables import EXTERNAL_KIND, HOST_KIND, Cable, End, Node, Topology, joined_link, open_link
from railweave.units import ipv4_text, ipv6_text

PREPARE = "prepare_sonic_vs.sh"
"""The script, beside this module, that brings a container of docker-sonic-vs to where railweave can manage it."""

NODE_FACTS = "node.json"
"""What a lab's switch is: serial number, MAC address, platform and the interfaces behind its ports."""

NETWORK_SCRIPT = "network.sh"
"""What gives a GPU node its addresses and routes."""

NODE_KIND, MACHINE_KIND = "sonic-vs", "sonic-vm"
SSH, DOCKER = "ssh", "docker"
SSH_PORTS_OF_A_LAB = 128
_FIRST_SSH_PORT, _LABS = 20000, 90
_MANAGEMENT_SECOND, _MANAGEMENT_NETS = 20, 10

ConfigDb = Mapping[str, Mapping[str, Mapping[str, Any]]]


@dataclass(frozen=True, slots=True)
class NodeImage:
    """What runs as a switch, and how commands get there. ``ours``: the node image that comes with railweave.

    ``frr``: the version as which our image prints its running configuration, "" for its own. ``mac``: what a virtual
    machine's start-up configuration says of its MAC address, "" for nothing.
    """

    name: str
    kind: str = NODE_KIND
    ours: bool = True
    transport: str = SSH
    frr: str = ""
    mac: str = ""

    @property
    def has_ssh(self) -> bool:
        """Tell whether an SSH server runs in it that can be published."""
        return self.ours or self.transport == SSH

    @property
    def takes_ports(self) -> frozenset[str]:
        """Return the kinds of a lab's nodes that take another interface while they run.

        Our node image looks for interfaces. The ports of docker-sonic-vs are made by its start script, those of a
        virtual machine when it boots.
        """
        hosts = frozenset({HOST_KIND, EXTERNAL_KIND})
        return hosts | {self.kind} if self.ours else hosts


@dataclass(frozen=True, slots=True)
class LabSwitch:
    """A switch of the lab: ``claimed`` is False where only the reserve holds it; ``ssh_port`` is on 127.0.0.1."""

    switch: Switch
    boot: ConfigDb
    serial: str
    mac: str
    claimed: bool
    ssh_port: int


@dataclass(frozen=True, slots=True)
class Lab:
    """A whole lab: ``fabric`` is what is started, the whole reserve, of which the claimed part is deployed today.

    ``reserve`` is that for which ports and routes are made, if only a part of it is started. ``joined`` holds the
    containers of nodes that run in the lab of another fabric of the intent, by node.
    """

    fabric: Fabric
    switches: tuple[LabSwitch, ...]
    image: NodeImage
    host_image: str
    joined: Mapping[str, str] = field(default_factory=dict)
    reserve: Fabric | None = None

    @property
    def laid_out(self) -> Fabric:
        """Return the fabric for which ports and routes are made."""
        return self.reserve or self.fabric


def ssh_ports(fabric: Fabric) -> dict[str, int]:
    """Return the loopback port of every switch's SSH: the same for the same fabric, apart for other names."""
    first = _FIRST_SSH_PORT + SSH_PORTS_OF_A_LAB * (_digest(fabric.name) % _LABS)
    return {switch.name: first + place for place, switch in enumerate(fabric.switches)}


def with_kept_ports(lab: Lab, running: Topology) -> Lab:
    """Return the lab with the SSH ports that its running switches have; the others get ports that are free."""
    kept = {name: int(ports[0].split(":")[1]) for name, node in running.nodes.items() if (ports := node.get("ports"))}
    asked = ssh_ports(lab.laid_out)
    first = min(asked.values())
    free = (port for port in range(first, first + SSH_PORTS_OF_A_LAB) if port not in {*kept.values(), *asked.values()})

    def port(name: str) -> int:
        if name in kept:
            return kept[name]
        return next(free) if asked[name] in kept.values() else asked[name]

    return replace(lab, switches=tuple(replace(one, ssh_port=port(one.switch.name)) for one in lab.switches))


def management_subnet(name: str) -> str:
    """Return the subnet of the lab's own management network, outside the default pools and Docker's own."""
    number = _digest(name)
    return f"172.{_MANAGEMENT_SECOND + number % _MANAGEMENT_NETS}.{number // _MANAGEMENT_NETS % 256}.0/24"


def lab_diagnostics(fabric: Fabric) -> tuple[Diagnostic, ...]:
    """Return why a fabric cannot be a lab as it is: ports of a lab's switches are whole ports of the virtual SKU."""
    models = sorted({switch.panel.model for switch in fabric.switches if switch.panel.model != "sonic-vs"})
    broken = sorted(
        {switch.panel.model for switch in fabric.switches if any(one.subport for one in switch.panel.ports)}
    )
    if not models and not broken:
        return ()
    what = f"a lab has virtual switches, not {', '.join(models)}" if models else "a lab cannot break ports out"
    return (error("RW701", what, fix="render the lab: it is scaled down, with an intent of its own"),)


def clab_document(lab: Lab) -> dict[str, Any]:
    """Return the topology as Containerlab reads it; paths are relative to the folder of the file."""
    cabled, name = lab_topology(lab), lab.fabric.name
    links = [
        open_link(name, cable.near) if cable.far is None else joined_link(cable.near, cable.far)
        for cable in cabled.cables
    ]
    return {**document_head(name), "topology": {"nodes": dict(cabled.nodes), "links": links}}


def document_head(name: str) -> dict[str, Any]:
    """Return the start of the topology of a fabric: the lab's name and its management network."""
    return {"name": name, "mgmt": {"network": f"railweave-{name}", "ipv4-subnet": management_subnet(name)}}


def lab_topology(lab: Lab) -> Topology:
    """Return the nodes that are started, and their cables: open where only the reserve has the far end."""
    fabric = lab.fabric
    nodes: dict[str, Node] = {one.switch.name: _switch_node(one, lab.image, len(fabric.tiers)) for one in lab.switches}
    for host in fabric.hosts:
        if host.name in lab.joined:
            command = _joining_command(lab.laid_out, host)
            nodes[lab.joined[host.name]] = {"kind": EXTERNAL_KIND, "exec": [command]}
        else:
            nodes[host.name] = _host_node(host, lab.host_image, len(fabric.tiers))
    cables = (_cable(lab, link, nodes) for link in lab.laid_out.links)
    return Topology(nodes, tuple(cable for cable in cables if cable is not None))


def node_files(lab: Lab) -> dict[str, str]:
    """Return the files of all nodes by path relative to the folder of the topology."""
    files: dict[str, str] = {}
    for one in lab.switches:
        folder = f"nodes/{one.switch.name}"
        files[f"{folder}/config_db.json"] = _json(one.boot)
        files[f"{folder}/{NODE_FACTS}"] = _json(_node_facts(one, lab.image))
        if lab.image.kind == NODE_KIND and not lab.image.ours:
            files[f"{folder}/prepare.sh"] = importlib.resources.files(__package__).joinpath(PREPARE).read_text("utf-8")
    for host in (one for one in lab.fabric.hosts if one.name not in lab.joined):
        files[f"nodes/{host.name}/{NETWORK_SCRIPT}"] = network_script(lab.laid_out, host)
    return files


def cable_interface(port: SwitchPort) -> str:
    """Return Containerlab's name of a port of the virtual SKU: ``eth1`` for Ethernet0."""
    return f"eth{port.index + 1}"


def _node_facts(one: LabSwitch, image: NodeImage) -> dict[str, Any]:
    panel = one.switch.panel
    ports = {port.name: cable_interface(port) for port in panel.ports}
    printed = {"frr": image.frr} if image.frr else {}
    return {"serial": one.serial, "mac": one.mac, "platform": panel.platform, "ports": ports, **printed}


def _drawn(group: str, icon: str, level: int) -> tuple[dict[str, str], dict[str, str]]:
    """Return the key and the labels by which `containerlab graph` places a node: its own pages go by the group
    (docs/cmd/graph.md), `--drawio` by the labels of clab-io-draw, where level 1 is the topmost."""
    return {"group": group}, {"graph-icon": icon, "graph-level": str(level)}


def _switch_node(one: LabSwitch, image: NodeImage, tiers: int) -> dict[str, Any]:
    folder = f"nodes/{one.switch.name}"
    tier = one.switch.tier
    group, placed = _drawn(tier.name.replace("-", ""), "switch", tiers - tier.level)
    labels = {"railweave-role": tier.name, "railweave-state": "claimed" if one.claimed else "reserve", **placed}
    node: dict[str, Any] = {"kind": image.kind, "image": image.name, **group, "labels": labels}
    published = {"ports": [f"127.0.0.1:{one.ssh_port}:22"]} if image.has_ssh else {}
    if image.kind == MACHINE_KIND:
        return {**node, "startup-config": f"{folder}/config_db.json", **published}
    # Not as /etc/sonic/config_db.json: docker-sonic-vs moves a file of its own there when it starts, which a mount
    # would not let it do.
    return {**node, "binds": [f"{folder}:/lab:ro"], **published}


def _host_node(host: Host, image: str, tiers: int) -> dict[str, Any]:
    group, placed = _drawn("server", "host", tiers + 1)
    return {
        "kind": HOST_KIND,
        "image": image,
        **group,
        "labels": {"railweave-role": "host", **placed},
        "binds": [f"nodes/{host.name}:/lab:ro"],
        "exec": ["sh /usr/local/lib/railweave/host.sh"],
    }


def _joining_command(fabric: Fabric, host: Host) -> str:
    """Return what gives a node that runs in another lab its addresses and routes of this one; rules outlive links."""
    lines = [
        f"{line.replace('rule add', 'rule del')} 2>/dev/null || true; {line}" if " rule add " in line else line
        for line in _commands(fabric, host)
    ]
    return "sh -c '" + " && ".join(f"{{ {line}; }}" for line in lines) + "'"


def _cable(lab: Lab, link: Link, nodes: Mapping[str, Node]) -> Cable | None:
    """Return the cable of a link; None where none of its switches is started.

    A node of GPUs takes interfaces while it runs, so no cable of one is open.
    """
    fabric = lab.laid_out
    upper = link.upper, cable_interface(fabric.switch_of[link.upper].panel.ports[link.upper_port])
    port = fabric.ports_of[link.lower][link.lower_port]
    interface = cable_interface(port) if isinstance(port, SwitchPort) else port.name
    lower = lab.joined.get(link.lower, link.lower), interface
    started: list[End] = [end for end in (lower, upper) if end[0] in nodes]
    if len(started) == 2:
        return Cable(lower, upper)
    return Cable(started[0], None) if started and nodes[started[0][0]]["kind"] == lab.image.kind else None


def _json(value: Any) -> str:
    return json.dumps(value, indent=2, sort_keys=True) + "\n"


def _digest(name: str) -> int:
    return zlib.crc32(name.encode())


_FIRST_TABLE = 100
_FIRST_NIC_PRIORITY = 1000


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
        table = _FIRST_TABLE + host.first_port + link.lower_port
        yield f"ip link set dev {port.name} mtu {mtu} up"
        if fabric.is_numbered(link):
            yield from _ipv4_commands(fabric, link, port, table)
            own, gateway = _ends(link)
            for network, length in _blocks(fabric, link, port):
                if (network, length) not in reached:
                    reached.add((network, length))
                    yield f"ip route add {ipv4_text(network)}/{length} via {gateway} src {own}"
        if fabric.nic_address(link) is not None:
            yield from _nic_commands(fabric, link, port, table)
        yield from _ipv6_commands(fabric, link, port, table)
    first = fabric.links_of[host.name][0]
    if fabric.is_numbered(first):
        own, gateway = _ends(first)
        yield f"ip route add {fabric.policies.addressing.loopbacks} via {gateway} src {own}"


def _ends(link: Link) -> tuple[str, str]:
    """Return the IPv4 addresses of a link to a node: the node's own, and its gateway."""
    return ipv4_text(link.network + 1), ipv4_text(link.network)


def _ipv4_commands(fabric: Fabric, link: Link, port: HostPort, table: int) -> Iterator[str]:
    (own, gateway), addressing = _ends(link), fabric.policies.addressing
    yield f"ip addr add {own}/31 dev {port.name}"
    nics = () if fabric.nic_address(link) is None else (addressing.nics,)
    for pool in (addressing.hosts, addressing.loopbacks, *nics):
        yield f"ip route add {pool} via {gateway} table {table}"
    yield f"ip rule add from {own} table {table}"


def _nic_commands(fabric: Fabric, link: Link, port: HostPort, table: int) -> Iterator[str]:
    """Yield what gives a port the address of its NIC, which several leaves announce, and the ways from it: the ports of
    the NIC in their order, one after the other has lost its link."""
    own, gateway = ipv4_text(fabric.nic_address(link) or 0), ipv4_text(link.network)
    yield f"sysctl -q -w net.ipv4.conf.{port.name}.ignore_routes_with_linkdown=1"
    yield f"ip addr add {own}/32 dev {port.name}"
    yield f"ip rule add from {own} table {table} priority {_FIRST_NIC_PRIORITY + table}"
    rail = [
        block
        for name, block in fabric.nic_blocks.items()
        if _same_rail(fabric.switch_of[name], fabric.switch_of[link.upper], port)
    ]
    for block in dict.fromkeys(rail):
        yield f"ip route add {block} via {gateway} src {own} metric {table}"


def _ipv6_commands(fabric: Fabric, link: Link, port: HostPort, table: int) -> Iterator[str]:
    """Yield what gives a port its IPv6 address at once, without a probe for others that have it, and its routes."""
    network, pool = fabric.ipv6_network(link), fabric.policies.addressing.hosts_ipv6
    if network is None or pool is None:
        return
    own, gateway = ipv6_text(network + 1), ipv6_text(network)
    yield f"ip address add {own}/{IPV6_LINK_LENGTH} dev {port.name} nodad"
    yield f"ip -6 route add {pool} via {gateway} table {table}"
    yield f"ip -6 rule add from {own} table {table}"
    own_leaf = fabric.switch_of[link.upper]
    for name, block in fabric.ipv6_blocks.items():
        # The kernel takes several ports of one leaf as equal paths, so the first one has the route.
        first = min(one.lower_port for one in fabric.links_of[link.lower] if one.upper == link.upper)
        if link.lower_port == first and _same_rail(fabric.switch_of[name], own_leaf, port):
            yield f"ip -6 route add {ipv6_text(block)}/{IPV6_BLOCK_LENGTH} via {gateway} src {own}"


def _blocks(fabric: Fabric, link: Link, port: HostPort) -> Iterator[tuple[int, int]]:
    own_leaf = fabric.switch_of[link.upper]
    for name, block in fabric.host_blocks.items():
        if _same_rail(fabric.switch_of[name], own_leaf, port):
            yield block


def _same_rail(leaf: Switch, own: Switch, port: HostPort) -> bool:
    return leaf.plane == port.plane and (leaf.rail == own.rail)
