"""The files of a GPU node: networkd, netplan, sysctl, NCCL, and the document and program that set its NICs.

Files that all nodes of one kind share are rendered once; each node adds the files with its addresses.
"""

import posixpath
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import orjson

from railweave.catalog.load import load_catalog
from railweave.fabric.devices import Host
from railweave.fabric.model import IPV6_LINK_LENGTH, Fabric
from railweave.fabric.policy import AddressFamily, NetworkBackend
from railweave.fabric.telemetry import TelemetryPolicy
from railweave.hosts.nic_counters import nic_counters
from railweave.hosts.packs import filled_counter, filled_firmware, filled_steps
from railweave.hosts.places import (
    COUNTER_PROGRAM,
    COUNTER_SERVICE,
    COUNTER_TIMER,
    DOCUMENT,
    PROGRAM,
    RULES,
    UNIT,
    Places,
)
from railweave.hosts.transition import node_in_transition, route_mtu
from railweave.hosts.values import (
    LINK_PREFIX_LENGTH,
    NIC_PREFIX_LENGTH,
    NicAddress,
    NodeSettings,
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
class _Kind:
    """What nodes with the same ports share: files, the settings and counters of their NICs, and NCCL's variables."""

    shared: Mapping[str, bytes]
    nic: Mapping[str, Any]
    nccl: Mapping[str, str]
    # None where the node writes none.
    counters: Mapping[str, Any] | None


class HostRenderer:
    """Renders the nodes of one fabric and keeps what they share.

    While a shared value changes, the nodes accept the values of ``fabric`` and send those of ``sends``. The units in
    ``before`` start once the NICs are set.
    """

    def __init__(
        self, fabric: Fabric, templates: Templates, sends: Fabric | None = None, before: Sequence[str] = SCHEDULERS
    ) -> None:
        """Start without rendered files; ``sends`` is ``fabric`` unless a shared value changes."""
        self.fabric = fabric
        self.places = Places(fabric.part)
        self._before = before
        self._sends = sends or fabric
        self._templates = templates
        self._kinds: dict[tuple[str, str], _Kind] = {}

    def files(self, host: Host) -> Mapping[str, bytes]:
        """Return the files of ``host`` by their names below its folder, in natural order."""
        return {**self.shared(host), **self.own(host)}

    def shared(self, host: Host) -> Mapping[str, bytes]:
        """Return the files that are the same on all nodes of the kind of ``host``, by their names."""
        return self._kind(host, self._node(host)).shared

    def own(self, host: Host) -> Mapping[str, bytes]:
        """Return the files with the addresses of ``host``, by their names."""
        node = self._node(host)
        kind = self._kind(host, node)
        texts = [rail_texts(node, rail) for rail in node.rails]
        files: dict[str, bytes] = {}
        netplan_rails = ""
        for rail in texts:
            files[f"networkd/10-railweave-{rail['name']}.network"] = self._fill("rail.network.j2", rail).encode()
            netplan_rails += self._fill("netplan_rail.yaml.j2", rail)
        netplan_values = {"host": node.name, "rails": netplan_rails.rstrip("\n")}
        files["netplan.yaml"] = self._fill("netplan.yaml.j2", netplan_values).encode()
        if self.fabric.policies.hosts.network is NetworkBackend.NETWORKMANAGER:
            for rail in texts:
                files[f"railweave-{rail['name']}.nmconnection"] = self._fill("rail.nmconnection.j2", rail).encode()
        document = rails_document(node, texts, kind.nic, kind.nccl)
        # The program on the node reads from the document which counters to write.
        if kind.counters is not None:
            document["nic_counters"] = kind.counters
        files[DOCUMENT] = orjson.dumps(document, option=_JSON)
        return files

    def programs(self) -> Mapping[str, str]:
        """Return the programs that read and change a node by name; they are sent with the work, never installed."""
        return {name: self._fill(name, {}) for name in _SENT_PROGRAMS}

    def _node(self, host: Host) -> NodeSettings:
        return node_in_transition(self.fabric, self._sends, host)

    def _kind(self, host: Host, node: NodeSettings) -> _Kind:
        """Return what ``host``, whose settings are ``node``, shares with other nodes; rendered once for each kind."""
        key = (host.kind, host.nic_model)
        if key not in self._kinds:
            self._kinds[key] = self._new_kind(node, host.runs_nccl)
        return self._kinds[key]

    def _new_kind(self, node: NodeSettings, runs_nccl: bool) -> _Kind:
        """Render what the nodes of a kind share; ``node`` is any of them."""
        shared: dict[str, bytes] = {}
        for rail in node.rails:
            # Without a PCI address something else pins the name.
            if rail.pci:
                link_values = {"name": rail.name, "pci": rail.pci, "mtu": node.mtu_bytes}
                shared[f"networkd/10-railweave-{rail.name}.link"] = self._fill("rail.link.j2", link_values).encode()
        shared["sysctl.conf"] = self._fill("sysctl.conf.j2", {"sysctl": kernel_settings(node.rails)}).encode()
        nccl: Mapping[str, str] = {}
        if runs_nccl:
            nccl = nccl_settings(self.fabric, node)
            shared["nccl.conf"] = self._fill("nccl.conf.j2", {"nccl": nccl}).encode()
            shared["nccl.env"] = "".join(f"{key}={value}\n" for key, value in nccl.items()).encode()
        shared |= self._unit_files()
        telemetry = self.fabric.policies.telemetry
        counters = nic_counters(telemetry.nic_counters, node.vendor, self.places)
        if counters is not None:
            shared |= self._counter_files(telemetry, posixpath.dirname(counters["textfile"]))
        return _Kind(shared, _nic_values(node), nccl, counters)

    def _unit_files(self) -> dict[str, bytes]:
        """Return the program that sets the NICs, its unit, and the rules that run it again for a reloaded driver."""
        unit_values = {
            "before": " ".join(self._before),
            "document": self.places.document,
            "command": self.places.command,
        }
        rules_values = {"unit": self.places.unit, "interfaces": self.fabric.interfaces}
        return {
            UNIT: self._fill(f"{UNIT}.j2", unit_values).encode(),
            RULES: self._fill(f"{RULES}.j2", rules_values).encode(),
            PROGRAM: self._fill("railweave_host.py", {}).encode(),
        }

    def _counter_files(self, telemetry: TelemetryPolicy, directory: str) -> dict[str, bytes]:
        """Return the program that writes the counters of NICs to ``directory``, and its units.

        It runs at the interval of the scrapes.
        """
        service_values = {
            "document": self.places.document,
            "command": self.places.counter_command,
            "directory": directory,
        }
        timer_values = {"interval_s": telemetry.scrape_s}
        return {
            COUNTER_SERVICE: self._fill(f"{COUNTER_SERVICE}.j2", service_values).encode(),
            COUNTER_TIMER: self._fill(f"{COUNTER_TIMER}.j2", timer_values).encode(),
            COUNTER_PROGRAM: self._fill("railweave_nic_counters.py", {}).encode(),
        }

    def _fill(self, template: str, values: Mapping[str, object]) -> str:
        return self._templates.fill(f"hosts/{template}", values)


def _nic_values(node: NodeSettings) -> Mapping[str, Any]:
    """Return the settings of the NICs in a node's document; none without RDMA, or without a pack for the vendor."""
    marking = node.marking
    if node.vendor is None or marking is None:
        return {"vendor": None, "names": {}, "steps": [], "firmware": []}
    pack = load_catalog().vendor_pack(node.vendor)
    cnp = None
    if marking.cnp_dscp is not None:
        cnp = {"dscp": marking.cnp_dscp, "priority": marking.cnp_priority}
    return {
        "vendor": node.vendor,
        "trust": "dscp",
        "rdma": {"dscp": marking.dscp, "priority": marking.priority, "tos": marking.tos},
        "cnp": cnp,
        "pfc": [priority for priority, is_paused in enumerate(marking.pfc) if is_paused],
        "firmware": filled_firmware(pack, marking),
        "firmware_query": list(pack.firmware_query),
        "firmware_set": pack.firmware_set,
        "names": pack.names,
        "sent_bytes": filled_counter(pack, marking),
        "steps": filled_steps(pack, marking, node.receive),
    }


def _bootstrap_interfaces(fabric: Fabric) -> str:
    """Return the value of NCCL_SOCKET_IFNAME for an intent that names no front-end interface."""
    # With ^ NCCL takes the first interface without one of these prefixes: the front end.
    return "^" + ",".join(("lo", "docker", fabric.interfaces, *fabric.rdma_beside))


def nccl_settings(fabric: Fabric, node: NodeSettings) -> Mapping[str, str]:
    """Return NCCL's variables for ``node``, in the order in which they are written."""
    settings = {}
    if node.marking is not None:
        settings["NCCL_IB_TC"] = str(node.marking.tos)
    settings |= _gid_choice(fabric)
    devices = [f"{rail.rdma}:1" for rail in node.rails if rail.rdma]
    if devices:
        settings["NCCL_IB_HCA"] = "=" + ",".join(devices)
    if meets_rails(fabric):
        # A ring stays on its rail; PXN moves data to the GPU of the right rail inside the node.
        settings["NCCL_CROSS_NIC"] = "0"
        settings["NCCL_PXN_DISABLE"] = "0"
    else:
        settings["NCCL_CROSS_NIC"] = "1"
    queue_pairs = fabric.policies.hosts.queue_pairs
    if queue_pairs is not None:
        settings["NCCL_IB_QPS_PER_CONNECTION"] = str(queue_pairs)
    settings["NCCL_SOCKET_IFNAME"] = fabric.policies.hosts.frontend or _bootstrap_interfaces(fabric)
    return settings


def _gid_choice(fabric: Fabric) -> Mapping[str, str]:
    """Return the variables by which NCCL 2.21 and later choose a GID (``ncclUpdateGidIndex``).

    They state the family, the pool and RoCE v2. A fixed index would count GIDs in the order in which Linux got their
    addresses (check N-5). Empty if a NIC has only one GID.
    """
    addressing = fabric.policies.addressing
    # With IPv6 there is also a GID of the link-local address, which is not routed. A NIC that several leaves share also
    # has one of its own address; packets to that may arrive on any port, but a queue pair is on one, so RDMA takes the
    # port's address.
    if addressing.hosts_ipv6 is None and not fabric.nic_blocks:
        return {}
    family = "AF_INET"
    pool = addressing.hosts
    if fabric.policies.hosts.rdma_family is AddressFamily.IPV6:
        family = "AF_INET6"
        pool = addressing.hosts_ipv6 or addressing.hosts
    return {
        "NCCL_IB_ROCE_VERSION_NUM": "2",
        "NCCL_IB_ADDR_FAMILY": family,
        "NCCL_IB_ADDR_RANGE": str(pool),
    }


def meets_rails(fabric: Fabric) -> bool:
    """Tell whether every leaf serves one rail, not a rack."""
    return all(switch.rail is not None for switch in fabric.switches if switch.stripe is not None)


VERSION = 1
MAIN_TABLE = 254
"""The kernel's main routing table (RT_TABLE_MAIN)."""
IPV6_METRIC = 1024
"""The metric of the IPv6 default route in a rail's own table: Linux's default, stated because NetworkManager's
differs."""


def rail_texts(node: NodeSettings, rail: Rail) -> dict[str, Any]:
    """Return the values of an interface in the templates.

    - ``address`` is the IPv4 address with its length, ``source`` the address alone, ``gateway`` that of the leaf
    - ``table`` holds the default route; the main table holds the routes to ``reached``, with ``metric``
    - ``mtu`` and ``route_mtu`` are in bytes; ``route_mtu`` is None if it is that of the interface
    - ``ipv6`` has the same values for IPv6, ``nic`` those of the address that the ports of a NIC share

    Without IPv4 its values are empty. Without IPv6, or without a shared address, ``ipv6`` and ``nic`` are None.
    """
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
        "ipv6": _ipv6_texts(rail.ipv6),
        "nic": _nic_texts(rail.nic),
    }


def _nic_texts(nic: NicAddress | None) -> dict[str, Any] | None:
    """Return the values of the address that the ports of a NIC share; None without one."""
    if nic is None:
        return None
    source = ipv4_text(nic.address)
    return {"address": f"{source}/{NIC_PREFIX_LENGTH}", "source": source, "rule_priority": nic.rule_priority}


def _ipv4_texts(ipv4: RailAddress | None) -> dict[str, Any]:
    """Return the IPv4 values of an interface; empty ones without IPv4."""
    if ipv4 is None:
        return {"address": "", "source": "", "gateway": "", "reached": []}
    source = ipv4_text(ipv4.address)
    return {
        "address": f"{source}/{LINK_PREFIX_LENGTH}",
        "source": source,
        "gateway": ipv4_text(ipv4.gateway),
        "reached": list(map(str, ipv4.reached)),
    }


def _ipv6_texts(ipv6: RailAddress | None) -> dict[str, Any] | None:
    """Return the IPv6 values of an interface; None without IPv6."""
    if ipv6 is None:
        return None
    source = ipv6_text(ipv6.address)
    return {
        "address": f"{source}/{IPV6_LINK_LENGTH}",
        "source": source,
        "gateway": ipv6_text(ipv6.gateway),
        "default_metric": IPV6_METRIC,
        "reached": list(map(str, ipv6.reached)),
    }


def _interface(rail: Rail, texts: Mapping[str, Any]) -> dict[str, Any]:
    """Return an interface of the node's document, from the rail and its ``texts``."""
    interface: dict[str, Any] = {"name": rail.name, "pci": rail.pci, "rdma": rail.rdma, "leaf": rail.switch}
    if rail.ipv4:
        interface["address"] = texts["address"]
    interface |= {"mtu": texts["mtu"], "table": rail.table, "rule_priority": rail.rule_priority}
    if rail.ipv4:
        interface["routes"] = _routes(rail, texts, texts)
    ipv6 = texts["ipv6"]
    if ipv6 is not None:
        interface["ipv6"] = {"address": ipv6["address"], "routes": _routes(rail, texts, ipv6)}
    nic = texts["nic"]
    if nic is not None:
        table = str(rail.table)
        interface["addresses"] = [texts["address"], nic["address"]]
        # By priority, as the kernel lists them.
        interface["rules"] = [
            [rail.rule_priority, texts["source"], table],
            [nic["rule_priority"], nic["source"], table],
        ]
    return interface


def _routes(rail: Rail, texts: Mapping[str, Any], family: Mapping[str, Any]) -> list[dict[str, Any]]:
    """Return the routes of one family: the default in the rail's table, and those to nodes in the main table.

    ``texts`` are the values of the interface, and ``family`` those of the family in them; for IPv4 both are the same.
    """
    gateway_keys = {"via": family["gateway"]}
    if texts["route_mtu"] is not None:
        gateway_keys["mtu"] = texts["route_mtu"]
    default_route = {"to": "default", **gateway_keys, "table": rail.table}
    if "default_metric" in family:
        default_route["metric"] = family["default_metric"]
    main_keys = {**gateway_keys, "table": MAIN_TABLE, "metric": texts["metric"]}
    if family.get("nic"):
        # A socket that binds no address uses the NIC's own, which survives the loss of a port.
        main_keys["src"] = family["nic"]["source"]
    main_routes = [{"to": prefix, **main_keys} for prefix in family["reached"]]
    return [default_route, *main_routes]


def intended_routes(node: NodeSettings, rail: Rail) -> tuple[list[dict[str, Any]], list[dict[str, Any]]]:
    """Return the IPv4 and the IPv6 routes of an interface as in the document of a node."""
    interface = _interface(rail, rail_texts(node, rail))
    return interface.get("routes", []), interface.get("ipv6", {}).get("routes", [])


def rails_document(
    node: NodeSettings, texts: Sequence[Mapping[str, Any]], nic: Mapping[str, Any], nccl: Mapping[str, str]
) -> dict[str, Any]:
    """Return the document of ``node``.

    ``texts`` are the values of its rails; ``nic`` and ``nccl`` are the settings that the nodes of its kind share.
    """
    return {
        "version": VERSION,
        "fabric": node.fabric,
        "host": node.name,
        "interfaces": list(map(_interface, node.rails, texts)),
        "sysctl": kernel_settings(node.rails),
        "nccl": nccl,
        "nic": nic,
    }
