"""A round of tests on the modelled fabric: flows and their rates, queues that fill, and what counters see of both."""

from collections import defaultdict
from dataclasses import dataclass, field
from random import Random
from typing import Any

from acceptance_faults.counters import GROUP, QUEUE, SAI, STORMS, Counters
from acceptance_faults.fabric import End, Fabric, Hop, max_min_rates, nic_key
from acceptance_faults.nature import Conditions
from acceptance_faults.queues import PACKET_BYTES, congest

IN_OCTETS = SAI + "IF_IN_OCTETS"
OUT_OCTETS = SAI + "IF_OUT_OCTETS"
IN_PACKETS = SAI + "IF_IN_UCAST_PKTS"
OUT_PACKETS = SAI + "IF_OUT_UCAST_PKTS"
QUEUE_BYTES = QUEUE + "BYTES"
QUEUE_PACKETS = QUEUE + "PACKETS"
PAYLOAD_BYTES = 4096
# Preamble and inter-frame gap, which no counter counts.
GAP_BYTES = 20
WIRE_SHARE = PAYLOAD_BYTES / (PACKET_BYTES + GAP_BYTES)
ACK_BYTES = 66
# RC acknowledges a message, or every so many packets of a long one.
PACKETS_PER_ACK = 16
CNP_BYTES = 82
BYTES_PER_GBPS_S = 1.25e8
LANES = 4
# PFC frames that may fall between the readings of both ends of a cable.
FRAMES_OF_A_READING = 10
# Between an ARP request and an LLDP frame.
BACKGROUND_BYTES = 160.0


@dataclass(frozen=True)
class Classes:
    """Queues of a packet by its DSCP, and the lossless priorities."""

    queue_of_dscp: dict[int, int]
    default_queue: int
    rdma_dscp: int
    cnp_queue: int
    lossless: frozenset[int]
    marked: frozenset[int]
    queues: tuple[int, ...]

    @classmethod
    def of(cls, rows: list[dict[str, Any]]) -> "Classes":
        queue_of: dict[int, int] = {}
        default = 0
        for row in rows:
            for dscp in row["dscp"]:
                queue_of[dscp] = row["queue"]
            if not row["dscp"] or row["role"] == "bulk":
                default = row["queue"]
        rdma = next(row for row in rows if row["role"] == "rdma")
        cnp = next((row["queue"] for row in rows if row["role"] == "cnp"), rdma["queue"])
        return cls(
            queue_of,
            default,
            rdma["dscp"][0],
            cnp,
            frozenset(row["queue"] for row in rows if row["lossless"]),
            frozenset(row["queue"] for row in rows if row["ecn"]),
            tuple(sorted({row["queue"] for row in rows} | {default})),
        )

    def queue(self, dscp: int) -> int:
        return self.queue_of_dscp.get(dscp, self.default_queue)


@dataclass
class Flow:
    """A queue pair of a test; rates are Gb/s on the wire, with all headers."""

    test: str
    sender: tuple[str, int, int]
    receiver: tuple[str, int, int]
    hops: list[Hop]
    queue: int
    ack_queue: int
    line: float
    cap: float
    # Packets lost on the way as a share, and what go-back-N sends for each that arrives.
    lost: float
    repeats: float
    # The way of acknowledgments and CNPs, which switches hash for themselves.
    back: list[Hop]
    rate: float = 0.0
    marks: float = 0.0


@dataclass
class Traffic:
    """What happened in a round."""

    flows: list[Flow] = field(default_factory=list)
    # Tests whose ends do not reach each other.
    unreachable: set[str] = field(default_factory=set)
    # Gb/s of payload by test.
    rate: dict[str, float] = field(default_factory=lambda: defaultdict(float))
    # Gb/s of payload of the slowest pair of a group's rings.
    slowest: dict[str, float] = field(default_factory=dict)


class Model:
    """The fabric with its conditions; ``run`` carries out one round."""

    def __init__(
        self, fabric: Fabric, classes: Classes, conditions: Conditions, counters: Counters, rng: Random
    ) -> None:
        self.fabric = fabric
        self.classes = classes
        self.conditions = conditions
        self.counters = counters
        self.rng = rng
        # Frames of a direction that its far end had not counted at the last reading.
        self._late: dict[Hop, float] = {}
        self._row_of: dict[Hop, tuple[dict[str, int], dict[str, int]]] = {}
        # Sending capacity of each direction of each wire: place x 2, up is odd.
        self.capacity: list[float] = []
        for wire in fabric.wires:
            self.capacity += [wire.gbps, wire.gbps]
        for nic, place in fabric.access.items():
            slot = conditions.slow_nic.get(nic[:2], 1.0)
            sending = slot * conditions.slow_node.get(nic[0], 1.0)
            rail = fabric.wires[place].rail
            if rail is not None:
                sending *= conditions.slow_rail.get(rail, 1.0)
            self.capacity[2 * place + 1] *= sending
            self.capacity[2 * place] *= slot

    def run(self, round_id: str, tests: list[dict[str, Any]], seconds: float) -> Traffic:
        traffic = Traffic()
        for test in tests:
            for sender, receiver, queue_pairs in pairs_of(test):
                self._add(traffic, test, sender, receiver, queue_pairs)
        flows = traffic.flows
        paths = [[2 * hop.wire + hop.up for hop in flow.hops] for flow in flows]
        strange = self._strangers(round_id, seconds)
        capacity = list(self.capacity)
        for place, gbps in strange.items():
            capacity[place] = max(1.0, capacity[place] - gbps)
        rates = max_min_rates(paths, capacity, [flow.cap for flow in flows])
        nature = self.conditions.constants
        shared = _shared_links(paths)
        for flow, rate, path in zip(flows, rates, paths, strict=True):
            flow.rate = rate * (1 - self.rng.random() * nature.measurement_noise / 4)
            if any(place in shared for place in path):
                flow.rate *= 1 - self.rng.random() * nature.unfairness
        self._queues(flows, seconds)
        noise = {test["id"]: 1 - self.rng.random() * nature.measurement_noise for test in tests}
        hops: dict[tuple[str, tuple[str, int, int]], float] = defaultdict(float)
        for flow in flows:
            payload = flow.rate * WIRE_SHARE * noise[flow.test]
            traffic.rate[flow.test] += payload
            hops[flow.test, flow.sender] += payload
        for (name, _), payload in hops.items():
            traffic.slowest[name] = min(traffic.slowest.get(name, payload), payload)
        self._count(flows, seconds)
        return traffic

    def _add(
        self,
        traffic: Traffic,
        test: dict[str, Any],
        sender: tuple[str, int, int],
        receiver: tuple[str, int, int],
        queue_pairs: int,
    ) -> None:
        conditions = self.conditions
        line = min(
            self.capacity[2 * self.fabric.access[sender] + 1], self.fabric.wires[self.fabric.access[receiver]].gbps
        )
        for _ in range(queue_pairs):
            hops = self.fabric.path(sender, receiver, self.rng)
            if hops is None:
                traffic.unreachable.add(test["id"])
                return
            arrives = 1.0
            for hop in hops:
                arrives *= (1 - self._lost_at(hop)) * (1 - self._lost_behind(hop))
            lost = 1 - arrives
            window = line * conditions.constants.round_trip_us * 125 / PACKET_BYTES
            goodput = 1 / (1 + lost * window)
            cap = float("inf")
            if lost > 1e-7:
                cap = line / queue_pairs * goodput
            factor = conditions.slow_pair.get((sender[0], receiver[0]), 1.0)
            if test.get("to"):
                factor *= conditions.slow_host.get(sender[0], 1.0)
            if factor < 1:
                cap = min(cap, line / queue_pairs * factor)
            classes = self.classes
            traffic.flows.append(
                Flow(
                    test["id"],
                    sender,
                    receiver,
                    hops,
                    classes.queue(conditions.dscp.get(sender[0], classes.rdma_dscp)),
                    classes.queue(conditions.dscp.get(receiver[0], classes.rdma_dscp)),
                    line / queue_pairs,
                    cap,
                    lost,
                    # Timeouts leave the wire idle for half of what go-back-N would send again.
                    min(1 / goodput, 1 + lost * window * 0.5),
                    self.fabric.path(receiver, sender, self.rng) or [],
                )
            )

    def _lost_at(self, hop: Hop) -> float:
        key = hop.wire, hop.up
        loss = self.conditions.loss.get(key)
        if loss:
            return loss.ratio
        if key in self.conditions.bad_lane:
            return _uncorrectable_share(self.conditions.bad_lane[key][0])
        return 0.0

    def _lost_behind(self, hop: Hop) -> float:
        """Return the share of packets that the switch at the end of a hop loses inside."""
        return self.conditions.leaky.get(self.fabric.receiving_end(hop).device, 0.0)

    def _strangers(self, round_id: str, seconds: float) -> dict[int, float]:
        """Let somebody else's traffic pass, and return what it takes from each direction of a wire."""
        taken = {}
        for (round_, wire, up), gbps in self.conditions.strangers.items():
            if round_ == round_id:
                taken[2 * wire + up] = gbps
                self._carry(Hop(wire, up), self.classes.default_queue, gbps * BYTES_PER_GBPS_S * seconds, 1500.0, 0.0)
        return taken

    def _queues(self, flows: list[Flow], seconds: float) -> None:
        """Fill the queues of all switch ports to which more is sent than they carry."""
        offered: dict[tuple[Hop, int], dict[Hop, float]] = defaultdict(lambda: defaultdict(float))
        through: dict[tuple[Hop, int], list[Flow]] = defaultdict(list)
        for flow in flows:
            for before, hop in zip(flow.hops, flow.hops[1:], strict=False):
                offered[hop, flow.queue][before] += flow.line
                through[hop, flow.queue].append(flow)
        amounts = {
            key: {way: min(gbps, self.capacity[2 * way.wire + way.up]) for way, gbps in ways.items()}
            for key, ways in offered.items()
        }
        total: dict[Hop, float] = defaultdict(float)
        for (hop, _), ways in amounts.items():
            total[hop] += sum(ways.values())
        for (hop, queue), ways in amounts.items():
            capacity = self.capacity[2 * hop.wire + hop.up]
            if total[hop] > capacity * 1.001:
                # The scheduler serves queues of one port by what they have.
                served = capacity * sum(ways.values()) / total[hop]
                self._congested(hop, queue, served, ways, through[hop, queue], seconds)
        for (node, nic), share in self.conditions.slow_nic.items():
            self._nic_pauses(node, nic, share, flows, seconds)
        for receiver, frames in self.conditions.small_receiver.items():
            self._receiver_pauses(receiver, frames, flows, seconds)
        for key, place in self.fabric.access.items():
            if key[:2] in self.conditions.storms:
                self._storm(place, self.conditions.storms[key[:2]])

    def _congested(
        self, hop: Hop, queue: int, served: float, amounts: dict[Hop, float], flows: list[Flow], seconds: float
    ) -> None:
        conditions = self.conditions
        fabric = self.fabric
        device, port = fabric.sending_end(hop)
        lossless = queue in self.classes.lossless
        ways = sorted(amounts)
        # The way in, the port that would pause it, and the port that would stop.
        ends = [(way, fabric.receiving_end(way), fabric.sending_end(way)) for way in ways]
        works = tuple(
            lossless and here not in conditions.no_pfc and there not in conditions.no_pfc for _, here, there in ends
        )
        result = congest(
            round(served, 1),
            tuple(round(amounts[way], -1) for way in ways),
            works,
            conditions.small_buffer.get(device),
            queue in self.classes.marked,
            conditions.constants.scaled("buffer_bytes", conditions.buffer_share.get(device, 1.0)),
        )
        chance = self.rng.uniform(0.85, 1.15)
        marks = (result.marks + result.marks_per_s * seconds) * chance
        count = self.counters
        count.grow(device, "queues", f"{port}|{queue}", QUEUE + "WRED_ECN_MARKED_PACKETS", marks)
        count.peak(device, "queues", f"{port}|{queue}", QUEUE + "SHARED_WATERMARK_BYTES", result.peak_bytes * chance)
        total = sum(flow.rate for flow in flows) or 1.0
        for flow in flows:
            flow.marks += marks * flow.rate / total
        for number, (_, here, there) in enumerate(ends):
            pauses = (result.pauses[number] + result.pauses_per_s[number] * seconds) * chance
            drops = (result.drops[number] + result.drops_per_s[number] * seconds) * chance
            if lossless and drops >= 1:
                conditions.missed_pauses |= {end for end in (here, there) if end in conditions.no_pfc}
            if lossless and (here not in conditions.no_pfc or here in conditions.other_priority):
                if not works[number]:
                    pauses = drops * 0.05
                self._pause(here, there, queue, pauses)
                self._spread(there, queue, pauses)
            if lossless:
                row = f"{here.port}|{queue}"
                count.peak(
                    device, "groups", row, GROUP + "XOFF_ROOM_WATERMARK_BYTES", result.headroom_peak[number] * chance
                )
                count.grow(device, "groups", row, GROUP + "DROPPED_PACKETS", drops)
                count.grow(device, "ports", here.port, SAI + "IF_IN_DISCARDS", drops)
            else:
                count.grow(device, "queues", f"{port}|{queue}", QUEUE + "DROPPED_PACKETS", drops)
                count.grow(device, "ports", port, SAI + "IF_OUT_DISCARDS", drops)
            if drops:
                self._dropped([flow for flow in flows if ends[number][0] in flow.hops], drops, seconds)

    def _spread(self, paused: End, queue: int, pauses: float) -> None:
        """Let the queue of a switch port that is paused often grow until it marks: congestion spreads upstream."""
        if paused.device in self.fabric.nodes or queue not in self.classes.marked or pauses < 1000:
            return
        row = f"{paused.port}|{queue}"
        self.counters.grow(paused.device, "queues", row, QUEUE + "WRED_ECN_MARKED_PACKETS", pauses * 2)
        peak = self.conditions.constants.ecn_min_bytes * 1.5
        self.counters.peak(paused.device, "queues", row, QUEUE + "SHARED_WATERMARK_BYTES", peak)

    def _dropped(self, flows: list[Flow], drops: float, seconds: float) -> None:
        """Let flows lose packets in a switch: they go back, and their NICs count it."""
        packets = sum(flow.rate for flow in flows) * BYTES_PER_GBPS_S * seconds / PACKET_BYTES
        if not packets:
            return
        share = min(0.5, drops / packets)
        for flow in flows:
            window = flow.line * self.conditions.constants.round_trip_us * 125 / PACKET_BYTES
            flow.rate /= 1 + share * window
            self._nic_losses(flow, drops / len(flows))

    def _pause(self, here: End, there: End, queue: int, frames: float) -> None:
        """Send pauses from a port, and count them at the other end of its cable if it listens."""
        count = self.counters
        queue = self.conditions.other_priority.get(here, queue)
        if here.device in self.fabric.nodes:
            count.grow(here.device, "nics", here.port, f"tx_prio{queue}_pause", frames)
        else:
            count.grow(here.device, "ports", here.port, f"{SAI}PFC_{queue}_TX_PKTS", frames)
        if there in self.conditions.no_pfc:
            if frames >= FRAMES_OF_A_READING:
                self.conditions.missed_pauses.add(there)
            return
        if there.device in self.fabric.nodes:
            count.grow(there.device, "nics", there.port, f"rx_prio{queue}_pause", frames)
        else:
            count.grow(there.device, "ports", there.port, f"{SAI}PFC_{queue}_RX_PKTS", frames)

    def _nic_pauses(self, node: str, nic: int, share: float, flows: list[Flow], seconds: float) -> None:
        """Let a NIC whose slot is too slow pause its leaf while more arrives than the slot takes."""
        for key, place in self.fabric.access.items():
            if key[:2] != (node, nic):
                continue
            # A NIC pauses the lossless priorities alone.
            arriving = [flow for flow in flows if flow.receiver == key and flow.queue in self.classes.lossless]
            if sum(flow.line for flow in arriving) > self.capacity[2 * place] * 1.001:
                hop = Hop(place, False)
                frames = (1 - share) * seconds * 4000 * self.rng.uniform(0.7, 1.3)
                self._pause(self.fabric.receiving_end(hop), self.fabric.sending_end(hop), arriving[0].queue, frames)

    def _receiver_pauses(self, nic: tuple[str, int], frames: float, flows: list[Flow], seconds: float) -> None:
        """Let a NIC pause its leaf again and again while several nodes send to it; its rate stays what it is."""
        for key, place in self.fabric.access.items():
            arriving = [flow for flow in flows if flow.receiver == key and flow.queue in self.classes.lossless]
            if key[:2] == nic and len({flow.sender for flow in arriving}) > 1:
                hop = Hop(place, False)
                here, there = self.fabric.receiving_end(hop), self.fabric.sending_end(hop)
                self._pause(here, there, arriving[0].queue, frames * seconds * self.rng.uniform(0.7, 1.3))

    def _storm(self, place: int, storms: int) -> None:
        """Let a NIC pause for so long that the watchdog of its leaf drops what waits for it, for a moment."""
        wire = self.fabric.wires[place]
        for queue in sorted(self.classes.lossless):
            self._pause(wire.lower, wire.upper, queue, storms * 500)
            self.counters.grow(wire.upper.device, "queues", f"{wire.upper.port}|{queue}", STORMS, storms)

    def _count(self, flows: list[Flow], seconds: float) -> None:
        """Add what all flows sent to the counters of every port on their ways."""
        carried: dict[tuple[Hop, int, float, float], float] = defaultdict(float)
        for flow in flows:
            sent = flow.rate * flow.repeats * PACKET_BYTES / (PACKET_BYTES + GAP_BYTES) * BYTES_PER_GBPS_S * seconds
            arrives = 1.0
            for hop in flow.hops:
                lost = self._lost_at(hop)
                carried[hop, flow.queue, PACKET_BYTES, lost] += sent * arrives
                arrives *= (1 - lost) * (1 - self._lost_behind(hop))
            packets = flow.rate * BYTES_PER_GBPS_S * seconds / (PACKET_BYTES + GAP_BYTES)
            cnps = min(flow.marks, seconds * 2.0e4)
            for back in flow.back:
                lost = self._lost_at(back)
                carried[back, flow.ack_queue, ACK_BYTES, lost] += packets / PACKETS_PER_ACK * ACK_BYTES
                if cnps:
                    carried[back, self.classes.cnp_queue, CNP_BYTES, lost] += cnps * CNP_BYTES
            self._nic_marks(flow, cnps)
            if flow.lost > 1e-12:
                self._nic_losses(flow, packets * flow.repeats * flow.lost)
        for (hop, queue, size, lost), amount in carried.items():
            self._carry(hop, queue, amount, size, lost)

    def _nic_marks(self, flow: Flow, cnps: float) -> None:
        if not flow.marks:
            return
        count = self.counters
        sender = self.fabric.wires[self.fabric.access[flow.sender]].lower
        receiver = self.fabric.wires[self.fabric.access[flow.receiver]].lower
        count.grow(receiver.device, "nics", receiver.port, "np_ecn_marked_roce_packets", flow.marks)
        count.grow(receiver.device, "nics", receiver.port, "np_cnp_sent", cnps)
        count.grow(sender.device, "nics", sender.port, "rp_cnp_handled", cnps)

    def _nic_losses(self, flow: Flow, packets: float) -> None:
        count = self.counters
        sender = self.fabric.wires[self.fabric.access[flow.sender]].lower
        receiver = self.fabric.wires[self.fabric.access[flow.receiver]].lower
        count.grow(receiver.device, "nics", receiver.port, "out_of_sequence", packets * 0.95)
        count.grow(sender.device, "nics", sender.port, "packet_seq_err", packets * 0.9)
        count.grow(sender.device, "nics", sender.port, "local_ack_timeout_err", packets * 0.02)

    def _carry(self, hop: Hop, queue: int, amount: float, size: float, lost: float) -> None:
        add = self.counters.add
        sending, receiving = self._rows(hop)
        amount = int(amount)
        packets = amount / size
        if "tx_bytes_phy" in sending:
            add(sending, "tx_bytes_phy", amount)
            add(sending, "tx_packets_phy", packets)
            add(sending, f"tx_prio{queue}_bytes", amount)
        else:
            device, port = self.fabric.sending_end(hop)
            add(sending, OUT_OCTETS, amount)
            add(sending, OUT_PACKETS, packets)
            row = self.counters.row(device, "queues", f"{port}|{queue}")
            add(row, QUEUE_BYTES, amount)
            add(row, QUEUE_PACKETS, packets)
        arrived = amount
        if lost:
            arrived = int(amount * (1 - lost))
        if "rx_bytes_phy" in receiving:
            add(receiving, "rx_bytes_phy", arrived)
            add(receiving, "rx_packets_phy", packets * (1 - lost))
            add(receiving, f"rx_prio{queue}_bytes", arrived)
        else:
            add(receiving, IN_OCTETS, arrived)
            add(receiving, IN_PACKETS, packets * (1 - lost))
        if lost and self._is_counted(hop):
            self._fec_lost(hop, packets * lost)

    def _rows(self, hop: Hop) -> tuple[dict[str, int], dict[str, int]]:
        """Return the counters of the ports at both ends of a hop, the sending one first."""
        rows = self._row_of.get(hop)
        if rows is None:
            ends = (self.fabric.sending_end(hop), self.fabric.receiving_end(hop))
            tables = ["nics" if end.device in self.fabric.nodes else "ports" for end in ends]
            sending, receiving = (
                self.counters.row(end.device, table, end.port) for end, table in zip(ends, tables, strict=True)
            )
            rows = self._row_of[hop] = sending, receiving
        return rows

    def _read_between_frames(self, hop: Hop) -> None:
        """Let the far end count the last frames of the background only after its reading, and those before now."""
        late = self._late.pop(hop, 0.0) - self.rng.choice((0.0, 0.0, 0.0, 1.0, 2.0))
        if late:
            receiving = self._rows(hop)[1]
            name = "rx_bytes_phy" if "rx_bytes_phy" in receiving else IN_OCTETS
            self.counters.add(receiving, name, int(late * BACKGROUND_BYTES))
        if late < 0:
            self._late[hop] = -late

    def _is_counted(self, hop: Hop) -> bool:
        loss = self.conditions.loss.get((hop.wire, hop.up))
        return loss is None or loss.counted

    def _fec_lost(self, hop: Hop, packets: float) -> None:
        device, port = self.fabric.receiving_end(hop)
        count = self.counters
        if device in self.fabric.nodes:
            count.grow(device, "nics", port, "rx_pcs_symbol_err_phy", packets)
            count.grow(device, "nics", port, "rx_crc_errors_phy", packets)
        else:
            count.grow(device, "ports", port, SAI + "IF_IN_FEC_NOT_CORRECTABLE_FRAMES", packets)
            count.grow(device, "ports", port, SAI + "IF_IN_ERRORS", packets)

    def idle(self, seconds: float) -> None:
        """Let time pass: LLDP, BGP and ARP in both directions of each cable, and the bits that FEC corrects."""
        nature = self.conditions.constants
        add = self.counters.add
        lowest = self.classes.default_queue
        for place, wire in enumerate(self.fabric.wires):
            if wire.plane in self.conditions.missing_planes:
                continue
            for up in (False, True):
                hop = Hop(place, up)
                amount = nature.background_bytes_per_s * seconds * self.rng.uniform(0.3, 1.0)
                self._carry(hop, lowest, amount, BACKGROUND_BYTES, 0.0)
                self._read_between_frames(hop)
                ber, lane = self.conditions.bad_lane.get((place, up), (0.0, 0))
                bits = wire.gbps * 1e9 * seconds
                good = bits * nature.healthy_ber * self.rng.uniform(0.1, 1.0)
                bad = bits / LANES * ber + bits * self.conditions.aging.get((place, up), 0.0)
                row = self._rows(hop)[1]
                if "rx_bytes_phy" in row:
                    add(row, "rx_corrected_bits_phy", good + bad)
                    for number in range(LANES):
                        add(row, f"rx_err_lane_{number}_phy", good / LANES + (bad if number == lane else 0.0))
                else:
                    add(row, SAI + "IF_IN_FEC_CORRECTED_BITS", good + bad)
                    add(row, SAI + "IF_IN_FEC_SYMBOL_ERRORS", (good + bad) * 0.9)
                    add(row, SAI + "IF_IN_FEC_CORRECTABLE_FRAMES", (good + bad) * 0.85)
                if ber:
                    # Codewords without packets are damaged too.
                    self._fec_lost(hop, _uncorrectable_share(ber) * bits / 8 / PACKET_BYTES * 0.2)


def _uncorrectable_share(ber: float) -> float:
    """Return the share of packets in a codeword that FEC gives up, for errors in bursts on one lane."""
    return min(0.2, (ber / 1e-3) ** 2)


def pairs_of(test: dict[str, Any]) -> list[tuple[tuple[str, int, int], tuple[str, int, int], int]]:
    """Return sender, receiver and queue pairs of a test: one pair, or for a group the rings over its nodes."""
    queue_pairs = max(1, int(test.get("queue_pairs") or 1))
    if test.get("to"):
        return [(nic_key(test["from"]), nic_key(test["to"]), queue_pairs)]
    rings: dict[tuple[int, int], list[tuple[str, int, int]]] = defaultdict(list)
    for member in map(nic_key, test["group"]):
        rings[member[1:]].append(member)
    return [
        (sender, receiver, queue_pairs)
        for ring in rings.values()
        if len(ring) > 1
        for sender, receiver in zip(ring, [*ring[1:], ring[0]], strict=True)
    ]


def _shared_links(paths: list[list[int]]) -> set[int]:
    """Return the links that more than one flow crosses."""
    users: dict[int, int] = defaultdict(int)
    for path in paths:
        for place in path:
            users[place] += 1
    return {place for place, count in users.items() if count > 1}
