"""ECN marks packets of RDMA before their queue fills; a queue of other traffic would drop packets there instead,
because they cannot be marked."""

from railweave.checks.registry import Breach, Breaches, LinkBreach, LinkBreaches, LinkEnds, not_exactly, rule
from railweave.intent.model import Intent

RULE = rule(
    "Q-5",
    "ECN marks every lossless queue and no other",
    __doc__,
    "traffic_classes: [{name: roce, dscp: [26], lossless: true, priority: 3, share: 90},"
    " {name: rest, role: bulk, dscp: default, priority: 0, share: 10, ecn: {min_kb: 200, max_kb: 800}}]",
)


@RULE.on_intent
def intended(intent: Intent) -> Breaches:
    """Look for thresholds of classes that are not lossless."""
    for index, traffic_class in enumerate(intent.policies.classes):
        if traffic_class.ecn is not None and not traffic_class.lossless:
            message = (
                f"class `{traffic_class.name}` is not lossless and has ECN thresholds: packets without ECT would be"
                " dropped there"
            )
            yield Breach(f"traffic_classes[{index}].ecn", message, "leave out `ecn`, or write lossless: true")


@RULE.on_link
def queues(link: LinkEnds) -> LinkBreaches:
    """Compare the marking queues with the lossless ones."""
    for end in link.switches:
        yield from not_exactly(link, end, "marks with ECN", "WRED profiles", (end.marked, link.lossless))
        for traffic_class in link.lossless_classes:
            wred = (end.wreds or {}).get(traffic_class.priority)
            if wred is not None and not wred.is_marking:
                message = (
                    f"WRED profile {wred.name} of queue {traffic_class.priority} of {traffic_class.name} on {end},"
                    f" towards {link.far(end)}, drops instead of marking: ecn is {wred.ecn}, on for"
                    f" {', '.join(wred.colors) or 'no color'}"
                )
                fix = f"set ecn_all and thresholds of green packets in WRED_PROFILE|{wred.name} of {end.device}"
                yield LinkBreach(end, f"unmarked {traffic_class.name}", message, fix)
