"""A-7: no rail, plane or stripe is slower than its peers."""

from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping
from statistics import median
from typing import NamedTuple

from railweave.acceptance.judge.blame import culprit_of, one_element
from railweave.acceptance.judge.case import Case
from railweave.acceptance.judge.elements import Symptom, setting_element
from railweave.acceptance.judge.registry import judge_rule
from railweave.acceptance.model import Metric, NicPort, RoundKind
from railweave.diagnostics import Severity

KINDS = frozenset({RoundKind.ISOLATED})
# Of two senders the median is the slower one's as much as the other's.
_LEAST_SENDERS = 3


class PeerTest(NamedTuple):
    """What a test reached of what is expected, and the parts of the design that its sender belongs to."""

    sender: NicPort
    share: float
    # Such as "rail 2", by kind of part.
    parts: Mapping[str, str]


class SlowPart(NamedTuple):
    """A part of the design, the median share of its tests and that of its peers."""

    name: str
    share: float
    peers: float


@judge_rule("A-7", "No rail, plane or stripe is slower than its peers", kinds=KINDS)
def peers(case: Case) -> Iterator[Symptom]:
    """Yield the parts of the design whose median bandwidth is below that of their peers, the slowest first."""
    tests = list(_tests(case))
    while slow := _slowest(case, tests):
        message = f"{slow.name} reaches {slow.share:.1%} of what is expected, its peers {slow.peers:.1%}"
        culprit = culprit_of(case, one_element(setting_element(slow.name)), "is slower than its peers")
        yield Symptom("A-7", Severity.ERROR, message, culprit.fix, culprit)
        # A slow rail moves the medians of stripes as well.
        tests = [test for test in tests if slow.name not in test.parts.values()]


def _tests(case: Case) -> Iterator[PeerTest]:
    for test, measure in case.measures(Metric.BANDWIDTH, *KINDS):
        link = case.index.host_link[test.sender]
        stripe = case.index.nodes[test.sender.node].stripe
        numbers = {"rail": link.rail, "plane": link.plane, "stripe": stripe}
        parts = {kind: f"{kind} {number}" for kind, number in numbers.items() if number is not None}
        yield PeerTest(test.sender, measure.value / measure.limit.expect, parts)


def _slowest(case: Case, tests: Iterable[PeerTest]) -> SlowPart | None:
    """Return the part that is slowest among its peers, None if all parts keep up."""
    shares: dict[str, dict[str, list[float]]] = defaultdict(lambda: defaultdict(list))
    senders: dict[str, set[NicPort]] = defaultdict(set)
    for test in tests:
        for kind, name in test.parts.items():
            shares[kind][name].append(test.share)
            senders[name].add(test.sender)
    slow: list[SlowPart] = []
    for groups in shares.values():
        reached = {name: median(values) for name, values in groups.items() if len(senders[name]) >= _LEAST_SENDERS}
        for name, share in reached.items():
            others = [other for peer, other in reached.items() if peer != name]
            if others and share < case.index.plan.settings.peer_share * median(others):
                slow.append(SlowPart(name, share, median(others)))
    return min(slow, key=lambda part: part.share / part.peers, default=None)
