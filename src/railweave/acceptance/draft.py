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
        """Add a round of pairs.

        ``limits`` has the limits of each pair in the same order; ``round_limits`` are those of the round as a whole.
        """
        round_id = self._next_id()
        ids = []
        for number, (pair, pair_limits) in enumerate(zip(pairs, limits, strict=True)):
            sender, receiver = pair
            test = PlannedTest(
                id=f"{round_id}-{number:04}",
                round=round_id,
                kind=kind,
                tool=tool,
                sender=sender.nic_port,
                receiver=receiver.nic_port,
                group=(),
                queue_pairs=commands.queue_pairs,
                message_bytes=commands.message_bytes,
                argv=commands.of(pair, tool),
                limits=pair_limits,
            )
            ids.append(test.id)
            self.tests.append(test)
        self.rounds.append(AcceptanceRound(round_id, kind, seconds, tuple(ids), round_limits))

    def add_group(
        self, tool: Tool, seconds: int, group: tuple[NicPort, ...], message_bytes: int, argv: Argv, limits: PairLimits
    ) -> None:
        """Add a round with one collective."""
        round_id = self._next_id()
        test = PlannedTest(
            id=f"{round_id}-0000",
            round=round_id,
            kind=RoundKind.COLLECTIVE,
            tool=tool,
            sender=group[0],
            receiver=None,
            group=group,
            queue_pairs=1,
            message_bytes=message_bytes,
            argv=argv,
            limits=limits,
        )
        self.tests.append(test)
        self.rounds.append(AcceptanceRound(round_id, test.kind, seconds, (test.id,)))

    def count_load(self, pairs: Sequence[Pair], flows: FlowCounts, flow_gbps: float) -> None:
        """Record that the last added round loads the links of the NIC ports of ``pairs``, and others by its ``flows``.

        ``flow_gbps`` is the least rate of a flow while nothing collides.
        """
        round_bit = 1 << (len(self.rounds) - 1)
        self.coverage.add(flows, flow_gbps, round_bit)
        for sender, receiver in pairs:
            self._senders.add(sender.nic_port)
            self._receivers.add(receiver.nic_port)
            for nic_port in (sender.nic_port, receiver.nic_port):
                self._rounds_of_port[nic_port] = self._rounds_of_port.get(nic_port, 0) | round_bit

    def links(self, catalog: Catalog) -> tuple[CoveredLink, ...]:
        """Return every link of the fabric with the rounds that may load it."""
        fabric = self._fabric
        ports_of = fabric.ports_of
        # Both iterators are in the order of the links.
        nic_ports = iter(self.coverage.paths.nics)
        loads = self.coverage.loads()
        # Most links share their rounds with others, and their ids are looked up once.
        round_ids_of: dict[int, tuple[str, ...]] = {}
        links = []
        for link, name in zip(fabric.links, cable_names(fabric, catalog), strict=True):
            nic_port = None
            if link.is_access:
                nic_port = next(nic_ports)
                load = self._access_load(nic_port)
            else:
                load = next(loads)
            if load.rounds not in round_ids_of:
                round_ids_of[load.rounds] = self._round_ids(load.rounds)
            covered = CoveredLink(
                cable=name,
                lower=PortEnd(link.lower, ports_of[link.lower][link.lower_port].name),
                upper=PortEnd(link.upper, ports_of[link.upper][link.upper_port].name),
                probability=floor(load.probability * _MILLION) / _MILLION,
                rounds=round_ids_of[load.rounds],
                kind=link.kind,
                speed_gbps=link.speed_gbps,
                plane=link.plane,
                rail=link.rail,
                nic_port=nic_port,
            )
            links.append(covered)
        return tuple(links)

    def _access_load(self, nic_port: NicPort) -> LinkLoad:
        """Return the load of the link of a NIC port, which flows cannot avoid: its probability is 0 or 1."""
        is_loaded = nic_port in self._senders and nic_port in self._receivers
        return LinkLoad(float(is_loaded), self._rounds_of_port.get(nic_port, 0))

    def _round_ids(self, bits: int) -> tuple[str, ...]:
        return tuple(planned.id for number, planned in enumerate(self.rounds) if bits >> number & 1)

    def _next_id(self) -> str:
        return f"r{len(self.rounds):03}"
