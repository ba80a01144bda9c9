"""The files of a GPU node: networkd, netplan, sysctl, NCCL, and the document and program that set its NICs.

What all nodes of one kind share is made once; a node of its own costs its addresses only.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import orjson

from railweave.catalog.load import load_catalog
from railweave.fabric.model import IPV6_LINK_LENGTH, Fabric, Host
from railweave.fabric.policy import AddressFamily, NetworkBackend
from railweave.hosts.packs import filled_counter, filled_firmware, filled_steps
from railweave.hosts.places import DOCUMENT, PROGRAM, RULES, UNIT, Places
from railweave.hosts.transition import node_in_transition, route_mtu
from railweave.hosts.values import (
    LINK_PREFIX_LENGTH,
    NIC_PREFIX_LENGTH,
    NicAddress,
    Node,
    Rail,
    RailAddress,
    kernel_settings,
)
from railweave.templates import Templates
from railweave.units import ipv4_text, ipv6_text

SCHEDULERS = ("slurmd.service", "kubelet.service")
"""The units that start jobs on a node, by default: they wait until the NICs are set."""
_SENT_PROGRAMS = ("railweave_facts.py", "railweave_change.py", "railweave_rdma.py")
_JSON = orjson.OPT_INDENT_2 | orjson.OPT_APPEND_NEWLINE


@dataclass(frozen=True, slots=True)
class _NodeKind:
    """What nodes with the same ports have in common."""

    shared: Mapping[str, bytes]
    nic: Mapping[str, Any]
    nccl: Mapping[str, str]


class HostRenderer:
    """Renders the nodes of one fabric; keeps what they share. While a shared value changes, the nodes accept what
    ``fabric`` says and send what ``sends`` says. Units of ``before`` wait until the NICs are set."""

    def __init__(
        self, fabric: Fabric, templates: Templates, sends: Fabric | None = None, before: Sequence[str] = SCHEDULERS
    ) -> None:
        self.fabric = fabric
        self.places = Places(fabric.part)
        self._before = before
        self._sends = sends or fabric
        self._templates = templates
        self._kinds: dict[tuple[str, str], _NodeKind] = {}

    def files(self, host: Host) -> Mapping[str, bytes]:
        """Return the files of ``host`` by their names below its folder, in natural order."""
        return {**self.shared(host), **self.own(host)}

    def shared(self, host: Host) -> Mapping[str, bytes]:
        """Return the files that are the same on every node of the kind of ``host``."""
        return self._kind(host, self._node(host)).shared

    def own(self, host: Host) -> Mapping[str, bytes]:
        """Return the files that hold the addresses of ``host``."""
        node = self._node(host)
        kind = self._kind(host, node)
        texts = [rail_texts(node, rail) for rail in node.rails]
        files: dict[str, bytes] = {}
        for rail in texts:
            files[f"networkd/10-railweave-{rail['name']}.network"] = self._fill("rail.network.j2", rail).encode()
        rails = "".join(self._fill("netplan_rail.yaml.j2", rail) for rail in texts).rstrip("\n")
        files["netplan.yaml"] = self._fill("netplan.yaml.j2", {"host": node.name, "rails": rails}).encode()
        if self.fabric.policies.hosts.network is NetworkBackend.NETWORKMANAGER:
            for rail in texts:
                connection = self._fill("rail.nmconnection.j2", rail)
                files[f"railweave-{rail['name']}.nmconnection"] = connection.encode()
        files[DOCUMENT] = orjson.dumps(rails_document(node, texts, kind.nic, kind.nccl), option=_JSON)
        return files

    def programs(self) -> Mapping[str, str]:
        """Return the programs that read and change a node by name; they are sent with the work, never installed."""
        return {name: self._fill(name, {}) for name in _SENT_PROGRAMS}

    def _node(self, host: Host) -> Node:
        return node_in_transition(self.fabric, self._sends, host)

    def _kind(self, host: Host, node: Node) -> _NodeKind:
        key = (host.kind, host.nic_model)
        if key not in self._kinds:
            self._kinds[key] = self._new_kind(node, host.runs_nccl)
        return self._kinds[key]

    def _new_kind(self, node: Node, runs_nccl: bool) -> _NodeKind:
        shared: dict[str, bytes] = {}
        for rail in node.rails:
            # Without a PCI address something else pins the name.
            if rail.pci:
                of_link = {"name": rail.name, "pci": rail.pci, "mtu": node.mtu_bytes}
                shared[f"networkd/10-railweave-{rail.name}.link"] = self._fill("rail.link.j2", of_link).encode()
        shared["sysctl.conf"] = self._fill("sysctl.conf.j2", {"sysctl": kernel_settings(node.rails)}).encode()
        nccl: Mapping[str, str] = {}
        if runs_nccl:
            nccl = nccl_settings(self.fabric, node)
            shared["nccl.conf"] = self._fill("nccl.conf.j2", {"nccl": nccl}).encode()
            shared["nccl.env"] = "".join(f"{key}={value}\n" for key, value in nccl.items()).encode()
        of_unit = {
            "before": " ".join(self._before),
            "document": self.places.document,
            "command": self.places.command,
        }
        shared[UNIT] = self._fill(f"{UNIT}.j2", of_unit).encode()
        of_rules = {"unit": self.places.unit, "interfaces": self.fabric.interfaces}
        shared[RULES] = self._fill(f"{RULES}.j2", of_rules).encode()
        shared[PROGRAM] = self._fill("railweave_host.py", {}).encode()
        return _NodeKind(shared, _nic_values(node), nccl)

    def _fill(self, template: str, values: Mapping[str, object]) -> str:
        return self._templates.fill(f"hosts/{template}", values)


def _nic_values(node: Node) -> Mapping[str, Any]:
    mark = node.marking
    if node.vendor is None or mark is None:
        return {"vendor": None, "names": {}, "steps": [], "firmware": []}
    pack = load_catalog().vendor_pack(node.vendor)
    cnp = None
    if mark.cnp_dscp is not None:
        cnp = {"dscp": mark.cnp_dscp, "priority": mark.cnp_priority}
    return {
        "vendor": node.vendor,
        "trust": "dscp",
        "rdma": {"dscp": mark.dscp, "priority": mark.priority, "tos": mark.tos},
        "cnp": cnp,
        "pfc": [priority for priority, on in enumerate(mark.pfc) if on],
        "firmware": filled_firmware(pack, mark),
        "firmware_query": list(pack.firmware_query),
        "firmware_set": pack.firmware_set,
        "names": pack.names,
        "sent_bytes": filled_counter(pack, mark),
        "steps": filled_steps(pack, mark, node.receive),
    }


def _bootstrap(fabric: Fabric) -> str:
    """Return by what NCCL chooses the interface of its bootstrap where the intent names none: it takes the first that
    no excluded prefix names, the front end."""
    return "^" + ",".join(("lo", "docker", fabric.interfaces, *fabric.rdma_beside))


def nccl_settings(fabric: Fabric, node: Node) -> Mapping[str, str]:
    """Return NCCL's variables for ``node``, in the order in which they are written."""
    by_rail = meets_rails(fabric)
    settings = {}
    if node.marking is not None:
        settings["NCCL_IB_TC"] = str(node.marking.tos)
    settings |= _gid_choice(fabric)
    devices = [f"{rail.rdma}:1" for rail in node.rails if rail.rdma]
    if devices:
        settings["NCCL_IB_HCA"] = "=" + ",".join(devices)
    # With rails a ring stays on its own; PXN moves data to the GPU of the right rail inside the node.
    settings["NCCL_CROSS_NIC"] = "0" if by_rail else "1"
    if by_rail:
        settings["NCCL_PXN_DISABLE"] = "0"
    pairs = fabric.policies.hosts.queue_pairs
    if pairs is not None:
        settings["NCCL_IB_QPS_PER_CONNECTION"] = str(pairs)
    settings["NCCL_SOCKET_IFNAME"] = fabric.policies.hosts.frontend or _bootstrap(fabric)
    return settings


def _gid_choice(fabric: Fabric) -> Mapping[str, str]:
    """Return by what NCCL 2.21 and later choose the GID of a NIC that has several (``ncclUpdateGidIndex``): the family,
    the pool and RoCE v2. A NIC that several leaves share has its own address on all ports, and what is sent to it may
    come in on any of them, but a queue pair is on one: RDMA takes the port's address. A NIC with IPv6 has several even
    without IPv4: one of its link-local address, which is not routed. A fixed index would count GIDs in the order in
    which Linux got their addresses (check N-5)."""
    addressing = fabric.policies.addressing
    if addressing.hosts_ipv6 is None and not fabric.nic_blocks:
        return {}
    family = "AF_INET"
    pool = addressing.hosts
    if fabric.policies.hosts.rdma_family is AddressFamily.IPV6:
        family = "AF_INET6"
        pool = addressing.hosts_ipv6 or pool
    return {
        "NCCL_IB_ROCE_VERSION_NUM": "2",
        "NCCL_IB_ADDR_FAMILY": family,
        "NCCL_IB_ADDR_RANGE": str(pool),
    }


def meets_rails(fabric: Fabric) -> bool:
    """Tell whether every leaf serves one rail, not a rack."""
    return all(switch.rail is not None for switch in fabric.switches if switch.stripe is not None)


VERSION = 1
"""Of the document, which the node's program compares with its own."""

MAIN_TABLE = 254
"""The number of Linux's main routing table (RT_TABLE_MAIN)."""
IPV6_METRIC = 1024
"""Metric of the default route of IPv6 in a rail's own table: what Linux takes where none is named, written out because
NetworkManager would take another."""


def rail_texts(node: Node, rail: Rail) -> dict[str, Any]:
    """Return an interface as the templates have it: ``source`` is its address without the length, ``gateway`` the
    leaf's; ``table`` holds the default route, the main table the routes to ``reached`` with ``metric``; MTU in bytes,
    that of routes None where the interface's holds. ``address`` and what belongs to it are empty where there is no
    IPv4; ``ipv6`` is the same of IPv6, ``nic`` the address that it shares with the other ports of its NIC, each None
    where there is none."""
    return {
        "host": node.name,
        "name": rail.name,
        "pci": rail.pci,
        **_ipv4_texts(rail.ipv4),
        "mtu": node.mtu_bytes,
        "route_mtu": route_mtu(node),
        "table": rail.table,
        "metric": rail.metric,
        "rule_priority": rail.rule_priority,
        "ipv6": None if rail.ipv6 is None else _ipv6_texts(rail.ipv6),
        "nic": None if rail.nic is None else _nic_texts(rail.nic),
    }


def _nic_texts(nic: NicAddress) -> dict[str, Any]:
    source = ipv4_text(nic.address)
    return {"address": f"{source}/{NIC_PREFIX_LENGTH}", "source": source, "rule_priority": nic.rule_priority}


def _ipv4_texts(own: RailAddress | None) -> dict[str, Any]:
    if own is None:
        return {"address": "", "source": "", "gateway": "", "reached": []}
    source = ipv4_text(own.address)
    return {
        "address": f"{source}/{LINK_PREFIX_LENGTH}",
        "source": source,
        "gateway": ipv4_text(own.gateway),
        "reached": list(map(str, own.reached)),
    }


def _ipv6_texts(own: RailAddress) -> dict[str, Any]:
    source = ipv6_text(own.address)
    return {
        "address": f"{source}/{IPV6_LINK_LENGTH}",
        "source": source,
        "gateway": ipv6_text(own.gateway),
        "default_metric": IPV6_METRIC,
        "reached": list(map(str, own.reached)),
    }


def _interface(rail: Rail, texts: Mapping[str, Any]) -> dict[str, Any]:
    interface = {"name": rail.name, "pci": rail.pci, "rdma": rail.rdma, "leaf": rail.switch}
    if rail.ipv4:
        interface["address"] = texts["address"]
    interface |= {"mtu": texts["mtu"], "table": rail.table, "rule_priority": rail.rule_priority}
    if rail.ipv4:
        interface["routes"] = _routes(rail, texts, texts)
    ipv6 = texts["ipv6"]
    if ipv6 is not None:
        interface["ipv6"] = {"address": ipv6["address"], "routes": _routes(rail, texts, ipv6)}
    if rail.nic is not None:
        interface |= _of_nic(rail, texts)
    return interface


def _of_nic(rail: Rail, texts: Mapping[str, Any]) -> dict[str, Any]:
    """Return all addresses and rules of a port whose NIC has an address of its own; the rules by priority."""
    nic = texts["nic"]
    table = str(rail.table)
    return {
        "addresses": [texts["address"], nic["address"]],
        "rules": [[rail.rule_priority, texts["source"], table], [nic["rule_priority"], nic["source"], table]],
    }


def _routes(rail: Rail, texts: Mapping[str, Any], family: Mapping[str, Any]) -> list[dict[str, Any]]:
    """Return the routes of one family: ``texts`` are those of the interface, ``family`` its gateway and what it
    reaches."""
    via = {"via": family["gateway"]}
    if texts["route_mtu"] is not None:
        via["mtu"] = texts["route_mtu"]
    default = {"to": "default", **via, "table": rail.table}
    if "default_metric" in family:
        default["metric"] = family["default_metric"]
    in_main_table = {**via, "table": MAIN_TABLE, "metric": texts["metric"]}
    if family.get("nic"):
        in_main_table["src"] = family["nic"]["source"]
    return [default, *({"to": to, **in_main_table} for to in family["reached"])]


def intended_routes(node: Node, rail: Rail) -> tuple[list[dict[str, Any]], list[dict[str, Any]]]:
    """Return the routes of an interface, those of IPv4 and those of IPv6, as the document of a node has them."""
    interface = _interface(rail, rail_texts(node, rail))
    return interface.get("routes", []), interface.get("ipv6", {}).get("routes", [])


def rails_document(
    node: Node, texts: Sequence[Mapping[str, Any]], nic: Mapping[str, Any], nccl: Mapping[str, str]
) -> dict[str, Any]:
    """Return the document of ``node``; ``texts`` are those of its rails, ``nic`` is what its kind shares."""
    return {
        "version": VERSION,
        "fabric": node.fabric,
        "host": node.name,
        "interfaces": [_interface(*each) for each in zip(node.rails, texts, strict=True)],
        "sysctl": kernel_settings(node.rails),
        "nccl": nccl,
        "nic": nic,
    }
