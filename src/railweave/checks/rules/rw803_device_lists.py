"""PCI addresses pin the names of interfaces and RDMA devices tell NCCL its ports, so each list has one entry for
each."""

from collections import Counter
from collections.abc import Sequence

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
def check_lists(intent: Intent) -> Breaches:
    """Yield a breach for each list without one entry for each NIC or port, and for each entry that is listed twice."""
    for index, entry in enumerate(intent.nodes):
        nics = entry.nics
        path = f"nodes[{index}].nics"
        yield from _list_breaches(path, "pci_addresses", nics.pci_addresses, nics.count, "NICs")
        yield from _list_breaches(path, "rdma_devices", nics.rdma_devices, nics.count * nics.ports, "ports")


def _list_breaches(path: str, key: str, names: Sequence[str], count: int, things: str) -> Breaches:
    """Yield a breach if a list has not one name for each of ``count`` NICs or ports, and for each repeated name.

    An empty list is right: the key may be left out. ``things`` says what is counted.
    """
    if names and len(names) != count:
        fix = f"write {count}, in the order of the {things}, or leave the key out"
        yield Breach(f"{path}.{key}", f"{key} has {len(names)} entries for {count} {things}", fix)
    for name, times in Counter(names).items():
        if times > 1:
            yield Breach(f"{path}.{key}", f"{key} holds {name} {times} times", f"write each once; {SHOW_PCI}")
