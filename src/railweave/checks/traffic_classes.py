"""Two classes of one priority: one traffic class and queue, and PFC would pause both."""

from railweave.checks.registry import Breach, Breaches
from railweave.fabric.policy import TrafficClass
from railweave.intent.model import Intent
from railweave.qos.mapping import PRIORITY_COUNT
from railweave.wording import either


def shared_priorities(intent: Intent, *, lossless: bool) -> Breaches:
    """Yield a breach for each class with the priority of an earlier class.

    With ``lossless`` these are pairs with a lossless class, without it pairs of other classes.
    """
    classes = intent.policies.classes
    free_priorities = sorted(set(range(PRIORITY_COUNT)) - {traffic_class.priority for traffic_class in classes})
    fix = f"take a class out: there are {PRIORITY_COUNT} priorities"
    if free_priorities:
        fix = f"give one of them {either([str(priority) for priority in free_priorities])}"
    first_of: dict[int, TrafficClass] = {}
    for index, traffic_class in enumerate(classes):
        first = first_of.setdefault(traffic_class.priority, traffic_class)
        if first is traffic_class:
            continue
        has_lossless = traffic_class.lossless or first.lossless
        if has_lossless != lossless:
            continue
        priority_text = f"priority {traffic_class.priority}"
        consequence = "they would be one class"
        if lossless:
            priority_text = f"lossless {priority_text}"
            consequence = "PFC would pause both"
        message = f"classes `{first.name}` and `{traffic_class.name}` both have {priority_text}: {consequence}"
        yield Breach(f"traffic_classes[{index}].priority", message, fix)
