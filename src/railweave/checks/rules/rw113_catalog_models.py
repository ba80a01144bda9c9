"""Ports and a speed are enough to size a fabric; lanes, aliases, buffers and cables of a configuration are the
catalog's."""

from railweave.checks.registry import Breach, Breaches, rule
from railweave.diagnostics import Severity
from railweave.intent.model import Intent

RULE = rule(
    "RW113",
    "a tier or node without a catalog model can be sized but not configured",
    __doc__,
    "topology: {spine: {ports: 64, speed: 400G}}",
)


@RULE.on_intent
def check_models(intent: Intent) -> Breaches:
    """Yield an info for each tier and each NIC without a model of the catalog."""
    without = [path for path, tier in intent.topology.named_tiers() if tier.inline is not None]
    without += [f"nodes[{index}].nics" for index, entry in enumerate(intent.nodes) if entry.nics.model is None]
    for path in without:
        message = f"`{path}` has no catalog model: the fabric can be sized, not configured"
        yield Breach(path, message, "name a `model` of the catalog to render its configuration", Severity.INFO)
