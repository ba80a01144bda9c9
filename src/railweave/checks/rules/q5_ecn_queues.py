"""ECN marks packets of RDMA before their queue fills; a queue of other traffic would drop packets there instead,
because they cannot be marked."""

from railweave.checks.registry import (
    Breach,
    Breaches,
    LinkBreach,
    LinkBreaches,
    LinkEnds,
    not_exactly,
    priorities_text,
    rule,
)
from railweave.intent.model import Intent

RULE = rule(
    "Q-5",
    "ECN marks every queue of a lossless class or of lossy RDMA, and no other",
    __doc__,
    "traffic_classes: [{name: roce, dscp: [26], lossless: true, priority: 3, share: 90},"
    " {name: rest, role: bulk, dscp: default, priority: 0, share: 10, ecn: {min_kb: 200, max_kb: 800}}]",
)


@RULE.on_intent
def check_intended_thresholds(intent: Intent) -> Breaches:
    """Yield a breach for each class that has ECN thresholds although ECN does not mark it."""
    for index, traffic_class in enumerate(intent.policies.classes):
        if traffic_class.ecn is not None and not traffic_class.marks:
            message = (
                f"class `{traffic_class.name}` is not lossless and has ECN thresholds: packets without ECT would be"
                " dropped there"
            )
            yield Breach(f"traffic_classes[{index}].ecn", message, "leave out `ecn`, or write lossless: true")


@RULE.on_link
def compare_marking_queues(link: LinkEnds) -> LinkBreaches:
    """Yield a breach for each switch port that marks other queues than designed."""
    marked = frozenset(traffic_class.priority for traffic_class in link.marked_classes)
    for end in link.switches:
        if marked == link.lossless:
            yield from not_exactly(link, end, "marks with ECN", "WRED profiles", (end.marked, link.lossless))
        elif end.marked is not None and end.marked != marked:
            marked_text = priorities_text(marked)
            message = (
                f"{end} marks with ECN {priorities_text(end.marked)}, while {marked_text} is to be marked between it"
                f" and {link.far(end)}"
            )
            fix = f"put WRED profiles of {end} on {marked_text} and nothing else"
            yield LinkBreach(end, "marks with ECN", message, fix)


@RULE.on_link
def check_dropping_profiles(link: LinkEnds) -> LinkBreaches:
    """Yield a breach for each marked queue whose WRED profile drops instead of marking."""
    for end in link.switches:
        for traffic_class in link.marked_classes:
            wred = (end.wreds or {}).get(traffic_class.priority)
            if wred is not None and not wred.is_marking:
                message = (
                    f"WRED profile {wred.name} of queue {traffic_class.priority} of {traffic_class.name} on {end},"
                    f" towards {link.far(end)}, drops instead of marking: ecn is {wred.ecn}, on for"
                    f" {', '.join(wred.colors) or 'no color'}"
                )
                fix = f"set ecn_all and thresholds of green packets in WRED_PROFILE|{wred.name} of {end.device}"
                yield LinkBreach(end, f"unmarked {traffic_class.name}", message, fix)
