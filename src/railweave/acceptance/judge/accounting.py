"""The bytes that both ends of every link counted: what vanished, what a counter made up, what went to another port.

What one end sent is what the other received, but for a few control frames between both readings and for what chips
count beside the packet; healthy links of a kind agree in that. A switch forwards what it receives, which tells a
wrong counter from a loss: after a loss its own sums still agree.
"""

from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping
from itertools import combinations
from typing import NamedTuple

from railweave.acceptance.counter_names import CounterMeaning
from railweave.acceptance.judge.paths import PlanIndex
from railweave.acceptance.judge.statistics import HealthySpread
from railweave.acceptance.judge.tally import RoundTally
from railweave.acceptance.model import CoveredLink, PortEnd

CONTROL_BYTES = 64 * 1024
"""LLDP, BGP and ARP of the seconds between the readings of both ends: a few hundred frames."""


class Flow(NamedTuple):
    """The bytes of one direction of a link in a round, as counted at both ends."""

    link: CoveredLink
    sender: PortEnd
    receiver: PortEnd
    round: str
    sent: int
    received: int

    @property
    def lost(self) -> int:
        """Return the bytes that did not arrive; negative if more arrived than left."""
        return self.sent - self.received

    @property
    def share(self) -> float:
        """Return the lost share of the larger count."""
        return self.lost / max(self.sent, self.received)


def loaded_flows(index: PlanIndex, tallies: Mapping[str, RoundTally]) -> Iterator[Flow]:
    """Yield every direction of a link that carried ``covered_share`` of its rate in a round, read at both ends."""
    for counts in tallies.values():
        least_per_gbps = index.rounds[counts.round].seconds * 1e9 / 8 * index.plan.settings.covered_share
        up_sent = counts.column(index.lower_places, CounterMeaning.SENT_BYTES)
        up_received = counts.column(index.upper_places, CounterMeaning.RECEIVED_BYTES)
        down_sent = counts.column(index.upper_places, CounterMeaning.SENT_BYTES)
        down_received = counts.column(index.lower_places, CounterMeaning.RECEIVED_BYTES)
        for place, link in enumerate(index.plan.links):
            least = least_per_gbps * link.speed_gbps
            sent = up_sent[place]
            received = up_received[place]
            if sent is not None and received is not None and (sent >= least or received >= least):
                yield Flow(link, link.lower, link.upper, counts.round, sent, received)
            sent = down_sent[place]
            received = down_received[place]
            if sent is not None and received is not None and (sent >= least or received >= least):
                yield Flow(link, link.upper, link.lower, counts.round, sent, received)


def imbalances(index: PlanIndex, flows: Iterable[Flow]) -> dict[tuple[PortEnd, PortEnd], list[Flow]]:
    """Return the flows whose ends differ by more than those of healthy links do, by sender and receiver."""
    kinds: dict[tuple[str, bool, str], list[Flow]] = defaultdict(list)
    for flow in flows:
        node = index.nodes.get(flow.link.lower.device)
        node_kind = node.kind if node is not None else ""
        kinds[flow.link.kind, flow.sender == flow.link.upper, node_kind].append(flow)
    unequal: dict[tuple[PortEnd, PortEnd], list[Flow]] = defaultdict(list)
    for alike in kinds.values():
        shares = [flow.share for flow in alike]
        healthy = HealthySpread(shares)
        tolerance = healthy.tolerance
        for flow, share in zip(alike, shares, strict=True):
            difference = abs(share - healthy.middle)
            if difference > tolerance and difference > tolerance + CONTROL_BYTES / max(flow.sent, flow.received):
                unequal[flow.sender, flow.receiver].append(flow)
    return unequal


def device_surplus(index: PlanIndex, counts: RoundTally, device: str) -> int | None:
    """Return the bytes that a switch received beyond those that it sent; None for a node or an unread port."""
    if device not in index.devices:
        return None
    places = index.places_of.get(device, [])
    received = counts.column(places, CounterMeaning.RECEIVED_BYTES)
    sent = counts.column(places, CounterMeaning.SENT_BYTES)
    if None in received or None in sent:
        return None
    return sum(filter(None, received)) - sum(filter(None, sent))


def inner_surplus(
    index: PlanIndex, counts: RoundTally, device: str, unequal: Mapping[tuple[PortEnd, PortEnd], list[Flow]]
) -> int:
    """Return how many bytes more a switch received than it sent, 0 where drops or ``unequal`` links explain them."""
    surplus = device_surplus(index, counts, device)
    links = index.links_of[device]
    if surplus is None or abs(surplus) <= CONTROL_BYTES * len(links):
        return 0
    for link in links:
        end = link.end_at(device)
        queues = counts.queues.get(end, {}).values()
        if counts.count(end, CounterMeaning.DROPS) or any(row.get(CounterMeaning.DROPS) for row in queues):
            return 0
        for ends in ((link.lower, link.upper), (link.upper, link.lower)):
            if any(flow.round == counts.round for flow in unequal.get(ends, ())):
                return 0
    return surplus


def swapped_links(
    links: Iterable[CoveredLink], tallies: Iterable[RoundTally]
) -> Iterator[tuple[CoveredLink, CoveredLink]]:
    """Yield pairs of links of which each counts at one end what the other counts at its far end, over all rounds."""
    counted = list(tallies)
    for first, second in combinations(links, 2):
        straight = 0
        crossed = 0
        for counts in counted:
            straight += _difference(counts, first.lower, first.upper) + _difference(counts, second.lower, second.upper)
            crossed += _difference(counts, first.lower, second.upper) + _difference(counts, second.lower, first.upper)
        # A loss leaves both differences; swapped cables leave but control frames.
        if crossed * 10 < straight:
            yield first, second


def _difference(counts: RoundTally, one_end: PortEnd, far_end: PortEnd) -> int:
    return _lost(counts, one_end, far_end) + _lost(counts, far_end, one_end)


def _lost(counts: RoundTally, sender: PortEnd, receiver: PortEnd) -> int:
    sent = counts.counted(sender, CounterMeaning.SENT_BYTES)
    return abs(sent - counts.counted(receiver, CounterMeaning.RECEIVED_BYTES))
