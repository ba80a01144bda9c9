"""A-3: lossless classes lose nothing: not on cables, not in queues, and not because traffic is in another class."""

from collections.abc import Iterator

from railweave.acceptance.counter_names import CounterMeaning
from railweave.acceptance.judge.case import Case
from railweave.acceptance.judge.elements import Symptom
from railweave.acceptance.judge.losses import loss_symptoms
from railweave.acceptance.judge.marking import dscp_symptoms
from railweave.acceptance.judge.pausing import drop_symptoms
from railweave.acceptance.judge.registry import judge_rule


@judge_rule(
    "A-3",
    "Lossless classes lose nothing",
    needs=frozenset({CounterMeaning.SENT_BYTES, CounterMeaning.RECEIVED_BYTES}),
    supported=frozenset({CounterMeaning.DROPS}),
)
def loss(case: Case) -> Iterator[Symptom]:
    """Yield symptoms of bytes that vanished, of drops of lossless classes, and of traffic outside its class."""
    yield from loss_symptoms(case)
    yield from drop_symptoms(case)
    yield from dscp_symptoms(case)
