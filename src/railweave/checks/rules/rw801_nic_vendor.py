"""The tools that set PFC, ECN and firmware of a NIC are its vendor's own."""

from railweave.catalog.load import load_catalog
from railweave.checks.registry import Breach, Breaches, rule
from railweave.intent.model import Intent

RULE = rule("RW801", "a NIC is set by its own vendor's tools", __doc__, "hosts: {vendor: broadcom}")


@RULE.on_intent
def compare_vendors(intent: Intent) -> Breaches:
    """Yield a breach for each NIC of another vendor than the intent names."""
    stated = intent.policies.hosts.vendor
    for entry in intent.nodes:
        own = load_catalog().vendor_of(entry.nics.model)
        if stated is not None and own is not None and own != stated:
            message = f"`{entry.nics.model}` is a NIC of {own}, which the tools of {stated} cannot set"
            yield Breach("hosts.vendor", message, f"write vendor: {own}, or leave it out: it follows the NIC model")
