"""Cables are laid by interface names, so the kernel must not give them in another order after a reboot."""

from railweave.checks.registry import Breach, Breaches, rule
from railweave.checks.rules.rw803_device_lists import SHOW_PCI
from railweave.diagnostics import Severity
from railweave.intent.model import Intent

RULE = rule("RW804", "the interfaces of managed nodes have persistent names", __doc__, "hosts: {manage: true}")


@RULE.on_intent
def check_interface_names(intent: Intent) -> Breaches:
    """Yield a warning for each entry of managed nodes whose interface names nothing pins."""
    for index, entry in enumerate(intent.nodes):
        if intent.policies.hosts.manage and not entry.nics.pci_addresses:
            message = f"nothing pins the interface names of `{entry.name}`: they must already be rail0, rail1, …"
            fix = f"state pci_addresses, one a NIC; {SHOW_PCI}"
            yield Breach(f"nodes[{index}].nics", message, fix, Severity.WARNING)
