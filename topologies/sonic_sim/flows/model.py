"""The flows of a fabric over time: which send, how fast, and what they have moved until now."""

import heapq
import itertools
import random
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from weakref import WeakKeyDictionary

from sonic_sim.clock import Clock
from sonic_sim.device import Fabric
from sonic_sim.faults import FaultKind
from sonic_sim.flows.charging import Charges
from sonic_sim.flows.congestion import Congestion, Plumbing, Way, Waypoint
from sonic_sim.flows.constants import Constants, constants_of, speedup_of
from sonic_sim.flows.flaps import Flaps
from sonic_sim.flows.flow import BYTES_PER_GBPS, Flow, FlowKind, Transport
from sonic_sim.flows.forwarding import Forwarding, Hop, Packet
from sonic_sim.flows.ledger import Ledger, RowKey
from sonic_sim.flows.link_faults import fault_at
from sonic_sim.flows.losses import tcp_limit_gbps
from sonic_sim.flows.nics import NicIndex, Place, addresses_of
from sonic_sim.flows.polls import Polls
from sonic_sim.flows.ports import PortMeter
from sonic_sim.flows.shares import Lane, scheduled_shares
from sonic_sim.flows.storms import Storms
from sonic_sim.network import End

ROCE_PORT = 4791
_UDP = 17
_TCP = 6
# UDP source ports of queue pairs (RoCEv2 annex: 0xC000 to 0xFFFF).
_FIRST_SOURCE_PORT = 0xC000
_SOURCE_PORTS = 0x4000
# perftest and NCCL set the timeout of acknowledgments to 14, of libibverbs: 4.096 us x 2^14.
_ACK_TIMEOUT_US = 4.096 * 2**14


@dataclass(slots=True)
class Transfer:
    """Flows that begin together and end together, after ``seconds`` of the test or when somebody stops them."""

    flows: list[Flow]
    seconds: float = float("inf")
    began_at: float = 0.0
    ended_at: float | None = None
    _order: int = field(default_factory=itertools.count().__next__)

    def __lt__(self, other: "Transfer") -> bool:
        return self._order < other._order


class FlowModel:
    """All flows of a fabric. Its own time passes ``speedup`` times as fast as that of this machine."""

    def __init__(
        self, net: Fabric, clock: Clock, constants: Constants | None = None, *, is_polled: bool = False
    ) -> None:
        """``is_polled``: switches show what queues and groups had counted at the last poll, not what they count now."""
        self.net = net
        self.clock = clock
        self.constants = constants or constants_of()
        self.speedup = speedup_of(self.constants, clock.scale)
        seed = int(self.constants.seed) or random.SystemRandom().randrange(1, 2**31)
        self.random = random.Random(seed)  # noqa: S311  no secret
        self.forwarding = Forwarding(net, seed)
        self.ledger = Ledger()
        self.polls: Polls | None = None
        if is_polled:
            self.polls = Polls(net, self.ledger)
        self.nics = NicIndex(dict)
        # Of its own, so that paths do not depend on how often counters are read.
        self.ports = PortMeter(net, self.constants, self.ledger, random.Random(seed + 1))  # noqa: S311  no secret
        self.storms = Storms(net, self.ledger)
        self.flaps = Flaps(net, random.Random(seed + 2))  # noqa: S311  no secret
        self._origin = clock.monotonic()
        self._time = 0.0
        self._running: list[Transfer] = []
        self._ends: list[tuple[float, Transfer]] = []
        self._began: list[Transfer] = []
        self._settled: object = None
        self._congestion: Congestion | None = None
        # Queues that flows go through.
        self._waiting: frozenset[tuple[End, int]] = frozenset()
        # How often flows have ended.
        self.ended = 0

    @property
    def time(self) -> float:
        """Seconds of tests until now."""
        return (self.clock.monotonic() - self._origin) * self.speedup

    @property
    def running(self) -> bool:
        """Whether any flow sends."""
        return bool(self._running)

    def real_s(self, seconds: float) -> float:
        """Return how long so many seconds of a test take on this machine."""
        return seconds / self.speedup

    def flows(self, sender: Place, receiver: Place, kind: FlowKind, count: int) -> list[Flow]:
        """Return flows between two NICs, each with its own source port."""
        return [self._flow(sender, receiver, kind) for _ in range(count)]

    def _flow(self, sender: Place, receiver: Place, kind: FlowKind) -> Flow:
        kind = replace(kind, tos=self._tos(sender, kind))
        flow = Flow(
            sender,
            receiver,
            kind,
            self._path(sender, receiver, kind.transport),
            self._path(receiver, sender, kind.transport),
            measured_share=1 - self.random.random() * self.constants.measurement_noise,
            fair_share=1 - self.random.random() * self.constants.unfairness,
        )
        flow.is_stuck = not flow.path or not flow.back or not self._fits(flow) or self._meets_storm(flow)
        return flow

    def _tos(self, sender: Place, kind: FlowKind) -> int:
        """Return the traffic class of packets: that of the node for all queue pairs, or that of the tool."""
        tos = kind.tos
        if kind.transport is Transport.RDMA and sender.nic.traffic_class is not None:
            tos = sender.nic.traffic_class
        fault = fault_at(self.net, FaultKind.WRONG_DSCP, sender.end, sender.nic.nic)
        if fault is not None and kind.transport is Transport.RDMA:
            tos = fault.dscp << 2 | tos & 3
        return tos

    def _path(self, sender: Place, receiver: Place, transport: Transport) -> tuple[Hop, ...]:
        if not (sender.nic.up and receiver.nic.up):
            return ()
        mine = addresses_of(sender.nic)
        for address in addresses_of(receiver.nic):
            sources = [own for own in mine if (":" in own) == (":" in address)]
            if not sources:
                continue
            source_port = _FIRST_SOURCE_PORT + self.random.randrange(_SOURCE_PORTS)
            packet = Packet(address, sources[0], _UDP, ROCE_PORT, source_port)
            if transport is Transport.TCP:
                packet = Packet(address, sources[0], _TCP, 5201, source_port)
            path = self.forwarding.path(sender.end, packet)
            if path and path[-1].receiver == receiver.end:
                return path
        return ()

    def _fits(self, flow: Flow) -> bool:
        """Tell whether full packets fit through all ports, and into the NIC that receives them."""
        # Without Ethernet header and checksum.
        size = flow.frame_bytes - 18
        for hop in flow.path:
            for end in hop:
                device = self.net.devices.get(end.node)
                if device is not None and self.net.ports(device)[end.port].mtu < size:
                    return False
        return flow.receiver.nic.mtu >= size

    def _meets_storm(self, flow: Flow) -> bool:
        """Tell whether a queue on the way of a flow sends nothing because of a PFC storm: its requests time out."""
        self.storms.look()
        points = Plumbing(self.net, self.constants, self.storms).waypoints(flow)
        return any(self._blocks(point) for point in points)

    def _blocks(self, point: Waypoint) -> bool:
        end = point.hop.sender
        return self.storms.holds(end, point.queue) or self.storms.drops(end, point.queue)

    def begin(self, transfers: Sequence[Transfer]) -> None:
        """Let flows send from now on."""
        self.advance()
        self._began += transfers
        self._running += transfers
        self._settle()
        # The computation took a while, in which nothing was sent.
        self._time = self.time
        for transfer in transfers:
            transfer.began_at = self._time
            if transfer.seconds != float("inf"):
                heapq.heappush(self._ends, (self._time + transfer.seconds, transfer))

    def set_seconds(self, transfer: Transfer, seconds: float) -> None:
        """Let a transfer end so many seconds after it began."""
        transfer.seconds = seconds
        heapq.heappush(self._ends, (transfer.began_at + seconds, transfer))

    def stop(self, transfer: Transfer) -> None:
        """End a transfer now."""
        self.advance()
        if transfer.ended_at is None:
            self._end([transfer], self._time)

    def advance(self) -> None:
        """Count what was sent until now."""
        now = self.time
        while self._ends and self._ends[0][0] <= now:
            at = self._ends[0][0]
            ended = []
            while self._ends and self._ends[0][0] <= at:
                transfer = heapq.heappop(self._ends)[1]
                if transfer.ended_at is None:
                    ended.append(transfer)
            self._pass_until(at)
            self._end(ended, at)
        self._pass_until(now)
        self.storms.look(self._waiting)
        if self._running and self._settled != self._state():
            self._settle()

    def _end(self, transfers: Sequence[Transfer], at: float) -> None:
        if not transfers:
            return
        self.ended += 1
        for transfer in transfers:
            transfer.ended_at = at
            self._running.remove(transfer)
        self._settle()

    def _pass_until(self, at: float) -> None:
        seconds = at - self._time
        if seconds <= 0:
            return
        if self.polls is not None:
            self.polls.follow(self._time, at)
        self._time = at
        if not self._running:
            # Between tests only what nobody sends passes: at the speed of this machine.
            self.storms.count(seconds / self.speedup, 1.0)
            return
        self.storms.count(seconds, self.speedup)
        self.ledger.pass_seconds(seconds)
        for transfer in self._running:
            for flow in transfer.flows:
                flow.arrived += flow.goodput * BYTES_PER_GBPS * seconds
                flow.lost += flow.lost_per_s * seconds

    def _state(self) -> object:
        """Return a value that changes with what rates depend on beside the flows."""
        switches = tuple((device.db.version, device.faults.version) for device in self.net.devices.values())
        nodes = tuple(faults.version for faults in self.net.host_faults.values())
        return switches, nodes, self.net.version, self.storms.version

    def _settle(self) -> None:
        """Find the rates of all flows, and what they count."""
        self._settled = self._state()
        starts = bool(self._began)
        self._began.clear()
        self.ledger.forget_rates()
        self._waiting = frozenset()
        flows = [flow for transfer in self._running for flow in transfer.flows if not flow.is_stuck]
        if not flows:
            return
        plumbing = Plumbing(self.net, self.constants, self.storms, flows)
        ways = _ways(plumbing, flows)
        self._waiting = frozenset((point.hop.sender, point.queue) for way in ways for point in way.points)
        self._share(plumbing, ways)
        congestion = Congestion(plumbing, ways, {flow: flow.rate for flow in flows})
        self._congestion = congestion if congestion.run() else None
        Charges(plumbing, self.ledger, self._congestion, starts=starts).charge(ways)

    def shown(self, key: RowKey) -> Mapping[str, float]:
        """Return the counters of a queue or group as its switch shows them."""
        if self.polls is None:
            return self.ledger.counts(key)
        return self.polls.shown(key)

    def queued_us(self, path: Sequence[Hop]) -> tuple[float, float]:
        """Return what packets of a path wait in queues now, on average and at most, in microseconds."""
        mean = 0.0
        most = 0.0
        if self._running and self._congestion is not None:
            for (hop, _, _), station in self._congestion.stations.items():
                if hop in path:
                    mean += station.waits / station.gbps / 125
                    most += station.peak / station.gbps / 125
        return mean, most

    def _share(self, plumbing: Plumbing, ways: Sequence[Way]) -> None:
        """Give each flow its max-min fair rate."""
        links: dict[tuple[object, bool], int] = {}
        capacity: list[float] = []
        weights: dict[Lane, float] = {}
        paths: list[list[Lane]] = []
        flows: list[Flow] = []
        for way in ways:
            lanes = []
            for point in way.points:
                key = (point.hop, point.is_bus)
                if key not in links:
                    links[key] = len(capacity)
                    capacity.append(plumbing.capacity(point, way.flows[0]))
                lane = Lane(links[key], point.queue)
                if lane not in weights:
                    weights[lane] = plumbing.weight(point)
                lanes.append(lane)
            for flow in way.flows:
                paths.append(lanes)
                flows.append(flow)
        limits = [min(flow.kind.limit_gbps, self._loss_limit(flow), self._storm_limit(plumbing, way))
                  for way in ways for flow in way.flows]  # fmt: skip
        for flow, rate in zip(flows, scheduled_shares(paths, capacity, limits, weights), strict=True):
            flow.rate = rate

    def _storm_limit(self, plumbing: Plumbing, way: Way) -> float:
        """Return the rate that PFC storms leave a flow in Gb/s: nothing, or a window for each timeout."""
        if any(self.storms.holds(point.hop.sender, point.queue) for point in way.points):
            return 0.0
        if plumbing.is_dropped(way):
            return plumbing.gbps(way.points[0].hop) * self.constants.round_trip_us / _ACK_TIMEOUT_US
        return 1e6

    def _loss_limit(self, flow: Flow) -> float:
        if flow.kind.transport is not Transport.TCP:
            return 1e6
        lost = 1.0
        for hop in flow.path:
            nic = flow.receiver.nic.nic if hop.receiver == flow.receiver.end else 0
            lost *= 1 - self.ports.quality(hop.receiver, nic).lost
        return tcp_limit_gbps(1 - lost, flow.kind.payload_bytes, self.constants.round_trip_us * 5)

    def publish(self, node: str) -> None:
        """Write the counters of the NICs of a node as they are now."""
        self.advance()
        nics = self.nics.of_node(node)
        for nic in nics:
            self.ports.count_nic(node, nic, self.clock.monotonic())
        self.ledger.publish(node, nics)


def _ways(plumbing: Plumbing, flows: Sequence[Flow]) -> list[Way]:
    ways: dict[tuple[object, ...], Way] = {}
    for flow in flows:
        points = plumbing.waypoints(flow)
        key = (points, flow.sender.end, flow.receiver.end, flow.kind)
        ways.setdefault(key, Way(points)).flows.append(flow)
    return list(ways.values())


_models: WeakKeyDictionary[Fabric, FlowModel] = WeakKeyDictionary()


def model_of(net: Fabric, clock: Clock | None = None) -> FlowModel:
    """Return the flows of a fabric; its hashes are drawn when it is asked for first."""
    model = _models.get(net)
    if model is None:
        if clock is None:
            clock = next(iter(net.devices.values())).clock
        model = _models[net] = FlowModel(net, clock, is_polled=True)
    return model


def use_model(net: Fabric, model: FlowModel) -> None:
    """Let the switches of a fabric count the flows of ``model``."""
    _models[net] = model
