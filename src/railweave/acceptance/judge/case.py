"""What the rules look at: a plan, what its tests yielded, and what every port counted in the rounds that count."""

from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from functools import cached_property
from itertools import compress, product
from typing import NamedTuple

from railweave.acceptance.counter_names import CounterMeaning
from railweave.acceptance.jobs import JobResult
from railweave.acceptance.judge.accounting import (
    Flow,
    LinkFlows,
    imbalances,
    inner_surplus,
    loaded_flows,
    swapped_links,
)
from railweave.acceptance.judge.outcomes import Measure, MeasuredTest
from railweave.acceptance.judge.paths import PlanIndex, ends_of
from railweave.acceptance.judge.tally import RoundTally
from railweave.acceptance.model import CoveredLink, Metric, NicPort, PlannedTest, PortEnd, RoundKind

TRANSPORT_LOSS = (CounterMeaning.OUT_OF_SEQUENCE, CounterMeaning.RETRANSMISSIONS)


class NicCount(NamedTuple):
    """The counter of a NIC port in a round, by the link of the port."""

    round: str
    link: CoveredLink
    value: int


@dataclass(frozen=True)
class Case:
    """An acceptance as the rules see it; disturbed rounds have no tally here, and their tests did not run."""

    index: PlanIndex
    outcomes: Mapping[str, MeasuredTest]
    tallies: Mapping[str, RoundTally]
    job: JobResult | None = None

    @cached_property
    def flows(self) -> tuple[LinkFlows, ...]:
        """Return the loaded links of every round and direction."""
        return tuple(loaded_flows(self.index, self.tallies))

    @cached_property
    def loaded_up(self) -> frozenset[int]:
        """Return the indexes of the plan's links that carried load upwards in any round."""
        return frozenset().union(*(flows.link_indexes for flows in self.flows if flows.is_up))

    @cached_property
    def loaded_down(self) -> frozenset[int]:
        """Return the indexes of the plan's links that carried load downwards in any round."""
        return frozenset().union(*(flows.link_indexes for flows in self.flows if not flows.is_up))

    def loaded_links(self) -> Iterator[CoveredLink]:
        """Yield the links that carried load in any round, in the order of the plan."""
        for link_index in sorted(self.loaded_up | self.loaded_down):
            yield self.index.plan.links[link_index]

    def receivers(self, round_id: str) -> Iterator[PortEnd]:
        """Yield the ends at which load arrived in a round."""
        for flows in self.flows:
            if flows.round == round_id:
                for link_index in flows.link_indexes:
                    _, receiver = flows.ends(self.index.plan.links[link_index])
                    yield receiver

    def carried_load(self, round_id: str, link: CoveredLink) -> bool:
        """Tell whether a link carried load in a round."""
        link_index = self.index.index_of_link[link.lower]
        return any(flows.has(link_index) for flows in self.flows if flows.round == round_id)

    @cached_property
    def unequal(self) -> Mapping[tuple[PortEnd, PortEnd], list[Flow]]:
        """Return the flows whose two ends counted differently, by sender and receiver."""
        return imbalances(self.index, self.flows)

    @cached_property
    def surpluses(self) -> Mapping[tuple[str, str], int]:
        """Return the bytes that a switch received beyond those it sent, by round and switch, if nothing explains them.

        Trimmed packets leave shorter than they came, so lossy RDMA has no surplus above 0.
        """
        surpluses: dict[tuple[str, str], int] = {}
        for counts in self.rounds():
            for device in self.index.devices:
                surplus = inner_surplus(self.index, counts, device, self.unequal)
                is_trimmed = self.is_lossy and surplus > 0
                if surplus and not is_trimmed:
                    surpluses[counts.round, device] = surplus
        return surpluses

    @cached_property
    def swapped(self) -> tuple[tuple[CoveredLink, CoveredLink], ...]:
        """Return the pairs of links whose cables are swapped."""
        links = {flows[0].link.lower: flows[0].link for flows in self.unequal.values()}
        return tuple(swapped_links(links.values(), self.tallies.values()))

    @cached_property
    def exchanged_ports(self) -> frozenset[PortEnd]:
        """Return both ends of all links with swapped cables."""
        ends: set[PortEnd] = set()
        for pair in self.swapped:
            for link in pair:
                ends |= {link.lower, link.upper}
        return frozenset(ends)

    @cached_property
    def meanings(self) -> frozenset[CounterMeaning]:
        """Return the meanings of all counters that some device has."""
        return frozenset().union(*(counts.meanings for counts in self.tallies.values()))

    def switches_with(self, meanings: Iterable[CounterMeaning]) -> frozenset[str]:
        """Return the switches that count any of the meanings."""
        counting: set[str] = set()
        for counts in self.tallies.values():
            for meaning in meanings:
                counting |= counts.switches.get(meaning, set())
        return frozenset(counting)

    @cached_property
    def rails(self) -> frozenset[int]:
        """Return the rails of the fabric."""
        return frozenset(link.rail for link in self.index.plan.links if link.rail is not None)

    @cached_property
    def planes(self) -> frozenset[int]:
        """Return the planes of the fabric."""
        return frozenset(link.plane for link in self.index.plan.links)

    @cached_property
    def lossless_queues(self) -> frozenset[int]:
        """Return the queues, and so the priorities, of lossless classes."""
        return frozenset(planned.queue for planned in self.index.plan.classes if planned.lossless)

    @cached_property
    def is_lossy(self) -> bool:
        """Tell whether the RDMA that is tested does without PFC: switches may drop it, or trim it."""
        rdma = [planned for planned in self.index.plan.classes if planned.role == "rdma"]
        return bool(rdma) and not any(planned.lossless for planned in rdma)

    @cached_property
    def crossings(self) -> Mapping[NicPort, list[PlannedTest]]:
        """Return the tests of each NIC port."""
        tests: dict[NicPort, list[PlannedTest]] = defaultdict(list)
        for test in self.index.plan.tests:
            for port in ends_of(test):
                tests[port].append(test)
        return tests

    def rounds(self, *kinds: RoundKind) -> Iterator[RoundTally]:
        """Yield the tallies of rounds of these kinds, or of all rounds if no kind is given."""
        for round_id, tally in self.tallies.items():
            if not kinds or self.index.rounds[round_id].kind in kinds:
                yield tally

    def nic_counts(self, meaning: CounterMeaning) -> Iterator[NicCount]:
        """Yield a counter of every NIC port for every round in which it is not 0."""
        links = list(self.index.host_link.values())
        places, _ = self.index.host_places
        for tally in self.rounds():
            column = tally.column(places, meaning)
            # Most of a large fabric's counters are 0 or missing: they are skipped without a step of Python for each.
            for link, value in zip(compress(links, column), filter(None, column), strict=True):
                yield NicCount(tally.round, link, value)

    def measures(self, metric: Metric, *kinds: RoundKind) -> Iterator[tuple[PlannedTest, Measure]]:
        """Yield the tests that measured a metric, with their measure, in rounds of these kinds or in all rounds."""
        for test in self.index.plan.tests:
            if kinds and test.kind not in kinds:
                continue
            measure = self.outcomes[test.id].measure(metric)
            if measure is not None:
                yield test, measure

    def nic_end(self, port: NicPort) -> PortEnd | None:
        """Return the end of the link at a NIC port; None if the plan has no link there."""
        link = self.index.host_link.get(port)
        if link is None:
            return None
        return link.lower

    def places_of(self, end: PortEnd) -> tuple[tuple[str, ...], tuple[str, ...]]:
        """Return the nodes and the devices of a culprit at a port: its node, or its switch; the other one is empty."""
        if end.device in self.index.nodes:
            return (end.device,), ()
        return (), (end.device,)

    def transport_noticed(self, tests: Iterable[PlannedTest]) -> bool | None:
        """Tell whether the NICs of tests saw packets missing in their rounds; None if no NIC counts that."""
        is_counted = False
        for test in tests:
            tally = self.tallies.get(test.round)
            if tally is None:
                continue
            nic_ends = filter(None, map(self.nic_end, ends_of(test)))
            for end, meaning in product(nic_ends, TRANSPORT_LOSS):
                missing_packets = tally.count(end, meaning)
                if missing_packets:
                    return True
                if missing_packets is not None:
                    is_counted = True
        if is_counted:
            return False
        return None
