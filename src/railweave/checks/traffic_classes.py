"""Two classes of one priority: one traffic class and queue, and PFC would pause both."""

from railweave.checks.registry import Breach, Breaches
from railweave.fabric.policy import TrafficClass
from railweave.intent.model import Intent
from railweave.qos.mapping import PRIORITY_COUNT
from railweave.wording import either


def shared_priorities(intent: Intent, *, lossless: bool) -> Breaches:
    """Yield the classes that share a priority: pairs with a lossless class, or else pairs without one."""
    classes = intent.policies.classes
    free = sorted(set(range(PRIORITY_COUNT)) - {traffic_class.priority for traffic_class in classes})
    first: dict[int, TrafficClass] = {}
    for index, traffic_class in enumerate(classes):
        other = first.setdefault(traffic_class.priority, traffic_class)
        if other is traffic_class or (traffic_class.lossless or other.lossless) != lossless:
            continue
        what = f"priority {traffic_class.priority}"
        consequence = "they would be one class"
        if lossless:
            what = f"lossless {what}"
            consequence = "PFC would pause both"
        message = f"classes `{other.name}` and `{traffic_class.name}` both have {what}: {consequence}"
        fix = f"take a class out: there are {PRIORITY_COUNT} priorities"
        if free:
            fix = f"give one of them {either(list(map(str, free)))}"
        yield Breach(f"traffic_classes[{index}].priority", message, fix)
