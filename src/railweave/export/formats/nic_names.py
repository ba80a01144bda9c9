"""``NicInterfaceNameTemplate`` objects of NVIDIA's network operator: the names of interfaces by PCI address.

The operator numbers NICs in the order of the list and the functions of a NIC by its place in a rail's list
(nic-configuration-operator, internal/controller/nicinterfacenametemplate_controller.go). With several functions every
NIC therefore has a list of its own.
"""

from collections.abc import Iterator
from typing import Any

from railweave.diagnostics import Diagnostic, error
from railweave.export.model import ExportFormat, ExportSource, demand, header
from railweave.export.names import DNS_LABEL, INTERFACE, name_faults
from railweave.export.nodes import NodeKind, node_kinds, node_selector
from railweave.export.yaml_text import yaml_documents
from railweave.fabric.devices import HostPort

_ABOUT = "NicInterfaceNameTemplate of NVIDIA's network operator"
_NIC = "%nic_id%"
_PORT = "%plane_id%"


def _write(source: ExportSource) -> str:
    """Return the templates; raises RefusedError if the operator could not name the interfaces as the intent does."""
    kinds = node_kinds(source)
    faults = list(_refused_names(source, kinds))
    for kind in kinds:
        faults += _faults(source, kind)
    demand(faults)
    return header(source, f"{_ABOUT} {source.options.release}") + yaml_documents(_objects(source))


def _objects(source: ExportSource) -> list[dict[str, Any]]:
    return [_template(source, kind) for kind in node_kinds(source)]


def _refused_names(source: ExportSource, kinds: tuple[NodeKind, ...]) -> Iterator[Diagnostic]:
    interfaces = [port.name for kind in kinds for port in kind.host.ports]
    yield from name_faults(interfaces, INTERFACE, "interface", source.top, "shorten the name of the fabric")
    namespace = [source.options.namespace]
    yield from name_faults(namespace, DNS_LABEL, "namespace", source.top, "give another --namespace")


def _faults(source: ExportSource, kind: NodeKind) -> Iterator[Diagnostic]:
    """Yield an error if PCI addresses are missing, or if the operator would give interfaces other names."""
    where = source.where(kind.fabric, "nodes")
    missing = [port.name for port in kind.host.ports if not port.pci]
    if missing:
        message = f"the PCI addresses of {', '.join(missing)} of {kind.name!r} are unknown"
        yield error("RW952", message, where, fix="state `nics.pci_addresses`, one for each NIC")
        return
    intended = [port.name for port in kind.host.ports]
    names = list(_operator_names(kind))
    if names != intended:
        message = f"the operator would name the interfaces of {kind.name!r} {', '.join(names)}: the intent names them"
        fix = "put whole NICs, from the first one of the node on, into one fabric"
        yield error("RW952", f"{message} {', '.join(intended)}", where, fix=fix)


def _ports_by_nic(kind: NodeKind) -> dict[int, list[HostPort]]:
    """Return the ports of each NIC by its number; each port is a function of the NIC."""
    ports_of_nic: dict[int, list[HostPort]] = {}
    for port in kind.host.ports:
        ports_of_nic.setdefault(port.nic, []).append(port)
    return ports_of_nic


def _prefix(kind: NodeKind) -> str:
    """Return the pattern of the operator for the names of interfaces, with the port if NICs have several."""
    if len(_ports_by_nic(kind)[kind.host.ports[0].nic]) == 1:
        return f"{kind.fabric.interfaces}{_NIC}"
    return f"{kind.fabric.interfaces}{_NIC}p{_PORT}"


def _operator_names(kind: NodeKind) -> Iterator[str]:
    """Yield the names that the operator would give, in the order of the ports."""
    # It counts NICs, and the ports of each, from 0.
    for nic_index, ports in enumerate(_ports_by_nic(kind).values()):
        for port_index in range(len(ports)):
            yield _prefix(kind).replace(_NIC, str(nic_index)).replace(_PORT, str(port_index))


def _template(source: ExportSource, kind: NodeKind) -> dict[str, Any]:
    """Return the template of a kind of nodes in one fabric."""
    ports_by_nic = _ports_by_nic(kind)
    functions = len(ports_by_nic[kind.host.ports[0].nic])
    # A list for each rail; with several functions one for each NIC.
    addresses: dict[int, list[str]] = {}
    for nic, ports in ports_by_nic.items():
        rail_or_nic = ports[0].rail if functions == 1 else nic
        addresses.setdefault(rail_or_nic, []).append(ports[0].pci)
    return {
        "apiVersion": "configuration.net.nvidia.com/v1alpha1",
        "kind": "NicInterfaceNameTemplate",
        "metadata": {"name": f"{kind.fabric.name}-{kind.name}", "namespace": source.options.namespace},
        "spec": {
            **node_selector(source, kind.name),
            "pfsPerNic": functions,
            "netDevicePrefix": _prefix(kind),
            "railPciAddresses": list(addresses.values()),
        },
    }


FORMAT = ExportFormat(
    name="nic-names",
    title="NVIDIA network operator: names of interfaces by PCI address",
    file="nic-names.yaml",
    write=_write,
    kind="NicInterfaceNameTemplate",
    objects=_objects,
)
