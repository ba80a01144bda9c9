"""Symptoms of tests: what is beyond its limit, and what counts as a test that did well."""

from collections import defaultdict
from collections.abc import Iterator, Mapping

from railweave.acceptance.judge.case import Case
from railweave.acceptance.judge.elements import RoundBound, Symptom
from railweave.acceptance.judge.paths import ends_of
from railweave.acceptance.model import HIGHER_IS_WORSE, Metric, NicPort, RoundKind
from railweave.diagnostics import Severity

# In the other kinds healthy tests may lie between `fail` and `warn`: the limits of the round count them.
_WARNED_ALONE = frozenset({RoundKind.ISOLATED, RoundKind.LATENCY})


def limit_symptoms(case: Case, code: str, metric: Metric, kinds: frozenset[RoundKind]) -> Iterator[Symptom]:
    """Yield a symptom for the tests of each kind of round that fail in a metric, and one for those that warn."""
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
            yield Symptom(
                code=code,
                severity=Severity.ERROR,
                message=metric.replace("_", " "),
                fix="",
                culprit=None,
                tests=frozenset(failed[kind]),
            )
        if warned[kind]:
            yield Symptom(
                code=code,
                severity=Severity.WARNING,
                message=metric.replace("_", " "),
                fix="",
                culprit=None,
                tests=frozenset(warned[kind]),
            )


def round_symptoms(case: Case, code: str, kind: RoundKind) -> Iterator[Symptom]:
    """Yield a symptom for each round beyond a limit of its own: the mean of its tests, or how many of them are slow."""
    for planned in case.index.plan.rounds:
        if planned.kind is not kind or not planned.limits:
            continue
        measures = {}
        for test in case.index.tests_of[planned.id]:
            measure = case.outcomes[test.id].measure(Metric.BANDWIDTH)
            if measure is not None:
                measures[test.id] = measure
        # The limits hold for all tests of the round together.
        if len(measures) < len(planned.tests):
            continue
        slow_tests = frozenset(name for name, measure in measures.items() if measure.warned)
        for limit in planned.limits:
            if limit.metric is Metric.ROUND_BANDWIDTH:
                value = sum(measure.value for measure in measures.values()) / len(measures)
                bound = RoundBound(share=limit.fail / limit.expect, tests=0.0)
            else:
                value = float(len(slow_tests))
                bound = RoundBound(share=0.0, tests=limit.fail)
            if limit.metric in HIGHER_IS_WORSE:
                is_beyond = value > limit.fail
            else:
                is_beyond = value < limit.fail
            if is_beyond:
                message = f"round {planned.id}: {value:,.4g} {limit.unit}, limit {limit.fail:,.4g}"
                yield Symptom(
                    code=code,
                    severity=Severity.ERROR,
                    message=message,
                    fix="",
                    culprit=None,
                    # If no test is slow by itself, all of them together are.
                    tests=slow_tests or frozenset(measures),
                    bound=bound,
                )


def did_well(case: Case) -> frozenset[str]:
    """Return the tests that show that the elements they used are healthy.

    While others send, a pair may be slow by chance: such a test counts only if it reached the bandwidth that its NICs
    must reach alone.
    """
    least_alone = _least_alone(case)
    tests: set[str] = set()
    for test in case.index.plan.tests:
        measures = case.outcomes[test.id].measures
        if not measures or any(measure.failed for measure in measures):
            continue
        if test.kind in (RoundKind.LOADED, RoundKind.INCAST, RoundKind.SOAK) and test.receiver is not None:
            least_gbps = min(least_alone.get(test.sender, 0.0), least_alone.get(test.receiver, 0.0))
            if not least_gbps or measures[0].value < least_gbps:
                continue
        tests.add(test.id)
    return frozenset(tests)


def _least_alone(case: Case) -> Mapping[NicPort, float]:
    """Return the bandwidth that each NIC port must reach alone; 0 if no port of its speed was tested alone."""
    least_of_port: dict[NicPort, float] = {}
    least_of_speed: dict[int, float] = {}
    for test, measure in case.measures(Metric.BANDWIDTH, RoundKind.ISOLATED):
        for port in ends_of(test):
            least_of_port[port] = max(least_of_port.get(port, 0.0), measure.limit.fail)
            speed = case.index.host_link[port].speed_gbps
            least_of_speed[speed] = max(least_of_speed.get(speed, 0.0), measure.limit.fail)
    # A short plan has no isolated test of most NICs; they must reach as much as others of their speed.
    for port, link in case.index.host_link.items():
        least_of_port.setdefault(port, least_of_speed.get(link.speed_gbps, 0.0))
    return least_of_port
