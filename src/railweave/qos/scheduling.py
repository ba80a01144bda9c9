"""How the egress queues of a port share its bandwidth: strict queues first, the others by weight (DWRR)."""

from collections.abc import Sequence
from dataclasses import dataclass

from railweave.fabric.policy import TrafficClass


@dataclass(frozen=True, slots=True)
class QueueShare:
    """One egress queue. ``name`` is its first class's; ``weight`` is in percent of what strict queues leave and 0 for a
    strict queue; ``lossless`` queues carry ECN marking."""

    queue: int
    name: str
    classes: tuple[str, ...]
    strict: bool
    weight: int
    lossless: bool


def queue_shares(classes: Sequence[TrafficClass]) -> tuple[QueueShare, ...]:
    """Return the queues in use, ascending. Lossy classes of one priority share a queue and add up their shares."""
    return tuple(
        _share(priority, [one for one in classes if one.priority == priority])
        for priority in sorted({one.priority for one in classes})
    )


def _share(priority: int, members: Sequence[TrafficClass]) -> QueueShare:
    strict = any(one.strict for one in members)
    # A DWRR weight is 1 to 100 (sonic-scheduler.yang); a class without a share still has to drain.
    weight = min(100, max(1, sum(one.share_percent for one in members)))
    return QueueShare(
        queue=priority,
        name=members[0].name,
        classes=tuple(one.name for one in members),
        strict=strict,
        weight=0 if strict else weight,
        lossless=any(one.lossless for one in members),
    )
