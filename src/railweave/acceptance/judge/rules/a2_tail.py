"""A-2: latency has no long tail, and pairs that cross as many tiers have the same."""

from collections import defaultdict
from collections.abc import Iterator
from math import log

from railweave.acceptance.judge.case import Case
from railweave.acceptance.judge.elements import Symptom
from railweave.acceptance.judge.outcomes import Measure
from railweave.acceptance.judge.registry import judge_rule
from railweave.acceptance.judge.statistics import HealthySpread
from railweave.acceptance.judge.symptoms import limit_symptoms
from railweave.acceptance.model import Metric, PlannedTest, RoundKind
from railweave.diagnostics import Severity

KINDS = frozenset({RoundKind.LATENCY})
# A pair that is less than twice as slow as its peers is no outlier, however alike these are.
_FACTOR = 2.0


@judge_rule("A-2", "No pair has a long latency tail", kinds=KINDS)
def tail(case: Case) -> Iterator[Symptom]:
    """Yield symptoms of tests above their limits, and of tests far above those that cross as many switches."""
    for metric in (Metric.LATENCY_TYPICAL, Metric.LATENCY_P999):
        yield from limit_symptoms(case, "A-2", metric, KINDS)
        slow: set[str] = set()
        for peers in _by_distance(case, metric).values():
            # Latencies scatter by factors, not by sums.
            usual = HealthySpread([log(measure.value) for _, measure in peers])
            most_log = usual.middle + max(usual.tolerance, log(_FACTOR))
            for test, measure in peers:
                # Those that failed their limit are reported above.
                if log(measure.value) > most_log and not measure.failed:
                    slow.add(test.id)
        if slow:
            yield Symptom(
                code="A-2",
                severity=Severity.ERROR,
                message="latency far above that of their peers",
                fix="",
                culprit=None,
                tests=frozenset(slow),
            )


def _by_distance(case: Case, metric: Metric) -> dict[tuple[bool, bool], list[tuple[PlannedTest, Measure]]]:
    """Return the tests that measured a metric, in groups: within a leaf, between leaves of a pod, and between pods.

    The key of a group tells whether its tests are between leaves, and whether they are between pods.
    """
    tests: dict[tuple[bool, bool], list[tuple[PlannedTest, Measure]]] = defaultdict(list)
    for test, measure in case.measures(metric, *KINDS):
        leaves = case.index.access_switches[test.id]
        between_leaves = len({leaf.name for leaf in leaves}) > 1
        between_pods = len({leaf.pod for leaf in leaves}) > 1
        if measure.value > 0:
            tests[between_leaves, between_pods].append((test, measure))
    return tests
