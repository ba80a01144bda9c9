"""What an intent says of its GPU nodes: NIC vendors, pinned names, and that NCCL can mark its traffic."""

from collections import Counter
from collections.abc import Iterator

from railweave.catalog.load import load_catalog
from railweave.diagnostics import Diagnostic, error, warning
from railweave.fabric.policy import ClassRole
from railweave.intent.model import Intent

_SHOW_PCI = "`ls -l /sys/class/net/*/device` on a node shows them"


def host_findings(intent: Intent) -> Iterator[Diagnostic]:
    """Yield what does not fit among the nodes' NICs, their vendor packs and the traffic classes."""
    for index in range(len(intent.nodes)):
        yield from _vendor(intent, index)
        yield from _lists(intent, index)
        yield from _pinning(intent, index)
    yield from _marking(intent)


def _vendor(intent: Intent, index: int) -> Iterator[Diagnostic]:
    model, hosts = intent.nodes[index].nics.model, intent.policies.hosts
    known = load_catalog().vendor_of(model)
    if hosts.vendor is not None and known is not None and known != hosts.vendor:
        yield error(
            "RW801",
            f"`{model}` is a NIC of {known}, which the tools of {hosts.vendor} cannot set",
            intent.where("hosts.vendor"),
            fix=f"write vendor: {known}, or leave it out: it follows the NIC model",
        )
    elif hosts.vendor is None and known is None and hosts.manage:
        yield warning(
            "RW802",
            f"no vendor pack knows `{model}`: addresses, routes and NCCL are set, PFC and ECN of the NIC are not",
            intent.where(f"nodes[{index}].nics.model"),
            fix="set them by the vendor's own tools, or name hosts.vendor where its tools fit",
        )


def _lists(intent: Intent, index: int) -> Iterator[Diagnostic]:
    nics, path = intent.nodes[index].nics, f"nodes[{index}].nics"
    lists = (
        ("pci_addresses", nics.pci_addresses, nics.count, "NICs"),
        ("rdma_devices", nics.rdma_devices, nics.count * nics.ports, "ports"),
    )
    for key, stated, count, what in lists:
        if stated and len(stated) != count:
            yield error(
                "RW803",
                f"{key} has {len(stated)} entries for {count} {what}",
                intent.where(f"{path}.{key}"),
                fix=f"write {count}, in the order of the {what}, or leave the key out",
            )
        for one, times in Counter(stated).items():
            if times > 1:
                yield error(
                    "RW803",
                    f"{key} holds {one} {times} times",
                    intent.where(f"{path}.{key}"),
                    fix=f"write each once; {_SHOW_PCI}",
                )


def _pinning(intent: Intent, index: int) -> Iterator[Diagnostic]:
    if intent.policies.hosts.manage and not intent.nodes[index].nics.pci_addresses:
        yield warning(
            "RW804",
            f"nothing pins the interface names of `{intent.nodes[index].name}`: they must already be rail0, rail1, …",
            intent.where(f"nodes[{index}].nics"),
            fix=f"state pci_addresses, one a NIC; {_SHOW_PCI}",
        )


def _marking(intent: Intent) -> Iterator[Diagnostic]:
    # A lossless default class is refused as such (RW106).
    classes = intent.policies.classes
    rdma = [index for index, one in enumerate(classes) if one.role is ClassRole.RDMA and not one.lossless]
    if rdma and not any(one.dscp for one in classes if one.role is ClassRole.RDMA):
        yield error(
            "N-4",
            f"class `{classes[rdma[0]].name}` carries RDMA and names no DSCP that NCCL could mark",
            intent.where(f"traffic_classes[{rdma[0]}].dscp"),
            fix="write dscp: [26] here and `default` in another class",
        )
