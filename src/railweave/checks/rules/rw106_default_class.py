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
def check_default_class(intent: Intent) -> Breaches:
    """Yield a breach if there is no default class, for each further one, and for each that is lossless."""
    classes = intent.policies.classes
    indexes = [index for index, traffic_class in enumerate(classes) if traffic_class.is_default]
    if not indexes:
        message = "no traffic class takes the code points that no class names"
        fix = "add {name: best-effort, dscp: default, priority: 0, share: 10}"
        yield Breach("traffic_classes", message, fix)
        return
    first = classes[indexes[0]]
    for index in indexes[1:]:
        message = f"classes `{first.name}` and `{classes[index].name}` both take the code points that no class names"
        yield Breach(f"traffic_classes[{index}].dscp", message, "list the code points of one of them")
    for index in indexes:
        if classes[index].lossless:
            message = (
                f"class `{classes[index].name}` takes all other code points and must not be lossless: anything could"
                " pause a port"
            )
            fix = "list its code points, and let a class that is not lossless be the default"
            yield Breach(f"traffic_classes[{index}].lossless", message, fix)
