"""What queues tell: traffic that is not in the queue of its class, and pauses without ECN marks before them."""

from collections import defaultdict
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


class StrayTraffic(NamedTuple):
    """Bytes towards a NIC outside the queue of RDMA traffic, and the nodes that may have sent them."""

    link: CoveredLink
    round: str
    queue: int
    stray_bytes: int
    senders: frozenset[str]


def stray_traffic(case: Case) -> tuple[StrayTraffic, ...]:
    """Return the traffic towards NICs in queues that neither its class nor the control traffic of peers explains."""
    queues = {planned.queue for planned in case.index.plan.classes if planned.role == "rdma"}
    if not queues:
        return ()
    if case.is_lossy:
        # What is left of trimmed packets takes the queue of notifications.
        queues |= {planned.queue for planned in case.index.plan.classes if planned.role == "cnp"}
    strays = {counts.round: list(_strays(case, counts, queues)) for counts in case.rounds()}
    rates = [sent / link.speed_gbps for of_round in strays.values() for link, _, sent in of_round]
    if not rates:
        return ()
    # CNPs and control traffic are the same for all; half of all ports have to stray before they count as usual.
    usual = HealthySpread(rates)
    share = case.index.plan.settings.disturbed_share
    kept = []
    for name, of_round in strays.items():
        least_per_gbps = max(case.index.rounds[name].seconds * share * 1e9 / 8, usual.middle + usual.tolerance)
        for link, queue, sent in of_round:
            if sent <= link.speed_gbps * least_per_gbps or link.nic_port is None:
                continue
            # Acknowledgments of what the NIC itself sends: at most one of 84 bytes for each packet of 1,024.
            acknowledged = case.tallies[name].counted(link.upper, CounterMeaning.RECEIVED_BYTES)
            senders = case.index.senders_to[name, link.nic_port]
            if senders and sent > link.speed_gbps * least_per_gbps + acknowledged / 8:
                kept.append(StrayTraffic(link, name, queue, sent, senders))
    return tuple(kept)


def _strays(case: Case, counts: RoundTally, queues: set[int]) -> Iterator[tuple[CoveredLink, int, int]]:
    """Yield the bytes towards NICs in other queues than ``queues``: link, queue and bytes."""
    for link in case.index.host_link.values():
        for queue, sent in counts.bytes_of_queues(link.upper).items():
            if queue not in queues:
                yield link, queue, sent


def dscp_symptoms(case: Case) -> Iterator[Symptom]:
    """Yield the nodes whose traffic is in another queue than that of its class: the smallest set of senders."""
    waiting = list(stray_traffic(case))
    while waiting:
        nodes: dict[str, list[StrayTraffic]] = defaultdict(list)
        for stray in waiting:
            for sender in stray.senders:
                nodes[sender].append(stray)
        strays = max(nodes.values(), key=len)
        alike = tuple(sorted(name for name, others in nodes.items() if others == strays))
        waiting = [stray for stray in waiting if stray not in strays]
        queues = sorted({stray.queue for stray in strays})
        stray_bytes = sum(stray.stray_bytes for stray in strays)
        message = f"{stray_bytes:,} bytes from {', '.join(alike)} were in queue {queues[0]}, not in that of their class"
        fix = "set the DSCP of its RDMA traffic as rendered (`railweave hosts plan`)"
        elements = tuple(setting_element(f"DSCP of {node}") for node in alike)
        elements += tuple(Element(ElementKind.NODE, node) for node in alike)
        culprit = Culprit(elements, "marks its packets with another DSCP", fix, nodes=alike, slows=CONGESTED)
        yield Symptom("A-3", Severity.ERROR, message, fix, culprit)


class IncastReading(NamedTuple):
    """What a switch did in incast rounds: PFC frames that those which it received do not explain, and ECN marks."""

    device: str
    frames: int
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
    """Return what every switch counted in incast rounds; without ECN counters there are none."""
    readings: dict[str, list[int]] = defaultdict(lambda: [0, 0, 0])
    for counts in case.rounds(RoundKind.INCAST):
        senders = len(case.index.tests_of[counts.round])
        for device, links in case.index.links_of.items():
            marks = _marks(case, counts, device)
            if marks is None:
                continue
            places = case.index.places_of[device]
            sent = sum(filter(None, counts.column(places, CounterMeaning.PFC_SENT)))
            received = sum(filter(None, counts.column(places, CounterMeaning.PFC_RECEIVED)))
            row = readings[device]
            # A switch that is paused at one port may pass the pause on at all others: the cause is further down.
            row[0] += max(0, sent - received * len(links))
            row[1] += marks
            row[2] += senders
    return tuple(IncastReading(device, *row) for device, row in sorted(readings.items()))


def _marks(case: Case, counts: RoundTally, device: str) -> int | None:
    marks: int | None = None
    for link in case.index.links_of[device]:
        for queue, counted in counts.marks_of_queues(link.end_at(device)).items():
            if queue in case.lossless_queues:
                marks = (marks or 0) + counted
    return marks


def ecn_symptoms(case: Case) -> Iterator[Symptom]:
    """Yield the switches that paused before they marked, and those that pause far more per mark than their peers."""
    tiers: dict[str, list[IncastReading]] = defaultdict(list)
    for reading in incast_readings(case):
        tiers[case.index.devices[reading.device].tier].append(reading)
    for readings in tiers.values():
        early = [reading for reading in readings if _pauses_early(reading, readings)]
        if len(early) > 1 and len(early) == len(readings):
            yield _tier_symptom(tuple(reading.device for reading in early))
            continue
        for reading in early:
            message = f"{reading.device} sent {reading.frames:,} PFC frames and marked {reading.marks:,} packets"
            fix = "compare its buffer and WRED profiles with the rendered ones (`railweave drift`)"
            element = Element(ElementKind.DEVICE, reading.device)
            culprit = Culprit((element,), "has too little buffer", fix, devices=(reading.device,), slows=CONGESTED)
            yield Symptom("A-4", Severity.ERROR, f"{message} in incast rounds", fix, culprit)


def _pauses_early(reading: IncastReading, readings: list[IncastReading]) -> bool:
    if reading.frames <= reading.start_frames:
        return False
    if not reading.marks:
        return True
    peers = [peer.ratio for peer in readings if peer is not reading and peer.marks]
    return bool(peers) and reading.ratio > _BEYOND_PEERS * max(peers)


def _tier_symptom(devices: tuple[str, ...]) -> Symptom:
    fix = "lower the ECN thresholds, or let the NICs send ECN-capable packets (`railweave explain`)"
    culprit = Culprit((setting_element("ECN"),), "lets PFC come first", fix, devices=devices, slows=CONGESTED)
    return Symptom("A-4", Severity.ERROR, f"{len(devices)} switches pause before they mark packets", fix, culprit)
