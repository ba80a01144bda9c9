"""Which queues fill: the fluid of the flows of a moment, made of the rows of the ports on their ways."""

from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field

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

# A link whose senders may offer more than this share of it may queue.
_FULL = 1.001
# What a NIC holds before it pauses, and while the pause takes effect.
NIC_BUFFER_BYTES = 262_144.0
NIC_HEADROOM_BYTES = 131_072.0
_NIC_XON_BYTES = 65_536.0


@dataclass(frozen=True, slots=True)
class Waypoint:
    """An egress queue on the way of a flow, and the group by which the flow came to that device (of switches)."""

    hop: Hop
    queue: int
    arrived_at: End | None = None
    group: int = 0
    # The bus of a NIC that is slower than its link: ``hop`` ends there.
    is_bus: bool = False


@dataclass(slots=True)
class Way:
    """The waypoints of flows that take the same one."""

    points: tuple[Waypoint, ...]
    flows: list[Flow] = field(default_factory=list)


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
        """Return what the bus of its NIC leaves a port that sends, None for a bus that is faster than its links."""
        return self._bus_gbps(place, self._senders)

    def receiving_bus_gbps(self, place: Place) -> float | None:
        """Return the same of a port that receives."""
        return self._bus_gbps(place, self._receivers)

    def _bus_gbps(self, place: Place, ports: Mapping[tuple[str, int], int]) -> float | None:
        fault = fault_at(self.net, FaultKind.SLOW_NIC, place.end, place.nic.nic)
        if fault is None:
            return None
        # Evenly, also where one of them could do with less.
        return fault.gbps / ports.get((place.node, place.nic.nic), 1)

    def sending_gbps(self, place: Place, hop: Hop) -> float:
        """Return what a port of a NIC can send."""
        return min(self.gbps(hop), self.sending_bus_gbps(place) or self.gbps(hop))

    def waypoints(self, flow: Flow) -> tuple[Waypoint, ...]:
        """Return the queues that a flow goes through, that of its NIC first."""
        points = [Waypoint(flow.path[0], priority_of(flow.sender.nic, flow.dscp))]
        for before, hop in zip(flow.path, flow.path[1:], strict=False):
            rows = rows_of(self.net.devices[hop.sender.node])
            came = rows[before.receiver.port]
            goes = rows[hop.sender.port]
            number = came.traffic_class(flow.dscp)
            queue = goes.queue_of_class.get(number, 0)
            points.append(Waypoint(hop, queue, before.receiver, came.group_of_class.get(number, 0)))
        if self.receiving_bus_gbps(flow.receiver) is not None:
            priority = priority_of(flow.receiver.nic, flow.dscp)
            points.append(Waypoint(flow.path[-1], priority, flow.path[-1].receiver, priority, is_bus=True))
        return tuple(points)

    def is_dropped(self, way: Way) -> bool:
        """Tell whether the PFC watchdog drops the packets of a way: hardly any are sent then."""
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
        return 1e4 if rows.is_strict else rows.weight

    def queue_rows(self, point: Waypoint) -> QueueRows:
        """Return the rows of a queue; a NIC has none, and drops nothing that it sends."""
        device = self.net.devices.get(point.hop.sender.node)
        if device is None or point.is_bus:
            return QueueRows(is_lossless=True)
        return rows_of(device)[point.hop.sender.port].queues[point.queue]

    def group_rows(self, point: Waypoint) -> GroupRows:
        """Return the rows of a group; a NIC without PFC has its buffer alone."""
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
    """Return how many ports of each NIC are among the ends of flows in one direction, by node and number of the NIC."""
    ports: dict[tuple[str, int], set[str]] = defaultdict(set)
    for place in places:
        ports[place.node, place.nic.nic].add(place.nic.name)
    return {nic: len(names) for nic, names in ports.items()}


class Congestion:
    """The fluid of a set of flows; stations and groups by what they are."""

    def __init__(self, plumbing: Plumbing, ways: Sequence[Way], rates: dict[Flow, float]) -> None:
        self.plumbing = plumbing
        self.ways = ways
        self.rates = rates
        self.nics: dict[End, Place] = {}
        for way in ways:
            for flow in way.flows:
                for place in (flow.sender, flow.receiver):
                    self.nics[place.end] = place
        self.stations: dict[tuple[Hop, int, bool], Station] = {}
        self.groups: dict[tuple[End, int], Group] = {}
        self.bundles: dict[int, Bundle] = {}
        self._pools: dict[tuple[str, str, str], PoolState] = {}
        self._pauses: dict[tuple[End, int], Pauses] = {}
        self.seconds = 1.0

    def run(self) -> bool:
        """Let queues fill; return whether any does. Upstream queues matter as soon as a port pauses its neighbor."""
        full = self._full_links()
        if not full:
            return False
        fluid = self._build(full)
        if not fluid.run(until_pause=True):
            fluid = self._build(None)
            fluid.run()
        self.seconds = fluid.steady_s
        return True

    def _full_links(self) -> set[tuple[Hop, bool]]:
        """Return the links, and buses of NICs, that may be offered more than they carry."""
        offered: dict[tuple[Hop, bool], float] = defaultdict(float)
        used: dict[tuple[Hop, bool], float] = defaultdict(float)
        senders: dict[tuple[Hop, bool], set[End]] = defaultdict(set)
        capacity: dict[tuple[Hop, bool], float] = {}
        held: set[tuple[Hop, bool]] = set()
        count: dict[End, int] = defaultdict(int)
        ways = [way for way in self.ways if not self.plumbing.is_dropped(way)]
        for way in ways:
            count[way.flows[0].sender.end] += len(way.flows)
        for way in ways:
            sender = way.flows[0].sender
            line = self.plumbing.capacity(way.points[0], way.flows[0])
            # What the senders and the links before leave of it at the start.
            part = line * len(way.flows) / count[sender.end]
            for point in way.points[1:]:
                key = point.hop, point.is_bus
                capacity[key] = self.plumbing.capacity(point, way.flows[0])
                offered[key] += part
                used[key] += sum(self.rates[flow] for flow in way.flows)
                senders[key].add(sender.end)
                if self.plumbing.storms.holds(point.hop.sender, point.queue):
                    held.add(key)
        full = set(held)
        for key, gbps in capacity.items():
            is_contended = len(senders[key]) > 1 and used[key] > 0.98 * gbps
            if offered[key] > _FULL * gbps or is_contended:
                full.add(key)
        return full

    def _build(self, full: set[tuple[Hop, bool]] | None) -> Fluid:
        """Make the fluid of all ways that meet a full link, with those links alone or, for None, with all."""
        for kept in (self.stations, self.groups, self.bundles, self._pools, self._pauses):
            kept.clear()
        sources: dict[End, Source] = {}
        for number, way in enumerate(self.ways):
            points = [point for point in way.points[1:] if full is None or (point.hop, point.is_bus) in full]
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
            for place, point in enumerate(points):
                self._add_part(bundle, point, flow, place)
        constants = self.plumbing.constants
        return Fluid(
            list(sources.values()),
            list(self.stations.values()),
            list(self.groups.values()),
            reaction_us=constants.reaction_us,
            pause_us=constants.pause_us,
        )

    def _add_part(self, bundle: Bundle, point: Waypoint, flow: Flow, place: int) -> None:
        station = self._station(point, flow)
        station.order = max(station.order, place)
        part = Part(bundle, station, self._group(point))
        if bundle.parts:
            bundle.parts[-1].following = part
        bundle.parts.append(part)
        station.parts.append(part)
        if part.group is not None:
            part.group.parts.append(part)

    def _pool(self, device: str, way: str, name: str) -> PoolState:
        return self._pools.setdefault((device, way, name), PoolState())

    def _pauses_of(self, end: End, priority: int) -> Pauses:
        pauses = self._pauses.get((end, priority))
        if pauses is None:
            pauses = self._pauses[end, priority] = Pauses()
            if self.plumbing.storms.holds(end, priority):
                # From the start on, and for good.
                pauses.stops_at = 0.0
                pauses.goes_at = -1.0
        return pauses

    def _station(self, point: Waypoint, flow: Flow) -> Station:
        key = point.hop, point.queue, point.is_bus
        station = self.stations.get(key)
        if station is None:
            rows = self.plumbing.queue_rows(point)
            where = point.hop.receiver.node if point.is_bus else point.hop.sender.node
            pool = self._pool(where, "out", rows.limit.pool.name)
            station = Station(self.plumbing.capacity(point, flow), rows, pool)
            if not point.is_bus:
                station.pauses = self._pauses_of(point.hop.sender, point.queue)
            self.stations[key] = station
        return station

    def _group(self, point: Waypoint) -> Group | None:
        if point.arrived_at is None:
            return None
        key = point.arrived_at, point.group
        group = self.groups.get(key)
        if group is None:
            rows = self.plumbing.group_rows(point)
            neighbor = self.plumbing.net.cables.get(point.arrived_at)
            sends = rows.headroom > 0 and self.plumbing.has_pfc(point.arrived_at, point.group, self.nics)
            pauses = None
            if sends and neighbor is not None and self.plumbing.has_pfc(neighbor, point.group, self.nics):
                pauses = self._pauses_of(neighbor, point.group)
            pool = self._pool(point.arrived_at.node, "in", rows.limit.pool.name)
            gbps = self.plumbing.gbps(Hop(neighbor, point.arrived_at)) if neighbor is not None else 1.0
            group = Group(rows, gbps, pool, sends, pauses)
            self.groups[key] = group
        return group
