"""A-7: no rail, plane or stripe is slower than its peers.

A part of the design is judged by the share that a quarter of its senders exceed, so that one or two slow NICs, which
also slow down those that send to them, do not make a rail slow.
"""

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

KINDS = frozenset({RoundKind.ISOLATED, RoundKind.LOADED})
# With fewer senders a single slow one decides.
_LEAST_SENDERS = 3


class PeerTest(NamedTuple):
    """What a test reached of what is expected, and the parts of the design that its sender belongs to."""

    sender: NicPort
    share: float
    # Such as "rail 2", by kind of part.
    parts: Mapping[str, str]


class SlowPart(NamedTuple):
    """A part of the design, the share that its senders reach and that of its peers."""

    name: str
    share: float
    peers: float


@judge_rule("A-7", "No rail, plane or stripe is slower than its peers", kinds=KINDS)
def peers(case: Case) -> Iterator[Symptom]:
    """Yield a symptom for each part of the design whose bandwidth is below that of its peers, the slowest first."""
    tests = list(_peer_tests(case))
    slow = _slowest(case, tests)
    while slow is not None:
        message = f"{slow.name} reaches {slow.share:.1%} of what is expected, its peers {slow.peers:.1%}"
        culprit = culprit_of(case, one_element(setting_element(slow.name)), "is slower than its peers")
        yield Symptom("A-7", Severity.ERROR, message, culprit.fix, culprit)
        # A slow rail moves the medians of stripes as well.
        tests = [test for test in tests if slow.name not in test.parts.values()]
        slow = _slowest(case, tests)


def _peer_tests(case: Case) -> Iterator[PeerTest]:
    """Yield the tests that share no link with others."""
    for test, measure in case.measures(Metric.BANDWIDTH, *KINDS):
        if "share" in measure.limit.inputs:
            continue
        link = case.index.host_link[test.sender]
        stripe = case.index.nodes[test.sender.node].stripe
        numbers = {"rail": link.rail, "plane": link.plane, "stripe": stripe}
        parts = {kind: f"{kind} {number}" for kind, number in numbers.items() if number is not None}
        yield PeerTest(test.sender, measure.value / measure.limit.expect, parts)


def _slowest(case: Case, tests: Iterable[PeerTest]) -> SlowPart | None:
    """Return the part that is slowest compared with its peers; None if all parts keep up."""
    # By kind of part, then by part: the best share of each sender.
    best_shares: dict[str, dict[str, dict[NicPort, float]]] = defaultdict(lambda: defaultdict(dict))
    for test in tests:
        for kind, name in test.parts.items():
            sender_shares = best_shares[kind][name]
            sender_shares[test.sender] = max(test.share, sender_shares.get(test.sender, 0.0))
    slow_parts: list[SlowPart] = []
    for parts in best_shares.values():
        share_of = {name: _reached(senders) for name, senders in parts.items() if len(senders) >= _LEAST_SENDERS}
        for name, share in share_of.items():
            peer_shares = [peer_share for peer, peer_share in share_of.items() if peer != name]
            if peer_shares and share < case.index.plan.settings.peer_share * median(peer_shares):
                slow_parts.append(SlowPart(name, share, median(peer_shares)))
    return min(slow_parts, key=lambda part: part.share / part.peers, default=None)


def _reached(senders: Mapping[NicPort, float]) -> float:
    """Return the share that a quarter of the senders exceed."""
    shares = sorted(senders.values())
    return shares[len(shares) * 3 // 4]
