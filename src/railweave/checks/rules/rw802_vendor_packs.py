"""Without a vendor pack the addresses, routes and NCCL of a node are set; PFC and ECN of its NICs are not."""

from railweave.catalog.load import load_catalog
from railweave.checks.registry import Breach, Breaches, rule
from railweave.diagnostics import Severity
from railweave.intent.model import Intent

RULE = rule(
    "RW802",
    "there is a vendor pack for the NICs of managed nodes",
    __doc__,
    "nodes: [{nics: {model: nic-without-a-pack, speed: 100G}}]\nhosts: {manage: true}",
)


@RULE.on_intent
def check_vendor_packs(intent: Intent) -> Breaches:
    """Yield a warning for each NIC of managed nodes that no vendor pack knows."""
    hosts = intent.policies.hosts
    # The vendor that an intent names is used for all NICs.
    if not hosts.manage or hosts.vendor is not None:
        return
    for index, entry in enumerate(intent.nodes):
        model = entry.nics.model
        if model is not None and load_catalog().vendor_of(model) is None:
            message = (
                f"no vendor pack knows `{model}`: addresses, routes and NCCL are set, PFC and ECN of the NIC are not"
            )
            fix = "set them by the vendor's own tools, or name hosts.vendor where its tools fit"
            yield Breach(f"nodes[{index}].nics.model", message, fix, Severity.WARNING)
