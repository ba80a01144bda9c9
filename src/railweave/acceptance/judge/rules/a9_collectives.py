"""A-9: collectives reach their bus bandwidth and deliver what was sent."""

from collections.abc import Iterator

from railweave.acceptance.judge.case import Case
from railweave.acceptance.judge.elements import Symptom
from railweave.acceptance.judge.outcomes import number
from railweave.acceptance.judge.registry import judge_rule
from railweave.acceptance.judge.symptoms import limit_symptoms
from railweave.acceptance.model import Metric, RoundKind
from railweave.diagnostics import Severity

KINDS = frozenset({RoundKind.COLLECTIVE})


@judge_rule("A-9", "Collectives reach their bus bandwidth", kinds=KINDS)
def collectives(case: Case) -> Iterator[Symptom]:
    """Yield the collectives below their limits, and those with wrong data."""
    yield from limit_symptoms(case, "A-9", Metric.BUS_BANDWIDTH, KINDS)
    wrong = set()
    for test in case.index.plan.tests:
        reading = case.outcomes[test.id].reading
        if reading is not None and number(reading.values.get("wrong")) > 0:
            wrong.add(test.id)
    if wrong:
        fix = "replace no cable before GPU memory and NICs are tested: data were corrupted"
        yield Symptom("A-9", Severity.ERROR, "delivered wrong data", fix, tests=frozenset(wrong))
