"""Rounds in which somebody else used the fabric: they are not judged.

What a test puts on its two host links follows from what it measured; all tests of a round agree in that factor, which
holds headers, start-up and acknowledgments. Bytes beyond it are not the plan's. A switch sends on what it receives:
what it sends beyond that came by a port outside the plan, and the rest left by one.
"""

from collections.abc import Iterator, Mapping, Sequence
from statistics import median
from typing import NamedTuple

from railweave.acceptance.counter_names import CounterMeaning
from railweave.acceptance.judge.case import Case
from railweave.acceptance.judge.elements import end_text
from railweave.acceptance.judge.outcomes import MeasuredTest
from railweave.acceptance.judge.paths import PlanIndex
from railweave.acceptance.judge.tally import RoundTally
from railweave.acceptance.model import CoveredLink, Metric, NicPort, PlannedTest, RoundKind

_PAIRS = frozenset({RoundKind.ISOLATED, RoundKind.LOADED, RoundKind.INCAST, RoundKind.LATENCY})


class Carried(NamedTuple):
    """The bytes of one direction of a host link, and those of payload that the plan puts on it."""

    link: CoveredLink
    # The lower of both ends: a counter that is wrong disturbs nobody.
    bytes: int
    # Of tests in this direction, and of those in the other, whose acknowledgments go this way.
    payload: float
    acknowledged: float


def disturbed_rounds(case: Case) -> Mapping[str, str]:
    """Return the rounds with traffic that the plan does not explain, each with where it was seen."""
    strange: dict[str, str] = {}
    for counts in case.rounds(*_PAIRS):
        carried = list(_carried(case.index, case.outcomes, counts))
        factor = _factor([part.bytes / part.payload for part in carried if part.payload])
        reverse = _factor(
            [part.bytes / part.acknowledged for part in carried if part.acknowledged and not part.payload]
        )
        planned = case.index.rounds[counts.round]
        for part in carried:
            excess = part.bytes - factor * part.payload - reverse * part.acknowledged
            share = excess / (part.link.speed_gbps * 1e9 / 8 * planned.seconds)
            if share > case.index.plan.settings.disturbed_share and not _explained(case, counts, part.link):
                end = part.link.lower
                strange[counts.round] = f"{end_text(end)} carried {share:.1%} of its rate beyond its tests"
                break
    for (name, device), surplus in case.surpluses.items():
        sentence = _passes_through(case, name, device, surplus)
        if sentence and case.index.rounds[name].kind in _PAIRS:
            strange.setdefault(name, sentence)
    return strange


def _passes_through(case: Case, name: str, device: str, surplus: int) -> str:
    """Return in a sentence what entered or left a switch by ports outside the plan, empty if nothing did."""
    slowest_gbps = min((link.speed_gbps for link in case.index.links_of[device]), default=0)
    least = case.index.plan.settings.disturbed_share * slowest_gbps * 1e9 / 8 * case.index.rounds[name].seconds
    if abs(surplus) <= least:
        return ""
    if surplus < 0:
        return f"{device} sent {-surplus:,} bytes that it received by no port of the plan"
    # Packets that a switch loses are missed by the NICs of the plan.
    if case.transport_noticed(case.index.tests_of[name]):
        return ""
    return f"{device} received {surplus:,} bytes that it sent to no port of the plan"


def _factor(ratios: list[float]) -> float:
    return median(ratios) if ratios else 0.0


def _carried(index: PlanIndex, outcomes: Mapping[str, MeasuredTest], counts: RoundTally) -> Iterator[Carried]:
    seconds = index.rounds[counts.round].seconds
    sent: dict[NicPort, float] = {}
    received: dict[NicPort, float] = {}
    unknown: set[NicPort] = set()
    for test in index.tests_of[counts.round]:
        _add_test(test, outcomes[test.id], seconds, (sent, received), unknown)
    links = list(index.host_link.values())
    lower, upper = index.host_places
    up = _lower_counts(counts, lower, upper)
    down = _lower_counts(counts, upper, lower)
    for port, link, up_bytes, down_bytes in zip(index.host_link, links, up, down, strict=True):
        if port in unknown:
            continue
        up_payload = sent.get(port, 0.0)
        down_payload = received.get(port, 0.0)
        if up_bytes is not None:
            yield Carried(link, up_bytes, up_payload, down_payload)
        if down_bytes is not None:
            yield Carried(link, down_bytes, down_payload, up_payload)


def _add_test(
    test: PlannedTest,
    outcome: MeasuredTest,
    seconds: int,
    ways: tuple[dict[NicPort, float], dict[NicPort, float]],
    unknown: set[NicPort],
) -> None:
    measure = outcome.measure(Metric.BANDWIDTH)
    if test.receiver is None:
        return
    if measure is None and test.kind is not RoundKind.LATENCY:
        # A test without a value may have sent for a while.
        unknown |= {test.sender, test.receiver}
        return
    payload = measure.value * 1e9 / 8 * seconds if measure is not None else 0.0
    for way, port in zip(ways, (test.sender, test.receiver), strict=True):
        way[port] = way.get(port, 0.0) + payload


def _lower_counts(counts: RoundTally, senders: Sequence[int], receivers: Sequence[int]) -> Iterator[int | None]:
    """Yield what the end of each link counted that counted less, None for links that were not read at both ends."""
    sent = counts.column(senders, CounterMeaning.SENT_BYTES)
    received = counts.column(receivers, CounterMeaning.RECEIVED_BYTES)
    for left, arrived in zip(sent, received, strict=True):
        if left is None or arrived is None:
            yield None
        else:
            yield min(left, arrived)


def _explained(case: Case, counts: RoundTally, link: CoveredLink) -> bool:
    """Tell whether a fault explains more bytes: packets that were sent again, or a cable in the wrong port."""
    if link.lower in case.exchanged_ports or link.nic_port is None:
        return True
    tests = [test for test in case.crossings[link.nic_port] if test.round == counts.round]
    if case.transport_noticed(tests):
        return True
    return any(flow.link is link and flow.round == counts.round for flows in case.unequal.values() for flow in flows)
