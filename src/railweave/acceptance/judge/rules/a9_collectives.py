"""A-9: collectives reach their bus bandwidth at an even pace, and deliver what was sent."""

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
    """Yield symptoms of collectives below their limits, with wrong data, and with iterations that vary."""
    yield from limit_symptoms(case, "A-9", Metric.BUS_BANDWIDTH, KINDS)
    wrong: set[str] = set()
    uneven: set[str] = set()
    for test in case.index.plan.tests:
        reading = case.outcomes[test.id].reading
        if reading is None:
            continue
        if number(reading.values.get("wrong")) > 0:
            wrong.add(test.id)
        shares = [number(value) / 100 for name, value in reading.values.items() if "cv_pct" in name]
        if max(shares, default=0) > case.index.plan.settings.variation:
            uneven.add(test.id)
    if wrong:
        fix = "replace no cable before GPU memory and NICs are tested: data were corrupted"
        yield Symptom("A-9", Severity.ERROR, "delivered wrong data", fix, tests=frozenset(wrong))
    if uneven:
        fix = "look for congestion, storms and thermal throttling during the slow iterations"
        yield Symptom("A-9", Severity.ERROR, "iterations that vary", fix, tests=frozenset(uneven))
