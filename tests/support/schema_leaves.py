"""A pair of intents for every leaf of the intent's schema, which differ in that leaf.

A leaf is a key that holds a value; those inside a list are of its first entry. A leaf that the schema gets and that has
no pair here fails the tests that use it.
"""

import copy
import typing
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any

import yaml
from pydantic import BaseModel

from railweave.intent.schema import IntentKeys

Document = dict[str, Any]

_NICS = {"count": 2, "speed": "100G", "ports": 1, "model": "connectx-6", "pcie": "gen4x16"}
_SPEEDS = {"downlink_speed": "100G", "uplink_speed": "100G"}
LAB: Document = {
    "fabric": "lab",
    "workload": {"kind": "inference"},
    "nodes": [{"name": "gpu", "count": 4, "gpus": 2, "nics": _NICS}],
    "topology": {
        "shape": "rail-optimized",
        "rails": 2,
        "stripe": 4,
        "links_per_pair": 1,
        "oversubscription": "2:1",
        "leaf": {"model": "sonic-vs", "count": 2, **_SPEEDS},
        "spine": {"model": "sonic-vs", "count": 2},
        "reserve": {"leaves": 4, "spines": 4},
    },
}
PODS: Document = {
    **LAB,
    "nodes": [{**LAB["nodes"][0], "count": 8}],
    "topology": {
        **LAB["topology"],
        "tiers": 3,
        "pod": 1,
        "leaf": {"model": "sonic-vs", "count": 4, **_SPEEDS},
        "spine": {"model": "sonic-vs", "count": 4},
        "super_spine": {"model": "sonic-vs", "count": 2, "oversubscription": "7:1"},
        "reserve": {"leaves": 8, "spines": 16, "pods": 4},
    },
}
NOKIA: Document = {
    "fabric": "lab",
    "workload": {"kind": "inference"},
    "nodes": [
        {"name": "gpu", "count": 4, "gpus": 2, "nics": {"count": 2, "speed": "400G", "ports": 1, "model": "connectx-7"}}
    ],
    "topology": {
        "shape": "rail-optimized",
        "rails": 2,
        "leaf": {"model": "nokia-ixr7220-h4-64d", "count": 2},
        "spine": {"model": "nokia-ixr7220-h4-64d", "count": 2},
    },
}
"""What is real hardware of several speeds; the others are small, of virtual switches."""


@dataclass(frozen=True)
class Pair:
    """A leaf's value in the head; ``both`` is what base and head say beside it, and ``was`` the base's own value, unset
    where it is None. ``beside`` are files beside the intent, ``entry`` is the entry of a list that has the leaf."""

    value: Any
    was: Any = None
    document: Document = field(default_factory=lambda: LAB)
    both: Mapping[str, Any] = field(default_factory=dict)
    head: Mapping[str, Any] = field(default_factory=dict)
    beside: Mapping[str, bytes] = field(default_factory=dict)
    entry: int = 0
    # One of the document's fabrics, if it has several.
    fabric: str = ""

    @property
    def file(self) -> str:
        """Return the name of the file, with that of the fabric."""
        return f"lab.yml#{self.fabric}".rstrip("#")

    def texts(self, leaf: str) -> tuple[str, str]:
        """Return both intents."""
        path = leaf.replace("[]", f".{self.entry}", 1)
        base = with_values(self.document, self.both)
        head = with_values(base, {**self.head, path: self.value})
        base = base if self.was is None else with_values(base, {path: self.was})
        return _written(base), _written(head)


def _written(document: Document) -> str:
    # Written in C: the Python emitter takes ten times as long.
    return str(yaml.dump(document, Dumper=yaml.CSafeDumper, sort_keys=False))


def with_values(document: Document, values: Mapping[str, Any]) -> Document:
    """Return a document with values at paths such as ``nodes[].nics.speed``, of first entries."""
    made = copy.deepcopy(document)
    for path, value in values.items():
        *way, last = path.replace("[]", ".0").split(".")
        place: Any = made
        for name in way:
            place = place[int(name)] if name.isdigit() else place.setdefault(name, {})
        place[last] = value
    return made


def leaves(model: type[BaseModel] = IntentKeys, at: str = "") -> Iterator[str]:
    """Yield the paths of all leaves of a model."""
    for name, one in model.model_fields.items():
        path = f"{at}{one.alias or name}"
        inner = tuple(_models_in(one.annotation))
        if not inner:
            yield path
        for kind, entry in inner:
            yield from leaves(kind, f"{path}{entry}.")


def _models_in(annotation: Any) -> Iterator[tuple[type[BaseModel], str]]:
    if isinstance(annotation, type) and issubclass(annotation, BaseModel):
        yield annotation, ""
    for argument in typing.get_args(annotation):
        entry = "[]" if typing.get_origin(annotation) in (tuple, list) else ""
        yield from ((kind, f"{entry}{more}") for kind, more in _models_in(argument))


_CLASSES = [
    {"name": "roce", "role": "rdma", "dscp": [26], "lossless": True, "priority": 3, "share": 80},
    {"name": "cnp", "role": "cnp", "dscp": [48], "priority": 6, "strict": True},
    {"name": "disk", "role": "storage", "dscp": [10], "priority": 1, "share": 10},
    {"name": "best-effort", "role": "bulk", "dscp": "default", "priority": 0, "share": 10},
]
_WITH_CLASSES = {"traffic_classes": _CLASSES}
_DISK_FIRST = {"traffic_classes": [_CLASSES[2], *_CLASSES[:2], _CLASSES[3]]}
_ECN = {**_WITH_CLASSES, "traffic_classes[].ecn": {"min_kb": 100, "max_kb": 400}}
_TWO_KINDS = {
    "nodes": [
        {"name": "new", "count": 4, "gpus": 2, "nics": _NICS, "first_stripe": 1},
        {"name": "gpu", "count": 4, "gpus": 2, "nics": _NICS, "first_stripe": 0},
    ],
    "topology.leaf.count": 4,
}
_RACKS: Document = {
    "racks": {
        "units": 42,
        "rows": [{"name": "a", "racks": "a1-4"}],
        "devices": [
            {"devices": "gpu*", "racks": "a1-2", "height": 4},
            {"devices": "lab-leaf*", "racks": "a3", "height": 1},
            {"devices": "lab-spine*", "racks": "a4", "height": 1},
        ],
    }
}
_POWERED = {
    "racks": {**_RACKS["racks"], "devices": [{**each, "power_w": 900} for each in _RACKS["racks"]["devices"]]},
}
_MANAGED = {"management": {"pool": "172.16.8.0/21", "switch": {"model": "SN2201"}}}
_FLOOR = {"failures": {"single": {"nodes_out": 4}, "pair": {"nodes_out": 4}}}
_DUAL = {"topology.leaves_per_nic": 2, "nodes[].nics.ports": 2, "topology.leaf.count": 4}
_IPV6 = {"addressing.underlay": "unnumbered", "addressing.hosts_ipv6": "fd00:10::/44"}
_TWO_LEAVES = {
    "nodes": [
        {"name": "gpu", "count": 4, "gpus": 2, "nics": _NICS, "first_stripe": 0},
        {"name": "new", "count": 4, "gpus": 2, "nics": _NICS, "first_stripe": 1},
    ],
    "topology.leaf.count": 4,
}
_TWO_OF_A_STRIPE = {
    "nodes": [
        {"name": "gpu", "count": 4, "gpus": 2, "nics": _NICS},
        {"name": "new", "count": 2, "gpus": 2, "nics": _NICS, "stripe": 2, "first_stripe": "auto"},
    ],
    "topology.leaf.count": "auto",
    "topology.reserve.leaves": 8,
    "topology.oversubscription": "8:1",
}
_FABRICS: Document = {
    **{key: LAB[key] for key in ("fabric", "workload")},
    "nodes": [
        {"name": "gpu", "count": 4, "gpus": 2, "nics": [{"fabric": name, **_NICS} for name in ("backend", "storage")]}
    ],
    "fabrics": {name: {"topology": LAB["topology"]} for name in ("backend", "storage")},
}
_TENANTS = {
    "tenants": [{"name": "first", "nodes": ["gpu1-2"]}, {"name": "second", "nodes": ["gpu3-4"]}],
    "sonic.acl_rules": 64,
}
_OWN_UPLINKS = {**_TWO_LEAVES, "nodes.1.leaf": {"model": "sonic-vs", "links_per_pair": 2, "reserve": 2}}

SIZED_ONLY = frozenset(
    f"topology.{tier}.{key}" for tier in ("leaf", "spine", "super_spine") for key in ("ports", "speed")
) | {"load_balancing"}
"""Leaves of switches without a catalog model: such a fabric is sized, and nothing is rendered of it. Load balancing has
one value that a release has."""

# Only both together are accepted (RW146).
_GNMI_CERTIFICATE = {"telemetry.gnmi.certificate": "/etc/sonic/old.cer"}
_NIC_COUNTERS = {"telemetry.nic_counters.directory": "/srv/node-exporter"}
_GNMI_KEY = {"telemetry.gnmi.key": "/etc/sonic/old.key"}

PAIRS: Mapping[str, Pair] = {
    "fabric": Pair("other"),
    "workload.kind": Pair("mixed"),
    "workload.gpus": Pair(8),
    "workload.growth.gpus": Pair(16, both={"workload.growth": {"gpus": 12, "months": 6}}),
    "workload.growth.months": Pair(12, both={"workload.growth": {"gpus": 12, "months": 6}}),
    "nodes[].name": Pair("node"),
    "nodes[].count": Pair(3),
    "nodes[].role": Pair(
        "cpu",
        both={
            "nodes": [
                {"name": "aux", "count": 2, "gpus": 0, "nics": _NICS, "role": "storage", "first_stripe": 1},
                {**LAB["nodes"][0], "first_stripe": 0},
            ],
            "topology.leaf.count": 4,
        },
    ),
    "nodes[].gpus": Pair(4),
    "nodes[].nics.count": Pair(1, head={"topology.rails": 1, "topology.leaf.count": 1, "nodes[].gpus": 1}),
    "nodes[].nics.speed": Pair(
        "200G",
        document=NOKIA,
        head={"topology.leaf.model": "nvidia-sn4700", "topology.spine.model": "nvidia-sn4700"},
        both={"topology.leaf.model": "nvidia-sn4700", "topology.spine.model": "nvidia-sn4700"},
    ),
    "nodes[].nics.ports": Pair(2, head={"topology.planes": 2}),
    "nodes[].nics.cages": Pair(1, both={"nodes[].nics.ports": 2, "nodes[].nics.cages": 2, "topology.planes": 2}),
    "nodes[].nics.model": Pair("connectx-6-dx"),
    "nodes[].nics.pcie": Pair("gen3x16"),
    "nodes[].nics.pci_addresses": Pair(["0000:18:00.0", "0000:3b:00.0"]),
    "nodes[].nics.rdma_devices": Pair(["mlx5_4", "mlx5_5"]),
    "nodes[].first_stripe": Pair(2, both={**_TWO_KINDS, "topology.reserve.leaves": 8}),
    "nodes[].stripe": Pair(2, head={"topology.leaf.count": 4}),
    "nodes[].share_leaves": Pair(True, both=_TWO_OF_A_STRIPE, entry=1),
    "nodes[].leaf.model": Pair("nvidia-sn2700", both=_TWO_LEAVES, entry=1),
    "nodes[].leaf.downlink_speed": Pair("100G", both=_TWO_LEAVES, entry=1),
    "nodes[].leaf.uplink_speed": Pair("40G", both={**_OWN_UPLINKS, "topology.oversubscription": "8:1"}, entry=1),
    "nodes[].leaf.links_per_pair": Pair(4, both=_OWN_UPLINKS, entry=1),
    "nodes[].leaf.reserve": Pair(4, both=_OWN_UPLINKS, entry=1),
    "topology.shape": Pair("rack-aligned", head={"topology.oversubscription": "4:1"}),
    "topology.rails": Pair(1, head={"topology.leaf.count": 1, "topology.oversubscription": "4:1"}),
    "topology.tiers": Pair(3, document=PODS, was="auto", both={"topology.oversubscription": "2:1"}),
    "topology.planes": Pair(2, both={"nodes[].nics.ports": 2, "topology.oversubscription": "8:1"}),
    "topology.leaves_per_nic": Pair(
        2, both={"nodes[].nics.ports": 2, "topology.oversubscription": "8:1"}, head={"topology.leaf.count": 4}
    ),
    "topology.oversubscription": Pair("4:1"),
    "topology.stripe": Pair(2, head={"topology.leaf.count": 4}),
    "topology.links_per_pair": Pair(2),
    "topology.split": Pair("panel", document=NOKIA, both={"topology.stripe": 4}),
    "topology.wiring": Pair(
        "ports",
        document=NOKIA,
        both={
            "nodes[].nics.speed": "200G",
            "topology.leaf.model": "nvidia-sn4700",
            "topology.spine.model": "nvidia-sn4700",
        },
    ),
    "topology.leaf.model": Pair("nvidia-sn2700"),
    "topology.leaf.count": Pair(4, head={"nodes[].count": 8}),
    "topology.leaf.downlink_speed": Pair("100G", was="auto"),
    "topology.leaf.uplink_speed": Pair("40G", head={"topology.oversubscription": "5:1"}),
    "topology.spine.model": Pair("nvidia-sn2700"),
    "topology.spine.count": Pair(4),
    "topology.spine.uplink_speed": Pair("40G", document=PODS, head={"topology.super_spine.oversubscription": "20:1"}),
    "topology.super_spine.model": Pair("nvidia-sn2700", document=PODS),
    "topology.super_spine.count": Pair(4, document=PODS),
    "topology.super_spine.oversubscription": Pair("3:1", document=PODS),
    "topology.pod": Pair(2, document=PODS, head={"topology.spine.count": 2, "topology.super_spine.count": 2}),
    "topology.reserve.leaves": Pair(8),
    "topology.reserve.spines": Pair(8),
    "topology.reserve.pods": Pair(8, document=PODS),
    "addressing.underlay": Pair("unnumbered"),
    "addressing.loopbacks": Pair("10.254.0.0/16"),
    "addressing.links": Pair("10.160.0.0/11"),
    "addressing.hosts": Pair("10.96.0.0/11"),
    "addressing.hosts_ipv6": Pair("fd00:10::/44", both={"addressing.underlay": "unnumbered"}),
    "addressing.nics": Pair("10.96.0.0/11", both=_DUAL),
    "addressing.core": Pair("10.128.0.0/12", document=PODS),
    "addressing.asn.leaf": Pair(4230000000),
    "addressing.asn.spine": Pair(4200002000),
    "addressing.asn.super_spine": Pair(4200003000, document=PODS),
    "bgp.keepalive": Pair(2),
    "bgp.hold": Pair(30),
    "bgp.bfd": Pair(True),
    "preset": Pair("broadcom"),
    "traffic_classes[].name": Pair("rocev2", both=_WITH_CLASSES),
    "traffic_classes[].role": Pair("bulk", both=_DISK_FIRST),
    "traffic_classes[].dscp": Pair([24], both=_WITH_CLASSES),
    "traffic_classes[].lossless": Pair(True, both=_DISK_FIRST),
    "traffic_classes[].priority": Pair(4, both=_WITH_CLASSES),
    "traffic_classes[].strict": Pair(
        True, both=_DISK_FIRST, head={"traffic_classes[].share": 0, "traffic_classes[].role": "control"}
    ),
    "traffic_classes[].share": Pair(70, both=_WITH_CLASSES),
    "traffic_classes[].transport": Pair("roce-lossy", both=_WITH_CLASSES, head={"traffic_classes[].lossless": False}),
    "traffic_classes[].ecn.min_kb": Pair(90, both=_ECN),
    "traffic_classes[].ecn.max_kb": Pair(300, both=_ECN),
    "traffic_classes[].ecn.probability": Pair(50, both=_ECN),
    "pfc_watchdog.enabled": Pair(False),
    "pfc_watchdog.detection_ms": Pair(400),
    "pfc_watchdog.restoration_ms": Pair(600),
    "pfc_watchdog.poll_ms": Pair(100),
    "pfc_watchdog.action": Pair("forward"),
    "edge_guard": Pair(True),
    "sonic.release": Pair("202405"),
    "sonic.buffer_model": Pair(
        "dynamic",
        document=NOKIA,
        both={"topology.leaf.model": "nvidia-sn4700", "topology.spine.model": "nvidia-sn4700"},
        was="traditional",
    ),
    "sonic.acl_rules": Pair(512, was=256),
    "tenants[].name": Pair("other", both=_TENANTS),
    "tenants[].nodes": Pair(["gpu1"], both=_TENANTS),
    "tenants[].fabrics": Pair(
        ["backend", "storage"], was=["storage"], document=_FABRICS, both=_TENANTS, fabric="backend"
    ),
    "tenants[].isolation": Pair("filtered", both=_TENANTS),
    "tenants[].reaches": Pair(["second"], both=_TENANTS),
    "mtu.fabric": Pair(9216),
    "mtu.hosts": Pair(8000),
    "cabling.host.length_m": Pair(45),
    "cabling.host.media": Pair("sr"),
    "cabling.leaf_spine.length_m": Pair(45),
    "cabling.leaf_spine.media": Pair("sr"),
    "cabling.spine_super_spine.length_m": Pair(45, document=PODS),
    "cabling.spine_super_spine.media": Pair("sr", document=PODS),
    "cabling.as_built": Pair(
        "built.csv", beside={"built.csv": b"a_device,a_port,length_m\nlab-leaf1,Ethernet112,12\n"}
    ),
    **{
        f"failures.single.{key}": Pair({"nodes_out": 2, "rail": 0}.get(key, 1), both=_FLOOR)
        for key in ("ports", "rail", "uplinks", "two_leaves", "two_nodes", "nodes_out")
    },
    **{
        f"failures.pair.{key}": Pair(4 if key == "nodes_out" else 0)
        for key in ("ports", "rail", "uplinks", "two_leaves", "two_nodes", "nodes_out")
    },
    "racks.units": Pair(44, both=_RACKS),
    "racks.power_w": Pair(50000, both=_POWERED),
    "racks.rack_distance_m": Pair(6, both=_RACKS),
    "racks.tray_m": Pair(9, both=_RACKS),
    "racks.slack_m": Pair(8, both=_RACKS),
    "racks.trunks.connectors": Pair(4, both={**_RACKS, "racks.trunks": {"cord_m": 5}}),
    "racks.trunks.cord_m": Pair(7, both={**_RACKS, "racks.trunks": {"cord_m": 5}}),
    "racks.lengths_m": Pair({"dac": [3]}, both=_RACKS),
    "racks.rows[].name": Pair("z", both=_RACKS),
    "racks.rows[].racks": Pair("a1-5", both=_RACKS),
    "racks.rows[].distance_m": Pair(3, both=_RACKS),
    "racks.rows[].start_m": Pair(2, both=_RACKS),
    "racks.devices[].devices": Pair("gpu1-4", both=_RACKS),
    "racks.devices[].racks": Pair("a1", both=_RACKS),
    "racks.devices[].per_rack": Pair(2, both=_RACKS),
    "racks.devices[].height": Pair(5, both=_RACKS),
    "racks.devices[].unit": Pair(3, both=_RACKS),
    "racks.devices[].power_w": Pair(5000, both=_RACKS),
    "management.pool": Pair("172.16.16.0/21", both=_MANAGED),
    "management.switch.model": Pair("SN2201M", both=_MANAGED),
    "management.switch.ports": Pair(32, both=_MANAGED),
    "management.node_ports": Pair(["bmc", "os"], both=_MANAGED),
    "management.length_m": Pair(7, both=_MANAGED),
    "hosts.vendor": Pair("nvidia"),
    "hosts.manage": Pair(True),
    "hosts.network": Pair("netplan"),
    "hosts.frontend": Pair("eno1"),
    "hosts.qps_per_connection": Pair(4),
    "hosts.rdma_family": Pair("ipv6", both=_IPV6),
    "acceptance.queue_pairs": Pair(8),
    "acceptance.seconds": Pair(20),
    "acceptance.message_bytes": Pair(131072),
    "acceptance.latency_bytes": Pair(128),
    "acceptance.latency_iterations": Pair(20000),
    "acceptance.gid_index": Pair(3),
    "acceptance.collectives": Pair("rccl"),
    "acceptance.collective_bytes": Pair(1073741824),
    "acceptance.fail": Pair("0.85"),
    "acceptance.warn": Pair("0.97"),
    "acceptance.confidence": Pair("0.99"),
    "acceptance.covered_share": Pair("0.1"),
    "acceptance.disturbed_share": Pair("0.03"),
    "acceptance.peer_share": Pair("0.8"),
    "acceptance.variation": Pair("0.1"),
    "acceptance.isolated_rounds": Pair(20),
    "acceptance.loaded_rounds": Pair(4),
    "acceptance.soak_hours": Pair(12),
    "telemetry.scrape_s": Pair(30),
    "telemetry.exporter": Pair("monitor1:9105"),
    "telemetry.textfile": Pair("monitor1:9100"),
    "telemetry.alertmanager": Pair("monitor1:9093"),
    "telemetry.node_port": Pair(9101),
    "telemetry.webhook": Pair("https://pager.example/hook"),
    "telemetry.runbooks": Pair("https://docs.example/runbooks"),
    "telemetry.high_frequency_us": Pair(10000, document=NOKIA, both={"sonic": {"release": "202511"}}),
    "telemetry.pfc_history": Pair(True, document=NOKIA, both={"sonic": {"release": "202511"}}),
    "telemetry.gnmi.port": Pair(50051),
    "telemetry.gnmi.client_auth": Pair(False),
    "telemetry.gnmi.user_auth": Pair("cert"),
    "telemetry.gnmi.ca": Pair("/etc/sonic/telemetry/ca.cer"),
    "telemetry.gnmi.certificate": Pair("/etc/sonic/new.cer", was="/etc/sonic/old.cer", both=_GNMI_KEY),
    "telemetry.gnmi.key": Pair("/etc/sonic/new.key", was="/etc/sonic/old.key", both=_GNMI_CERTIFICATE),
    "telemetry.nic_counters.directory": Pair("/srv/node-exporter"),
    "telemetry.nic_counters.infiniband_hw_counters": Pair(True, both=_NIC_COUNTERS),
    "telemetry.counters.port": Pair(2000),
    "telemetry.counters.queue": Pair(5000, was="keep"),
    "telemetry.counters.watermark": Pair(30000),
    "telemetry.counters.pg_drop": Pair("enable", was="disable"),
    "telemetry.counters.port_buffer_drop": Pair("disable"),
    "telemetry.counters.phy": Pair("disable"),
    "telemetry.counters.pfcwd": Pair("enable"),
    "telemetry.counters.wred_queue": Pair(5000, was="enable"),
    "telemetry.counters.wred_port": Pair("disable", was="enable"),
    "telemetry.counters.switch": Pair("disable"),
    "links.job_nodes": Pair(2),
    "links.job_hours": Pair(48),
    "links.job_loss": Pair(0.02),
    "links.warn_ber": Pair("1e-6"),
    "links.drain_ber": Pair("1e-4"),
    "links.lead_hours": Pair(6),
    "links.flaps": Pair(5),
    "links.flap_hours": Pair(2),
    "links.optics": Pair(False),
    "links.offender_days": Pair(4),
    "links.offender_window_days": Pair(60),
    "overrides": Pair(
        {
            "leaf": {"CRM": {"Config": {"polling_interval": "300"}}},
            "lab-spine1": {"CRM": {"Config": {"polling_interval": "200"}}},
        }
    ),
}
