"""Limits of latency: what light and serialization take at least, and what idle queues add at most."""

from railweave.acceptance.limits.basis import NicPair
from railweave.acceptance.limits.paths import FabricPaths
from railweave.acceptance.model import MetricLimit


def latency_limits(paths: FabricPaths, pair: NicPair, message_bytes: int) -> tuple[MetricLimit, ...]:
    """Return the limits of LATENCY_TYPICAL and LATENCY_P999 in an idle fabric, in us one way.

    ``expect`` is a lower bound: a smaller value is invalid. Beyond that the judge compares pairs that cross as many
    tiers with each other, because no design knows the latency of NICs and chips.
    """
    raise NotImplementedError
