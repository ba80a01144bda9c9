"""A-4: where a queue fills, ECN marks come before PFC pauses (incast rounds)."""

from collections.abc import Iterator

from railweave.acceptance.counter_names import CounterMeaning
from railweave.acceptance.judge.case import Case
from railweave.acceptance.judge.elements import Symptom
from railweave.acceptance.judge.marking import ecn_symptoms
from railweave.acceptance.judge.registry import judge_rule
from railweave.acceptance.model import RoundKind


@judge_rule(
    "A-4",
    "ECN marks before PFC pauses",
    kinds=frozenset({RoundKind.INCAST}),
    needs=frozenset({CounterMeaning.PFC_SENT}),
    supported=frozenset({CounterMeaning.MARKS}),
    by_switches=True,
)
def ecn_first(case: Case) -> Iterator[Symptom]:
    """Yield a symptom for each switch that paused without marks, or far more per mark than its peers."""
    yield from ecn_symptoms(case)
