"""Plans of small fabrics by hand: rounds of shifts, an incast for each leaf and a few latencies, with real limits."""

from collections.abc import Iterator
from itertools import islice

from railweave.acceptance.limits.basis import LimitShares, NicPair
from railweave.acceptance.limits.incast import incast_limits, incast_senders
from railweave.acceptance.limits.isolated import isolated_limits
from railweave.acceptance.limits.latency import latency_limits
from railweave.acceptance.limits.loaded import loaded_limits
from railweave.acceptance.limits.paths import FabricPaths, fabric_paths
from railweave.acceptance.model import (
    AcceptancePlan,
    AcceptanceRound,
    CoveredLink,
    JudgeSettings,
    Level,
    MetricLimit,
    NicPort,
    PlannedClass,
    PlannedDevice,
    PlannedNode,
    PlannedTest,
    PortEnd,
    RoundKind,
    Tool,
)
from railweave.fabric.devices import HostPort
from railweave.fabric.model import Fabric

SHARES = LimitShares()
SECONDS = 10
QUEUE_PAIRS = 4
SETTINGS = JudgeSettings(covered_share=0.05, disturbed_share=0.02, peer_share=0.95, variation=0.05)
CLASSES = (
    PlannedClass("roce", "rdma", 3, 3, lossless=True, ecn=True, dscp=(26,)),
    PlannedClass("cnp", "cnp", 6, 6, lossless=False, ecn=False, dscp=(48,)),
    PlannedClass("best-effort", "bulk", 0, 0, lossless=False, ecn=False, dscp=()),
)


def hand_plan(fabric: Fabric, loaded: int = 4) -> AcceptancePlan:
    """Return a plan with ``loaded`` rounds in which all NIC ports send at once."""
    builder = _Builder(fabric)
    builder.isolated()
    for shift in range(1, loaded + 1):
        builder.loaded(shift)
    builder.incasts()
    builder.latency()
    return AcceptancePlan(
        fabric.name,
        "0" * 64,
        Level.SMOKE,
        1,
        len(builder.rounds) * (SECONDS + 20),
        tuple(builder.rounds),
        tuple(builder.tests),
        tuple(builder.links()),
        tuple(
            PlannedDevice(switch.name, switch.tier.name, switch.plane, switch.stripe, switch.rail, switch.pod)
            for switch in fabric.switches
        ),
        tuple(PlannedNode(host.name, host.kind, host.stripe) for host in fabric.hosts),
        CLASSES,
        SETTINGS,
    )


class _Builder:
    def __init__(self, fabric: Fabric) -> None:
        self.fabric = fabric
        self.paths: FabricPaths = fabric_paths(fabric)
        self.rounds: list[AcceptanceRound] = []
        self.tests: list[PlannedTest] = []
        self.nodes = {host.name for host in fabric.hosts}
        # By plane and rail, in the order of nodes.
        self.groups: dict[tuple[int, int], list[NicPort]] = {}
        self.speed: dict[NicPort, int] = {}
        self.leaf: dict[NicPort, str] = {}
        for link in fabric.links:
            if link.lower in self.nodes:
                port = self._nic_port(link.lower, link.lower_port)
                self.groups.setdefault((link.plane, link.rail or 0), []).append(port)
                self.speed[port] = link.speed_gbps
                self.leaf[port] = link.upper

    def _nic_port(self, node: str, number: int) -> NicPort:
        port = self.fabric.ports_of[node][number]
        assert isinstance(port, HostPort)
        return NicPort(node, port.nic, port.port)

    def isolated(self) -> None:
        """Add a round with one sender and one receiver a leaf."""
        used: set[str] = set()
        pairs = []
        for group in self.groups.values():
            for sender, receiver in zip(group, reversed(group), strict=True):
                leaves = {self.leaf[sender], self.leaf[receiver]}
                if sender.node != receiver.node and not leaves & used and self._alike(sender, receiver):
                    pairs.append(NicPair(sender, receiver, QUEUE_PAIRS))
                    used |= leaves
                    break
        limits = isolated_limits(self.paths, pairs, SHARES)
        self._round(RoundKind.ISOLATED, pairs, [*limits])

    def _alike(self, sender: NicPort, receiver: NicPort) -> bool:
        return self.speed[sender] == self.speed[receiver]

    def loaded(self, shift: int) -> None:
        """Add a round in which every NIC port sends to the one ``shift`` nodes further; even ones cross rails."""
        pairs = []
        for (plane, rail), group in self.groups.items():
            target = group
            if shift % 2 == 0 and self._crosses():
                rails = sorted(other for own, other in self.groups if own == plane)
                target = self.groups[plane, rails[(rails.index(rail) + 1) % len(rails)]]
            for number, sender in enumerate(group):
                receiver = target[(number + shift) % len(target)]
                if receiver.node != sender.node:
                    pairs.append(NicPair(sender, receiver, QUEUE_PAIRS))
        judged = loaded_limits(self.paths, pairs, SHARES, 1)
        self._round(RoundKind.LOADED, pairs, [*judged.tests], judged.round)

    def _crosses(self) -> bool:
        return any(link.lower not in self.nodes for link in self.fabric.links) and len(self.groups) > 1

    def incasts(self) -> None:
        """Add a round with an incast to a port of each leaf."""
        pairs = []
        limits: list[tuple[MetricLimit, ...]] = []
        seen = set()
        for group in self.groups.values():
            for receiver in group:
                leaf = self.leaf[receiver]
                if leaf in seen:
                    continue
                seen.add(leaf)
                count = incast_senders(self.paths, leaf, self.speed[receiver]).senders
                senders = [port for port in group if port.node != receiver.node and self.leaf[port] == leaf]
                one = [NicPair(sender, receiver, QUEUE_PAIRS) for sender in islice(senders, count)]
                if len(one) > 1:
                    pairs += one
                    limits += incast_limits(self.paths, one, SHARES)
        self._round(RoundKind.INCAST, pairs, limits)

    def latency(self) -> None:
        """Add a round of latencies between the first and other nodes of each group."""
        pairs = []
        for group in self.groups.values():
            for sender, receiver in zip(group[::2], group[1::2], strict=False):
                pairs.append(NicPair(sender, receiver, 1))
        self._round(RoundKind.LATENCY, pairs, [latency_limits(self.paths, pair, 64) for pair in pairs])

    def _round(
        self,
        kind: RoundKind,
        pairs: list[NicPair],
        limits: list[tuple[MetricLimit, ...]],
        of_round: tuple[MetricLimit, ...] = (),
    ) -> None:
        name = f"r{len(self.rounds) + 1:03}"
        tests = []
        is_latency = kind is RoundKind.LATENCY
        for number, (pair, pair_limits) in enumerate(zip(pairs, limits, strict=True)):
            words = ("ib_write_bw", "-q", str(pair.queue_pairs), "-s", "65536", "-D", str(SECONDS), "--report_gbits")
            if is_latency:
                words = ("ib_write_lat", "-s", "64", "-n", "10000")
            test = PlannedTest(
                f"{name}-{number:04}",
                name,
                kind,
                Tool.PERFTEST,
                pair.sender,
                pair.receiver,
                (),
                pair.queue_pairs,
                64 if is_latency else 65536,
                {pair.receiver.node: words, pair.sender.node: (*words, pair.receiver.node)},
                pair_limits,
            )
            self.tests.append(test)
            tests.append(test.id)
        self.rounds.append(AcceptanceRound(name, kind, SECONDS, tuple(tests), of_round))

    def links(self) -> Iterator[CoveredLink]:
        names = tuple(planned.id for planned in self.rounds)
        for link in self.fabric.links:
            lower = self.fabric.ports_of[link.lower][link.lower_port]
            upper = self.fabric.ports_of[link.upper][link.upper_port]
            of_node = link.lower in self.nodes
            yield CoveredLink(
                f"{link.lower} {lower.name}",
                PortEnd(link.lower, lower.name),
                PortEnd(link.upper, upper.name),
                1.0,
                names,
                link.kind,
                link.speed_gbps,
                link.plane,
                link.rail if of_node else None,
                self._nic_port(link.lower, link.lower_port) if of_node else None,
            )
