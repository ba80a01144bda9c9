"""A plan in the making: rounds and tests with their ids, and the rounds that may load each link."""

from collections.abc import Sequence
from math import floor

from railweave.acceptance.commands import Argv, PairCommands
from railweave.acceptance.coverage import Coverage, FlowCounts, LinkLoad
from railweave.acceptance.endpoints import Pair
from railweave.acceptance.limits.basis import PairLimits
from railweave.acceptance.model import (
    AcceptanceRound,
    CoveredLink,
    MetricLimit,
    NicPort,
    PlannedTest,
    PortEnd,
    RoundKind,
    Tool,
)
from railweave.cabling.cable_names import cable_names
from railweave.catalog.load import Catalog
from railweave.fabric.model import Fabric

# Digits of a probability; rounded down, so that none is stated higher than it is.
_MILLION = 1_000_000


class PlanDraft:
    """Gathers the rounds of a plan."""

    def __init__(self, fabric: Fabric, coverage: Coverage, overhead_s: int) -> None:
        self.rounds: list[AcceptanceRound] = []
        self.tests: list[PlannedTest] = []
        self.coverage = coverage
        self._fabric = fabric
        self._overhead_s = overhead_s
        # Bits of the rounds that load a NIC port.
        self._rounds_of_port: dict[NicPort, int] = {}
        self._senders: set[NicPort] = set()
        self._receivers: set[NicPort] = set()

    @property
    def duration_s(self) -> int:
        """Return the seconds of all rounds with start-up and fetching."""
        return sum(planned.seconds + self._overhead_s for planned in self.rounds)

    def add_pairs(
        self,
        kind: RoundKind,
        tool: Tool,
        seconds: int,
        pairs: Sequence[Pair],
        commands: PairCommands,
        limits: Sequence[PairLimits],
        round_limits: tuple[MetricLimit, ...] = (),
    ) -> None:
        """Add a round of pairs, each with its limits."""
        round_id = self._next_id()
        size = commands.message_bytes
        queue_pairs = commands.queue_pairs
        ids = []
        for number, (pair, pair_limits) in enumerate(zip(pairs, limits, strict=True)):
            test_id = f"{round_id}-{number:04}"
            ids.append(test_id)
            ends = (pair[0].nic_port, pair[1].nic_port)
            argv = commands.of(pair, tool)
            self.tests.append(
                PlannedTest(test_id, round_id, kind, tool, *ends, (), queue_pairs, size, argv, pair_limits)
            )
        self.rounds.append(AcceptanceRound(round_id, kind, seconds, tuple(ids), round_limits))

    def add_group(
        self, tool: Tool, seconds: int, group: tuple[NicPort, ...], message_bytes: int, argv: Argv, limits: PairLimits
    ) -> None:
        """Add a round with one collective."""
        round_id = self._next_id()
        test_id = f"{round_id}-0000"
        kind = RoundKind.COLLECTIVE
        self.tests.append(
            PlannedTest(test_id, round_id, kind, tool, group[0], None, group, 1, message_bytes, argv, limits)
        )
        self.rounds.append(AcceptanceRound(round_id, kind, seconds, (test_id,)))

    def count_load(self, pairs: Sequence[Pair], flows: FlowCounts, flow_gbps: float) -> None:
        """Count the round that was added last as one that loads links, with these mean numbers of flows on each."""
        bit = 1 << (len(self.rounds) - 1)
        self.coverage.add(flows, flow_gbps, bit)
        for sender, receiver in pairs:
            self._senders.add(sender.nic_port)
            self._receivers.add(receiver.nic_port)
            for nic_port in (sender.nic_port, receiver.nic_port):
                self._rounds_of_port[nic_port] = self._rounds_of_port.get(nic_port, 0) | bit

    def links(self, catalog: Catalog) -> tuple[CoveredLink, ...]:
        """Return every link of the fabric with the rounds that may load it."""
        fabric = self._fabric
        ports_of = fabric.ports_of
        # In the order of the links.
        nic_ports = iter(self.coverage.paths.nics)
        loads = self.coverage.loads()
        # Many links have one load, and what is stated of it is made once for each.
        stated_of: dict[LinkLoad, tuple[float, tuple[str, ...]]] = {}
        links = []
        for link, name in zip(fabric.links, cable_names(fabric, catalog), strict=True):
            nic_port = None
            if link.is_access:
                nic_port = next(nic_ports)
                # A NIC port has no choice of links: it is loaded in both directions, or it is not.
                is_loaded = nic_port in self._senders and nic_port in self._receivers
                load = LinkLoad(float(is_loaded), self._rounds_of_port.get(nic_port, 0))
            else:
                load = next(loads)
            stated = stated_of.get(load)
            if stated is None:
                stated = stated_of[load] = self._stated(load)
            lower = PortEnd(link.lower, ports_of[link.lower][link.lower_port].name)
            upper = PortEnd(link.upper, ports_of[link.upper][link.upper_port].name)
            place = (link.kind, link.speed_gbps, link.plane, link.rail, nic_port)
            probability, rounds = stated
            links.append(CoveredLink(name, lower, upper, probability, rounds, *place))
        return tuple(links)

    def _stated(self, load: LinkLoad) -> tuple[float, tuple[str, ...]]:
        probability = floor(load.probability * _MILLION) / _MILLION
        return probability, self._round_ids(load.rounds)

    def _round_ids(self, bits: int) -> tuple[str, ...]:
        return tuple(planned.id for number, planned in enumerate(self.rounds) if bits >> number & 1)

    def _next_id(self) -> str:
        return f"r{len(self.rounds):03}"
