"""How the egress queues of a port share its bandwidth: strict queues first, the others by weight (DWRR)."""

from collections.abc import Iterable
from typing import NamedTuple

from railweave.fabric.policy import TrafficClass


class QueueShare(NamedTuple):
    """The egress queue of one class, ``name``. ``weight`` is in percent of what strict queues leave and 0 for a strict
    queue; ``lossless`` queues carry ECN marking."""

    queue: int
    name: str
    strict: bool
    weight: int
    lossless: bool


def queue_shares(classes: Iterable[TrafficClass]) -> tuple[QueueShare, ...]:
    """Return the queues in use, ascending; every class has a queue of its own (check Q-1)."""
    return tuple(_share(one) for one in sorted(classes, key=lambda one: one.priority))


def _share(one: TrafficClass) -> QueueShare:
    # A DWRR weight is 1 to 100 (sonic-scheduler.yang).
    weight = 0 if one.strict else max(1, one.share_percent)
    return QueueShare(one.priority, one.name, one.strict, weight, one.lossless)
