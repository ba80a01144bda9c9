"""Faults that counters of queues show: traffic outside the queue of its class, and PFC pauses before ECN marks."""

from collections import Counter, defaultdict
from collections.abc import Iterator
from typing import NamedTuple

from railweave.acceptance.counter_names import CounterMeaning
from railweave.acceptance.judge.case import Case
from railweave.acceptance.judge.elements import CONGESTED, Culprit, Element, ElementKind, Symptom, setting_element
from railweave.acceptance.judge.statistics import HealthySpread
from railweave.acceptance.judge.tally import RoundTally
from railweave.acceptance.model import CoveredLink, RoundKind
from railweave.diagnostics import Severity

# A decade: no peer of the same tier comes near.
_BEYOND_PEERS = 10
# A sender of an incast may be paused once, by an XOFF and an XON, before the first mark has slowed it down.
_FRAMES_OF_A_START = 2


class QueueBytes(NamedTuple):
    """Bytes that a switch sent towards a NIC from one of its queues."""

    link: CoveredLink
    queue: int
    sent: int


class StrayTraffic(NamedTuple):
    """Bytes towards a NIC outside the queue of RDMA traffic, and the nodes that may have sent them."""

    link: CoveredLink
    round: str
    queue: int
    stray_bytes: int
    senders: frozenset[str]


def stray_traffic(case: Case) -> tuple[StrayTraffic, ...]:
    """Return the traffic towards NICs in other queues than that of RDMA, if it is more than control traffic.

    Control traffic is what most ports have, and acknowledgments of what the NIC sends.
    """
    classes = case.index.plan.classes
    expected_queues = {planned.queue for planned in classes if planned.role == "rdma"}
    if not expected_queues:
        return ()
    if case.is_lossy:
        # Trimmed packets are sent in the queue of notifications.
        expected_queues |= {planned.queue for planned in classes if planned.role == "cnp"}
    bytes_of_rounds = {tally.round: list(_unexpected_bytes(case, tally, expected_queues)) for tally in case.rounds()}
    rates = [sent / link.speed_gbps for round_bytes in bytes_of_rounds.values() for link, _, sent in round_bytes]
    if not rates:
        return ()
    # CNPs and control traffic are the same for all ports; a fault would have to reach half of them to count as usual.
    usual = HealthySpread(rates)
    share = case.index.plan.settings.disturbed_share
    strays = []
    for round_id, round_bytes in bytes_of_rounds.items():
        tally = case.tallies[round_id]
        least_per_gbps = max(case.index.rounds[round_id].seconds * share * 1e9 / 8, usual.middle + usual.tolerance)
        for link, queue, sent in round_bytes:
            least_bytes = link.speed_gbps * least_per_gbps
            if sent <= least_bytes or link.nic_port is None:
                continue
            # Acknowledgments of traffic from the NIC: at most one of 84 bytes for each packet of 1,024.
            acknowledgments = tally.counted(link.upper, CounterMeaning.RECEIVED_BYTES) / 8
            senders = case.index.senders_to[round_id, link.nic_port]
            if senders and sent > least_bytes + acknowledgments:
                strays.append(StrayTraffic(link, round_id, queue, sent, senders))
    return tuple(strays)


def _unexpected_bytes(case: Case, tally: RoundTally, expected_queues: set[int]) -> Iterator[QueueBytes]:
    """Yield the bytes towards NICs in all queues but ``expected_queues``."""
    for link in case.index.host_link.values():
        for queue, sent in tally.bytes_of_queues(link.upper).items():
            if queue not in expected_queues:
                yield QueueBytes(link, queue, sent)


def dscp_symptoms(case: Case) -> Iterator[Symptom]:
    """Yield a symptom for each node whose traffic is in another queue than that of its class.

    These nodes are the fewest senders that explain all stray traffic. Senders of the same traffic have one symptom.
    """
    unexplained = list(stray_traffic(case))
    while unexplained:
        strays_of: dict[str, list[StrayTraffic]] = defaultdict(list)
        for stray in unexplained:
            for sender in stray.senders:
                strays_of[sender].append(stray)
        explained = max(strays_of.values(), key=len)
        nodes = tuple(sorted(node for node, strays in strays_of.items() if strays == explained))
        unexplained = [stray for stray in unexplained if stray not in explained]
        queue = min(stray.queue for stray in explained)
        stray_bytes = sum(stray.stray_bytes for stray in explained)
        message = f"{stray_bytes:,} bytes from {', '.join(nodes)} were in queue {queue}, not in that of their class"
        fix = "set the DSCP of its RDMA traffic as rendered (`railweave hosts plan`)"
        elements = tuple(setting_element(f"DSCP of {node}") for node in nodes)
        elements += tuple(Element(ElementKind.NODE, node) for node in nodes)
        culprit = Culprit(elements, "marks its packets with another DSCP", fix, nodes=nodes, slows=CONGESTED)
        yield Symptom("A-3", Severity.ERROR, message, fix, culprit)


class IncastReading(NamedTuple):
    """The counters of a switch over all incast rounds."""

    device: str
    # PFC frames that it sent, without those that it may have sent because its neighbors paused it.
    frames: int
    # ECN marks in lossless queues.
    marks: int
    senders: int

    @property
    def start_frames(self) -> int:
        """Return the PFC frames that the start of all senders may need."""
        return _FRAMES_OF_A_START * self.senders

    @property
    def ratio(self) -> float:
        """Return PFC frames per ECN mark."""
        return max(self.frames, self.start_frames) / max(self.marks, 1)


def incast_readings(case: Case) -> tuple[IncastReading, ...]:
    """Return the sums over all incast rounds of every switch that counts ECN marks, sorted by name."""
    frames: Counter[str] = Counter()
    marks: Counter[str] = Counter()
    senders: Counter[str] = Counter()
    for tally in case.rounds(RoundKind.INCAST):
        for device, links in case.index.links_of.items():
            device_marks = _marks(case, tally, device)
            if device_marks is None:
                continue
            sent = _frames(case, tally, device, CounterMeaning.PFC_SENT)
            received = _frames(case, tally, device, CounterMeaning.PFC_RECEIVED)
            # A switch that is paused at one port may pass the pause on at all others: the cause is further down.
            frames[device] += max(0, sent - received * len(links))
            marks[device] += device_marks
            senders[device] += len(case.index.tests_of[tally.round])
    return tuple(IncastReading(device, frames[device], marks[device], senders[device]) for device in sorted(marks))


def _frames(case: Case, tally: RoundTally, device: str, meaning: CounterMeaning) -> int:
    """Return the sum of a counter of PFC frames over the ports of a switch; unread ports count as 0."""
    column = tally.column(case.index.places_of[device], meaning)
    return sum(frames for frames in column if frames is not None)


def _marks(case: Case, tally: RoundTally, device: str) -> int | None:
    """Return the ECN marks of the lossless queues of a switch; None if no such queue has a counter."""
    counters = []
    for link in case.index.links_of[device]:
        for queue, marks in tally.marks_of_queues(link.end_at(device)).items():
            if queue in case.lossless_queues:
                counters.append(marks)
    if not counters:
        return None
    return sum(counters)


def ecn_symptoms(case: Case) -> Iterator[Symptom]:
    """Yield a symptom for each switch that pauses without marks, or far more per mark than its peers.

    If all switches of a tier do, they have one symptom.
    """
    readings_of_tier: dict[str, list[IncastReading]] = defaultdict(list)
    for reading in incast_readings(case):
        readings_of_tier[case.index.devices[reading.device].tier].append(reading)
    for readings in readings_of_tier.values():
        early_readings = [reading for reading in readings if _pauses_early(reading, readings)]
        if len(early_readings) > 1 and len(early_readings) == len(readings):
            # All switches of a tier do not break at once: their common configuration is at fault.
            yield _tier_symptom(tuple(reading.device for reading in early_readings))
            continue
        for reading in early_readings:
            message = f"{reading.device} sent {reading.frames:,} PFC frames and marked {reading.marks:,} packets"
            fix = "compare its buffer and WRED profiles with the rendered ones (`railweave drift`)"
            element = Element(ElementKind.DEVICE, reading.device)
            culprit = Culprit((element,), "has too little buffer", fix, devices=(reading.device,), slows=CONGESTED)
            yield Symptom("A-4", Severity.ERROR, f"{message} in incast rounds", fix, culprit)


def _pauses_early(reading: IncastReading, readings: list[IncastReading]) -> bool:
    """Tell whether a switch pauses without marks, or far more per mark than every other switch of its tier."""
    if reading.frames <= reading.start_frames:
        return False
    if not reading.marks:
        return True
    peer_ratios = [peer.ratio for peer in readings if peer is not reading and peer.marks]
    return bool(peer_ratios) and reading.ratio > _BEYOND_PEERS * max(peer_ratios)


def _tier_symptom(devices: tuple[str, ...]) -> Symptom:
    """Return the symptom of a tier whose switches all pause before they mark."""
    fix = "lower the ECN thresholds, or let the NICs send ECN-capable packets (`railweave explain`)"
    culprit = Culprit((setting_element("ECN"),), "lets PFC come first", fix, devices=devices, slows=CONGESTED)
    return Symptom("A-4", Severity.ERROR, f"{len(devices)} switches pause before they mark packets", fix, culprit)
