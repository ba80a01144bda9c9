"""Everything that is wrong with an intent and can be told without designing the fabric.

One module a subject; each rule is a function of the intent (and the catalog) that yields its findings. What needs
counts, ports or links is found by the design.
"""

from railweave.catalog.load import Catalog
from railweave.checks.hosts import host_findings
from railweave.checks.intent_addressing import address_findings
from railweave.checks.intent_classes import class_findings
from railweave.checks.intent_hardware import hardware_findings
from railweave.checks.intent_nodes import node_findings
from railweave.checks.intent_overrides import override_findings
from railweave.checks.intent_transport import transport_findings
from railweave.diagnostics import Diagnostic, in_order
from railweave.intent.model import Intent


def check_intent(intent: Intent, catalog: Catalog) -> tuple[Diagnostic, ...]:
    """Return all findings of the intent's own rules, errors first, then in the order of the file."""
    return in_order(
        (
            *hardware_findings(intent, catalog),
            *node_findings(intent),
            *class_findings(intent),
            *transport_findings(intent),
            *address_findings(intent),
            *override_findings(intent),
            *host_findings(intent),
        )
    )
