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
def compare_names(intent: Intent) -> Breaches:
    """Yield a breach for each class with the name of an earlier class."""
    first_index: dict[str, int] = {}
    for index, traffic_class in enumerate(intent.policies.classes):
        first = first_index.setdefault(traffic_class.name, index)
        if first != index:
            fix = f"rename this one or traffic_classes[{first}]"
            yield Breach(f"traffic_classes[{index}].name", f"two traffic classes are named `{traffic_class.name}`", fix)


@RULE.on_intent
def compare_priorities(intent: Intent) -> Breaches:
    """Yield a breach for each class with the priority of an earlier class, neither of them lossless."""
    yield from shared_priorities(intent, lossless=False)


@RULE.on_intent
def compare_code_points(intent: Intent) -> Breaches:
    """Yield a breach for each code point that is listed again."""
    first_holder: dict[int, TrafficClass] = {}
    for index, traffic_class in enumerate(intent.policies.classes):
        for dscp_index, dscp in enumerate(traffic_class.dscp):
            other = first_holder.get(dscp)
            if other is None:
                first_holder[dscp] = traffic_class
                continue
            holders = f"in classes `{other.name}` and `{traffic_class.name}`"
            if other is traffic_class:
                holders = f"twice in class `{traffic_class.name}`"
            path = f"traffic_classes[{index}].dscp[{dscp_index}]"
            yield Breach(path, f"DSCP {dscp} is listed {holders}", "keep it in one class")
