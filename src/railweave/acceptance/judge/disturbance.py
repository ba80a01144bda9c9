"""Rounds in which somebody else used the fabric: they are not judged.

What a test puts on its two host links follows from what it measured; all tests of a round agree in that factor, which
holds headers, start-up and acknowledgments. Bytes beyond it are not the plan's. A switch sends on what it receives:
what it sends beyond that came by a port outside the plan, and the rest left by one.
"""

from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from statistics import median
from typing import NamedTuple

from railweave.acceptance.counter_names import CounterMeaning
from railweave.acceptance.judge.case import Case
from railweave.acceptance.judge.elements import end_text
from railweave.acceptance.judge.outcomes import MeasuredTest
from railweave.acceptance.judge.paths import PlanIndex
from railweave.acceptance.judge.tally import RoundTally
from railweave.acceptance.model import CoveredLink, Metric, NicPort, RoundKind

_PAIRS = frozenset({RoundKind.ISOLATED, RoundKind.LOADED, RoundKind.INCAST, RoundKind.LATENCY})


class HostLinkBytes(NamedTuple):
    """The bytes of one direction of a host link in a round, and the payload of the tests that explains them."""

    link: CoveredLink
    # The lower count of both ends, so that a counter that is too high disturbs no round.
    counted: int
    # Of tests that send in this direction.
    payload: float
    # Of tests that send in the other direction, whose acknowledgments take this one.
    acknowledged: float


def disturbed_rounds(case: Case) -> Mapping[str, str]:
    """Return the rounds with traffic that the plan does not explain, each with a sentence on where it was seen."""
    reasons: dict[str, str] = {}
    for tally in case.rounds(*_PAIRS):
        reason = _unplanned_traffic(case, tally)
        if reason:
            reasons[tally.round] = reason
    for (round_id, device), surplus in case.surpluses.items():
        reason = _through_traffic(case, round_id, device, surplus)
        if reason and case.index.rounds[round_id].kind in _PAIRS:
            reasons.setdefault(round_id, reason)
    return reasons


def _unplanned_traffic(case: Case, tally: RoundTally) -> str:
    """Return a sentence on the first host link that carried more than its tests explain; empty if none did."""
    directions = list(_host_link_bytes(case.index, case.outcomes, tally))
    # Bytes on the wire for a byte of payload, with headers and start-up, and for one that is acknowledged.
    payload_factor = _median([counts.counted / counts.payload for counts in directions if counts.payload])
    only_acknowledging = [counts for counts in directions if counts.acknowledged and not counts.payload]
    acknowledged_factor = _median([counts.counted / counts.acknowledged for counts in only_acknowledging])
    seconds = case.index.rounds[tally.round].seconds
    for counts in directions:
        excess = counts.counted - payload_factor * counts.payload - acknowledged_factor * counts.acknowledged
        share = excess / (counts.link.speed_gbps * 1e9 / 8 * seconds)
        if share > case.index.plan.settings.disturbed_share and not _has_fault(case, tally, counts.link):
            return f"{end_text(counts.link.lower)} carried {share:.1%} of its rate beyond its tests"
    return ""


def _through_traffic(case: Case, round_id: str, device: str, surplus: int) -> str:
    """Return a sentence on the bytes that entered or left a switch by ports outside the plan; empty if none did.

    ``surplus`` is what the switch received beyond what it sent.
    """
    slowest_gbps = min((link.speed_gbps for link in case.index.links_of[device]), default=0)
    seconds = case.index.rounds[round_id].seconds
    least_bytes = case.index.plan.settings.disturbed_share * slowest_gbps * 1e9 / 8 * seconds
    if abs(surplus) <= least_bytes:
        return ""
    if surplus < 0:
        return f"{device} sent {-surplus:,} bytes that it received by no port of the plan"
    # If the switch loses packets instead, NICs of the plan miss them.
    if case.transport_noticed(case.index.tests_of[round_id]):
        return ""
    return f"{device} received {surplus:,} bytes that it sent to no port of the plan"


def _median(ratios: list[float]) -> float:
    """Return the median of ratios, 0 without any."""
    return median(ratios) if ratios else 0.0


def _host_link_bytes(
    index: PlanIndex, outcomes: Mapping[str, MeasuredTest], tally: RoundTally
) -> Iterator[HostLinkBytes]:
    """Yield both directions of the host links that were read, without links of tests that have no value."""
    seconds = index.rounds[tally.round].seconds
    sent: dict[NicPort, float] = defaultdict(float)
    received: dict[NicPort, float] = defaultdict(float)
    unknown: set[NicPort] = set()
    for test in index.tests_of[tally.round]:
        if test.receiver is None:
            continue
        measure = outcomes[test.id].measure(Metric.BANDWIDTH)
        if measure is not None:
            payload = measure.value * 1e9 / 8 * seconds
            sent[test.sender] += payload
            received[test.receiver] += payload
        elif test.kind is not RoundKind.LATENCY:
            # A test without a value may have sent for a while. Latency tests send next to nothing.
            unknown |= {test.sender, test.receiver}
    lower, upper = index.host_places
    up = _smaller_counts(tally, lower, upper)
    down = _smaller_counts(tally, upper, lower)
    for (port, link), up_bytes, down_bytes in zip(index.host_link.items(), up, down, strict=True):
        if port in unknown:
            continue
        if up_bytes is not None:
            yield HostLinkBytes(link, up_bytes, sent[port], received[port])
        if down_bytes is not None:
            yield HostLinkBytes(link, down_bytes, received[port], sent[port])


def _smaller_counts(tally: RoundTally, senders: Sequence[int], receivers: Sequence[int]) -> Iterator[int | None]:
    """Yield the smaller of the two counts of bytes of each link, from sender to receiver; None if one was not read."""
    sent_column = tally.column(senders, CounterMeaning.SENT_BYTES)
    received_column = tally.column(receivers, CounterMeaning.RECEIVED_BYTES)
    for sent, received in zip(sent_column, received_column, strict=True):
        if sent is None or received is None:
            yield None
        else:
            yield min(sent, received)


def _has_fault(case: Case, tally: RoundTally, link: CoveredLink) -> bool:
    """Tell whether a fault explains more bytes: packets that were sent again, or a cable in the wrong port."""
    if link.lower in case.exchanged_ports or link.nic_port is None:
        return True
    tests = [test for test in case.crossings[link.nic_port] if test.round == tally.round]
    if case.transport_noticed(tests):
        return True
    return any(flow.link is link and flow.round == tally.round for flows in case.unequal.values() for flow in flows)
