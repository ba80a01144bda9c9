"""All 64 code points lead to a class, or the ASIC's own default decides. A default class that is lossless would let
anything that reaches a port pause it."""

from railweave.checks.registry import Breach, Breaches, rule
from railweave.intent.model import Intent

RULE = rule(
    "RW106",
    "exactly one traffic class is the default for unlisted code points, and it is not lossless",
    __doc__,
    "traffic_classes: [{name: roce, dscp: [26], lossless: true, priority: 3, share: 90}]",
)


@RULE.on_intent
def default(intent: Intent) -> Breaches:
    """Look for the default class."""
    defaults = [pair for pair in enumerate(intent.policies.classes) if pair[1].is_default]
    if not defaults:
        message = "no traffic class takes the code points that no class names"
        fix = "add {name: best-effort, dscp: default, priority: 0, share: 10}"
        yield Breach("traffic_classes", message, fix)
        return
    _, first = defaults[0]
    for index, traffic_class in defaults[1:]:
        message = f"classes `{first.name}` and `{traffic_class.name}` both take the code points that no class names"
        yield Breach(f"traffic_classes[{index}].dscp", message, "list the code points of one of them")
    for index, traffic_class in defaults:
        if traffic_class.lossless:
            message = (
                f"class `{traffic_class.name}` takes all other code points and must not be lossless: anything could"
                " pause a port"
            )
            fix = "list its code points, and let a class that is not lossless be the default"
            yield Breach(f"traffic_classes[{index}].lossless", message, fix)
