"""A-1: every pair of NIC ports reaches its bandwidth, alone and while all others send."""

from collections.abc import Iterator

from railweave.acceptance.judge.case import Case
from railweave.acceptance.judge.elements import Symptom
from railweave.acceptance.judge.registry import judge_rule
from railweave.acceptance.judge.symptoms import limit_symptoms, round_symptoms
from railweave.acceptance.model import Metric, RoundKind

KINDS = frozenset({RoundKind.ISOLATED, RoundKind.LOADED, RoundKind.INCAST})


@judge_rule("A-1", "Every pair reaches its bandwidth", kinds=KINDS)
def bandwidth(case: Case) -> Iterator[Symptom]:
    """Yield symptoms of tests below their limits, and of loaded rounds beyond limits of their own."""
    yield from limit_symptoms(case, "A-1", Metric.BANDWIDTH, KINDS)
    yield from round_symptoms(case, "A-1", RoundKind.LOADED)
