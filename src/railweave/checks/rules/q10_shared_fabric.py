"""On leaves that storage and training share, a burst of one class takes what the shares leave it: strict classes take
their limits first, the others share the rest by weight (DWRR)."""

import math
from collections.abc import Iterable

from railweave.checks.registry import Breach, Breaches, rule
from railweave.diagnostics import Severity
from railweave.fabric.policy import ClassRole, TrafficClass
from railweave.intent.model import Intent
from railweave.qos.scheduling import QueueShare, queue_shares
from railweave.qos.scheduling import kept_share as kept_of_port
from railweave.wording import listed

RULE = rule(
    "Q-10",
    "bursts of other classes leave RDMA half of a port on a shared fabric",
    __doc__,
    "traffic_classes: [{name: roce, role: rdma, dscp: [26], lossless: true, priority: 3, share: 40},"
    " {name: cnp, dscp: [48], priority: 6, strict: true}, {name: storage, dscp: [10], priority: 1, share: 50},"
    " {name: rest, role: bulk, dscp: default, priority: 0, share: 10}]",
)

# Training slows down by what bursts take from it: with less than half of a port a step takes more than twice as long.
_LEAST_PERCENT = 50


@RULE.on_intent
def check_bursts(intent: Intent) -> Breaches:
    """Yield what each class of RDMA keeps of a port while storage and all other classes burst.

    It is a warning if that is less than half of the port.
    """
    classes = intent.policies.classes
    if not any(traffic_class.role is ClassRole.STORAGE for traffic_class in classes):
        return
    shares = queue_shares(classes)
    for index, traffic_class in enumerate(classes):
        if traffic_class.role is not ClassRole.RDMA or not traffic_class.share_percent:
            continue
        kept = kept_of_port(shares, traffic_class.priority)
        # A strict class without a limit takes all, which is an error of its own.
        if kept is None:
            continue
        bursting = listed(_other_shares(classes, traffic_class))
        message = (
            f"while {bursting} burst, class `{traffic_class.name}` keeps {kept} of a port ({_strict_text(shares)})"
        )
        path = f"traffic_classes[{index}].share"
        if kept.percent >= _LEAST_PERCENT:
            yield Breach(path, message, "", Severity.INFO)
            continue
        least_share = _least_share(kept.strict_percent)
        fix = f"give it a share of {least_share} or more, and all others {100 - least_share} together"
        yield Breach(path, f"{message}, less than {_LEAST_PERCENT} %", fix, Severity.WARNING)


def _other_shares(classes: Iterable[TrafficClass], own: TrafficClass) -> list[str]:
    """Return the other classes that have a share, each with it."""
    return [f"{other.name} ({other.share_percent})" for other in classes if other is not own and other.share_percent]


def _strict_text(shares: Iterable[QueueShare]) -> str:
    strict = [f"{share.name} up to {share.limit_percent} %" for share in shares if share.strict]
    if not strict:
        return "no class is strict"
    return f"strict before all: {listed(strict)}"


def _least_share(strict_percent: int) -> int:
    """Return the share, of 100, that is half of a port if strict classes take ``strict_percent`` of it."""
    left_percent = 100 - strict_percent
    # Rounded up; 99 leaves something to the other classes.
    return min(99, math.ceil(_LEAST_PERCENT * 100 / left_percent))
