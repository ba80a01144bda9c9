"""What flows add to counters: bytes and packets of every hop, marks, pauses, drops, watermarks, and losses at NICs."""

from collections import defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import NamedTuple

from sonic_sim.flows.congestion import (
    NIC_BUFFER_BYTES,
    NIC_HEADROOM_BYTES,
    Congestion,
    LinkOrBus,
    Plumbing,
    StationKey,
    Way,
    Waypoint,
)
from sonic_sim.flows.flow import ACK_BYTES, BYTES_PER_GBPS, CNP_BYTES, Flow, Transport
from sonic_sim.flows.fluid import Bundle, Group, Station, Tally
from sonic_sim.flows.forwarding import Hop
from sonic_sim.flows.ledger import GROUPS, PORTS, QUEUES, Ledger, RowKey, nic_row
from sonic_sim.flows.losses import LinkQuality, quality_at, rdma_efficiency
from sonic_sim.flows.nics import Place, priority_of
from sonic_sim.flows.rows import rows_of
from sonic_sim.flows.wires import wire_at
from sonic_sim.network import End

PORT = "SAI_PORT_STAT_"
QUEUE = "SAI_QUEUE_STAT_"
GROUP = "SAI_INGRESS_PRIORITY_GROUP_STAT_"
# Shares of lost packets: those that the next packet reveals (all but the last of a message), those that are found by a
# timeout, and of lost acknowledgments those that let a request time out.
_ASKED_AGAIN = 0.95
_TIMED_OUT = 0.02
_ACK_TIMED_OUT = 1e-4
# The share of a link's speed from which on a NIC counts as receiving at line rate.
_LINE_RATE = 0.97
# The share of the packets dropped in a stall that are asked for one by one.
_OF_ONE_STALL = 0.1


@dataclass(frozen=True, slots=True)
class Crossing:
    """What flows of one way send over one of its hops, in packets a second; ``quality`` is that of the hop."""

    hop: Hop
    queue: int
    frame_bytes: float
    sent: float
    quality: LinkQuality


class _Counter(NamedTuple):
    """A counter of a row."""

    key: RowKey
    name: str


class Charges:
    """Counts of a moment: how fast counters grow, and what the start of new flows adds once."""

    def __init__(self, plumbing: Plumbing, ledger: Ledger, congestion: Congestion | None, *, starts: bool) -> None:
        self.plumbing = plumbing
        self.net = plumbing.net
        self.ledger = ledger
        self.congestion = congestion
        self.starts = starts
        self._qualities: dict[Hop, LinkQuality] = {}
        # Senders by queue: a queue of several has bursts.
        self._senders: dict[RowKey, set[End]] = defaultdict(set)

    def charge(self, ways: Sequence[Way]) -> None:
        """Set the goodput of all flows, and the growth of all counters."""
        for number, way in enumerate(ways):
            bundle = None
            if self.congestion is not None:
                bundle = self.congestion.bundles.get(number)
            self._charge_way(way, bundle)
        if self.congestion is not None:
            for station_key, station in self.congestion.stations.items():
                if not station_key.is_bus:
                    self._charge_station(station_key.hop.sender, station_key.queue, station)
            for (end, number), group in self.congestion.groups.items():
                self._charge_group(end, number, group)
        self._charge_stalls(ways)
        for key, senders in self._senders.items():
            bursts = self.plumbing.constants.burst_bytes * min(len(senders) - 1, 4) / 2
            self.ledger.raise_to(key, f"{QUEUE}SHARED_WATERMARK_BYTES", bursts)

    def _quality(self, hop: Hop, receiver: Place) -> LinkQuality:
        """Return the quality of a hop on the path to a NIC."""
        if hop not in self._qualities:
            nic = receiver.nic.nic if hop.receiver == receiver.end else 0
            wire = wire_at(self.net, hop.receiver)
            self._qualities[hop] = quality_at(self.net, hop.receiver, nic, wire, self.plumbing.constants)
        return self._qualities[hop]

    def _is_dropped(self, point: Waypoint) -> bool:
        """Tell whether the PFC watchdog drops all packets of a queue."""
        return not point.is_bus and self.plumbing.storms.drops(point.hop.sender, point.queue)

    def _drop_shares(self, way: Way, bundle: Bundle | None) -> dict[LinkOrBus, float]:
        """Return the share of a way's packets that is dropped in front of each link or bus, in the steady state.

        A share is of the packets that arrive there. Links and buses without drops are left out.
        """
        shares: dict[LinkOrBus, float] = {}
        for point in way.points:
            if self._is_dropped(point):
                shares[point.link_or_bus] = 1.0
        # Without a queue that fills nothing else is dropped.
        if bundle is None or self.congestion is None:
            return shares
        if not bundle.sent.steady:
            return shares
        packets = bundle.sent.steady / bundle.frame_bytes
        for point in way.points[1:]:
            station = self.congestion.stations.get(StationKey(point.hop, point.queue, point.is_bus))
            for part in bundle.parts:
                if part.station is station and part.drops.steady:
                    share = min(1.0, part.drops.steady / packets)
                    shares[point.link_or_bus] = share
                    # Packets that are dropped do not arrive at the next queues.
                    packets *= 1 - share
        return shares

    def _charge_way(self, way: Way, bundle: Bundle | None) -> None:
        """Set the goodput of the flows of a way, and count its packets, acknowledgments and losses."""
        first = way.flows[0]
        drops = self._drop_shares(way, bundle)
        # The shares of packets that queues do not drop, and that cables do not lose.
        kept = 1.0
        for share in drops.values():
            kept *= 1 - share
        intact = 1.0
        for hop in first.path:
            intact *= 1 - self._quality(hop, first.receiver).lost
        lost = 1 - intact * kept
        packets = 0.0
        for flow in way.flows:
            rate = flow.rate
            if bundle is not None:
                rate *= flow.fair_share
            if kept > 0:
                # A sender that nothing slows down sends more, to make up for what is dropped.
                rate = min(rate / kept, self.plumbing.capacity(way.points[0], flow))
            packets += rate * BYTES_PER_GBPS / flow.wire_bytes
            self._set_goodput(flow, rate, lost)
            flow.lost_per_s = rate * BYTES_PER_GBPS / flow.wire_bytes * lost
        self._charge_path(way, packets, drops)
        self._charge_back(way, packets * (1 - lost), bundle)
        if first.kind.transport is Transport.RDMA:
            self._charge_losses(way, packets, lost, bundle)

    def _charge_path(self, way: Way, packets: float, drops: Mapping[LinkOrBus, float]) -> None:
        """Count the packets of a way at each of its hops; ``packets`` are sent each second.

        Each hop gets fewer than the one before, by the shares in ``drops`` and by what cables lose.
        """
        first = way.flows[0]
        for point in way.points:
            if self._is_dropped(point):
                self._drop_all(point.hop.sender, point.queue, packets)
            packets *= 1 - drops.get(point.link_or_bus, 0.0)
            if point.is_bus:
                continue
            quality = self._quality(point.hop, first.receiver)
            self._cross(Crossing(point.hop, point.queue, first.frame_bytes, packets, quality), first)
            packets *= 1 - quality.lost

    def _drop_all(self, end: End, queue: int, packets: float) -> None:
        """Count ``packets`` a second that the PFC watchdog drops in a storm, at a queue and its port."""
        self.ledger.grow(RowKey(QUEUES, end.node, end.port, queue), f"{QUEUE}DROPPED_PACKETS", packets)
        self.ledger.grow(RowKey(PORTS, end.node, end.port), f"{PORT}IF_OUT_DISCARDS", packets)

    def _set_goodput(self, flow: Flow, rate: float, lost: float) -> None:
        """Set the goodput of a flow that sends at ``rate`` (Gb/s) and loses the share ``lost`` of its packets."""
        share = 1 - lost
        if flow.kind.transport is Transport.RDMA:
            share = rdma_efficiency(lost, rate, flow.frame_bytes, self.plumbing.constants.round_trip_us)
        flow.goodput = rate * flow.kind.payload_bytes / flow.wire_bytes * share

    def _cross(self, crossing: Crossing, flow: Flow) -> None:
        """Count the packets of a hop at both of its ends."""
        hop = crossing.hop
        sent = crossing.sent
        self._count_packets(hop.sender, crossing.queue, sent, crossing.frame_bytes, "tx")
        if hop.sender.node in self.net.devices:
            key = RowKey(QUEUES, hop.sender.node, hop.sender.port, crossing.queue)
            self._senders[key].add(flow.sender.end)
        arrived = sent * (1 - crossing.quality.lost)
        self._count_packets(hop.receiver, crossing.queue, arrived, crossing.frame_bytes, "rx")
        errors = sent * crossing.quality.counted
        corrupted = sent * crossing.quality.corrupted
        if hop.receiver.node in self.net.devices:
            port = RowKey(PORTS, hop.receiver.node, hop.receiver.port)
            self.ledger.grow(port, f"{PORT}IF_IN_ERRORS", errors)
            self.ledger.grow(port, f"{PORT}IF_IN_FEC_NOT_CORRECTABLE_FRAMES", corrupted)
        else:
            self.ledger.grow(nic_row(hop.receiver), "rx_crc_errors_phy", errors)
            self.ledger.grow(nic_row(hop.receiver), "rx_pcs_symbol_err_phy", corrupted)

    def _count_packets(self, end: End, queue: int, packets: float, frame_bytes: float, direction: str) -> None:
        """Count packets a second at one end of a cable; ``direction`` is ``rx`` or ``tx``."""
        grow = self.ledger.grow
        if end.node not in self.net.devices:
            key = nic_row(end)
            grow(key, f"{direction}_bytes_phy", packets * frame_bytes)
            grow(key, f"{direction}_packets_phy", packets)
            grow(key, f"{direction}_prio{queue}_bytes", packets * frame_bytes)
            grow(key, f"{direction}_prio{queue}_packets", packets)
            return
        key = RowKey(PORTS, end.node, end.port)
        sai_direction = "OUT" if direction == "tx" else "IN"
        grow(key, f"{PORT}IF_{sai_direction}_OCTETS", packets * frame_bytes)
        grow(key, f"{PORT}IF_{sai_direction}_UCAST_PKTS", packets)
        if direction == "tx":
            key = RowKey(QUEUES, end.node, end.port, queue)
            grow(key, f"{QUEUE}BYTES", packets * frame_bytes)
            grow(key, f"{QUEUE}PACKETS", packets)

    def _charge_back(self, way: Way, packets: float, bundle: Bundle | None) -> None:
        """Count the acknowledgments of the ``packets`` that arrive each second, and the CNPs for marked ones."""
        first = way.flows[0]
        # A TCP acknowledgment is 4 bytes longer.
        ack_bytes = ACK_BYTES if first.kind.transport is Transport.RDMA else ACK_BYTES + 4
        for flow in way.flows:
            # Acknowledgments of each flow take a path of their own.
            acks = packets / len(way.flows) / first.kind.packets_per_ack
            self._cross_back(flow, first.dscp, acks, ack_bytes)
        # TCP has no CNPs.
        if first.kind.transport is not Transport.RDMA:
            return
        # Without a queue that fills nothing is marked.
        if bundle is None or self.congestion is None:
            return
        sender = nic_row(first.sender.end)
        receiver = nic_row(first.receiver.end)
        self._grow(_Counter(receiver, "np_ecn_marked_roce_packets"), bundle.marks)
        cnps_per_s = bundle.notifications.steady / self.congestion.seconds
        self._grow(_Counter(receiver, "np_cnp_sent"), bundle.notifications)
        self._grow(_Counter(sender, "rp_cnp_handled"), bundle.notifications)
        for flow in way.flows:
            self._cross_back(flow, first.receiver.nic.cnp_dscp, cnps_per_s / len(way.flows), CNP_BYTES)

    def _cross_back(self, flow: Flow, dscp: int, packets: float, frame_bytes: int) -> None:
        """Count ``packets`` a second that go from the receiver of a flow back to its sender, with a DSCP."""
        if packets <= 0:
            return
        arrived_at: End | None = None
        queue = priority_of(flow.receiver.nic, dscp)
        for hop in flow.back:
            if arrived_at is not None:
                rows = rows_of(self.net.devices[hop.sender.node])
                traffic_class = rows[arrived_at.port].traffic_class(dscp)
                queue = rows[hop.sender.port].queue_of_class.get(traffic_class, 0)
            quality = self._quality(hop, flow.sender)
            self._cross(Crossing(hop, queue, frame_bytes, packets, quality), flow)
            packets *= 1 - quality.lost
            arrived_at = hop.receiver

    def _charge_losses(self, way: Way, packets: float, lost: float, bundle: Bundle | None) -> None:
        """Count what NICs notice of losses: packets that are missing, and acknowledgments that do not come.

        ``packets`` are sent each second, of which the share ``lost`` does not arrive.
        """
        flow = way.flows[0]
        window_packets = max(1.0, flow.rate * 125 * self.plumbing.constants.round_trip_us / flow.frame_bytes)
        # The receiver discards what follows a lost packet until that comes again, so one loss in a window is noticed.
        noticed = packets * lost / (1 + lost * window_packets)
        sender = nic_row(flow.sender.end)
        receiver = nic_row(flow.receiver.end)
        self.ledger.grow(receiver, "out_of_sequence", noticed * _ASKED_AGAIN)
        self.ledger.grow(sender, "packet_seq_err", noticed * _ASKED_AGAIN)
        acks_arriving = 1.0
        for hop in flow.back:
            acks_arriving *= 1 - self._quality(hop, flow.sender).lost
        timeouts = noticed * _TIMED_OUT + packets / flow.kind.packets_per_ack * (1 - acks_arriving) * _ACK_TIMED_OUT
        self.ledger.grow(sender, "local_ack_timeout_err", timeouts)
        if bundle is not None and self.starts:
            drops_at_start = sum(part.drops.start for part in bundle.parts)
            self.ledger.add(receiver, "out_of_sequence", drops_at_start * _ASKED_AGAIN)
            self.ledger.add(sender, "packet_seq_err", drops_at_start * _ASKED_AGAIN)
            self.ledger.add(sender, "local_ack_timeout_err", drops_at_start * _TIMED_OUT)

    def _charge_stalls(self, ways: Sequence[Way]) -> None:
        """Let NICs that receive at line rate from one sender stall now and then, and pause their switch for it.

        Where several send, marks keep them below line rate, and the NIC's buffer holds what arrives in a stall.
        """
        arriving: dict[Waypoint, list[Flow]] = defaultdict(list)
        for way in ways:
            if not way.points[-1].is_bus:
                arriving[way.points[-1]] += [flow for flow in way.flows if flow.kind.transport is Transport.RDMA]
        for point, flows in arriving.items():
            has_one_sender = len({flow.sender.end for flow in flows}) == 1
            gbps = self.plumbing.gbps(point.hop)
            if has_one_sender and sum(flow.rate for flow in flows) >= _LINE_RATE * gbps:
                self._charge_stall(point, flows)

    def _charge_stall(self, point: Waypoint, flows: Sequence[Flow]) -> None:
        """Count the pauses and the drops in stalls of a NIC that receives ``flows`` of one sender at line rate."""
        constants = self.plumbing.constants
        end = point.hop.receiver
        first = flows[0]
        priority = priority_of(first.receiver.nic, first.dscp)
        # Only priorities with PFC have small buffers; the memory for all others holds what arrives in a stall.
        if priority not in first.receiver.nic.pfc:
            return
        nics = {flow.receiver.end: flow.receiver for flow in flows}
        if self.plumbing.has_pfc(end, priority, nics):
            # One frame pauses the switch, and one lets it go on.
            frames = 2 * constants.nic_stalls_per_s
            self.ledger.grow(nic_row(end), f"tx_prio{priority}_pause", frames)
            if self.plumbing.has_pfc(point.hop.sender, priority, nics):
                port = RowKey(PORTS, point.hop.sender.node, point.hop.sender.port)
                self.ledger.grow(port, f"{PORT}PFC_{priority}_RX_PKTS", frames)
                return
        stall_bytes = self.plumbing.gbps(point.hop) * 125 * constants.nic_stall_us
        excess_bytes = max(0.0, stall_bytes - NIC_BUFFER_BYTES - NIC_HEADROOM_BYTES)
        drops = constants.nic_stalls_per_s * excess_bytes / first.frame_bytes
        self.ledger.grow(nic_row(end), "rx_discards_phy", drops)
        # They are of a few windows, each of which is asked for once.
        self.ledger.grow(nic_row(end), "out_of_sequence", drops * _OF_ONE_STALL)
        self.ledger.grow(nic_row(first.sender.end), "packet_seq_err", drops * _OF_ONE_STALL)

    def _grow(self, counter: _Counter, tally: Tally) -> None:
        """Let a counter grow as fast as a tally of the fluid does; the tally's start counts once, when flows begin."""
        if self.congestion is None:
            return
        self.ledger.grow(counter.key, counter.name, tally.steady / self.congestion.seconds)
        if self.starts:
            self.ledger.add(counter.key, counter.name, tally.start)

    def _charge_station(self, end: End, queue: int, station: Station) -> None:
        """Count the marks and drops of a queue of a switch."""
        if end.node not in self.net.devices:
            return
        key = RowKey(QUEUES, end.node, end.port, queue)
        self._grow(_Counter(key, f"{QUEUE}WRED_ECN_MARKED_PACKETS"), station.marks)
        self._grow(_Counter(key, f"{QUEUE}WRED_DROPPED_PACKETS"), station.early_drops)
        discards = _Counter(RowKey(PORTS, end.node, end.port), f"{PORT}IF_OUT_DISCARDS")
        for tally in (station.drops, station.early_drops):
            self._grow(_Counter(key, f"{QUEUE}DROPPED_PACKETS"), tally)
            self._grow(discards, tally)
        self.ledger.raise_to(key, f"{QUEUE}SHARED_WATERMARK_BYTES", station.peak)

    def _pause_counter(self, end: End, priority: int, direction: str) -> _Counter:
        """Return the counter of PFC frames at a port or NIC; ``direction`` is ``rx`` or ``tx``."""
        if end.node not in self.net.devices:
            return _Counter(nic_row(end), f"{direction}_prio{priority}_pause")
        return _Counter(RowKey(PORTS, end.node, end.port), f"{PORT}PFC_{priority}_{direction.upper()}_PKTS")

    def _charge_group(self, end: End, number: int, group: Group) -> None:
        """Count the PFC frames and drops of a priority group of a switch, or of the buffer of a NIC."""
        self._grow(self._pause_counter(end, number, "tx"), group.frames)
        neighbor = self.net.cables.get(end)
        if neighbor is not None and group.pauses is not None:
            self._grow(self._pause_counter(neighbor, number, "rx"), group.frames)
        if end.node not in self.net.devices:
            self._grow(_Counter(nic_row(end), "rx_discards_phy"), group.drops)
            return
        key = RowKey(GROUPS, end.node, end.port, number)
        self._grow(_Counter(key, f"{GROUP}DROPPED_PACKETS"), group.drops)
        self._grow(_Counter(RowKey(PORTS, end.node, end.port), f"{PORT}IF_IN_DISCARDS"), group.drops)
        self.ledger.raise_to(key, f"{GROUP}SHARED_WATERMARK_BYTES", group.peak)
        self.ledger.raise_to(key, f"{GROUP}XOFF_ROOM_WATERMARK_BYTES", group.headroom_peak)
