"""A class is strict or has a share, and a tier has a catalog model or ports with a speed: where both are written, one
of them would be ignored."""

from railweave.checks.registry import Breach, Breaches, rule
from railweave.intent.model import Intent

RULE = rule(
    "RW016",
    "mutually exclusive keys are not set together",
    __doc__,
    "traffic_classes: [{name: roce, dscp: [26], lossless: true, priority: 3, strict: true, share: 90},"
    " {name: rest, role: bulk, dscp: default, priority: 0, share: 10}]",
)


@RULE.on_intent
def check_strict_and_share(intent: Intent) -> Breaches:
    """Yield a breach for each strict class with a share; tiers are checked when the intent is read."""
    for index, traffic_class in enumerate(intent.policies.classes):
        if traffic_class.strict and traffic_class.share_percent:
            message = f"class `{traffic_class.name}` is strict and has a share; a strict class goes before all shares"
            yield Breach(f"traffic_classes[{index}].share", message, "leave out `share` or `strict`")
