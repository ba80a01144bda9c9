"""Small acceptance plans made by hand, and what a fabric that is well would yield for them."""

import json
from collections import Counter, defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from random import Random
from typing import Any, NamedTuple

from railweave.acceptance.columns import read_table
from railweave.acceptance.document import plan_blocks
from railweave.acceptance.model import (
    AcceptancePlan,
    AcceptanceRound,
    CoveredLink,
    JudgeSettings,
    Level,
    Metric,
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
from railweave.acceptance.readings import Answer, DeviceCounters, NodeResult, TableGrowth, ToolReading

SETTINGS = JudgeSettings(covered_share=0.05, disturbed_share=0.02, peer_share=0.95, variation=0.05)
CLASSES = (
    PlannedClass("roce", "rdma", 3, 3, lossless=True, ecn=True, dscp=(26,)),
    PlannedClass("cnp", "cnp", 6, 6, lossless=False, ecn=False, dscp=(48,)),
    PlannedClass("best-effort", "bulk", 0, 0, lossless=False, ecn=False, dscp=()),
)
LOSSY_CLASSES = (CLASSES[0]._replace(lossless=False), *CLASSES[1:])
GBPS = 400
SECONDS = 15
QUEUE_PAIRS = 4
PAYLOAD = 0.98


@dataclass
class Shape:
    """How large the fabric is: leaves are one a stripe, rail and plane."""

    rails: int = 2
    stripes: int = 2
    nodes: int = 4
    spines: int = 2
    planes: int = 1


def bandwidth_limit(kind: RoundKind) -> MetricLimit:
    expect = GBPS * PAYLOAD
    shares = {RoundKind.ISOLATED: (0.9, 0.96), RoundKind.LOADED: (0.05, 0.2), RoundKind.INCAST: (0.1, 0.15)}
    fail, warn = shares[kind]
    return MetricLimit(Metric.BANDWIDTH, "Gb/s", expect, fail * expect, warn * expect, "line * share", {})


BUS_LIMIT = MetricLimit(Metric.BUS_BANDWIDTH, "GB/s", 96.0, 86.4, 92.0, "beta", {})
LATENCY_LIMIT = MetricLimit(Metric.LATENCY_P999, "us", 2.0, 1000.0, 900.0, "light", {})


class PlanBuilder:
    """Adds rounds to a plan."""

    def __init__(self, shape: Shape) -> None:
        self.shape = shape
        self.count = shape.stripes * shape.nodes
        self.nodes = tuple(PlannedNode(f"gpu{n + 1}", "gpu", n // shape.nodes) for n in range(self.count))
        self.ports = [(rail, plane) for rail in range(shape.rails) for plane in range(shape.planes)]
        self.rounds: list[AcceptanceRound] = []
        self.tests: list[PlannedTest] = []

    def add_pairs(self, kind: RoundKind, pairs: list[tuple[int, int]]) -> None:
        """Add a round in which nodes send to nodes, on all rails and planes."""
        name = f"r{len(self.rounds):03}"
        limit = LATENCY_LIMIT if kind is RoundKind.LATENCY else bandwidth_limit(kind)
        ids: list[str] = []
        for sender, receiver in pairs:
            for rail, plane in self.ports:
                ends = (nic(self.nodes, sender, rail, plane), nic(self.nodes, receiver, rail, plane))
                ids.append(f"{name}-{len(ids):04}")
                test = PlannedTest(ids[-1], name, kind, Tool.PERFTEST, *ends, (), QUEUE_PAIRS, 65536, {}, (limit,))
                self.tests.append(test)
        self.rounds.append(AcceptanceRound(name, kind, SECONDS, tuple(ids)))

    def add_collective(self, group: Sequence[int]) -> None:
        """Add a round with a collective among nodes."""
        name = f"r{len(self.rounds):03}"
        members = tuple(nic(self.nodes, n, rail, plane) for n in group for rail, plane in self.ports)
        test = PlannedTest(
            *(f"{name}-0000", name, RoundKind.COLLECTIVE, Tool.NCCL, members[0], None, members),
            *(0, 8589934592, {}, (BUS_LIMIT,)),
        )
        self.tests.append(test)
        self.rounds.append(AcceptanceRound(name, RoundKind.COLLECTIVE, SECONDS, (test.id,)))

    def isolated(self, turn: int, place: int) -> list[tuple[int, int]]:
        """Return one sender and one receiver a stripe."""
        pairs = []
        for stripe in range(self.shape.stripes):
            receiver = (stripe + 1) % self.shape.stripes * self.shape.nodes + (place + turn) % self.shape.nodes
            pairs.append((stripe * self.shape.nodes + place, receiver))
        return pairs

    def incast(self, target: int) -> list[tuple[int, int]]:
        """Return the nodes of each stripe as senders to one of them."""
        pairs = []
        for sender in range(self.count):
            stripe, place = divmod(sender, self.shape.nodes)
            if place != target:
                pairs.append((sender, stripe * self.shape.nodes + target))
        return pairs


class CounterRow(NamedTuple):
    """A port, queue, priority group or NIC of a device."""

    device: str
    table: str
    name: str


def growth_of(rows: Mapping[CounterRow, Mapping[str, int]]) -> dict[str, dict[str, TableGrowth]]:
    """Return what counters grew, by device and table, from what they grew in each row."""
    tables: dict[str, dict[str, dict[str, Any]]] = {}
    for row, values in rows.items():
        tables.setdefault(row.device, {}).setdefault(row.table, {})[row.name] = dict(values)
    growth: dict[str, dict[str, TableGrowth]] = {}
    for device, by_table in tables.items():
        readings = {table: read_table(named) for table, named in by_table.items()}
        growth[device] = {table: TableGrowth(read.rows, read.columns) for table, read in readings.items()}
    return growth


def small_plan(shape: Shape | None = None) -> AcceptancePlan:
    """Return a plan with isolated, loaded, incast, latency and collective rounds."""
    shape = shape or Shape()
    builder = PlanBuilder(shape)
    for kind, turns in ((RoundKind.ISOLATED, (1, 2)), (RoundKind.LATENCY, (1,))):
        for turn in turns:
            for place in range(shape.nodes):
                builder.add_pairs(kind, builder.isolated(turn, place))
    count = builder.count
    for turn in range(shape.nodes, shape.nodes + 6):
        pairs = [(sender, (sender + turn) % count) for sender in range(count) if turn % count]
        builder.add_pairs(RoundKind.LOADED, pairs)
    for target in (0, 1):
        builder.add_pairs(RoundKind.INCAST, builder.incast(target))
    builder.add_collective(range(count))
    for first in range(count):
        builder.add_collective((first, (first + 1) % count))
    devices, links = _fabric(shape)
    names = tuple(planned.id for planned in builder.rounds)
    return AcceptancePlan(
        *("pod", "0" * 64, Level.QUICK, 1, 600, tuple(builder.rounds), tuple(builder.tests)),
        tuple(link._replace(rounds=names) for link in links),
        *(devices, builder.nodes, CLASSES, SETTINGS),
    )


def nic(nodes: tuple[PlannedNode, ...], number: int, rail: int, plane: int) -> NicPort:
    return NicPort(nodes[number].name, rail, plane)


def host_port(port: NicPort) -> str:
    return f"rail{port.nic}" if not port.port else f"rail{port.nic}p{port.port}"


def _fabric(shape: Shape) -> tuple[tuple[PlannedDevice, ...], tuple[CoveredLink, ...]]:
    devices: list[PlannedDevice] = []
    links: list[CoveredLink] = []
    for plane in range(shape.planes):
        spines = (f"p{plane}-spine{spine + 1}" for spine in range(shape.spines))
        devices += [PlannedDevice(spine, "spine", plane, None, None, None) for spine in spines]
        for stripe in range(shape.stripes):
            for rail in range(shape.rails):
                leaf = f"p{plane}-leaf{stripe * shape.rails + rail + 1}"
                devices.append(PlannedDevice(leaf, "leaf", plane, stripe, rail, None))
                for place in range(shape.nodes):
                    node = f"gpu{stripe * shape.nodes + place + 1}"
                    port = NicPort(node, rail, plane)
                    cable = f"{node} {host_port(port)}"
                    ends = (PortEnd(node, host_port(port)), PortEnd(leaf, f"Ethernet{place}"))
                    links.append(CoveredLink(cable, *ends, 1.0, (), "host_leaf", GBPS, plane, rail, port))
                for uplink in range(shape.nodes):
                    spine = f"p{plane}-spine{uplink % shape.spines + 1}"
                    far = f"Ethernet{(stripe * shape.rails + rail) * shape.nodes + uplink}"
                    near = PortEnd(leaf, f"Ethernet{shape.nodes + uplink}")
                    cable = f"{leaf} {near.port}"
                    ends = (near, PortEnd(spine, far))
                    links.append(CoveredLink(cable, *ends, 0.999, (), "leaf_spine", GBPS, plane, None, None))
    return tuple(devices), tuple(links)


@dataclass
class Yield:
    """What a fabric yields for a plan; faults are put in by changing it."""

    plan: AcceptancePlan
    # Values by test.
    values: dict[str, float] = field(default_factory=dict)
    # Tests whose sender reaches nobody.
    refused: set[str] = field(default_factory=set)
    # Counters by round and row.
    counts: dict[str, dict[CounterRow, dict[str, int]]] = field(default_factory=dict)
    # The links that each test used, each with whether it was away from the nodes, and the bytes.
    hops: dict[str, list[tuple[CoveredLink, bool, int]]] = field(default_factory=dict)

    def results(self) -> tuple[NodeResult, ...]:
        results = []
        for test in self.plan.tests:
            if test.id in self.values:
                values = {self._name(test): self.values[test.id], "size": test.message_bytes}
                reading = ToolReading("perftest-text", Answer.OK, values)
                results.append(NodeResult(test.id, test.sender.node, reading, None))
            elif test.id in self.refused:
                reading = ToolReading("perftest-text", Answer.NOT_MEASURED, {}, ("Couldn't connect",))
                results.append(NodeResult(test.id, test.sender.node, reading, None))
        return tuple(results)

    def refuse(self, test: PlannedTest) -> None:
        """Let the tool of a test start and reach nobody."""
        del self.values[test.id]
        self.refused.add(test.id)

    @staticmethod
    def _name(test: PlannedTest) -> str:
        if test.kind is RoundKind.COLLECTIVE:
            return "busbw_GBps_at_8589934592_oop"
        return "p999_us" if test.kind is RoundKind.LATENCY else "avg_Gbps"

    def counters(self) -> tuple[DeviceCounters, ...]:
        readings = []
        for name, rows in self.counts.items():
            for device, growth in growth_of(rows).items():
                readings.append(DeviceCounters(name, device, growth, ended=SECONDS + 5.0))
        return tuple(readings)

    def row(self, name: str, end: PortEnd, queue: int | None = None, table: str = "") -> dict[str, int]:
        nodes = {node.name for node in self.plan.nodes}
        table = table or ("nics" if end.device in nodes else "ports")
        key = end.port if queue is None else f"{end.port}|{queue}"
        return self.counts[name].setdefault(CounterRow(end.device, table, key), {})

    def add(self, name: str, end: PortEnd, counter: str, amount: int) -> None:
        row = self.row(name, end)
        row[counter] = row.get(counter, 0) + amount

    def move(self, test: PlannedTest, link: CoveredLink, up: bool, size: int, lost: int = 0) -> None:
        """Let bytes cross a link; ``lost`` of them do not arrive."""
        sender, receiver = (link.lower, link.upper) if up else (link.upper, link.lower)
        self.add(test.round, sender, sent_name(self.plan, sender), size)
        self.add(test.round, receiver, received_name(self.plan, receiver), size - lost)
        if not up:
            queue = self.row(test.round, sender, 3, "queues")
            queue["SAI_QUEUE_STAT_BYTES"] = queue.get("SAI_QUEUE_STAT_BYTES", 0) + size
        self.hops.setdefault(test.id, []).append((link, up, size))


def sent_name(plan: AcceptancePlan, end: PortEnd) -> str:
    return "tx_bytes_phy" if end.device.startswith("gpu") else "SAI_PORT_STAT_IF_OUT_OCTETS"


def received_name(plan: AcceptancePlan, end: PortEnd) -> str:
    return "rx_bytes_phy" if end.device.startswith("gpu") else "SAI_PORT_STAT_IF_IN_OCTETS"


def healthy(plan: AcceptancePlan, seed: int = 1, slow: Mapping[str, float] | None = None) -> Yield:
    """Return what a fabric without faults yields; ``slow`` has shares of the rate by test."""
    random = Random(seed)
    made = Yield(plan)
    runner = Runner(made, random, slow or {})
    for planned in plan.rounds:
        made.counts[planned.id] = {}
        for link in plan.links:
            for end in (link.lower, link.upper):
                _start_row(made, planned.id, end, random)
        runner.run([test for test in plan.tests if test.round == planned.id])
    return made


def _start_row(made: Yield, name: str, end: PortEnd, random: Random) -> None:
    names = [sent_name(made.plan, end), received_name(made.plan, end)]
    row = made.row(name, end)
    for counter in names:
        row[counter] = random.randrange(2000, 6000)
    if end.device.startswith("gpu"):
        row.update({"out_of_sequence": 0, "packet_seq_err": 0, "tx_prio3_pause": 0, "rx_prio3_pause": 0})
        row.update({"rx_discards_phy": 0, "rx_pcs_symbol_err_phy": 0, "rx_corrected_bits_phy": 400})
    else:
        row.update(
            {"SAI_PORT_STAT_PFC_3_TX_PKTS": 0, "SAI_PORT_STAT_PFC_3_RX_PKTS": 0, "SAI_PORT_STAT_IF_IN_ERRORS": 0}
        )
        row.update({"SAI_PORT_STAT_IF_IN_FEC_NOT_CORRECTABLE_FRAMES": 0})
        row["SAI_PORT_STAT_IF_IN_FEC_CORRECTABLE_FRAMES"] = random.randrange(200, 600)
        parts = ("BYTES", "WRED_ECN_MARKED_PACKETS", "DROPPED_PACKETS")
        made.row(name, end, 3, "queues").update({f"SAI_QUEUE_STAT_{part}": 0 for part in parts})
        made.row(name, end, 0, "queues")["SAI_QUEUE_STAT_BYTES"] = random.randrange(500, 5000)


class Runner:
    """Carries out one round: queue pairs hash to random links and share them equally."""

    def __init__(self, made: Yield, random: Random, slow: Mapping[str, float]) -> None:
        self.made = made
        self.random = random
        self.slow = slow
        self.hosts: dict[NicPort | None, CoveredLink] = {
            link.nic_port: link for link in made.plan.links if link.nic_port is not None
        }
        self.uplinks: dict[str, list[CoveredLink]] = defaultdict(list)
        for link in made.plan.links:
            if link.nic_port is None:
                self.uplinks[link.lower.device].append(link)

    def run(self, tests: list[PlannedTest]) -> None:
        """Add what the tests of a round measure and count."""
        users: Counter[tuple[PortEnd, bool]] = Counter()
        paths = {test.id: self._paths(test) for test in tests if test.receiver is not None}
        for test_paths in paths.values():
            for path in test_paths:
                users.update((link.lower, is_up) for link, is_up in path)
        for test in tests:
            factor = self.random.uniform(0.985, 1.0) * self.slow.get(test.id, 1.0)
            if test.receiver is None:
                self.made.values[test.id] = 96.0 * factor
            elif test.kind is RoundKind.LATENCY:
                self.made.values[test.id] = 5.0 * factor
                self._send(test, paths[test.id][0], 1e-4)
            else:
                self._measure(test, paths[test.id], users, factor)

    def _paths(self, test: PlannedTest) -> list[list[tuple[CoveredLink, bool]]]:
        return [self._path(test) for _ in range(test.queue_pairs)]

    def _path(self, test: PlannedTest) -> list[tuple[CoveredLink, bool]]:
        source, target = self.hosts[test.sender], self.hosts[test.receiver]
        path = [(source, True)]
        if source.upper.device != target.upper.device:
            up = self.random.choice(self.uplinks[source.upper.device])
            downs = [link for link in self.uplinks[target.upper.device] if link.upper.device == up.upper.device]
            path += [(up, True), (self.random.choice(downs), False)]
        return [*path, (target, False)]

    def _measure(
        self,
        test: PlannedTest,
        paths: list[list[tuple[CoveredLink, bool]]],
        users: Counter[tuple[PortEnd, bool]],
        factor: float,
    ) -> None:
        rate = 0.0
        for path in paths:
            share = GBPS / test.queue_pairs
            if test.kind is not RoundKind.ISOLATED:
                share = min(GBPS / max(test.queue_pairs, users[link.lower, is_up]) for link, is_up in path)
            rate += share * factor
            self._send(test, path, share * factor)
        self.made.values[test.id] = rate * PAYLOAD
        if test.kind is RoundKind.INCAST:
            queue = self.made.row(test.round, self.hosts[test.receiver].upper, 3, "queues")
            queue["SAI_QUEUE_STAT_WRED_ECN_MARKED_PACKETS"] += self.random.randrange(10_000, 40_000)

    def _send(self, test: PlannedTest, path: list[tuple[CoveredLink, bool]], gbps: float) -> None:
        for link, is_up in path:
            self.made.move(test, link, is_up, int(gbps * 1e9 / 8 * SECONDS))


def write_folder(made: Yield, folder: Path) -> None:
    """Write plan, results and counters as a runner would."""
    folder.mkdir(parents=True, exist_ok=True)
    (folder / "plan.json").write_bytes(b"".join(plan_blocks(made.plan)))
    for test in made.plan.tests:
        if test.id not in made.values:
            continue
        path = folder / "results" / test.id / f"{test.sender.node}.json"
        path.parent.mkdir(parents=True)
        path.write_text(_output(test, made.values[test.id]))
    for name, rows in made.counts.items():
        devices: dict[str, dict[str, dict[str, dict[str, int]]]] = {}
        for row, values in rows.items():
            devices.setdefault(row.device, {}).setdefault(row.table, {})[row.name] = values
        for device, tables in devices.items():
            zeros = {
                table: {key: dict.fromkeys(values, 0) for key, values in part.items()} for table, part in tables.items()
            }
            for when, at, part in (("before", 1000.0, zeros), ("after", 1000.0 + SECONDS + 5, tables)):
                path = folder / "counters" / name / when / f"{device}.json"
                path.parent.mkdir(parents=True, exist_ok=True)
                path.write_text(json.dumps({"version": 1, "device": device, "at": at, "boot": "1", **part}))


def _output(test: PlannedTest, value: float) -> str:
    """Return what perftest (24.01, ``--report_gbits --out_json``) and nccl-tests as CSV of RCCL's print."""
    if test.kind is RoundKind.COLLECTIVE:
        row = {"name": "AllReduce", "size": test.message_bytes, "type": "float", "redop": "sum", "inPlace": 0}
        return json.dumps(
            [row | {"time": 1000.0, "algBw": value / 2, "busBw": value, "wrong": "0", "ranks": 16, "nodes": 2}]
        )
    info = {"test": "RDMA_Write", "Number_of_qps": test.queue_pairs, "Mtu": 4096, "Link_type": "Ethernet"}
    if test.kind is RoundKind.LATENCY:
        results = {
            "MsgSize": test.message_bytes,
            "n_iterations": 1000,
            "t_min": value,
            "t_max": value,
            "t_typical": value,
        }
        results |= {"t_avg": value, "t_stdev": 0.1, "percentile_99": value, "percentile_99.9": value}
    else:
        rate = value * 1e9 / 8 / test.message_bytes / 1e6
        results = {
            "MsgSize": test.message_bytes,
            "n_iterations": 9999,
            "BW_peak": 0.0,
            "BW_average": value,
            "MsgRate": rate,
        }
    return json.dumps({"test_info": info, "results": results})
