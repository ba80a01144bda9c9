"""Incast: how many senders make a queue mark but not pause, and the bandwidth that each of them gets."""

from collections.abc import Sequence
from typing import NamedTuple

from railweave.acceptance.limits.basis import LimitShares, NicPair
from railweave.acceptance.limits.paths import FabricPaths
from railweave.acceptance.model import MetricLimit
from railweave.fabric.model import Fabric


class IncastSenders(NamedTuple):
    """How many senders an incast to a port takes, at least 2."""

    senders: int
    # ECN marks from here on; 0 if no lossless class marks.
    marking_bytes: int
    # What the senders send beyond the port's rate before the first notification reaches them.
    burst_bytes: int
    # PFC pauses the senders from here on; None if the buffer is unknown.
    pause_bytes: int | None


def incast_senders(fabric: Fabric, device: str, speed_gbps: int) -> IncastSenders:
    """Return the senders of an incast to a port of ``speed_gbps`` of a switch, each at that speed."""
    raise NotImplementedError


def incast_limits(paths: FabricPaths, pairs: Sequence[NicPair], shares: LimitShares) -> tuple[MetricLimit, ...]:
    """Return the bandwidth limit of each sender of one incast, all to one receiver, in the order of ``pairs``."""
    raise NotImplementedError
