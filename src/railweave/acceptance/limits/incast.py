"""Incasts have enough senders that a queue marks, and not so many that it must pause or drop.

    burst = (senders - 1) * speed * 8 us, what they send beyond the rate of the port before a notification arrives
    2 * Kmin <= burst <= senders * T, where PFC pauses each of that many ports at T bytes
    2 * Kmin <= burst <= D for lossy RDMA, whose queue drops at D bytes
    expect of a sender = payload of min(sender_gbps, receiver_gbps / senders); fail = 0.45 * expect

What an incast shows is in the counters of its queue: marks, and pauses. A sender fails only if it is starved, because
DCQCN does not share evenly within seconds.
"""

from collections.abc import Sequence
from math import ceil
from typing import NamedTuple

from railweave.acceptance.limits.basis import (
    PAYLOAD_FORMULA,
    Inputs,
    LimitShares,
    NicPair,
    PairLimits,
    Payload,
    lower_limit,
)
from railweave.acceptance.limits.paths import FabricPaths
from railweave.acceptance.limits.queues import QueueThresholds, queue_thresholds
from railweave.acceptance.model import Metric, MetricLimit
from railweave.qos.marking import bandwidth_delay_bytes

# Of the part of a sender: it fails below half of it, times the share that fails.
_STARVED = 0.5

_LEAST = 2
_BURST_TO_KMIN = 2


class IncastSenders(NamedTuple):
    """How many senders an incast to a port takes, at least 2."""

    senders: int
    # ECN marks from here on.
    marking_bytes: int
    # What the senders send beyond the port's rate before the first notification reaches them.
    burst_bytes: int
    # From here on PFC pauses the senders, or the queue of lossy RDMA drops; None if the buffer is unknown.
    most_bytes: int | None


def incast_senders(paths: FabricPaths, device: str, speed_gbps: int) -> IncastSenders:
    """Return how many senders an incast to a port of a switch takes, where port and senders have ``speed_gbps``.

    They are the fewest whose burst is twice Kmin, or fewer if their burst exceeds the depth at which PFC pauses or a
    lossy queue drops.
    """
    thresholds = queue_thresholds(paths, device, speed_gbps)
    marking = thresholds.marking
    # What one sender sends until the first notification reaches it.
    sender_bytes = bandwidth_delay_bytes(speed_gbps)
    senders = max(_LEAST, 1 + ceil(_BURST_TO_KMIN * marking.minimum_bytes / sender_bytes))
    most_bytes = _most_bytes(thresholds, senders)
    while senders > _LEAST and most_bytes is not None and (senders - 1) * sender_bytes > most_bytes:
        senders -= 1
        most_bytes = _most_bytes(thresholds, senders)
    return IncastSenders(senders, marking.minimum_bytes, (senders - 1) * sender_bytes, most_bytes)


def _most_bytes(thresholds: QueueThresholds, senders: int) -> int | None:
    """Return the depth at which PFC pauses ``senders`` to one port, or a lossy queue drops; None if it is unknown."""
    if thresholds.pause is None:
        return thresholds.drop_bytes
    return senders * thresholds.pause.congested_bytes(senders)


def incast_limits(paths: FabricPaths, pairs: Sequence[NicPair], shares: LimitShares) -> tuple[PairLimits, ...]:
    """Return the bandwidth limits of the senders of one incast, in the order of ``pairs``, which have one receiver."""
    limits_of_speeds: dict[tuple[int, int], PairLimits] = {}
    limits = []
    for pair in pairs:
        sender, receiver = paths.ends(pair)
        speeds = sender.speed_gbps, receiver.speed_gbps
        # Senders of one speed share one object.
        if speeds not in limits_of_speeds:
            limits_of_speeds[speeds] = (_sender_limit(paths.payload, *speeds, len(pairs), shares),)
        limits.append(limits_of_speeds[speeds])
    return tuple(limits)


def _sender_limit(
    payload: Payload, sender_gbps: int, receiver_gbps: int, senders: int, shares: LimitShares
) -> MetricLimit:
    inputs: Inputs = {"sender_gbps": sender_gbps, "receiver_gbps": receiver_gbps, "senders": senders}
    inputs |= payload._asdict()
    formula = PAYLOAD_FORMULA.replace("line_gbps", "min(sender_gbps, receiver_gbps / senders)")
    expect = payload.of(min(sender_gbps, receiver_gbps / senders))
    return lower_limit(Metric.BANDWIDTH, expect, shares, formula, inputs, _STARVED)
