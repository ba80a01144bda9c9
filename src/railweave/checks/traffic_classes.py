"""Two classes of one priority: one traffic class and queue, and PFC would pause both."""

from railweave.checks.registry import Breach, Breaches
from railweave.fabric.policy import TrafficClass
from railweave.intent.model import Intent
from railweave.qos.mapping import PRIORITY_COUNT
from railweave.wording import either


def shared_priorities(intent: Intent, *, lossless: bool) -> Breaches:
    """Yield the classes that share a priority, one of them lossless or none."""
    classes = intent.policies.classes
    first: dict[int, TrafficClass] = {}
    for index, one in enumerate(classes):
        other = first.setdefault(one.priority, one)
        if other is one or (one.lossless or other.lossless) != lossless:
            continue
        kind, consequence = ("lossless ", "PFC would pause both") if lossless else ("", "they would be one class")
        free = [str(number) for number in range(PRIORITY_COUNT) if number not in {each.priority for each in classes}]
        message = f"classes `{other.name}` and `{one.name}` both have {kind}priority {one.priority}: {consequence}"
        fix = f"give one of them {either(free)}" if free else f"take a class out: there are {PRIORITY_COUNT} priorities"
        yield Breach(f"traffic_classes[{index}].priority", message, fix)
