"""Strict classes are served first and the others by weight; a class with neither is never served under load."""

from railweave.checks.registry import Breach, Breaches, rule
from railweave.intent.model import Intent

RULE = rule(
    "RW107",
    "every class is strict or has a share, and shares sum to at most 100",
    __doc__,
    "traffic_classes: [{name: roce, dscp: [26], lossless: true, priority: 3, share: 90},"
    " {name: rest, role: bulk, dscp: default, priority: 0}]",
)


@RULE.on_intent
def check_missing_shares(intent: Intent) -> Breaches:
    """Yield a breach for each class that is never served, because it is not strict and has no share."""
    for index, traffic_class in enumerate(intent.policies.classes):
        if not traffic_class.strict and not traffic_class.share_percent:
            message = (
                f"class `{traffic_class.name}` has no share and is not strict, so its queue would never be served under"
                " load"
            )
            fix = "add `share`: percent of what strict classes leave, or `strict: true`"
            yield Breach(f"traffic_classes[{index}]", message, fix)


@RULE.on_intent
def add_shares(intent: Intent) -> Breaches:
    """Yield a breach if the shares of the classes sum to more than 100."""
    classes = intent.policies.classes
    percents = [traffic_class.share_percent for traffic_class in classes if not traffic_class.strict]
    total = sum(percents)
    if total > 100:
        # Any share may be lowered; the place is that of the last one.
        index = max(index for index, traffic_class in enumerate(classes) if traffic_class.share_percent)
        sums = " + ".join(str(percent) for percent in percents if percent)
        message = f"the shares of the classes are {sums} = {total} percent"
        fix = "lower them to 100 together; strict classes have none"
        yield Breach(f"traffic_classes[{index}].share", message, fix)
