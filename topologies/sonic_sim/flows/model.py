"""The flows of a fabric over time: which send, how fast, and what they have moved until now."""

import heapq
import itertools
import random
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import NamedTuple
from weakref import WeakKeyDictionary

from sonic_sim.clock import Clock
from sonic_sim.device import Fabric
from sonic_sim.faults import FaultKind
from sonic_sim.flows.charging import Charges
from sonic_sim.flows.congestion import Congestion, LinkOrBus, Plumbing, Way, Waypoint
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


# The limit of a flow that nothing limits.
_UNLIMITED_GBPS = 1e6


class QueueDelay(NamedTuple):
    """What packets of a path wait in queues: on average, and at most."""

    mean_us: float
    most_us: float


@dataclass(slots=True)
class Transfer:
    """Flows that begin together and end together, after ``seconds`` of the test or when they are stopped."""

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
        # It has random numbers of its own, so that paths do not depend on how often counters are read.
        self.ports = PortMeter(net, self.constants, self.ledger, random.Random(seed + 1))  # noqa: S311  no secret
        self.storms = Storms(net, self.ledger)
        self.flaps = Flaps(net, random.Random(seed + 2))  # noqa: S311  no secret
        self._origin = clock.monotonic()
        self._time = 0.0
        self._running: list[Transfer] = []
        # A heap of transfers by the time at which they end.
        self._ends: list[tuple[float, Transfer]] = []
        # Those that began since the rates were computed last.
        self._began: list[Transfer] = []
        # The state for which the rates were computed.
        self._settled: object = None
        self._congestion: Congestion | None = None
        # The queues that flows go through, by port and number.
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
        """Return how many seconds of this machine ``seconds`` of a test take."""
        return seconds / self.speedup

    def flows(self, sender: Place, receiver: Place, kind: FlowKind, count: int) -> list[Flow]:
        """Return flows between two NICs, each with its own source port."""
        return [self._flow(sender, receiver, kind) for _ in range(count)]

    def _flow(self, sender: Place, receiver: Place, kind: FlowKind) -> Flow:
        """Return a flow with paths of its own in both directions.

        It is stuck if one of them is missing, its packets are too large for them, or a PFC storm blocks them.
        """
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
        has_path = bool(flow.path) and bool(flow.back)
        flow.is_stuck = not has_path or not self._fits(flow) or self._meets_storm(flow)
        return flow

    def _tos(self, sender: Place, kind: FlowKind) -> int:
        """Return the traffic class of packets: that of the node for all queue pairs, or that of the tool."""
        tos = kind.tos
        if kind.transport is Transport.RDMA and sender.nic.traffic_class is not None:
            tos = sender.nic.traffic_class
        fault = fault_at(self.net, FaultKind.WRONG_DSCP, sender.end, sender.nic.nic)
        if fault is not None and kind.transport is Transport.RDMA:
            # The two lowest bits are those of ECN.
            tos = fault.dscp << 2 | tos & 3
        return tos

    def _path(self, sender: Place, receiver: Place, transport: Transport) -> tuple[Hop, ...]:
        """Return the path of a flow with a new source port; empty if it does not reach the receiver."""
        if not (sender.nic.up and receiver.nic.up):
            return ()
        sender_addresses = addresses_of(sender.nic)
        for address in addresses_of(receiver.nic):
            # The sender's address must be of the same IP version.
            sources = [source for source in sender_addresses if (":" in source) == (":" in address)]
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
        ip_bytes = flow.frame_bytes - 18
        for hop in flow.path:
            for end in hop:
                device = self.net.devices.get(end.node)
                if device is not None and self.net.ports(device)[end.port].mtu < ip_bytes:
                    return False
        return flow.receiver.nic.mtu >= ip_bytes

    def _meets_storm(self, flow: Flow) -> bool:
        """Tell whether a PFC storm blocks a queue on the path of a flow, so that its requests time out."""
        self.storms.look()
        points = Plumbing(self.net, self.constants, self.storms).waypoints(flow)
        return any(self._blocks(point) for point in points)

    def _blocks(self, point: Waypoint) -> bool:
        """Tell whether the queue of a waypoint sends nothing: a storm holds it, or the PFC watchdog drops all of it."""
        end = point.hop.sender
        return self.storms.holds(end, point.queue) or self.storms.drops(end, point.queue)

    def begin(self, transfers: Sequence[Transfer]) -> None:
        """Let flows send from now on."""
        self.advance()
        self._began += transfers
        self._running += transfers
        self._settle()
        # Nothing is sent while the rates are computed.
        self._time = self.time
        for transfer in transfers:
            transfer.began_at = self._time
            if transfer.seconds != float("inf"):
                heapq.heappush(self._ends, (self._time + transfer.seconds, transfer))

    def set_seconds(self, transfer: Transfer, seconds: float) -> None:
        """Let a transfer end ``seconds`` after it began."""
        transfer.seconds = seconds
        heapq.heappush(self._ends, (transfer.began_at + seconds, transfer))

    def stop(self, transfer: Transfer) -> None:
        """End a transfer now."""
        self.advance()
        if transfer.ended_at is None:
            self._end([transfer], self._time)

    def advance(self) -> None:
        """Count what was sent until now, and end the transfers whose time is over."""
        now = self.time
        while self._ends and self._ends[0][0] <= now:
            ends_at = self._ends[0][0]
            ended: list[Transfer] = []
            while self._ends and self._ends[0][0] <= ends_at:
                _, transfer = heapq.heappop(self._ends)
                if transfer.ended_at is None:
                    ended.append(transfer)
            self._pass_until(ends_at)
            self._end(ended, ends_at)
        self._pass_until(now)
        self.storms.look(self._waiting)
        if self._running and self._settled != self._state():
            self._settle()

    def _end(self, transfers: Sequence[Transfer], at: float) -> None:
        """End transfers, and compute the rates of the others."""
        if not transfers:
            return
        self.ended += 1
        for transfer in transfers:
            transfer.ended_at = at
            self._running.remove(transfer)
        self._settle()

    def _pass_until(self, at: float) -> None:
        """Let time pass with the present rates."""
        seconds = at - self._time
        if seconds <= 0:
            return
        if self.polls is not None:
            self.polls.follow(self._time, at)
        self._time = at
        if not self._running:
            # Between tests there are only PFC storms, whose time passes as that of this machine.
            self.storms.count(seconds / self.speedup, 1.0)
            return
        self.storms.count(seconds, self.speedup)
        self.ledger.pass_seconds(seconds)
        for transfer in self._running:
            for flow in transfer.flows:
                flow.arrived += flow.goodput * BYTES_PER_GBPS * seconds
                flow.lost += flow.lost_per_s * seconds

    def _state(self) -> object:
        """Return a value that changes with all that rates depend on, except the flows."""
        switches = tuple((device.db.version, device.faults.version) for device in self.net.devices.values())
        nodes = tuple(faults.version for faults in self.net.host_faults.values())
        return switches, nodes, self.net.version, self.storms.version

    def _settle(self) -> None:
        """Compute the rates of all flows and the growth of counters; count what new flows add once at their start."""
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
        queues: set[tuple[End, int]] = set()
        for way in ways:
            queues.update((point.hop.sender, point.queue) for point in way.points)
        self._waiting = frozenset(queues)
        self._share(plumbing, ways)
        congestion = Congestion(plumbing, ways, {flow: flow.rate for flow in flows})
        self._congestion = congestion if congestion.run() else None
        Charges(plumbing, self.ledger, self._congestion, starts=starts).charge(ways)

    def shown(self, key: RowKey) -> Mapping[str, float]:
        """Return the counters of a queue or group as its switch shows them."""
        if self.polls is None:
            return self.ledger.counts(key)
        return self.polls.shown(key)

    def queued_us(self, path: Sequence[Hop]) -> QueueDelay:
        """Return how long packets of a path wait in queues now."""
        mean_us = 0.0
        most_us = 0.0
        if self._running and self._congestion is not None:
            for key, station in self._congestion.stations.items():
                if key.hop in path:
                    # 1 Gb/s is 125 bytes a microsecond.
                    mean_us += station.waits / station.gbps / 125
                    most_us += station.peak / station.gbps / 125
        return QueueDelay(mean_us, most_us)

    def _share(self, plumbing: Plumbing, ways: Sequence[Way]) -> None:
        """Give each flow its max-min fair rate."""
        link_numbers: dict[LinkOrBus, int] = {}
        capacity: list[float] = []
        weights: dict[Lane, float] = {}
        paths: list[list[Lane]] = []
        flows: list[Flow] = []
        limits: list[float] = []
        for way in ways:
            lanes: list[Lane] = []
            for point in way.points:
                link = point.link_or_bus
                if link not in link_numbers:
                    link_numbers[link] = len(capacity)
                    capacity.append(plumbing.capacity(point, way.flows[0]))
                lane = Lane(link_numbers[link], point.queue)
                if lane not in weights:
                    weights[lane] = plumbing.weight(point)
                lanes.append(lane)
            storm_limit = self._storm_limit(plumbing, way)
            for flow in way.flows:
                paths.append(lanes)
                flows.append(flow)
                limits.append(min(flow.kind.limit_gbps, self._loss_limit(flow), storm_limit))
        for flow, rate in zip(flows, scheduled_shares(paths, capacity, limits, weights), strict=True):
            flow.rate = rate

    def _storm_limit(self, plumbing: Plumbing, way: Way) -> float:
        """Return the rate in Gb/s that PFC storms leave the flows of a way.

        It is 0 if a storm holds one of its queues. If the PFC watchdog drops all packets of one, a flow sends one
        window in each timeout.
        """
        if any(self.storms.holds(point.hop.sender, point.queue) for point in way.points):
            return 0.0
        if plumbing.is_dropped(way):
            return plumbing.gbps(way.points[0].hop) * self.constants.round_trip_us / _ACK_TIMEOUT_US
        return _UNLIMITED_GBPS

    def _loss_limit(self, flow: Flow) -> float:
        """Return the rate in Gb/s that the losses of its path leave a TCP connection."""
        if flow.kind.transport is not Transport.TCP:
            return _UNLIMITED_GBPS
        arriving = 1.0
        for hop in flow.path:
            nic = flow.receiver.nic.nic if hop.receiver == flow.receiver.end else 0
            arriving *= 1 - self.ports.quality(hop.receiver, nic).lost
        return tcp_limit_gbps(1 - arriving, flow.kind.payload_bytes, self.constants.round_trip_us * 5)

    def publish(self, node: str) -> None:
        """Write the counters of the NICs of a node as they are now."""
        self.advance()
        nics = self.nics.of_node(node)
        for nic in nics:
            self.ports.count_nic(node, nic, self.clock.monotonic())
        self.ledger.publish(node, nics)


def _ways(plumbing: Plumbing, flows: Sequence[Flow]) -> list[Way]:
    """Return the flows as ways: flows of one kind, between the same NICs, with the same waypoints."""
    ways: dict[tuple[object, ...], Way] = {}
    for flow in flows:
        points = plumbing.waypoints(flow)
        key = (points, flow.sender.end, flow.receiver.end, flow.kind)
        if key not in ways:
            ways[key] = Way(points)
        ways[key].flows.append(flow)
    return list(ways.values())


_models: WeakKeyDictionary[Fabric, FlowModel] = WeakKeyDictionary()


def model_of(net: Fabric, clock: Clock | None = None) -> FlowModel:
    """Return the flows of a fabric; the first call makes the model, which draws the hashes of switches."""
    model = _models.get(net)
    if model is None:
        if clock is None:
            clock = next(iter(net.devices.values())).clock
        model = FlowModel(net, clock, is_polled=True)
        _models[net] = model
    return model


def use_model(net: Fabric, model: FlowModel) -> None:
    """Let the switches of a fabric count the flows of ``model``."""
    _models[net] = model
