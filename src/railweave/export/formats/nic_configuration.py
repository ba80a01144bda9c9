"""``NicConfigurationTemplate`` objects of NVIDIA's network operator: DSCP, PFC, ECN and cable length of the intent.

With ``roceOptimized`` the operator sets CNP_DSCP to 4 and ROCE_CC_PRIO_MASK to 255 on every port
(nic-configuration-operator, pkg/configuration/configvalidation.go); switches of this fabric serve another code point.
``rawNvConfig`` has the last word there, so it states ours.
"""

import json
from collections.abc import Iterable, Iterator
from typing import Any, Final, NamedTuple

from railweave.catalog.load import load_catalog
from railweave.diagnostics import Diagnostic, error
from railweave.export.model import RELEASES, ExportFormat, ExportSource, demand, header
from railweave.export.names import DNS_LABEL, name_faults
from railweave.export.nodes import NodeKind, node_kinds, node_selector
from railweave.export.yaml_text import yaml_documents
from railweave.hosts.packs import filled_firmware
from railweave.hosts.values import NicMarking

_ABOUT = "NicConfigurationTemplate of NVIDIA's network operator"

NIC_TYPES: Final = {
    "connectx-6": "101b",
    "connectx-6-dx": "101d",
    "connectx-7": "1021",
    "connectx-8": "1023",
    "bluefield-3": "a2dc",
}
"""PCI device ids of NIC models, by which the operator selects them (pci.ids, vendor 15b3)."""

_VENDOR = "nvidia"
# The fields cableLen, ecn, pauseFrames and roceMode came with 26.7 (the operator's release branches 26.4 and 26.7).
_RICH_SINCE = RELEASES.index("26.7")
# The operator's own field sets it.
_LINK_TYPE = "LINK_TYPE"


def has_rich_fields(release: str) -> bool:
    """Tell whether the operator of a release takes cable length, ECN and pause frames."""
    return RELEASES.index(release) >= _RICH_SINCE


def _write(source: ExportSource) -> str:
    """Return the templates; raises RefusedError if there are none, or if they contradict each other."""
    managed = managed_kinds(source)
    demand(_nothing_managed(source, managed))
    objects = list(nic_templates(source, managed))
    namespace = [source.options.namespace]
    refused = name_faults(namespace, DNS_LABEL, "namespace", source.top, "give another --namespace")
    demand([*refused, *_contradictions(source, managed)])
    about = f"{_ABOUT} {source.options.release}"
    if not has_rich_fields(source.options.release):
        about += ", which takes neither cable length nor ECN: set these on the nodes"
    return header(source, about) + yaml_documents(objects)


class ManagedKind(NamedTuple):
    """Nodes whose NICs the operator configures, with the marking of their fabric."""

    kind: NodeKind
    marking: NicMarking


def managed_kinds(source: ExportSource) -> list[ManagedKind]:
    """Return the kinds of nodes with NVIDIA's NICs in fabrics that carry RDMA, each with its marking."""
    managed = []
    for kind in node_kinds(source):
        marking = kind.settings.marking
        if marking is not None and kind.host.nic_model in NIC_TYPES:
            managed.append(ManagedKind(kind, marking))
    return managed


def _nothing_managed(source: ExportSource, managed: list[ManagedKind]) -> Iterator[Diagnostic]:
    """Yield an error if the operator configures no NIC of the intent."""
    if managed:
        return
    models = sorted({kind.host.nic_model or "unknown" for kind in node_kinds(source)})
    yield error(
        "RW952",
        f"NVIDIA's network operator configures none of the NICs for RDMA: models {', '.join(models)}",
        source.where(source.fabrics[0], "nodes[0].nics.model"),
        fix=f"state `nics.model`, one of {', '.join(NIC_TYPES)}, and a traffic class of role `rdma`",
    )


def nic_templates(source: ExportSource, kinds: Iterable[ManagedKind]) -> Iterator[dict[str, Any]]:
    """Yield a template for each kind of node and fabric; those that repeat the settings of another are left out."""
    specs = set()
    for kind, marking in kinds:
        template = _template(source, kind, marking)
        spec = json.dumps(template["spec"])
        if spec not in specs:
            specs.add(spec)
            yield template


def _template(source: ExportSource, kind: NodeKind, marking: NicMarking) -> dict[str, Any]:
    """Return the template for a kind of nodes, which selects NICs by type, and by PCI address where it is known."""
    nic = kind.host.nic_model
    selector: dict[str, Any] = {"nicType": NIC_TYPES[nic]}
    # The operator takes a NIC by the address of any of its ports: that of its first one is enough.
    address_of_nic: dict[int, str] = {}
    for port in kind.host.ports:
        if port.pci:
            address_of_nic.setdefault(port.nic, port.pci)
    if address_of_nic:
        selector["pciAddresses"] = sorted(address_of_nic.values())
    return {
        "apiVersion": "configuration.net.nvidia.com/v1alpha1",
        "kind": "NicConfigurationTemplate",
        "metadata": {"name": f"{kind.fabric.name}-{kind.name}", "namespace": source.options.namespace},
        "spec": {
            **node_selector(source, kind.name),
            "nicSelector": selector,
            "template": {
                "numVfs": 0,
                "linkType": "Ethernet",
                "roceOptimized": roce(marking, kind.cable_m, source.options.release),
                "rawNvConfig": list(_firmware(marking, kind)),
            },
        },
    }


def roce(marking: NicMarking, cable_m: int, release: str) -> dict[str, Any]:
    """Return the RoCE settings of a template for a release of the operator."""
    qos: dict[str, Any] = {
        "trust": "dscp",
        "pfc": ",".join(str(int(paused)) for paused in marking.pfc),
        "tos": marking.tos,
    }
    if not has_rich_fields(release):
        return {"enabled": True, "qos": qos}
    qos["cableLen"] = cable_m
    qos["ecn"] = {"enabled": True, "priority": marking.priority}
    # Global pause frames would stop lossy classes, too.
    qos["pauseFrames"] = {"enabled": False}
    return {"enabled": True, "roceMode": 2, "qos": qos}


def _firmware(marking: NicMarking, kind: NodeKind) -> Iterator[dict[str, str]]:
    """Yield the firmware settings of a marking, each for every port of a NIC."""
    pack = load_catalog().vendor_pack(_VENDOR)
    ports = max(port.port for port in kind.host.ports) + 1
    for setting in filled_firmware(pack, marking):
        name, _, value = setting.partition("=")
        # The template sets it as `linkType`.
        if name.startswith(_LINK_TYPE):
            continue
        for port in range(1, ports + 1):
            yield {"name": name.replace("{port}", str(port)), "value": value}


def _contradictions(source: ExportSource, kinds: list[ManagedKind]) -> Iterator[Diagnostic]:
    """Yield an error where templates of several fabrics would select the same NICs and set them differently."""
    # By the entry of the intent and the model of its NICs: without PCI addresses the operator selects by these.
    first_kinds: dict[tuple[str, str], NodeKind] = {}
    for kind, marking in kinds:
        first = first_kinds.setdefault((kind.name, kind.host.nic_model), kind)
        have_addresses = all(port.pci for port in (*kind.host.ports, *first.host.ports))
        if have_addresses or first.settings.marking == marking:
            continue
        yield error(
            "RW952",
            f"the {kind.host.nic_model} NICs of {kind.name!r} are in {first.fabric.name} and {kind.fabric.name}, whose"
            " classes differ: the operator cannot tell them apart",
            source.where(kind.fabric, "traffic_classes"),
            fix="state `nics.pci_addresses` of these nodes, or give both fabrics the same traffic classes",
        )


FORMAT = ExportFormat(
    name="nic-configuration",
    title="NVIDIA network operator: marking, PFC, ECN, cable length of NICs",
    file="nic-configuration.yaml",
    write=_write,
)
