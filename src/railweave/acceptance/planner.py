"""The acceptance plan of a fabric: rounds of tests with their limits, until every link is loaded."""

from collections.abc import Iterable, Mapping, Sequence
from functools import cached_property
from itertools import cycle, islice
from typing import NamedTuple

from railweave.acceptance.commands import PairCommands, collective_command
from railweave.acceptance.coverage import Coverage, FlowCounts
from railweave.acceptance.draft import PlanDraft
from railweave.acceptance.endpoints import Endpoint, Lane, Pair, lanes_of
from railweave.acceptance.levels import (
    collective_seconds,
    planned_poll_s,
    rotation_counts,
    rotations,
    round_overhead_s,
    sizes_of,
    soak_seconds,
)
from railweave.acceptance.limits.basis import LimitShares, NicPair, PairLimits
from railweave.acceptance.limits.collectives import Algorithm, collective_limit
from railweave.acceptance.limits.incast import incast_limits, incast_senders
from railweave.acceptance.limits.isolated import isolated_limits
from railweave.acceptance.limits.latency import latency_limits
from railweave.acceptance.limits.loaded import loaded_limits
from railweave.acceptance.limits.paths import FabricPaths, fabric_paths
from railweave.acceptance.model import (
    AcceptancePlan,
    JudgeSettings,
    Level,
    MetricLimit,
    NicPort,
    PlannedClass,
    PlannedDevice,
    PlannedNode,
    RoundKind,
    Tool,
)
from railweave.acceptance.narrowing import TestScope
from railweave.acceptance.rounds.collectives import collective_groups, operations
from railweave.acceptance.rounds.incasts import incasts
from railweave.acceptance.rounds.rotations import (
    Rotation,
    RotationKind,
    isolated,
    pairs_of,
    spread,
    steps,
)
from railweave.catalog.load import Catalog
from railweave.diagnostics import error
from railweave.errors import RefusedError
from railweave.fabric.acceptance import AcceptancePolicy, CollectiveTool
from railweave.fabric.devices import Switch
from railweave.fabric.model import Fabric
from railweave.fabric.policy import TrafficClass
from railweave.fabric.releases import nearest
from railweave.wording import command_line

# Rounds that are added at most, so that a link which hardly any flow reaches does not keep the plan growing.
_MOST_ADDED = 64

# How many times as many queue pairs as other tests those of loaded rounds may have.
_MORE_QUEUE_PAIRS = (2, 4)


class PlanInput(NamedTuple):
    """What a plan follows from: equal inputs give equal bytes."""

    fabric: Fabric
    catalog: Catalog
    policy: AcceptancePolicy
    intent_sha256: str
    # GPUs of a node by the name of its entry.
    gpus_of: Mapping[str, int]
    level: Level = Level.QUICK
    seed: int = 0
    # None for the whole fabric.
    scope: TestScope | None = None


def plan_acceptance(given: PlanInput) -> AcceptancePlan:
    """Return the plan of a fabric: its rounds and tests with their limits, and the links that they load.

    Raises RefusedError if no two NIC ports can be tested against each other.
    """
    fabric = given.fabric
    lanes = lanes_of(fabric)
    if not lanes:
        raise _nothing_to_test(given)
    tools = sorted({lane.key.tool for lane in lanes}, key=list(Tool).index)
    paths_of = {tool: fabric_paths(fabric, tool) for tool in tools}
    # The paths of tools differ only in their packets, which do not matter for coverage.
    coverage = Coverage(paths_of[tools[0]], given.policy.covered_share)
    policies = fabric.policies
    poll_s = planned_poll_s(policies.telemetry.counters, nearest(policies.sonic.release))
    overhead_s = round_overhead_s(len(fabric.hosts), len(fabric.switches), poll_s)
    draft = PlanDraft(fabric, coverage, overhead_s)
    for tool in tools:
        tool_lanes = [lane for lane in lanes if lane.key.tool is tool]
        ToolRounds(given, draft, paths_of[tool], tool_lanes).plan()
    if not draft.tests:
        raise _nothing_to_test(given)
    return _finished(given, draft)


def _nothing_to_test(given: PlanInput) -> RefusedError:
    """Return the error of a plan without tests; its message is about the scope if there is one."""
    message = f"{given.fabric.name} has no two NIC ports that could be tested against each other"
    fix = f"an acceptance needs two nodes in one network: `{command_line('size')}` shows what the fabric has"
    if given.scope is not None:
        message = "nothing to test: no NIC port of what was named or changed has a peer"
        fix = "name other nodes or switches, or plan the whole fabric"
    return RefusedError([error("RW902", message, fix=fix)])


def _finished(given: PlanInput, draft: PlanDraft) -> AcceptancePlan:
    """Return the plan with all rounds of ``draft``, and with the switches, nodes and traffic classes of the fabric."""
    fabric = given.fabric
    policy = given.policy
    settings = JudgeSettings(policy.covered_share, policy.disturbed_share, policy.peer_share, policy.variation)
    return AcceptancePlan(
        fabric=fabric.name,
        intent_sha256=given.intent_sha256,
        level=given.level,
        seed=given.seed,
        duration_s=draft.duration_s,
        rounds=tuple(draft.rounds),
        tests=tuple(draft.tests),
        links=draft.links(given.catalog),
        devices=tuple(map(_planned_device, fabric.switches)),
        nodes=tuple(PlannedNode(host.name, host.kind, host.stripe) for host in fabric.hosts),
        classes=tuple(map(_planned_class, fabric.policies.classes)),
        settings=settings,
    )


def _planned_device(switch: Switch) -> PlannedDevice:
    return PlannedDevice(
        name=switch.name,
        tier=switch.tier.name,
        plane=switch.plane,
        stripe=switch.stripe,
        rail=switch.rail,
        pod=switch.pod,
    )


def _planned_class(traffic: TrafficClass) -> PlannedClass:
    return PlannedClass(
        name=traffic.name,
        role=traffic.role.value,
        priority=traffic.priority,
        # Each priority has the queue of its number.
        queue=traffic.priority,
        lossless=traffic.lossless,
        ecn=traffic.marks,
        dscp=traffic.dscp,
    )


class ToolRounds:
    """The rounds of the NIC ports that one tool tests."""

    def __init__(self, given: PlanInput, draft: PlanDraft, paths: FabricPaths, lanes: Sequence[Lane]) -> None:
        """Prepare the rounds of ``lanes``, all of one tool."""
        self._given = given
        self._draft = draft
        self._paths = paths
        self._lanes = lanes
        self._tool = lanes[0].key.tool
        self._policy = given.policy
        self._shares = LimitShares(given.policy.fail, given.policy.warn)
        self._sizes = sizes_of(given.level, given.policy)
        self._rotations = rotations(lanes, given.level, given.seed)
        # Of loaded and soak rounds.
        self._loaded_queue_pairs = self._policy.queue_pairs
        # The senders of an incast by front panel and speed, on which they depend.
        self._incast_senders: dict[tuple[int, int], int] = {}

    def plan(self) -> None:
        """Add all rounds of the level, and more until every link is loaded."""
        sources = self._sources()
        self._add_isolated(len(sources))
        self._add_loaded()
        if self._tool is Tool.PERFTEST:
            self._add_incasts()
        self._cover()
        if self._tool is Tool.PERFTEST:
            self._add_latency(sources)
            self._add_collectives()
        self._add_soak()

    def _pairs(self, rotation: Rotation) -> list[Pair]:
        pairs = pairs_of(self._lanes, rotation)
        if self._given.scope is None:
            return pairs
        return [pair for pair in pairs if self._given.scope.holds(pair)]

    def _nic_pairs(self, pairs: Iterable[Pair], queue_pairs: int) -> list[NicPair]:
        return [NicPair(sender.nic_port, receiver.nic_port, queue_pairs) for sender, receiver in pairs]

    def _commands(self, seconds: int, queue_pairs: int, *, latency: bool = False) -> PairCommands:
        return PairCommands(self._given.fabric, self._policy, seconds, queue_pairs, latency=latency)

    def _sources(self, most_inside: int = 1) -> list[list[list[Pair]]]:
        """Return groups of pairs that do not share a path: one list of groups for each kind of rotation with pairs.

        They are the pairs of the first rotation of the kind. A group has up to ``most_inside`` pairs within one switch.
        """
        sources = []
        for kind, count in rotation_counts(self._lanes).items():
            rotation_steps = steps(kind, count, self._given.seed)
            if not rotation_steps:
                continue
            groups = isolated(self._pairs(Rotation(kind, rotation_steps[0])), most_inside)
            if groups:
                sources.append(groups)
        return sources

    def _add_isolated(self, sources: int) -> None:
        """Add the isolated rounds of the level.

        ``sources`` is the number of lists that `_sources` returns. Each of them gets as many rounds.
        """
        queue_pairs = self._policy.queue_pairs
        rounds_of_source = self._sizes.isolated // max(1, sources)
        # At most an eighth of the tests of a plan are isolated (`LevelSizes`).
        tests_of_source = self._sizes.tests // 8 // max(1, sources)
        most_inside = 1
        if rounds_of_source > 1:
            # Pairs within a switch share no link, so many of them in one round save time.
            switches = {port.switch for lane in self._lanes for port in lane.ports}
            most_inside = max(1, tests_of_source // len(switches))
        for groups in self._sources(most_inside):
            largest = max(map(len, groups))
            rounds = max(1, min(rounds_of_source, tests_of_source // largest))
            for number in spread(len(groups), rounds):
                pairs = groups[number]
                limits = isolated_limits(self._paths, self._nic_pairs(pairs, queue_pairs), self._shares)
                self._add(RoundKind.ISOLATED, self._policy.seconds, pairs, queue_pairs, limits)

    def _count_loaded_rounds(self) -> int:
        """Return the number of loaded rounds of the level."""
        ports = sum(len(lane.ports) for lane in self._lanes)
        # Each port is the sender of a test. At most three quarters of all tests are of loaded rounds (`LevelSizes`).
        most_rounds = max(1, self._sizes.tests * 3 // 4 // ports)
        return min(self._sizes.loaded, most_rounds, len(self._rotations))

    def _add_loaded(self) -> None:
        """Add the loaded rounds of the level, with the number of queue pairs that suits them."""
        pairs_of_rounds = [self._pairs(rotation) for rotation in self._rotations[: self._count_loaded_rounds()]]
        pairs_of_rounds = [pairs for pairs in pairs_of_rounds if pairs]
        flows_of_rounds = self._draft.coverage.flows_of_rounds(pairs_of_rounds, self._policy.queue_pairs)
        factor = self._queue_pair_factor(pairs_of_rounds, flows_of_rounds)
        self._loaded_queue_pairs *= factor
        for pairs, flows in zip(pairs_of_rounds, flows_of_rounds, strict=True):
            self._add_rotation(RoundKind.LOADED, self._policy.seconds, pairs, flows.times(factor))

    def _queue_pair_factor(self, rounds: Sequence[Sequence[Pair]], flows: Sequence[FlowCounts]) -> int:
        """Return the smallest multiple of the intent's queue pairs with which the rounds load every link.

        More queue pairs cost nothing, but a further round of a large fabric has a hundred thousand results. The result
        is 1 if the rounds load every link anyway, or if even the most queue pairs need a further round. ``flows`` are
        those of the rounds with the intent's queue pairs.
        """
        slowest_gbps = min(map(_slowest_gbps, rounds), default=0)
        for factor in (1, *_MORE_QUEUE_PAIRS):
            more_flows = [round_flows.times(factor) for round_flows in flows]
            flow_gbps = slowest_gbps / (factor * self._policy.queue_pairs)
            if not self._draft.coverage.below_after(more_flows, flow_gbps, self._policy.confidence, self._demanded):
                return factor
        return 1

    def _add_rotation(
        self, kind: RoundKind, seconds: int, pairs: Sequence[Pair], flows: FlowCounts | None = None
    ) -> None:
        """Add a loaded or soak round, unless the scope has left it without pairs.

        ``flows`` are those of the pairs, if they have been counted already.
        """
        if not pairs:
            return
        queue_pairs = self._loaded_queue_pairs
        limits = loaded_limits(self._paths, self._nic_pairs(pairs, queue_pairs), self._shares, self._given.seed)
        self._add(kind, seconds, pairs, queue_pairs, limits.tests, limits.round, flows)

    def _add(
        self,
        kind: RoundKind,
        seconds: int,
        pairs: Sequence[Pair],
        queue_pairs: int,
        limits: Sequence[PairLimits],
        round_limits: tuple[MetricLimit, ...] = (),
        flows: FlowCounts | None = None,
    ) -> None:
        """Add a round that loads links; ``flows`` are those of the pairs, if they have been counted already."""
        commands = self._commands(seconds, queue_pairs)
        self._draft.add_pairs(kind, self._tool, seconds, pairs, commands, limits, round_limits)
        if flows is None:
            flows = self._draft.coverage.flow_counts(pairs, queue_pairs)
        self._draft.count_load(pairs, flows, _slowest_gbps(pairs) / queue_pairs)

    def _add_incasts(self) -> None:
        """Add the incast rounds of the level; a scope leaves out incasts without a pair in it."""
        scope = self._given.scope
        queue_pairs = self._policy.queue_pairs
        for number in range(self._sizes.incast):
            pairs: list[Pair] = []
            limits: list[PairLimits] = []
            for _, incast in incasts(self._lanes, number, self._senders_of_incast):
                if scope is None or any(map(scope.holds, incast)):
                    pairs += incast
                    limits += incast_limits(self._paths, self._nic_pairs(incast, queue_pairs), self._shares)
            if pairs:
                self._add(RoundKind.INCAST, self._policy.seconds, pairs, queue_pairs, limits)

    def _senders_of_incast(self, receiver: Endpoint) -> int:
        """Return how many senders an incast to a port takes."""
        panel = id(self._given.fabric.switch_of[receiver.switch].panel)
        key = panel, receiver.speed_gbps
        if key not in self._incast_senders:
            self._incast_senders[key] = incast_senders(self._paths, receiver.switch, receiver.speed_gbps).senders
        return self._incast_senders[key]

    def _cover(self) -> None:
        """Add loaded rounds until each link is loaded with the confidence of the intent, or no rotation reaches it."""
        coverage = self._draft.coverage
        missing = coverage.below(self._policy.confidence, self._demanded)
        crossing = [rotation for rotation in self._rotations if rotation.kind is not RotationKind.WITHIN]
        # Begin with the first rotation that the loaded rounds of the level have not used.
        unused = self._count_loaded_rounds() % max(1, len(crossing))
        # Pairs of different speeds come last: they are only for links that nothing else reaches.
        candidates = [*crossing[unused:], *crossing[:unused], Rotation(RotationKind.MIXED, 0)]
        useless_in_a_row = 0
        for rotation in islice(cycle(candidates), _MOST_ADDED):
            if not missing or useless_in_a_row == len(candidates):
                return
            pairs = self._pairs(rotation)
            flows = coverage.flow_counts(pairs, self._loaded_queue_pairs)
            if not coverage.reached(flows, missing):
                useless_in_a_row += 1
                continue
            useless_in_a_row = 0
            self._add_rotation(RoundKind.LOADED, self._policy.seconds, pairs, flows)
            missing = coverage.below(self._policy.confidence, missing)

    @cached_property
    def _demanded(self) -> list[int]:
        """Return the numbers of the links between switches that the plan has to load."""
        links = [link for link in self._given.fabric.links if not link.is_access]
        scope = self._given.scope
        return [number for number, link in enumerate(links) if scope is None or scope.demands(link)]

    def _add_latency(self, sources: Sequence[Sequence[Sequence[Pair]]]) -> None:
        """Add the latency rounds of the level: groups of pairs that do not share a path, the sources in turn."""
        if not sources:
            return
        policy = self._policy
        for number in range(self._sizes.latency):
            turn, source_index = divmod(number, len(sources))
            groups = sources[source_index]
            pairs = groups[turn % len(groups)]
            commands = self._commands(policy.seconds, 1, latency=True)
            limits = [latency_limits(self._paths, pair, policy.latency_bytes) for pair in self._nic_pairs(pairs, 1)]
            self._draft.add_pairs(RoundKind.LATENCY, self._tool, policy.seconds, pairs, commands, limits)

    def _add_collectives(self) -> None:
        """Add the collectives of the level for each group of GPU nodes, over all of its cabled NIC ports."""
        given = self._given
        if self._policy.collectives is CollectiveTool.NONE:
            return
        tool = Tool(self._policy.collectives.value)
        size = self._policy.collective_bytes
        for hosts in collective_groups(given.fabric, given.gpus_of, given.scope):
            gpus = given.gpus_of[hosts[0].kind]
            nic_ports = [NicPort(host.name, port.nic, port.port) for host in hosts for port in host.ports]
            group = tuple(nic_port for nic_port in nic_ports if nic_port in self._paths.nics)
            for operation in operations(given.fabric, self._sizes.collectives):
                limit = collective_limit(self._paths, operation, Algorithm.RING, group, gpus, self._shares)
                argv = collective_command(given.fabric, hosts, gpus, operation, Algorithm.RING, size)
                self._draft.add_group(tool, collective_seconds(len(hosts)), group, size, argv, (limit,))

    def _add_soak(self) -> None:
        """Add rounds that last as long as the soak together, each with another rotation."""
        if not self._sizes.soak:
            return
        ports = sum(len(lane.ports) for lane in self._lanes)
        rounds = max(1, min(self._sizes.soak, self._sizes.tests // max(1, ports), len(self._rotations)))
        seconds = soak_seconds(self._sizes.soak) // rounds
        for rotation in self._rotations[:rounds]:
            self._add_rotation(RoundKind.SOAK, seconds, self._pairs(rotation))


def _slowest_gbps(pairs: Iterable[Pair]) -> int:
    """Return the speed of the slowest NIC port of some pairs."""
    return min(min(sender.speed_gbps, receiver.speed_gbps) for sender, receiver in pairs)
