"""A fabric as a Containerlab topology: the document, and the files of its nodes.

Facts of Containerlab 0.69: a link's MTU is 9500 unless said; kind ``sonic-vs`` starts supervisord after the links are
there, kind ``sonic-vm`` boots a virtual machine with ``startup-config``; both number the ports of the virtual SKU
``eth1`` (Ethernet0), ``eth2`` (Ethernet4) and so on.
"""

import importlib.resources
import json
import zlib
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import Any

from railweave.diagnostics import Diagnostic, error
from railweave.fabric.devices import Host, Switch
from railweave.fabric.links import Link
from railweave.fabric.model import Fabric
from railweave.fabric.panel import SwitchPort
from railweave.lab.cables import EXTERNAL_KIND, HOST_KIND, End, LabCable, LabTopology, Node, joined_link, open_link
from railweave.lab.node_network import network_commands, network_script

PREPARE = "prepare_sonic_vs.sh"
"""The script, beside this module, that prepares a container of docker-sonic-vs for management by railweave."""

NODE_FACTS = "node.json"
"""A lab switch's serial number, MAC address, platform and the interfaces behind its ports."""

NETWORK_SCRIPT = "network.sh"
"""The script that gives a GPU node its addresses and routes."""

NODE_KIND = "sonic-vs"
MACHINE_KIND = "sonic-vm"
SSH = "ssh"
DOCKER = "docker"
SSH_PORTS_OF_A_LAB = 128
# 90 labs of 128 ports end at 31519, below the ports that Linux gives to outgoing connections (from 32768).
_FIRST_SSH_PORT = 20000
_LABS = 90
# 172.20 to 172.29: Docker takes 172.17 and the next ones in order for its own networks.
_MANAGEMENT_SECOND = 20
_MANAGEMENT_NETS = 10

ConfigDb = Mapping[str, Mapping[str, Mapping[str, Any]]]


@dataclass(frozen=True, slots=True)
class NodeImage:
    """The image of a lab's switches, and how commands get there.

    ``ours`` tells that it is the node image that comes with railweave. ``frr`` is the version in whose format our image
    prints its running configuration, empty for its own. ``mac`` is the MAC address in a virtual machine's start-up
    configuration, empty for none.
    """

    name: str
    kind: str = NODE_KIND
    ours: bool = True
    transport: str = SSH
    frr: str = ""
    mac: str = ""

    @property
    def has_ssh(self) -> bool:
        """Tell whether the switches run an SSH server whose port can be published."""
        return self.ours or self.transport == SSH

    @property
    def takes_ports(self) -> frozenset[str]:
        """Return the kinds of a lab's nodes that take another interface while they run.

        Our node image looks for interfaces. docker-sonic-vs makes its ports in its start script, a virtual machine
        when it boots.
        """
        hosts = frozenset({HOST_KIND, EXTERNAL_KIND})
        if self.ours:
            return hosts | {self.kind}
        return hosts


@dataclass(frozen=True, slots=True)
class LabSwitch:
    """A switch of the lab.

    ``claimed`` is False if it is only part of the reserve. ``ssh_port`` is the port of its SSH server on 127.0.0.1.
    """

    switch: Switch
    boot: ConfigDb
    serial: str
    mac: str
    claimed: bool
    ssh_port: int


@dataclass(frozen=True, slots=True)
class Lab:
    """A whole lab. ``fabric`` is started: the whole reserve, of which the claimed part is deployed today.

    If only a part is started, ports and routes are made for ``reserve``. ``joined`` maps nodes that run in the lab of
    another fabric of the intent to their containers.
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
    """Return the port of every switch's SSH server on 127.0.0.1.

    They are the same for the same fabric, and mostly different ones for fabrics with other names.
    """
    first_port = _FIRST_SSH_PORT + SSH_PORTS_OF_A_LAB * (_digest(fabric.name) % _LABS)
    return {switch.name: port for port, switch in enumerate(fabric.switches, first_port)}


def with_kept_ports(lab: Lab, running: LabTopology) -> Lab:
    """Return the lab with the SSH ports that its running switches have.

    A new switch whose port is taken by a running one gets a free port.
    """
    running_ports = {name: _published_port(node) for name, node in running.nodes.items() if node.get("ports")}
    planned_ports = ssh_ports(lab.laid_out)
    first_port = min(planned_ports.values())
    taken_ports = {*running_ports.values(), *planned_ports.values()}
    free_ports = (port for port in range(first_port, first_port + SSH_PORTS_OF_A_LAB) if port not in taken_ports)
    switches = []
    for lab_switch in lab.switches:
        name = lab_switch.switch.name
        if name in running_ports:
            port = running_ports[name]
        elif planned_ports[name] in running_ports.values():
            port = next(free_ports)
        else:
            port = planned_ports[name]
        switches.append(replace(lab_switch, ssh_port=port))
    return replace(lab, switches=tuple(switches))


def _published_port(node: Node) -> int:
    """Return the port on the host at which a node's SSH server is published: ``127.0.0.1:PORT:22``."""
    _, port, _ = node["ports"][0].split(":")
    return int(port)


def management_subnet(name: str) -> str:
    """Return the subnet of the lab's own management network, outside the default pools and Docker's own."""
    digest = _digest(name)
    second_octet = _MANAGEMENT_SECOND + digest % _MANAGEMENT_NETS
    third_octet = digest // _MANAGEMENT_NETS % 256
    return f"172.{second_octet}.{third_octet}.0/24"


def lab_diagnostics(fabric: Fabric) -> tuple[Diagnostic, ...]:
    """Return an error that says why a fabric cannot be a lab as it is; empty if it can."""
    panels = [switch.panel for switch in fabric.switches]
    models = sorted({panel.model for panel in panels if panel.model != "sonic-vs"})
    if models:
        message = f"a lab has virtual switches, not {', '.join(models)}"
    elif any(port.subport for panel in panels for port in panel.ports):
        # The ports of a lab's switches are whole ports of the virtual SKU.
        message = "a lab cannot break ports out"
    else:
        return ()
    return (error("RW701", message, fix="render the lab: it is scaled down, with an intent of its own"),)


def clab_document(lab: Lab) -> dict[str, Any]:
    """Return the topology as Containerlab reads it; paths are relative to the folder of the file."""
    topology = lab_topology(lab)
    name = lab.fabric.name
    links = []
    for cable in topology.cables:
        if cable.far is None:
            links.append(open_link(name, cable.near))
        else:
            links.append(joined_link(cable.near, cable.far))
    return {**document_head(name), "topology": {"nodes": dict(topology.nodes), "links": links}}


def document_head(name: str) -> dict[str, Any]:
    """Return the start of the topology of a fabric: the lab's name and its management network."""
    return {"name": name, "mgmt": {"network": f"railweave-{name}", "ipv4-subnet": management_subnet(name)}}


def lab_topology(lab: Lab) -> LabTopology:
    """Return the nodes that are started, and their cables, which are open if only the reserve has the far end."""
    fabric = lab.fabric
    tiers = len(fabric.tiers)
    nodes: dict[str, Node] = {}
    for lab_switch in lab.switches:
        nodes[lab_switch.switch.name] = _switch_node(lab_switch, lab.image, tiers)
    for host in fabric.hosts:
        if host.name in lab.joined:
            command = _joining_command(lab.laid_out, host)
            nodes[lab.joined[host.name]] = {"kind": EXTERNAL_KIND, "exec": [command]}
        else:
            nodes[host.name] = _host_node(host, lab.host_image, tiers)
    cables = (_cable(lab, link, nodes) for link in lab.laid_out.links)
    return LabTopology(nodes, tuple(cable for cable in cables if cable is not None))


def node_files(lab: Lab) -> dict[str, str]:
    """Return the files of all nodes by path relative to the folder of the topology."""
    files: dict[str, str] = {}
    for lab_switch in lab.switches:
        folder = f"nodes/{lab_switch.switch.name}"
        files[f"{folder}/config_db.json"] = _json(lab_switch.boot)
        files[f"{folder}/{NODE_FACTS}"] = _json(_node_facts(lab_switch, lab.image))
        if lab.image.kind == NODE_KIND and not lab.image.ours:
            files[f"{folder}/prepare.sh"] = importlib.resources.files(__package__).joinpath(PREPARE).read_text("utf-8")
    for host in lab.fabric.hosts:
        if host.name not in lab.joined:
            files[f"nodes/{host.name}/{NETWORK_SCRIPT}"] = network_script(lab.laid_out, host)
    return files


def cable_interface(port: SwitchPort) -> str:
    """Return Containerlab's name of a port of the virtual SKU: ``eth1`` for Ethernet0."""
    return f"eth{port.index + 1}"


def _node_facts(lab_switch: LabSwitch, image: NodeImage) -> dict[str, Any]:
    """Return the content of ``NODE_FACTS``."""
    panel = lab_switch.switch.panel
    facts: dict[str, Any] = {
        "serial": lab_switch.serial,
        "mac": lab_switch.mac,
        "platform": panel.platform,
        "ports": {port.name: cable_interface(port) for port in panel.ports},
    }
    if image.frr:
        facts["frr"] = image.frr
    return facts


def _graph_labels(icon: str, level: int) -> dict[str, str]:
    """Return the labels by which `containerlab graph --drawio` places a node (clab-io-draw); level 1 is the topmost."""
    return {"graph-icon": icon, "graph-level": str(level)}


def _switch_node(lab_switch: LabSwitch, image: NodeImage, tiers: int) -> dict[str, Any]:
    """Return a switch as a node of Containerlab's topology; ``tiers`` is the number of tiers of the fabric."""
    folder = f"nodes/{lab_switch.switch.name}"
    tier = lab_switch.switch.tier
    state = "claimed" if lab_switch.claimed else "reserve"
    node: dict[str, Any] = {
        "kind": image.kind,
        "image": image.name,
        # The pages of `containerlab graph` place nodes by group (docs/cmd/graph.md of Containerlab).
        "group": tier.name.replace("-", ""),
        "labels": {
            "railweave-role": tier.name,
            "railweave-state": state,
            **_graph_labels("switch", tiers - tier.level),
        },
    }
    if image.kind == MACHINE_KIND:
        node["startup-config"] = f"{folder}/config_db.json"
    else:
        # Not as /etc/sonic/config_db.json: docker-sonic-vs moves a file of its own there when it starts, which a mount
        # would not let it do.
        node["binds"] = [f"{folder}:/lab:ro"]
    if image.has_ssh:
        node["ports"] = [f"127.0.0.1:{lab_switch.ssh_port}:22"]
    return node


def _host_node(host: Host, image: str, tiers: int) -> dict[str, Any]:
    """Return a GPU node as a node of Containerlab's topology; ``tiers`` is the number of tiers of the fabric."""
    return {
        "kind": HOST_KIND,
        "image": image,
        "group": "server",
        "labels": {"railweave-role": "host", **_graph_labels("host", tiers + 1)},
        "binds": [f"nodes/{host.name}:/lab:ro"],
        "exec": ["sh /usr/local/lib/railweave/host.sh"],
    }


def _joining_command(fabric: Fabric, host: Host) -> str:
    """Return the command that gives a node of another lab its addresses and routes in this one."""
    groups = []
    for command in network_commands(fabric, host):
        if " rule add " in command:
            # Addresses and routes disappear with the link, but rules of an earlier lab may still be there.
            delete_command = command.replace("rule add", "rule del")
            groups.append(f"{{ {delete_command} 2>/dev/null || true; {command}; }}")
        else:
            groups.append(f"{{ {command}; }}")
    return f"sh -c '{' && '.join(groups)}'"


def _cable(lab: Lab, link: Link, nodes: Mapping[str, Node]) -> LabCable | None:
    """Return the cable of a link: a whole one between two started nodes, or an open one at a started switch.

    ``nodes`` are the started nodes. None if neither end, or only a GPU node, is started.
    """
    fabric = lab.laid_out
    upper_interface = cable_interface(fabric.switch_of[link.upper].panel.ports[link.upper_port])
    upper: End = (link.upper, upper_interface)
    port = fabric.ports_of[link.lower][link.lower_port]
    lower_interface = cable_interface(port) if isinstance(port, SwitchPort) else port.name
    lower: End = (lab.joined.get(link.lower, link.lower), lower_interface)
    started_ends = [(node, interface) for node, interface in (lower, upper) if node in nodes]
    if len(started_ends) == 2:
        return LabCable(lower, upper)
    for node, interface in started_ends:
        # A GPU node takes interfaces while it runs and needs no open cable.
        if nodes[node]["kind"] == lab.image.kind:
            return LabCable((node, interface), None)
    return None


def _json(value: Any) -> str:
    return json.dumps(value, indent=2, sort_keys=True) + "\n"


def _digest(name: str) -> int:
    return zlib.crc32(name.encode())
