"""Which queues fill: the fluid of the flows of a moment, made of the rows of the ports on their ways."""

from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import NamedTuple

from sonic_sim.device import Fabric
from sonic_sim.faults import FaultKind
from sonic_sim.flows.constants import Constants
from sonic_sim.flows.flow import Flow, Transport
from sonic_sim.flows.fluid import Bundle, Fluid, Group, Part, Pauses, PoolState, Source, Station
from sonic_sim.flows.forwarding import Hop
from sonic_sim.flows.link_faults import fault_at
from sonic_sim.flows.nics import Place, priority_of
from sonic_sim.flows.rows import GroupRows, Limit, QueueRows, rows_of
from sonic_sim.flows.storms import Storms
from sonic_sim.network import End

# A link may queue if its senders may offer more than this share of it, or if several use more than the second share.
_FULL = 1.001
_CONTENDED = 0.98
# A strict queue is served first: beside this weight those of the others hardly count.
_STRICT_WEIGHT = 1e4
# What a NIC holds before it pauses, and while the pause takes effect.
NIC_BUFFER_BYTES = 262_144.0
NIC_HEADROOM_BYTES = 131_072.0
_NIC_XON_BYTES = 65_536.0


class LinkOrBus(NamedTuple):
    """What packets leave a queue by: a direction of a link, or the bus of the NIC at its end."""

    hop: Hop
    is_bus: bool


class StationKey(NamedTuple):
    """A queue in front of a link or bus."""

    hop: Hop
    queue: int
    is_bus: bool


@dataclass(frozen=True, slots=True)
class Waypoint:
    """An egress queue on the path of a flow, and the priority group in which the flow arrived at that switch."""

    hop: Hop
    queue: int
    # The port by which the flow arrived; None at the NIC that sends it.
    arrived_at: End | None = None
    group: int = 0
    # The queue is that of the bus of a NIC, which is slower than its link; ``hop`` ends there.
    is_bus: bool = False

    @property
    def link_or_bus(self) -> LinkOrBus:
        """Return what packets leave the queue by."""
        return LinkOrBus(self.hop, self.is_bus)


@dataclass(slots=True)
class Way:
    """Flows with the same waypoints."""

    points: tuple[Waypoint, ...]
    flows: list[Flow] = field(default_factory=list)


@dataclass(slots=True)
class _Load:
    """What flows offer to a link or bus and use of it, in Gb/s."""

    capacity: float = 0.0
    offered: float = 0.0
    used: float = 0.0
    senders: set[End] = field(default_factory=set)
    # A neighbor pauses a queue of it without end.
    is_held: bool = False

    @property
    def is_full(self) -> bool:
        """Tell whether packets may have to wait for it."""
        is_contended = len(self.senders) > 1 and self.used > _CONTENDED * self.capacity
        return self.is_held or is_contended or self.offered > _FULL * self.capacity


class Plumbing:
    """Knows the speeds and queues of a fabric as its switches and NICs run them now."""

    def __init__(self, net: Fabric, constants: Constants, storms: Storms, flows: Sequence[Flow] = ()) -> None:
        """Read nothing yet; ``flows`` are those of the moment, which share the buses of their NICs."""
        self.net = net
        self.constants = constants
        self.storms = storms
        self._senders = _ports_in_use(flow.sender for flow in flows)
        self._receivers = _ports_in_use(flow.receiver for flow in flows)

    def gbps(self, hop: Hop) -> float:
        """Return the speed of a link; that of a node's end is the one of the switch's port."""
        for end in hop:
            device = self.net.devices.get(end.node)
            if device is not None and end.port in self.net.ports(device):
                return rows_of(device)[end.port].gbps
        return 0.0

    def sending_bus_gbps(self, place: Place) -> float | None:
        """Return the share of the NIC's bus that a sending port has; None if the bus is faster than the links."""
        return self._bus_gbps(place, self._senders)

    def receiving_bus_gbps(self, place: Place) -> float | None:
        """Return the same for a receiving port."""
        return self._bus_gbps(place, self._receivers)

    def _bus_gbps(self, place: Place, ports: Mapping[tuple[str, int], int]) -> float | None:
        """Return a port's share of its NIC's bus, of which ``ports`` says how many are in use; None if it is fast."""
        fault = fault_at(self.net, FaultKind.SLOW_NIC, place.end, place.nic.nic)
        if fault is None:
            return None
        # Ports in use have equal shares, also where one of them needs less.
        return fault.gbps / ports.get((place.node, place.nic.nic), 1)

    def sending_gbps(self, place: Place, hop: Hop) -> float:
        """Return what a port of a NIC can send, in Gb/s: the speed of its link, or less by a slow bus."""
        link_gbps = self.gbps(hop)
        bus_gbps = self.sending_bus_gbps(place)
        if not bus_gbps:
            return link_gbps
        return min(link_gbps, bus_gbps)

    def waypoints(self, flow: Flow) -> tuple[Waypoint, ...]:
        """Return the queues that a flow goes through, from that of its NIC on."""
        points = [Waypoint(flow.path[0], priority_of(flow.sender.nic, flow.dscp))]
        for last_hop, hop in zip(flow.path, flow.path[1:], strict=False):
            rows = rows_of(self.net.devices[hop.sender.node])
            ingress = rows[last_hop.receiver.port]
            egress = rows[hop.sender.port]
            traffic_class = ingress.traffic_class(flow.dscp)
            queue = egress.queue_of_class.get(traffic_class, 0)
            group = ingress.group_of_class.get(traffic_class, 0)
            points.append(Waypoint(hop, queue, last_hop.receiver, group))
        if self.receiving_bus_gbps(flow.receiver) is not None:
            priority = priority_of(flow.receiver.nic, flow.dscp)
            points.append(Waypoint(flow.path[-1], priority, flow.path[-1].receiver, priority, is_bus=True))
        return tuple(points)

    def is_dropped(self, way: Way) -> bool:
        """Tell whether the PFC watchdog drops the packets of a way, so that hardly any are sent."""
        return any(self.storms.drops(point.hop.sender, point.queue) for point in way.points)

    def capacity(self, point: Waypoint, flow: Flow) -> float:
        """Return what a waypoint carries, in Gb/s."""
        if point.is_bus:
            return min(self.gbps(point.hop), self.receiving_bus_gbps(flow.receiver) or 0.0)
        if point.arrived_at is None:
            return self.sending_gbps(flow.sender, point.hop)
        return self.gbps(point.hop)

    def weight(self, point: Waypoint) -> float:
        """Return the weight of a queue among those of its port; a strict one has next to all."""
        device = self.net.devices.get(point.hop.sender.node)
        if device is None or point.is_bus:
            return 1.0
        rows = rows_of(device)[point.hop.sender.port].queues[point.queue]
        return _STRICT_WEIGHT if rows.is_strict else rows.weight

    def queue_rows(self, point: Waypoint) -> QueueRows:
        """Return the rows of the queue of a waypoint. A NIC has none: it drops nothing that it sends."""
        device = self.net.devices.get(point.hop.sender.node)
        if device is None or point.is_bus:
            return QueueRows(is_lossless=True)
        return rows_of(device)[point.hop.sender.port].queues[point.queue]

    def group_rows(self, point: Waypoint) -> GroupRows:
        """Return the rows of the group of a waypoint. A NIC has its buffer instead, and what it holds after a pause."""
        if point.arrived_at is None:
            return GroupRows()
        device = self.net.devices.get(point.arrived_at.node)
        if device is None:
            return GroupRows(Limit(static=NIC_BUFFER_BYTES), NIC_HEADROOM_BYTES, _NIC_XON_BYTES)
        return rows_of(device)[point.arrived_at.port].groups[point.group]

    def has_pfc(self, end: End, priority: int, nics: dict[End, Place]) -> bool:
        """Tell whether a port sends and honors PFC frames of a priority."""
        device = self.net.devices.get(end.node)
        if device is not None:
            return priority in rows_of(device)[end.port].pfc and not self.storms.is_lossy(end, priority)
        place = nics.get(end)
        if place is None or fault_at(self.net, FaultKind.NO_PFC, end, place.nic.nic) is not None:
            return False
        return priority in place.nic.pfc


def _ports_in_use(places: Iterable[Place]) -> dict[tuple[str, int], int]:
    """Return how many ports of each NIC are among ``places``, by node and number of the NIC."""
    ports: dict[tuple[str, int], set[str]] = defaultdict(set)
    for place in places:
        ports[place.node, place.nic.nic].add(place.nic.name)
    return {nic: len(names) for nic, names in ports.items()}


class Congestion:
    """The fluid of a set of flows: the queues that they pass, the priority groups, the buffers, and who pauses whom."""

    def __init__(self, plumbing: Plumbing, ways: Sequence[Way], rates: dict[Flow, float]) -> None:
        """Take the flows of ``ways``, which send at ``rates``, before any queue fills."""
        self.plumbing = plumbing
        self.ways = ways
        self.rates = rates
        self.nics: dict[End, Place] = {}
        for way in ways:
            for flow in way.flows:
                for place in (flow.sender, flow.receiver):
                    self.nics[place.end] = place
        self.stations: dict[StationKey, Station] = {}
        # By port and number of the group.
        self.groups: dict[tuple[End, int], Group] = {}
        # By the number of the way.
        self.bundles: dict[int, Bundle] = {}
        # By switch, direction and name of the pool.
        self._pools: dict[tuple[str, str, str], PoolState] = {}
        # By port and priority.
        self._pauses: dict[tuple[End, int], Pauses] = {}
        # How long the fluid was watched in its steady state.
        self.seconds = 1.0

    def run(self) -> bool:
        """Let queues fill; return whether any does."""
        full = self._full_links()
        if not full:
            return False
        fluid = self._build(full)
        # Queues before a full link fill too as soon as a port pauses its neighbor.
        if not fluid.run(until_pause=True):
            fluid = self._build(None)
            fluid.run()
        self.seconds = fluid.steady_s
        return True

    def _full_links(self) -> set[LinkOrBus]:
        """Return the links, and buses of NICs, that may be offered more than they carry."""
        loads: dict[LinkOrBus, _Load] = defaultdict(_Load)
        flow_count: dict[End, int] = defaultdict(int)
        ways = [way for way in self.ways if not self.plumbing.is_dropped(way)]
        for way in ways:
            flow_count[way.flows[0].sender.end] += len(way.flows)
        for way in ways:
            sender = way.flows[0].sender
            line_gbps = self.plumbing.capacity(way.points[0], way.flows[0])
            # At the start all flows of a sender share its line rate.
            offered = line_gbps * len(way.flows) / flow_count[sender.end]
            for point in way.points[1:]:
                load = loads[point.link_or_bus]
                load.capacity = self.plumbing.capacity(point, way.flows[0])
                load.offered += offered
                load.used += sum(self.rates[flow] for flow in way.flows)
                load.senders.add(sender.end)
                if self.plumbing.storms.holds(point.hop.sender, point.queue):
                    load.is_held = True
        return {link for link, load in loads.items() if load.is_full}

    def _build(self, full: set[LinkOrBus] | None) -> Fluid:
        """Return the fluid of the ways that cross one of the ``full`` links, with the queues of these links alone.

        For None it is the fluid of all ways with all their queues.
        """
        for state in (self.stations, self.groups, self.bundles, self._pools, self._pauses):
            state.clear()
        sources: dict[End, Source] = {}
        for number, way in enumerate(self.ways):
            points = [point for point in way.points[1:] if full is None or point.link_or_bus in full]
            if not points or self.plumbing.is_dropped(way):
                continue
            flow = way.flows[0]
            first = way.points[0]
            source = sources.setdefault(flow.sender.end, Source(self.plumbing.capacity(first, flow)))
            bundle = Bundle(
                source,
                len(way.flows),
                flow.frame_bytes,
                flow.can_be_marked,
                self._pauses_of(first.hop.sender, first.queue),
                heeds_drops=flow.kind.transport is Transport.TCP,
            )
            source.bundles.append(bundle)
            self.bundles[number] = bundle
            for order, point in enumerate(points):
                self._add_part(bundle, point, flow, order)
        constants = self.plumbing.constants
        return Fluid(
            list(sources.values()),
            list(self.stations.values()),
            list(self.groups.values()),
            reaction_us=constants.reaction_us,
            pause_us=constants.pause_us,
        )

    def _add_part(self, bundle: Bundle, point: Waypoint, flow: Flow, order: int) -> None:
        """Let a bundle go through the station of a waypoint, which is the one with the number ``order`` on its way."""
        station = self._station(point, flow)
        station.order = max(station.order, order)
        part = Part(bundle, station, self._group(point))
        if bundle.parts:
            bundle.parts[-1].following = part
        bundle.parts.append(part)
        station.parts.append(part)
        if part.group is not None:
            part.group.parts.append(part)

    def _pool(self, device: str, direction: str, name: str) -> PoolState:
        return self._pools.setdefault((device, direction, name), PoolState())

    def _pauses_of(self, end: End, priority: int) -> Pauses:
        """Return the pauses of a priority at a port that sends, the same for all flows.

        A priority in a PFC storm is stopped for good.
        """
        pauses = self._pauses.get((end, priority))
        if pauses is None:
            pauses = Pauses()
            if self.plumbing.storms.holds(end, priority):
                pauses.stops_at = 0.0
                pauses.goes_at = -1.0
            self._pauses[end, priority] = pauses
        return pauses

    def _station(self, point: Waypoint, flow: Flow) -> Station:
        """Return the station of a waypoint, the same one for all flows."""
        key = StationKey(point.hop, point.queue, point.is_bus)
        station = self.stations.get(key)
        if station is None:
            rows = self.plumbing.queue_rows(point)
            node = point.hop.receiver.node if point.is_bus else point.hop.sender.node
            pool = self._pool(node, "out", rows.limit.pool.name)
            station = Station(self.plumbing.capacity(point, flow), rows, pool)
            if not point.is_bus:
                station.pauses = self._pauses_of(point.hop.sender, point.queue)
            self.stations[key] = station
        return station

    def _group(self, point: Waypoint) -> Group | None:
        """Return the priority group in which flows arrived at a waypoint, None at the NIC that sends them.

        All flows of a group share one object.
        """
        port = point.arrived_at
        if port is None:
            return None
        key = (port, point.group)
        if key not in self.groups:
            self.groups[key] = self._new_group(point, port)
        return self.groups[key]

    def _new_group(self, point: Waypoint, port: End) -> Group:
        """Return an empty priority group of the port by which flows arrive at a waypoint."""
        rows = self.plumbing.group_rows(point)
        neighbor = self.plumbing.net.cables.get(port)
        sends_pauses = rows.headroom > 0 and self.plumbing.has_pfc(port, point.group, self.nics)
        # Without a cable nothing arrives, at whatever rate.
        gbps = 1.0
        pauses = None
        if neighbor is not None:
            gbps = self.plumbing.gbps(Hop(neighbor, port))
            if sends_pauses and self.plumbing.has_pfc(neighbor, point.group, self.nics):
                pauses = self._pauses_of(neighbor, point.group)
        pool = self._pool(port.node, "in", rows.limit.pool.name)
        return Group(rows, gbps, pool, sends_pauses, pauses)
