"""The plan in short: how many rounds and tests of each kind, how long they take, and what they do not load."""

from collections import Counter
from typing import NamedTuple

from railweave.acceptance.model import AcceptancePlan, Level, RoundKind
from railweave.acceptance.planner import PlanInput


class RoundsOfKind(NamedTuple):
    """All rounds of one kind; ``seconds`` without start-up and fetching."""

    kind: RoundKind
    rounds: int
    tests: int
    seconds: int


class PlanSummary(NamedTuple):
    """A plan in short."""

    fabric: str
    level: Level
    seed: int
    nodes: int
    duration_s: int
    kinds: tuple[RoundsOfKind, ...]
    # The links that the plan has to load: all, or those of what is new or named.
    links: int
    # The lowest probability of these links, and those that are not above the confidence of the intent.
    least_probability: float
    below_confidence: int
    confidence: float
    # SHA-256 of the file, which the meta files of results state.
    sha256: str
    # The directory of the plan, where its results belong.
    directory: str


def summary_of(given: PlanInput, plan: AcceptancePlan, sha256: str, directory: str) -> PlanSummary:
    """Return ``plan`` in short; ``sha256`` is that of its file, and ``directory`` is where the file is."""
    rounds: Counter[RoundKind] = Counter()
    tests: Counter[RoundKind] = Counter()
    seconds: Counter[RoundKind] = Counter()
    for planned in plan.rounds:
        rounds[planned.kind] += 1
        tests[planned.kind] += len(planned.tests)
        seconds[planned.kind] += planned.seconds
    kinds = (RoundsOfKind(kind, rounds[kind], tests[kind], seconds[kind]) for kind in RoundKind if rounds[kind])
    confidence = given.policy.confidence
    probabilities = []
    for link, covered in zip(given.fabric.links, plan.links, strict=True):
        if given.scope is None or given.scope.demands(link):
            probabilities.append(covered.probability)
    return PlanSummary(
        fabric=plan.fabric,
        level=plan.level,
        seed=plan.seed,
        nodes=len(plan.nodes),
        duration_s=plan.duration_s,
        kinds=tuple(kinds),
        links=len(probabilities),
        least_probability=min(probabilities, default=0.0),
        below_confidence=sum(value <= confidence for value in probabilities),
        confidence=confidence,
        sha256=sha256,
        directory=directory,
    )
