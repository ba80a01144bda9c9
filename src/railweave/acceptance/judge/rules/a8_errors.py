"""A-8: links have no errors beyond what FEC corrects, and a soak keeps its bandwidth."""

from collections.abc import Iterator

from railweave.acceptance.counter_names import CounterMeaning
from railweave.acceptance.judge.case import Case
from railweave.acceptance.judge.elements import Symptom
from railweave.acceptance.judge.errors import error_symptoms
from railweave.acceptance.judge.registry import judge_rule
from railweave.acceptance.judge.symptoms import limit_symptoms, round_symptoms
from railweave.acceptance.model import Metric, RoundKind


@judge_rule("A-8", "Links have no errors, and a soak keeps its bandwidth", needs=frozenset({CounterMeaning.ERRORS}))
def errors(case: Case) -> Iterator[Symptom]:
    """Yield symptoms of links with uncorrected codewords, errors or flaps, and of what was slow in a soak."""
    yield from error_symptoms(case)
    yield from limit_symptoms(case, "A-8", Metric.BANDWIDTH, frozenset({RoundKind.SOAK}))
    yield from round_symptoms(case, "A-8", RoundKind.SOAK)
