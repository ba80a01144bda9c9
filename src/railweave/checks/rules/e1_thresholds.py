"""Marking starts at the lower threshold and is complete at the upper one, which the queue must be able to reach."""

from railweave.checks.registry import Breach, Breaches, LinkBreach, LinkBreaches, LinkEnds, rule
from railweave.intent.model import Intent
from railweave.qos.mmu.pause import marking_rules

RULE = rule(
    "E-1",
    "ECN thresholds rise and fit the queue",
    __doc__,
    "traffic_classes:"
    " [{name: roce, dscp: [26], lossless: true, priority: 3, share: 90, ecn: {min_kb: 800, max_kb: 200}},"
    " {name: rest, role: bulk, dscp: default, priority: 0, share: 10}]",
)


@RULE.on_intent
def intended(intent: Intent) -> Breaches:
    """Look for thresholds that do not rise."""
    for index, one in enumerate(intent.policies.classes):
        if one.lossless and one.ecn is not None and one.ecn.minimum_bytes >= one.ecn.maximum_bytes:
            low, high = one.ecn.minimum_bytes // 1000, one.ecn.maximum_bytes // 1000
            message = f"class `{one.name}`: marking would start at {low} KB and be complete at {high} KB"
            swap, more = f"swap them: min_kb: {high}, max_kb: {low}", f"raise max_kb, to {4 * low} for example"
            yield Breach(f"traffic_classes[{index}].ecn.min_kb", message, swap if low > high else more)


@RULE.on_link
def set_ends(link: LinkEnds) -> LinkBreaches:
    """Look at the thresholds of each queue as they are set."""
    yield from broken_thresholds(link, "E-1")


def broken_thresholds(link: LinkEnds, code: str) -> LinkBreaches:
    """Yield the queues whose thresholds break a rule of marking."""
    for end in link.switches:
        plan = link.plans(end.device)
        if plan is None:
            continue
        for queue, marking in (end.thresholds or {}).items():
            for one in marking_rules(marking, plan.limits):
                if one.code == code and not one.holds:
                    message = f"queue {queue} of {end}, from which {link.far(end)} receives: {one.numbers}"
                    start = min(plan.limits.single_bytes, plan.limits.all_bytes)
                    fix = f"start marking below {start} bytes, and end it above that"
                    yield LinkBreach(end, f"queue {queue}", message, fix)
