"""The bytes that both ends of every link counted: what vanished, what a counter made up, what went to another port.

What one end sent is what the other received, but for a few control frames between both readings and for what chips
count beside the packet; healthy links of a kind agree in that. A switch forwards what it receives, which tells a
wrong counter from a loss: after a loss its own sums still agree.
"""

from array import array
from bisect import bisect_left
from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from itertools import chain, combinations
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


class LinkFlows(NamedTuple):
    """What links carried in one direction in a round, without those that carried less than covers a link.

    Columns, because the rounds of 4,096 nodes have eight million of them.
    """

    round: str
    is_up: bool
    # Places among the links of the plan, in their order.
    places: Sequence[int]
    sent: Sequence[int]
    received: Sequence[int]

    def has(self, place: int) -> bool:
        """Tell whether the link at a place carried load."""
        number = bisect_left(self.places, place)
        return number < len(self.places) and self.places[number] == place

    def flow(self, index: PlanIndex, number: int) -> Flow:
        """Return one of them."""
        link = index.plan.links[self.places[number]]
        return Flow(link, *self.ends(link), self.round, self.sent[number], self.received[number])

    def ends(self, link: CoveredLink) -> tuple[PortEnd, PortEnd]:
        """Return the sender and the receiver of this direction of a link."""
        if self.is_up:
            return link.lower, link.upper
        return link.upper, link.lower


def loaded_flows(index: PlanIndex, tallies: Mapping[str, RoundTally]) -> Iterator[LinkFlows]:
    """Yield the links that carried ``covered_share`` of their rate and were read at both ends, by round and direction.

    Bytes are those of the whole round.
    """
    for counts in tallies.values():
        least_per_gbps = index.rounds[counts.round].seconds * 1e9 / 8 * index.plan.settings.covered_share
        least = [least_per_gbps * link.speed_gbps for link in index.plan.links]
        for is_up in (True, False):
            senders, receivers = index.lower_places, index.upper_places
            if not is_up:
                senders, receivers = receivers, senders
            sent = counts.column(senders, CounterMeaning.SENT_BYTES)
            received = counts.column(receivers, CounterMeaning.RECEIVED_BYTES)
            flows = [
                (place, left, arrived)
                for place, (left, arrived, least_bytes) in enumerate(zip(sent, received, least, strict=True))
                if left is not None and arrived is not None and (left >= least_bytes or arrived >= least_bytes)
            ]
            if flows:
                yield LinkFlows(counts.round, is_up, *(array("Q", column) for column in zip(*flows, strict=True)))


class _Compared(NamedTuple):
    """Some of the flows of a round and direction, with the lost share of each."""

    flows: LinkFlows
    numbers: list[int]
    shares: list[float]


def imbalances(index: PlanIndex, flows: Iterable[LinkFlows]) -> dict[tuple[PortEnd, PortEnd], list[Flow]]:
    """Return the flows whose ends differ by more than those of healthy links do, by sender and receiver."""
    kinds: dict[tuple[str, str, bool], list[_Compared]] = defaultdict(list)
    kind_of = [_kind(index, link) for link in index.plan.links]
    for of_round in flows:
        alike: dict[tuple[str, str], _Compared] = {kind: _Compared(of_round, [], []) for kind in dict.fromkeys(kind_of)}
        columns = zip(of_round.places, of_round.sent, of_round.received, strict=True)
        for number, (place, sent, received) in enumerate(columns):
            compared = alike[kind_of[place]]
            compared.numbers.append(number)
            compared.shares.append((sent - received) / max(sent, received))
        for kind, compared in alike.items():
            kinds[*kind, of_round.is_up].append(compared)
    unequal: dict[tuple[PortEnd, PortEnd], list[Flow]] = defaultdict(list)
    for alike_flows in kinds.values():
        for flow in _unequal(index, alike_flows):
            unequal[flow.sender, flow.receiver].append(flow)
    return unequal


def _kind(index: PlanIndex, link: CoveredLink) -> tuple[str, str]:
    """Return the kind of a link and of its node: flows of a kind and direction lose alike."""
    node = index.nodes.get(link.lower.device)
    return link.kind, node.kind if node is not None else ""


def _unequal(index: PlanIndex, compared: Sequence[_Compared]) -> Iterator[Flow]:
    """Yield those of flows of a kind and direction whose loss is more than chance explains."""
    shares = array("d", chain.from_iterable(part.shares for part in compared))
    if not shares:
        return
    healthy = HealthySpread(shares)
    tolerance = healthy.tolerance
    for part in compared:
        for number, share in zip(part.numbers, part.shares, strict=True):
            difference = abs(share - healthy.middle)
            if difference > tolerance:
                flow = part.flows.flow(index, number)
                if difference > tolerance + CONTROL_BYTES / max(flow.sent, flow.received):
                    yield flow


def device_surplus(index: PlanIndex, counts: RoundTally, device: str) -> int | None:
    """Return the bytes that a switch received beyond those that it sent; None for a node or an unread port."""
    if device not in index.devices:
        return None
    places = index.places_of.get(device, [])
    received = counts.total(places, CounterMeaning.RECEIVED_BYTES)
    sent = counts.total(places, CounterMeaning.SENT_BYTES)
    if received is None or sent is None:
        return None
    return received - sent


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
