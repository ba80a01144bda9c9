"""Limits of tests that have their path for themselves: the payload of the slower NIC port."""

from collections.abc import Sequence
from dataclasses import replace

from railweave.acceptance.limits.basis import PAYLOAD_FORMULA, LimitShares, NicPair, PairLimits, lower_limit
from railweave.acceptance.limits.contention import PairKind, contention
from railweave.acceptance.limits.paths import FabricPaths
from railweave.acceptance.model import Metric, MetricLimit


def isolated_limits(paths: FabricPaths, pairs: Sequence[NicPair], shares: LimitShares) -> tuple[PairLimits, ...]:
    """Return the bandwidth limit of each pair of one isolated round, in the order of ``pairs``.

    Pass all tests of the round: where several pairs may share a link (several senders of a leaf, or of a pod towards
    other pods) the limit falls to what each surely gets, the input ``sure_share``; it is 1 where no two can collide.
    Where a link is slower than the NIC ports, the queue pairs may reach its speed times their number.
    """
    kinds = contention(paths, pairs).kinds
    limits = {kind: (_limit(paths, kind, shares),) for kind in dict.fromkeys(kinds)}
    return tuple(limits[kind] for kind in kinds)


def _limit(paths: FabricPaths, kind: PairKind, shares: LimitShares) -> MetricLimit:
    # The hash may put each queue pair on a link of its own, or all of them on one.
    slowest_gbps = min((group.slowest_gbps for group, _ in kind.groups), default=kind.line_gbps)
    line_gbps = min(kind.line_gbps, kind.queue_pairs * slowest_gbps)
    sure = round(kind.sure_share * kind.line_gbps / line_gbps, 4)
    limit = lower_limit(
        Metric.BANDWIDTH,
        paths.payload.of(line_gbps),
        shares,
        PAYLOAD_FORMULA,
        {"line_gbps": line_gbps, **paths.payload._asdict(), "queue_pairs": kind.queue_pairs, "sure_share": sure},
    )
    return replace(limit, fail=limit.fail * sure, warn=limit.warn * sure)
