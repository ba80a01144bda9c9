"""Limits of tests that have their path for themselves."""

from collections.abc import Sequence

from railweave.acceptance.limits.basis import LimitShares, NicPair
from railweave.acceptance.limits.paths import FabricPaths
from railweave.acceptance.model import MetricLimit


def isolated_limits(paths: FabricPaths, pairs: Sequence[NicPair], shares: LimitShares) -> tuple[MetricLimit, ...]:
    """Return the bandwidth limit of each pair of one isolated round, in the order of ``pairs``.

    Pass all tests of the round: where several pairs may share a link (several senders of a leaf, or of a pod towards
    other pods) the limit falls to what each surely gets, the input ``sure_share``; it is 1 where no two can collide.
    """
    raise NotImplementedError
