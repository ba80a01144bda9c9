"""What flows add to counters: bytes and packets of every hop, marks, pauses, drops, watermarks, and losses at NICs."""

from collections import defaultdict
from collections.abc import Sequence
from dataclasses import dataclass

from sonic_sim.flows.congestion import NIC_BUFFER_BYTES, NIC_HEADROOM_BYTES, Congestion, Plumbing, Way, Waypoint
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
# A packet that is lost is asked for again by the one after it, but for the last of a message.
_ASKED_AGAIN = 0.95
_TIMED_OUT = 0.02
_ACK_TIMED_OUT = 1e-4
_LINE_RATE = 0.97
_OF_ONE_STALL = 0.1


@dataclass(frozen=True, slots=True)
class Crossing:
    """What flows of one way put on one of its hops, in packets a second, before and after what is lost at its end."""

    hop: Hop
    queue: int
    frame_bytes: float
    sent: float
    quality: LinkQuality


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
            bundle = None if self.congestion is None else self.congestion.bundles.get(number)
            self._charge_way(way, bundle)
        if self.congestion is not None:
            for (hop, queue, is_bus), station in self.congestion.stations.items():
                if not is_bus:
                    self._charge_station(hop.sender, queue, station)
            for (end, number), group in self.congestion.groups.items():
                self._charge_group(end, number, group)
        self._charge_stalls(ways)
        for key, senders in self._senders.items():
            bursts = self.plumbing.constants.burst_bytes * min(len(senders) - 1, 4) / 2
            self.ledger.raise_to(key, f"{QUEUE}SHARED_WATERMARK_BYTES", bursts)

    def _quality(self, hop: Hop, receiver: Place) -> LinkQuality:
        if hop not in self._qualities:
            nic = receiver.nic.nic if hop.receiver == receiver.end else 0
            wire = wire_at(self.net, hop.receiver)
            self._qualities[hop] = quality_at(self.net, hop.receiver, nic, wire, self.plumbing.constants)
        return self._qualities[hop]

    def _drop_shares(self, way: Way, bundle: Bundle | None) -> dict[tuple[Hop, bool], float]:
        """Return the share of packets of a way that is dropped before it leaves by a hop, while traffic goes on."""
        shares: dict[tuple[Hop, bool], float] = {}
        for point in way.points:
            if not point.is_bus and self.plumbing.storms.drops(point.hop.sender, point.queue):
                shares[point.hop, False] = 1.0
        if bundle is None or not bundle.sent.steady or self.congestion is None:
            return shares
        packets = bundle.sent.steady / bundle.frame_bytes
        for point in way.points[1:]:
            station = self.congestion.stations.get((point.hop, point.queue, point.is_bus))
            for part in bundle.parts:
                if part.station is station and part.drops.steady:
                    share = min(1.0, part.drops.steady / packets)
                    shares[point.hop, point.is_bus] = share
                    packets *= 1 - share
        return shares

    def _charge_way(self, way: Way, bundle: Bundle | None) -> None:
        first = way.flows[0]
        drops = self._drop_shares(way, bundle)
        arriving = 1.0
        for share in drops.values():
            arriving *= 1 - share
        crossing = 1.0
        for hop in first.path:
            crossing *= 1 - self._quality(hop, first.receiver).lost
        lost = 1 - crossing * arriving
        sent = 0.0
        for flow in way.flows:
            # Senders that nothing slows down make up for what is dropped.
            rate = flow.rate
            if bundle is not None:
                rate *= flow.fair_share
            if arriving > 0:
                rate = min(rate / arriving, self.plumbing.capacity(way.points[0], flow))
            sent += rate * BYTES_PER_GBPS / flow.wire_bytes
            self._set_goodput(flow, rate, lost)
            flow.lost_per_s = rate * BYTES_PER_GBPS / flow.wire_bytes * lost
        packets = sent
        for point in way.points:
            if not point.is_bus and self.plumbing.storms.drops(point.hop.sender, point.queue):
                self._drop_all(point.hop.sender, point.queue, packets)
            packets *= 1 - drops.get((point.hop, point.is_bus), 0.0)
            if point.is_bus:
                continue
            quality = self._quality(point.hop, first.receiver)
            self._cross(Crossing(point.hop, point.queue, first.frame_bytes, packets, quality), first)
            packets *= 1 - quality.lost
        self._charge_back(way, sent * (1 - lost), bundle)
        if first.kind.transport is Transport.RDMA:
            self._charge_losses(way, sent, lost, bundle)

    def _drop_all(self, end: End, queue: int, packets: float) -> None:
        """Count what the PFC watchdog drops in a storm."""
        self.ledger.grow(RowKey(QUEUES, end.node, end.port, queue), f"{QUEUE}DROPPED_PACKETS", packets)
        self.ledger.grow(RowKey(PORTS, end.node, end.port), f"{PORT}IF_OUT_DISCARDS", packets)

    def _set_goodput(self, flow: Flow, rate: float, lost: float) -> None:
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

    def _count_packets(self, end: End, queue: int, packets: float, frame_bytes: float, way: str) -> None:
        grow = self.ledger.grow
        if end.node not in self.net.devices:
            key = nic_row(end)
            grow(key, f"{way}_bytes_phy", packets * frame_bytes)
            grow(key, f"{way}_packets_phy", packets)
            grow(key, f"{way}_prio{queue}_bytes", packets * frame_bytes)
            grow(key, f"{way}_prio{queue}_packets", packets)
            return
        key = RowKey(PORTS, end.node, end.port)
        direction = "OUT" if way == "tx" else "IN"
        grow(key, f"{PORT}IF_{direction}_OCTETS", packets * frame_bytes)
        grow(key, f"{PORT}IF_{direction}_UCAST_PKTS", packets)
        if way == "tx":
            key = RowKey(QUEUES, end.node, end.port, queue)
            grow(key, f"{QUEUE}BYTES", packets * frame_bytes)
            grow(key, f"{QUEUE}PACKETS", packets)

    def _charge_back(self, way: Way, packets: float, bundle: Bundle | None) -> None:
        """Count acknowledgments, and CNPs of marked packets."""
        flow = way.flows[0]
        size = ACK_BYTES if flow.kind.transport is Transport.RDMA else ACK_BYTES + 4
        for each in way.flows:
            # Acknowledgments of each flow take a path of their own.
            acks = packets / len(way.flows) / flow.kind.packets_per_ack
            self._cross_back(each, flow.dscp, acks, size)
        if bundle is None or self.congestion is None or flow.kind.transport is not Transport.RDMA:
            return
        sender = nic_row(flow.sender.end)
        receiver = nic_row(flow.receiver.end)
        self._grow(receiver, "np_ecn_marked_roce_packets", bundle.marks)
        cnps = bundle.notifications.steady / self.congestion.seconds
        self._grow(receiver, "np_cnp_sent", bundle.notifications)
        self._grow(sender, "rp_cnp_handled", bundle.notifications)
        for each in way.flows:
            self._cross_back(each, flow.receiver.nic.cnp_dscp, cnps / len(way.flows), CNP_BYTES)

    def _cross_back(self, flow: Flow, dscp: int, packets: float, frame_bytes: int) -> None:
        if packets <= 0:
            return
        came: End | None = None
        queue = priority_of(flow.receiver.nic, dscp)
        for hop in flow.back:
            if came is not None:
                rows = rows_of(self.net.devices[hop.sender.node])
                number = rows[came.port].traffic_class(dscp)
                queue = rows[hop.sender.port].queue_of_class.get(number, 0)
            quality = self._quality(hop, flow.sender)
            self._cross(Crossing(hop, queue, frame_bytes, packets, quality), flow)
            packets *= 1 - quality.lost
            came = hop.receiver

    def _charge_losses(self, way: Way, packets: float, lost: float, bundle: Bundle | None) -> None:
        """Count what NICs notice: packets that are missing, and acknowledgments that do not come."""
        flow = way.flows[0]
        window = max(1.0, flow.rate * 125 * self.plumbing.constants.round_trip_us / flow.frame_bytes)
        # What follows a lost packet is thrown away until it comes again, so that only one loss in a window counts.
        events = packets * lost / (1 + lost * window)
        sender = nic_row(flow.sender.end)
        receiver = nic_row(flow.receiver.end)
        self.ledger.grow(receiver, "out_of_sequence", events * _ASKED_AGAIN)
        self.ledger.grow(sender, "packet_seq_err", events * _ASKED_AGAIN)
        back = 1.0
        for hop in flow.back:
            back *= 1 - self._quality(hop, flow.sender).lost
        timeouts = events * _TIMED_OUT + packets / flow.kind.packets_per_ack * (1 - back) * _ACK_TIMED_OUT
        self.ledger.grow(sender, "local_ack_timeout_err", timeouts)
        if bundle is not None and self.starts:
            once = sum(part.drops.start for part in bundle.parts)
            self.ledger.add(receiver, "out_of_sequence", once * _ASKED_AGAIN)
            self.ledger.add(sender, "packet_seq_err", once * _ASKED_AGAIN)
            self.ledger.add(sender, "local_ack_timeout_err", once * _TIMED_OUT)

    def _charge_stalls(self, ways: Sequence[Way]) -> None:
        """Let NICs that receive at line rate from one sender stall now and then, and pause their switch for it.

        Where several send, marks keep them below line rate, and the NIC's buffer holds what comes in a stall.
        """
        constants = self.plumbing.constants
        arriving: dict[Waypoint, list[Flow]] = defaultdict(list)
        for way in ways:
            if not way.points[-1].is_bus:
                arriving[way.points[-1]] += [flow for flow in way.flows if flow.kind.transport is Transport.RDMA]
        for point, flows in arriving.items():
            line = self.plumbing.gbps(point.hop)
            is_one = len({flow.sender.end for flow in flows}) == 1
            if not is_one or sum(flow.rate for flow in flows) < _LINE_RATE * line:
                continue
            end = point.hop.receiver
            places = {flow.receiver.end: flow.receiver for flow in flows}
            priority = priority_of(flows[0].receiver.nic, flows[0].dscp)
            # Buffers that PFC guards are small; the memory for all other traffic holds what comes in a stall.
            if priority not in flows[0].receiver.nic.pfc:
                continue
            sends = self.plumbing.has_pfc(end, priority, places)
            honors = self.plumbing.has_pfc(point.hop.sender, priority, places)
            if sends:
                frames = 2 * constants.nic_stalls_per_s
                self.ledger.grow(nic_row(end), f"tx_prio{priority}_pause", frames)
                if honors:
                    port = RowKey(PORTS, point.hop.sender.node, point.hop.sender.port)
                    self.ledger.grow(port, f"{PORT}PFC_{priority}_RX_PKTS", frames)
                    continue
            over = max(0.0, line * 125 * constants.nic_stall_us - NIC_BUFFER_BYTES - NIC_HEADROOM_BYTES)
            drops = constants.nic_stalls_per_s * over / flows[0].frame_bytes
            self.ledger.grow(nic_row(end), "rx_discards_phy", drops)
            # All of them are of a few windows, each of which is asked for once.
            self.ledger.grow(nic_row(end), "out_of_sequence", drops * _OF_ONE_STALL)
            self.ledger.grow(nic_row(flows[0].sender.end), "packet_seq_err", drops * _OF_ONE_STALL)

    def _grow(self, key: RowKey, name: str, tally: Tally) -> None:
        """Let a counter grow as a tally of the fluid says; its start counts once, when flows begin."""
        if self.congestion is None:
            return
        self.ledger.grow(key, name, tally.steady / self.congestion.seconds)
        if self.starts:
            self.ledger.add(key, name, tally.start)

    def _charge_station(self, end: End, queue: int, station: Station) -> None:
        if end.node not in self.net.devices:
            return
        key = RowKey(QUEUES, end.node, end.port, queue)
        self._grow(key, f"{QUEUE}WRED_ECN_MARKED_PACKETS", station.marks)
        self._grow(key, f"{QUEUE}WRED_DROPPED_PACKETS", station.early_drops)
        for tally in (station.drops, station.early_drops):
            self._grow(key, f"{QUEUE}DROPPED_PACKETS", tally)
            self._grow(RowKey(PORTS, end.node, end.port), f"{PORT}IF_OUT_DISCARDS", tally)
        self.ledger.raise_to(key, f"{QUEUE}SHARED_WATERMARK_BYTES", station.peak)

    def _charge_group(self, end: End, number: int, group: Group) -> None:
        neighbor = self.net.cables.get(end)
        is_switch = end.node in self.net.devices
        sent = (RowKey(PORTS, end.node, end.port), f"{PORT}PFC_{number}_TX_PKTS")
        if not is_switch:
            sent = (nic_row(end), f"tx_prio{number}_pause")
        self._grow(*sent, group.frames)
        if neighbor is not None and group.pauses is not None:
            received = (RowKey(PORTS, neighbor.node, neighbor.port), f"{PORT}PFC_{number}_RX_PKTS")
            if neighbor.node not in self.net.devices:
                received = (nic_row(neighbor), f"rx_prio{number}_pause")
            self._grow(*received, group.frames)
        if not is_switch:
            self._grow(nic_row(end), "rx_discards_phy", group.drops)
            return
        key = RowKey(GROUPS, end.node, end.port, number)
        self._grow(key, f"{GROUP}DROPPED_PACKETS", group.drops)
        self._grow(RowKey(PORTS, end.node, end.port), f"{PORT}IF_IN_DISCARDS", group.drops)
        self.ledger.raise_to(key, f"{GROUP}SHARED_WATERMARK_BYTES", group.peak)
        self.ledger.raise_to(key, f"{GROUP}XOFF_ROOM_WATERMARK_BYTES", group.headroom_peak)
