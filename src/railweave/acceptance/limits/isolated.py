"""Isolated tests, which have their path for themselves, reach the payload of the slower NIC port.

    expect = payload of line_gbps        fail = 0.90 * expect * sure_share        warn = 0.96 * expect * sure_share

sure_share is 1 where no two tests of a round can meet on a link. Where they can (several senders of a leaf, or of a pod
towards other pods), each flow surely has its even part of the link on which it has the least.
"""

from collections.abc import Sequence

from railweave.acceptance.limits.basis import PAYLOAD_FORMULA, LimitShares, NicPair, PairLimits, lower_limit
from railweave.acceptance.limits.contention import PairKind, contention
from railweave.acceptance.limits.paths import FabricPaths
from railweave.acceptance.model import Metric, MetricLimit


def isolated_limits(paths: FabricPaths, pairs: Sequence[NicPair], shares: LimitShares) -> tuple[PairLimits, ...]:
    """Return the bandwidth limit of each pair of one isolated round, in the order of ``pairs``.

    ``pairs`` are all pairs of the round, because each of them may share links with others.
    """
    kinds = contention(paths, pairs).kinds
    limits = {kind: (_limit(paths, kind, shares),) for kind in dict.fromkeys(kinds)}
    return tuple(limits[kind] for kind in kinds)


def _limit(paths: FabricPaths, kind: PairKind, shares: LimitShares) -> MetricLimit:
    """Return the bandwidth limit of the pairs of a kind.

    If links are slower than the NIC ports, a pair expects the speed of as many links as it has queue pairs.
    """
    # The hash may put each queue pair on a link of its own, or all of them on one.
    slowest_gbps = min((group.slowest_gbps for group, _ in kind.groups), default=kind.line_gbps)
    line_gbps = min(kind.line_gbps, kind.queue_pairs * slowest_gbps)
    sure = round(kind.sure_share * kind.line_gbps / line_gbps, 4)
    payload = paths.payload
    inputs = {"line_gbps": line_gbps, **payload._asdict(), "queue_pairs": kind.queue_pairs, "sure_share": sure}
    return lower_limit(Metric.BANDWIDTH, payload.of(line_gbps), shares, PAYLOAD_FORMULA, inputs, sure)
