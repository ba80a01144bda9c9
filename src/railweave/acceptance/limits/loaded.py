"""Limits of tests that run while all NIC ports send.

Hashed flows collide, so the rate of a healthy pair is a matter of chance: with 4 queue pairs two thirds of the pairs
between the leaves of pod-32 get less than 0.90 of their line. Four limits keep chance and fault apart:

    expect  line payload x share; the share that 1 % of healthy pairs do not reach (`hashing`)
    warn    fail share x expect; a pair below it is counted, and is no finding of its own
    fail    fail share x line payload x sure share: no healthy pair of millions is below it (`contention`)
    round   the mean of all pairs, and how many of them may be below their ``warn`` (`significance`)

Pairs that share no link have the limits of isolated tests.
"""

from collections import Counter
from collections.abc import Mapping, Sequence
from math import sqrt
from typing import NamedTuple

from railweave.acceptance.limits.basis import PAYLOAD_FORMULA, LimitShares, NicPair, PairLimits, lower_limit
from railweave.acceptance.limits.contention import PairKind, contention
from railweave.acceptance.limits.hashing import QUANTILE, KindShares, kind_shares
from railweave.acceptance.limits.paths import FabricPaths
from railweave.acceptance.limits.significance import most_below
from railweave.acceptance.model import UNITS, Metric, MetricLimit

# Standard deviations of a round's mean below which it warns and fails; beyond 6 a normal value is one in a billion.
_WARN_DEVIATIONS = 3
_FAIL_DEVIATIONS = 6

# The counts of pairs below their limit that warn are that improbable.
_NOTABLE = 1e-4

_WHOLE = KindShares(samples=0, quantile=1.0, mean=1.0, variance=0.0, dispersion=1.0)


class LoadedLimits(NamedTuple):
    """The limits of a loaded (or soak) round: one of each pair in the order given, and those of the round."""

    tests: tuple[PairLimits, ...]
    # ROUND_BANDWIDTH, and BELOW_LIMIT (tests below their own `warn`) where pairs share links.
    round: tuple[MetricLimit, ...]


def loaded_limits(paths: FabricPaths, pairs: Sequence[NicPair], shares: LimitShares, seed: int) -> LoadedLimits:
    """Return the limits of a round in which every NIC port sends at most once and receives at most once.

    A pair between ``fail`` and ``warn`` is no finding of its own: of healthy pairs up to 1 % lie there. The round's
    BELOW_LIMIT says how many of them are improbable.
    """
    round_contention = contention(paths, pairs)
    counts = Counter(round_contention.kinds)
    sampled = kind_shares(paths, round_contention, seed)
    of_kind = {kind: sampled[kind] if kind.sure_share < 1 else _WHOLE for kind in counts}
    limits = {kind: (_pair_limit(paths, kind, of_kind[kind], shares, seed),) for kind in counts}
    round_limits = [_mean_limit(paths, counts, of_kind, shares)]
    contended = {kind: count for kind, count in counts.items() if of_kind[kind] is not _WHOLE}
    if contended:
        round_limits.append(_below_limit(contended, of_kind))
    return LoadedLimits(tuple(limits[kind] for kind in round_contention.kinds), tuple(round_limits))


def _pair_limit(
    paths: FabricPaths, kind: PairKind, kind_shares_: KindShares, shares: LimitShares, seed: int
) -> MetricLimit:
    payload_gbps = paths.payload.of(kind.line_gbps)
    inputs = {"line_gbps": kind.line_gbps, **paths.payload._asdict(), "queue_pairs": kind.queue_pairs}
    if kind_shares_ is _WHOLE:
        return lower_limit(Metric.BANDWIDTH, payload_gbps, shares, PAYLOAD_FORMULA, inputs)
    sure = round(kind.sure_share, 4)
    expect = payload_gbps * kind_shares_.quantile
    inputs |= {
        "share": kind_shares_.quantile,
        "quantile": QUANTILE,
        "mean_share": kind_shares_.mean,
        "sure_share": sure,
        "samples": kind_shares_.samples,
        "seed": seed,
    }
    return MetricLimit(
        metric=Metric.BANDWIDTH,
        unit=UNITS[Metric.BANDWIDTH],
        expect=expect,
        fail=shares.fail * payload_gbps * min(sure, kind_shares_.quantile),
        warn=shares.fail * expect,
        formula=f"{PAYLOAD_FORMULA} * share",
        inputs=inputs,
    )


def _mean_limit(
    paths: FabricPaths,
    counts: Mapping[PairKind, int],
    of_kind: Mapping[PairKind, KindShares],
    shares: LimitShares,
) -> MetricLimit:
    """Return the limit of the mean bandwidth of a round."""
    tests = sum(counts.values())
    line_gbps = sum(kind.line_gbps * count for kind, count in counts.items()) / tests
    mean_gbps = sum(kind.line_gbps * count * of_kind[kind].mean for kind, count in counts.items()) / tests
    squares = (kind.line_gbps**2 * count * of_kind[kind].variance for kind, count in counts.items())
    deviation = round(sqrt(sum(squares)) / tests / line_gbps, 6)
    mean_share = round(mean_gbps / line_gbps, 6)
    payload_gbps = paths.payload.of(line_gbps)
    return MetricLimit(
        metric=Metric.ROUND_BANDWIDTH,
        unit=UNITS[Metric.ROUND_BANDWIDTH],
        expect=payload_gbps * mean_share,
        fail=shares.fail * payload_gbps * max(0.0, mean_share - _FAIL_DEVIATIONS * deviation),
        warn=shares.warn * payload_gbps * max(0.0, mean_share - _WARN_DEVIATIONS * deviation),
        formula=f"{PAYLOAD_FORMULA} * mean_share",
        inputs={
            "line_gbps": line_gbps,
            **paths.payload._asdict(),
            "mean_share": mean_share,
            "deviation": deviation,
            "tests": tests,
        },
    )


def _below_limit(counts: Mapping[PairKind, int], of_kind: Mapping[PairKind, KindShares]) -> MetricLimit:
    """Return how many pairs of a round may be below their own ``warn``."""
    tests = sum(counts.values())
    dispersion = max(of_kind[kind].dispersion for kind in counts)
    # A quantile from few values may lie too high by chance: three standard deviations of its own probability.
    expected = 0.0
    for kind, count in counts.items():
        deviation = sqrt(QUANTILE * (1 - QUANTILE) * of_kind[kind].dispersion / of_kind[kind].samples)
        expected += count * (QUANTILE + 3 * deviation)
    probability = min(1.0, expected / tests)
    return MetricLimit(
        metric=Metric.BELOW_LIMIT,
        unit=UNITS[Metric.BELOW_LIMIT],
        expect=tests * QUANTILE,
        fail=most_below(tests, probability, dispersion),
        warn=most_below(tests, probability, dispersion, _NOTABLE),
        formula="tests * quantile",
        inputs={
            "tests": tests,
            "quantile": QUANTILE,
            "probability": round(probability, 4),
            "dispersion": dispersion,
        },
    )
