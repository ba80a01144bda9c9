"""A-6: traffic spreads over all links as the hash of the design should."""

from collections.abc import Iterator

from railweave.acceptance.counter_names import CounterMeaning
from railweave.acceptance.judge.case import Case
from railweave.acceptance.judge.elements import Symptom
from railweave.acceptance.judge.registry import judge_rule
from railweave.acceptance.judge.spread import dead_symptoms, uneven_symptoms


@judge_rule("A-6", "Traffic spreads over all links", needs=frozenset({CounterMeaning.SENT_BYTES}))
def spread(case: Case) -> Iterator[Symptom]:
    """Yield symptoms of links without traffic, and of links with less than chance explains."""
    yield from dead_symptoms(case)
    yield from uneven_symptoms(case)
