"""A packet belongs to one class by its code point, and a class is one traffic class and queue by its priority."""

from railweave.checks.registry import Breach, Breaches, rule
from railweave.checks.traffic_classes import shared_priorities
from railweave.fabric.policy import TrafficClass
from railweave.intent.model import Intent

RULE = rule(
    "RW105",
    "traffic classes have names, priorities and code points of their own",
    __doc__,
    "traffic_classes: [{name: roce, dscp: [26, 26], lossless: true, priority: 3, share: 90},"
    " {name: rest, role: bulk, dscp: default, priority: 0, share: 10}]",
)


@RULE.on_intent
def names(intent: Intent) -> Breaches:
    """Look for classes of one name."""
    seen: dict[str, int] = {}
    for index, one in enumerate(intent.policies.classes):
        first = seen.setdefault(one.name, index)
        if first != index:
            fix = f"rename this one or traffic_classes[{first}]"
            yield Breach(f"traffic_classes[{index}].name", f"two traffic classes are named `{one.name}`", fix)


@RULE.on_intent
def priorities(intent: Intent) -> Breaches:
    """Look for classes of one priority, none of them lossless."""
    yield from shared_priorities(intent, lossless=False)


@RULE.on_intent
def code_points(intent: Intent) -> Breaches:
    """Look for code points that are listed twice."""
    first: dict[int, TrafficClass] = {}
    for index, one in enumerate(intent.policies.classes):
        for place, dscp in enumerate(one.dscp):
            if dscp not in first:
                first[dscp] = one
                continue
            other = first[dscp]
            holders = f"twice in class `{one.name}`" if other is one else f"in classes `{other.name}` and `{one.name}`"
            path = f"traffic_classes[{index}].dscp[{place}]"
            yield Breach(path, f"DSCP {dscp} is listed {holders}", "keep it in one class")
