"""How the egress queues of a port share its bandwidth: strict queues first, the others by weight (DWRR).

SONiC serves strict queues before all others, the highest number first, so a sender that marks its packets for one could
starve RDMA. Strict queues of notifications and control traffic need little and are limited to a tenth of the port's
rate.
"""

from collections.abc import Iterable
from typing import NamedTuple

from railweave.fabric.policy import ClassRole, TrafficClass

_LIMIT_PERCENT = 10


def is_light(traffic_class: TrafficClass) -> bool:
    """Return whether a class carries only notifications or control messages, never bulk data."""
    return traffic_class.role in (ClassRole.CNP, ClassRole.CONTROL)


class QueueShare(NamedTuple):
    """The egress queue of the class ``name``.

    ``weight`` is its percentage of the bandwidth that strict queues leave, 0 for a strict queue. ``limit_percent`` is
    its limit in percent of the port's rate, 0 without a limit. ``marks`` tells that ECN marks its packets.
    """

    queue: int
    name: str
    strict: bool
    weight: int
    lossless: bool
    limit_percent: int
    marks: bool = False

    def limit_bytes_per_second(self, speed_gbps: int) -> int:
        """Return the limit of the queue on a port of this speed, in bytes per second."""
        return speed_gbps * 1_000_000_000 // 8 * self.limit_percent // 100


class KeptShare(NamedTuple):
    """What a queue with a share keeps of a port while all other classes burst."""

    # Strict queues take their limits first, in percent of the port.
    strict_percent: int
    weight: int
    # Of all queues with a share.
    total_weight: int

    @property
    def percent(self) -> float:
        """Return its part of the port in percent."""
        return (100 - self.strict_percent) * self.weight / self.total_weight

    def __str__(self) -> str:
        """Return the formula with its result."""
        return f"(100 - {self.strict_percent}) x {self.weight} / {self.total_weight} = {self.percent:.3g} %"


def kept_share(shares: Iterable[QueueShare], queue: int) -> KeptShare | None:
    """Return what a queue keeps of a port while all others burst.

    None for a strict queue, and if a strict queue without a limit may take all (check Q-6).
    """
    own: QueueShare | None = None
    strict_percent = 0
    total_weight = 0
    for share in shares:
        if share.strict and not share.limit_percent:
            return None
        if share.queue == queue:
            own = share
        strict_percent += share.limit_percent
        total_weight += share.weight
    if own is None or own.strict:
        return None
    return KeptShare(strict_percent, own.weight, total_weight)


def queue_shares(classes: Iterable[TrafficClass]) -> tuple[QueueShare, ...]:
    """Return the queues of ``classes`` in ascending order; every class has a queue of its own (check Q-1)."""
    shares = [_share(traffic_class) for traffic_class in classes]
    return tuple(sorted(shares, key=lambda share: share.queue))


def _share(traffic_class: TrafficClass) -> QueueShare:
    """Return the queue of a class."""
    weight = 0
    limit_percent = 0
    if not traffic_class.strict:
        # A DWRR weight is 1 to 100 (sonic-scheduler.yang).
        weight = max(1, traffic_class.share_percent)
    elif is_light(traffic_class):
        limit_percent = _LIMIT_PERCENT
    return QueueShare(
        queue=traffic_class.priority,
        name=traffic_class.name,
        strict=traffic_class.strict,
        weight=weight,
        lossless=traffic_class.lossless,
        limit_percent=limit_percent,
        marks=traffic_class.marks,
    )
