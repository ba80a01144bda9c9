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
    # The indexes of these links among those of the plan, ascending.
    link_indexes: Sequence[int]
    sent: Sequence[int]
    received: Sequence[int]

    def has(self, link_index: int) -> bool:
        """Tell whether a link, by its index in the plan, carried load."""
        number = bisect_left(self.link_indexes, link_index)
        return number < len(self.link_indexes) and self.link_indexes[number] == link_index

    def flow(self, index: PlanIndex, number: int) -> Flow:
        """Return the flow of one of these links; ``number`` is its index in the columns."""
        link = index.plan.links[self.link_indexes[number]]
        return Flow(link, *self.ends(link), self.round, self.sent[number], self.received[number])

    def ends(self, link: CoveredLink) -> tuple[PortEnd, PortEnd]:
        """Return the sender and the receiver of this direction of a link."""
        if self.is_up:
            return link.lower, link.upper
        return link.upper, link.lower


def loaded_flows(index: PlanIndex, tallies: Mapping[str, RoundTally]) -> Iterator[LinkFlows]:
    """Yield the loaded links of each round and direction: they carried ``covered_share`` of their rate at least.

    Links that were not read at both ends are left out. Bytes are those of the whole round.
    """
    for tally in tallies.values():
        least_per_gbps = index.rounds[tally.round].seconds * 1e9 / 8 * index.plan.settings.covered_share
        least_of_links = [least_per_gbps * link.speed_gbps for link in index.plan.links]
        directions = ((True, index.lower_places, index.upper_places), (False, index.upper_places, index.lower_places))
        for is_up, senders, receivers in directions:
            sent_column = tally.column(senders, CounterMeaning.SENT_BYTES)
            received_column = tally.column(receivers, CounterMeaning.RECEIVED_BYTES)
            # One comprehension for speed: it looks at every link of the fabric in every round.
            rows = [
                (link_index, sent, received)
                for link_index, (sent, received, least_bytes) in enumerate(
                    zip(sent_column, received_column, least_of_links, strict=True)
                )
                if sent is not None and received is not None and (sent >= least_bytes or received >= least_bytes)
            ]
            if rows:
                link_indexes, sent_bytes, received_bytes = zip(*rows, strict=True)
                yield LinkFlows(
                    round=tally.round,
                    is_up=is_up,
                    link_indexes=array("Q", link_indexes),
                    sent=array("Q", sent_bytes),
                    received=array("Q", received_bytes),
                )


KindOfLink = tuple[str, str]
"""The kind of a link, and the kind of the node at its lower end (empty between switches)."""


class _Compared(NamedTuple):
    """The flows of one kind of links in a round and direction, by number, with the lost share of each."""

    flows: LinkFlows
    numbers: list[int]
    shares: list[float]


def imbalances(index: PlanIndex, flows: Iterable[LinkFlows]) -> dict[tuple[PortEnd, PortEnd], list[Flow]]:
    """Return the flows whose two ends counted different numbers of bytes, by sender and receiver.

    A difference counts if it is larger than on most links of the same kind and direction, in all rounds.
    """
    groups: dict[tuple[KindOfLink, bool], list[_Compared]] = defaultdict(list)
    kind_of = [_kind(index, link) for link in index.plan.links]
    for round_flows in flows:
        compared_of: dict[KindOfLink, _Compared] = {
            kind: _Compared(round_flows, [], []) for kind in dict.fromkeys(kind_of)
        }
        columns = zip(round_flows.link_indexes, round_flows.sent, round_flows.received, strict=True)
        for number, (link_index, sent, received) in enumerate(columns):
            compared = compared_of[kind_of[link_index]]
            compared.numbers.append(number)
            compared.shares.append((sent - received) / max(sent, received))
        for kind, compared in compared_of.items():
            groups[kind, round_flows.is_up].append(compared)
    unequal: dict[tuple[PortEnd, PortEnd], list[Flow]] = defaultdict(list)
    for group in groups.values():
        for flow in _unequal(index, group):
            unequal[flow.sender, flow.receiver].append(flow)
    return unequal


def _kind(index: PlanIndex, link: CoveredLink) -> KindOfLink:
    node = index.nodes.get(link.lower.device)
    return link.kind, node.kind if node is not None else ""


def _unequal(index: PlanIndex, group: Sequence[_Compared]) -> Iterator[Flow]:
    """Yield the flows of one kind and direction whose lost share differs from that of most by more than chance."""
    shares = array("d", chain.from_iterable(compared.shares for compared in group))
    if not shares:
        return
    healthy = HealthySpread(shares)
    tolerance = healthy.tolerance
    for compared in group:
        for number, share in zip(compared.numbers, compared.shares, strict=True):
            difference = abs(share - healthy.middle)
            # Two steps for speed: a flow is made only if it may be one of the few unequal ones.
            if difference > tolerance:
                flow = compared.flows.flow(index, number)
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
    """Return the bytes that a switch received beyond those that it sent; negative if it sent more.

    It is 0 if a port was not read, or if something else explains the difference: packets of protocols that end in the
    switch, drops, or ``unequal`` flows of its links in this round.
    """
    surplus = device_surplus(index, counts, device)
    links = index.links_of[device]
    if surplus is None or abs(surplus) <= CONTROL_BYTES * len(links):
        return 0
    for link in links:
        flows = [*unequal.get((link.lower, link.upper), ()), *unequal.get((link.upper, link.lower), ())]
        if _has_drops(counts, link.end_at(device)) or any(flow.round == counts.round for flow in flows):
            return 0
    return surplus


def _has_drops(counts: RoundTally, end: PortEnd) -> bool:
    """Tell whether a port or one of its queues counted drops."""
    queues = counts.queues.get(end, {}).values()
    return bool(counts.count(end, CounterMeaning.DROPS)) or any(row.get(CounterMeaning.DROPS) for row in queues)


def swapped_links(
    links: Iterable[CoveredLink], tallies: Iterable[RoundTally]
) -> Iterator[tuple[CoveredLink, CoveredLink]]:
    """Yield each pair of links whose cables are swapped.

    Over all rounds the lower end of each agrees with the upper end of the other link, and not with its own.
    """
    all_tallies = list(tallies)
    for first, second in combinations(links, 2):
        as_planned = 0
        as_swapped = 0
        for tally in all_tallies:
            as_planned += _difference(tally, first.lower, first.upper) + _difference(tally, second.lower, second.upper)
            as_swapped += _difference(tally, first.lower, second.upper) + _difference(tally, second.lower, first.upper)
        # After a loss both differences are large; with swapped cables only control frames are left of one.
        if as_swapped * 10 < as_planned:
            yield first, second


def _difference(tally: RoundTally, lower: PortEnd, upper: PortEnd) -> int:
    """Return by how many bytes the counters of two ends differ, both directions added."""
    up = tally.counted(lower, CounterMeaning.SENT_BYTES) - tally.counted(upper, CounterMeaning.RECEIVED_BYTES)
    down = tally.counted(upper, CounterMeaning.SENT_BYTES) - tally.counted(lower, CounterMeaning.RECEIVED_BYTES)
    return abs(up) + abs(down)
