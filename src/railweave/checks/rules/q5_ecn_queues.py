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
    for index, one in enumerate(intent.policies.classes):
        if one.ecn is not None and not one.lossless:
            message = (
                f"class `{one.name}` is not lossless and has ECN thresholds: packets without ECT would be dropped there"
            )
            yield Breach(f"traffic_classes[{index}].ecn", message, "leave out `ecn`, or write lossless: true")


@RULE.on_link
def queues(link: LinkEnds) -> LinkBreaches:
    """Compare the marking queues with the lossless ones."""
    for end in link.switches:
        yield from not_exactly(link, end, "marks with ECN", "WRED profiles", (end.marked, link.lossless))
        for one in link.lossless_classes:
            found = (end.wreds or {}).get(one.priority)
            if found and not found.is_marking:
                message = (
                    f"WRED profile {found.name} of queue {one.priority} of {one.name} on {end}, towards"
                    f" {link.far(end)}, drops instead of marking: ecn is {found.ecn}, on for"
                    f" {', '.join(found.colors) or 'no color'}"
                )
                fix = f"set ecn_all and thresholds of green packets in WRED_PROFILE|{found.name} of {end.device}"
                yield LinkBreach(end, f"unmarked {one.name}", message, fix)
