"""A-10: a job runs at one pace: repeated steps of a collective differ little."""

from collections.abc import Iterator

from railweave.acceptance.judge.case import Case
from railweave.acceptance.judge.elements import Symptom
from railweave.acceptance.judge.outcomes import number
from railweave.acceptance.judge.registry import judge_rule
from railweave.acceptance.model import RoundKind
from railweave.diagnostics import Severity

KINDS = frozenset({RoundKind.COLLECTIVE})


@judge_rule("A-10", "The steps of a job differ little", kinds=KINDS)
def job(case: Case) -> Iterator[Symptom]:
    """Yield collectives whose iterations vary by more than `acceptance.variation`: a job waits for the slowest."""
    uneven: set[str] = set()
    for test in case.index.plan.tests:
        reading = case.outcomes[test.id].reading
        if reading is None:
            continue
        shares = [number(value) / 100 for name, value in reading.values.items() if "cv_pct" in name]
        if max(shares, default=0) > case.index.plan.settings.variation:
            uneven.add(test.id)
    if uneven:
        fix = "look for congestion, storms and thermal throttling during the slow iterations"
        yield Symptom("A-10", Severity.ERROR, "iterations that vary", fix, tests=frozenset(uneven))
