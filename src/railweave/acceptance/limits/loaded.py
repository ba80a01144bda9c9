"""Loaded tests run while all NIC ports send: hashed flows collide, so the rate of a healthy pair is chance.

With 4 queue pairs two thirds of the pairs between the leaves of pod-32 get less than 0.90 of their line, so limits are
taken from max-min fair shares over random hashes, for the flows of the round on the links of the design:

    expect = payload * share; share is the 1 % quantile: that many healthy pairs do not reach it
    warn = 0.90 * expect; a pair below it is counted, and is not a finding of its own
    fail = 0.90 * payload * sure_share; not one of millions of healthy pairs is below it

sure_share is q C / n for q queue pairs, the speed C of a link, and a number n of flows on it that the hash exceeds with
a probability of 1e-12 (Poisson); a flow has at least its even part of a link. A round is judged by two numbers:

    round_bandwidth: the mean of its tests; fail = 0.90 * (expect - 6 standard deviations)
    below_limit: its tests below their own warn; fail is what chance exceeds once in 1e8 rounds (binomial)

Pairs that share no link, as those of one leaf, fail below 0.90 of their payload.
"""

from collections import Counter
from collections.abc import Mapping, Sequence
from math import sqrt
from typing import NamedTuple

from railweave.acceptance.limits.basis import PAYLOAD_FORMULA, Inputs, LimitShares, NicPair, PairLimits, lower_limit
from railweave.acceptance.limits.contention import PairKind, contention
from railweave.acceptance.limits.hashing import QUANTILE, KindShares, kind_shares
from railweave.acceptance.limits.paths import FabricPaths
from railweave.acceptance.limits.significance import IMPROBABLE, most_below
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

    ``shares`` are the shares that fail and warn; ``seed`` is that of the random hashes.
    """
    round_contention = contention(paths, pairs)
    sampled = kind_shares(paths, round_contention, seed)
    counts = Counter(round_contention.kinds)
    shares_of: dict[PairKind, KindShares] = {}
    contended: dict[PairKind, int] = {}
    for kind, count in counts.items():
        # A pair that surely gets its whole line rate does not depend on chance.
        if kind.sure_share < 1:
            shares_of[kind] = sampled[kind]
            contended[kind] = count
        else:
            shares_of[kind] = _WHOLE
    limits = {kind: (_pair_limit(paths, kind, shares_of[kind], shares, seed),) for kind in counts}
    round_limits = [_mean_limit(paths, counts, shares_of, shares)]
    if contended:
        round_limits.append(_below_limit(contended, shares_of))
    return LoadedLimits(tuple(limits[kind] for kind in round_contention.kinds), tuple(round_limits))


def _pair_limit(paths: FabricPaths, kind: PairKind, sampled: KindShares, shares: LimitShares, seed: int) -> MetricLimit:
    """Return the bandwidth limit of the pairs of a kind, whose shares of line rate are ``sampled``."""
    payload_gbps = paths.payload.of(kind.line_gbps)
    inputs: Inputs = {"line_gbps": kind.line_gbps, **paths.payload._asdict(), "queue_pairs": kind.queue_pairs}
    if sampled is _WHOLE:
        # BELOW_LIMIT counts warnings of pairs that share links; other pairs only pass or fail.
        return lower_limit(Metric.BANDWIDTH, payload_gbps, shares._replace(warn=shares.fail), PAYLOAD_FORMULA, inputs)
    sure = min(sampled.quantile, round(kind.sure_share, 4))
    inputs |= {"share": sampled.quantile, "quantile": QUANTILE, "mean_share": sampled.mean, "sure_share": sure}
    inputs |= {"samples": sampled.samples, "seed": seed}
    expect = payload_gbps * sampled.quantile
    fail = shares.fail * payload_gbps * sure
    warn = shares.fail * expect
    formula = f"{PAYLOAD_FORMULA} * share"
    return MetricLimit(
        metric=Metric.BANDWIDTH,
        unit=UNITS[Metric.BANDWIDTH],
        expect=expect,
        fail=fail,
        warn=warn,
        formula=formula,
        inputs=inputs,
    )


def _mean_limit(
    paths: FabricPaths, counts: Mapping[PairKind, int], shares_of: Mapping[PairKind, KindShares], shares: LimitShares
) -> MetricLimit:
    """Return the limit of the mean bandwidth of a round, which has ``counts`` tests of each kind."""
    tests = sum(counts.values())
    line_gbps = sum(kind.line_gbps * count for kind, count in counts.items()) / tests
    mean_gbps = sum(kind.line_gbps * count * shares_of[kind].mean for kind, count in counts.items()) / tests
    variance = sum(kind.line_gbps**2 * count * shares_of[kind].variance for kind, count in counts.items())
    deviation = round(sqrt(variance) / tests / line_gbps, 6)
    mean_share = round(mean_gbps / line_gbps, 6)
    payload_gbps = paths.payload.of(line_gbps)
    fail = shares.fail * payload_gbps * max(0.0, mean_share - _FAIL_DEVIATIONS * deviation)
    warn = shares.warn * payload_gbps * max(0.0, mean_share - _WARN_DEVIATIONS * deviation)
    inputs = {"line_gbps": line_gbps, **paths.payload._asdict(), "mean_share": mean_share}
    inputs |= {"deviation": deviation, "tests": tests}
    metric = Metric.ROUND_BANDWIDTH
    formula = f"{PAYLOAD_FORMULA} * mean_share"
    return MetricLimit(
        metric=metric,
        unit=UNITS[metric],
        expect=payload_gbps * mean_share,
        fail=fail,
        warn=warn,
        formula=formula,
        inputs=inputs,
    )


def _below_limit(counts: Mapping[PairKind, int], shares_of: Mapping[PairKind, KindShares]) -> MetricLimit:
    """Return the limit of the number of tests below their own ``warn``; ``counts`` are the tests of each kind."""
    tests = sum(counts.values())
    dispersion = max(shares_of[kind].dispersion for kind in counts)
    # A quantile from few values may lie too high by chance: three standard deviations of its own probability.
    tests_below = 0.0
    for kind, count in counts.items():
        sampled = shares_of[kind]
        deviation = sqrt(QUANTILE * (1 - QUANTILE) * sampled.dispersion / sampled.samples)
        tests_below += count * (QUANTILE + 3 * deviation)
    probability = min(1.0, round(tests_below / tests, 4))
    fail = most_below(tests, probability, dispersion, IMPROBABLE)
    warn = most_below(tests, probability, dispersion, _NOTABLE)
    inputs = {"tests": tests, "quantile": QUANTILE, "probability": probability, "dispersion": dispersion}
    metric = Metric.BELOW_LIMIT
    return MetricLimit(
        metric=metric,
        unit=UNITS[metric],
        expect=tests * QUANTILE,
        fail=fail,
        warn=warn,
        formula="tests * quantile",
        inputs=inputs,
    )
