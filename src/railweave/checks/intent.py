"""Everything that is wrong with an intent and can be told without designing the fabric: the rules of intents.

What needs counts, ports or links is found by the design.
"""

from railweave.checks import rules
from railweave.checks.fabrics import fabrics_apart
from railweave.checks.registry import INTENT_CHECKS
from railweave.diagnostics import Diagnostic, in_order
from railweave.intent.model import Intent

__all__ = ["check_intent", "rules"]


def check_intent(intent: Intent) -> tuple[Diagnostic, ...]:
    """Return what breaks the rules of intents, errors first, then in the order of the file."""
    diagnostics: list[Diagnostic] = []
    for code, check in INTENT_CHECKS:
        diagnostics += (breach.diagnostic(code, intent.where(breach.path)) for breach in check(intent))
    return in_order((*diagnostics, *fabrics_apart(intent)))
