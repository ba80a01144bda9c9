"""How the egress queues of a port share its bandwidth: strict queues first, the others by weight (DWRR).

SONiC serves strict queues before all others, the higher number first, so whoever marks packets for one could starve
RDMA. Strict queues of notifications and control traffic carry little and are limited to a tenth of the port's rate.
"""

from collections.abc import Iterable
from typing import NamedTuple

from railweave.fabric.policy import ClassRole, TrafficClass

_LIMIT_PERCENT = 10


def is_light(one: TrafficClass) -> bool:
    """Tell whether a class carries messages that report and control, never bulk data."""
    return one.role in (ClassRole.CNP, ClassRole.CONTROL)


class QueueShare(NamedTuple):
    """The egress queue of one class, ``name``. ``weight`` is in percent of what strict queues leave and 0 for a strict
    queue; ``lossless`` queues carry ECN marking. ``limit_percent`` of the port's rate is the most that it gets, 0 where
    it is not limited."""

    queue: int
    name: str
    strict: bool
    weight: int
    lossless: bool
    limit_percent: int

    def limit_bytes_per_second(self, speed_gbps: int) -> int:
        """Return its limit on a port of a speed, in bytes per second."""
        return speed_gbps * 1_000_000_000 // 8 * self.limit_percent // 100


def queue_shares(classes: Iterable[TrafficClass]) -> tuple[QueueShare, ...]:
    """Return the queues in use, ascending; every class has a queue of its own (check Q-1)."""
    return tuple(_share(one) for one in sorted(classes, key=lambda one: one.priority))


def _share(one: TrafficClass) -> QueueShare:
    # A DWRR weight is 1 to 100 (sonic-scheduler.yang).
    weight = 0 if one.strict else max(1, one.share_percent)
    limit_percent = _LIMIT_PERCENT if one.strict and is_light(one) else 0
    return QueueShare(one.priority, one.name, one.strict, weight, one.lossless, limit_percent)
