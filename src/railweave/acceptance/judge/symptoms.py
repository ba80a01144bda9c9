"""Symptoms of tests: what is beyond its limit, and what counts as a test that did well."""

from collections import defaultdict
from collections.abc import Iterator

from railweave.acceptance.judge.case import Case
from railweave.acceptance.judge.elements import RoundBound, Symptom
from railweave.acceptance.judge.paths import ends_of
from railweave.acceptance.model import Metric, NicPort, RoundKind
from railweave.diagnostics import Severity

# In the other kinds healthy tests may lie between `fail` and `warn`: the limits of the round count them.
_WARNED_ALONE = frozenset({RoundKind.ISOLATED, RoundKind.LATENCY})


def limit_symptoms(case: Case, code: str, metric: Metric, kinds: frozenset[RoundKind]) -> Iterator[Symptom]:
    """Yield the tests of a metric beyond their limits, by kind of round."""
    failed: dict[RoundKind, set[str]] = defaultdict(set)
    warned: dict[RoundKind, set[str]] = defaultdict(set)
    for test, measure in case.measures(metric, *kinds):
        if measure.failed:
            failed[test.kind].add(test.id)
        elif measure.warned and test.kind in _WARNED_ALONE:
            warned[test.kind].add(test.id)
    # Tests that had their path for themselves say more, and come first.
    for kind in RoundKind:
        if failed[kind]:
            yield Symptom(code, Severity.ERROR, metric.replace("_", " "), "", None, frozenset(failed[kind]))
        if warned[kind]:
            yield Symptom(code, Severity.WARNING, metric.replace("_", " "), "", None, frozenset(warned[kind]))


def round_symptoms(case: Case, code: str, kind: RoundKind) -> Iterator[Symptom]:
    """Yield the rounds beyond a limit of their own: the mean of their tests, or how many of these are slow."""
    for planned in case.index.plan.rounds:
        if planned.kind is not kind or not planned.limits:
            continue
        measures = {}
        for test in case.index.tests_of[planned.id]:
            measure = case.outcomes[test.id].measure(Metric.BANDWIDTH)
            if measure is not None:
                measures[test.id] = measure
        # A mean over part of the round is another mean.
        if len(measures) < len(planned.tests):
            continue
        slow = frozenset(name for name, measure in measures.items() if measure.warned)
        for limit in planned.limits:
            value = float(len(slow))
            bound = RoundBound(0.0, limit.fail)
            if limit.metric is Metric.ROUND_BANDWIDTH:
                value = sum(measure.value for measure in measures.values()) / len(measures)
                bound = RoundBound(limit.fail / limit.expect, 0.0)
            beyond = value > limit.fail if limit.metric is Metric.BELOW_LIMIT else value < limit.fail
            if beyond:
                message = f"round {planned.id}: {value:,.4g} {limit.unit}, limit {limit.fail:,.4g}"
                yield Symptom(code, Severity.ERROR, message, "", None, slow or frozenset(measures), bound=bound)


def did_well(case: Case) -> frozenset[str]:
    """Return the tests that clear what they went through.

    While others send, a pair may be slow by chance: such a test clears only if it reached what its NICs must reach
    alone.
    """
    alone: dict[NicPort, float] = {}
    of_speed: dict[int, float] = {}
    for test, measure in case.measures(Metric.BANDWIDTH, RoundKind.ISOLATED):
        for port in ends_of(test):
            alone[port] = max(alone.get(port, 0.0), measure.limit.fail)
            speed = case.index.host_link[port].speed_gbps
            of_speed[speed] = max(of_speed.get(speed, 0.0), measure.limit.fail)
    # A short plan has no isolated test of most NICs: what others of their speed must reach holds for them.
    for port, link in case.index.host_link.items():
        alone.setdefault(port, of_speed.get(link.speed_gbps, 0.0))
    well: set[str] = set()
    for test in case.index.plan.tests:
        measures = case.outcomes[test.id].measures
        if not measures or any(measure.failed for measure in measures):
            continue
        if test.kind in (RoundKind.LOADED, RoundKind.INCAST, RoundKind.SOAK) and test.receiver is not None:
            least = min(alone.get(port, 0.0) for port in (test.sender, test.receiver))
            if not least or measures[0].value < least:
                continue
        well.add(test.id)
    return frozenset(well)
