"""PCI addresses pin the names of interfaces and RDMA devices tell NCCL its ports, so each list has one entry for
each."""

from collections import Counter

from railweave.checks.registry import Breach, Breaches, rule
from railweave.intent.model import Intent

SHOW_PCI = "`ls -l /sys/class/net/*/device` on a node shows them"

RULE = rule(
    "RW803",
    "PCI addresses and RDMA devices match the NICs and ports, without duplicates",
    __doc__,
    "nodes: [{nics: {pci_addresses: ['0000:1a:00.0']}}]",
)


@RULE.on_intent
def lists(intent: Intent) -> Breaches:
    """Count the entries, and look for those that are listed twice."""
    for index, entry in enumerate(intent.nodes):
        nics = entry.nics
        for key, stated, count, what in (
            ("pci_addresses", nics.pci_addresses, nics.count, "NICs"),
            ("rdma_devices", nics.rdma_devices, nics.count * nics.ports, "ports"),
        ):
            path = f"nodes[{index}].nics.{key}"
            if stated and len(stated) != count:
                fix = f"write {count}, in the order of the {what}, or leave the key out"
                yield Breach(path, f"{key} has {len(stated)} entries for {count} {what}", fix)
            for name, times in Counter(stated).items():
                if times > 1:
                    yield Breach(path, f"{key} holds {name} {times} times", f"write each once; {SHOW_PCI}")
