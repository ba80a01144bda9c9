"""A congested egress queue as a fluid: what arrives by each ingress, marks, pauses, drops and watermarks."""

from dataclasses import dataclass
from functools import cache

from acceptance_faults.nature import Constants

PACKET_BYTES = 4158
"""A full RoCEv2 packet of 4,096 bytes on the wire, with Ethernet header and FCS."""
STEP_US = 4.0
LENGTH_US = 1200.0
# Bytes that a rate of one Gb/s moves in a microsecond.
BYTES_PER_GBPS_US = 125.0
# A paused priority is paused again before 65,535 quanta have passed at 400G.
REFRESH_US = 80.0
# DCQCN: a sender slows down to 70 % and comes back by 3 % of its rate.
SLOWER = 0.7
FASTER = 0.03


@dataclass(frozen=True)
class Congestion:
    """What a queue did: at the start of the traffic, and each second from then on."""

    marks: float
    marks_per_s: float
    # By ingress, in the order given.
    pauses: tuple[float, ...]
    pauses_per_s: tuple[float, ...]
    drops: tuple[float, ...]
    drops_per_s: tuple[float, ...]
    peak_bytes: float
    headroom_peak: tuple[float, ...]


@cache
def congest(
    gbps: float, offered: tuple[float, ...], pfc: tuple[bool, ...], pause_at: float | None, ecn: bool, nature: Constants
) -> Congestion:
    """Return what a queue of ``gbps`` does when ``offered`` Gb/s start to arrive by each ingress at once."""
    ways = range(len(offered))
    held = [0.0] * len(offered)
    rate = list(offered)
    paused_since = [-1.0] * len(offered)
    marked_lately = [0.0] * len(offered)
    tally = _Tally(len(offered))
    half = _Tally(len(offered))
    steps = int(LENGTH_US / STEP_US)
    react_every = max(1, round(nature.reaction_us / STEP_US))
    for step in range(steps):
        if step == steps // 2:
            half = tally.copied()
        queue = sum(held)
        probability = _probability(queue, nature) if ecn else 0.0
        threshold = pause_at if pause_at is not None else nature.alpha * max(0.0, nature.buffer_bytes - queue)
        drained = min(queue, gbps * BYTES_PER_GBPS_US * STEP_US)
        for way in ways:
            if queue:
                sent = drained * held[way] / queue
                held[way] -= sent
                marks = probability * sent / PACKET_BYTES
                tally.marks += marks
                marked_lately[way] += marks
            _arrive(way, step, held, rate, paused_since, threshold, pfc[way], nature, tally)
        if step % react_every == react_every - 1:
            for way in ways:
                if marked_lately[way] >= 1:
                    rate[way] *= SLOWER
                else:
                    rate[way] = min(offered[way], rate[way] + FASTER * offered[way])
                marked_lately[way] = 0.0
        tally.peak = max(tally.peak, sum(held))
    later = (LENGTH_US / 2) * 1e-6
    return Congestion(
        tally.marks,
        (tally.marks - half.marks) / later,
        tuple(tally.pauses),
        tuple((tally.pauses[way] - half.pauses[way]) / later for way in ways),
        tuple(tally.drops),
        tuple((tally.drops[way] - half.drops[way]) / later for way in ways),
        tally.peak,
        tuple(tally.headroom),
    )


class _Tally:
    def __init__(self, ways: int) -> None:
        self.marks = 0.0
        self.peak = 0.0
        self.pauses = [0.0] * ways
        self.drops = [0.0] * ways
        self.headroom = [0.0] * ways

    def copied(self) -> "_Tally":
        other = _Tally(0)
        other.marks = self.marks
        other.pauses = list(self.pauses)
        other.drops = list(self.drops)
        return other


def _probability(queue: float, nature: Constants) -> float:
    if queue <= nature.ecn_min_bytes:
        return 0.0
    if queue >= nature.ecn_max_bytes:
        return 1.0
    place = (queue - nature.ecn_min_bytes) / (nature.ecn_max_bytes - nature.ecn_min_bytes)
    return place * nature.ecn_max_probability


def _arrive(
    way: int,
    step: int,
    held: list[float],
    rate: list[float],
    paused_since: list[float],
    threshold: float,
    pfc: bool,
    nature: Constants,
    tally: _Tally,
) -> None:
    """Let one ingress send for a step: into its share of the buffer, then into its headroom, then into nothing."""
    now = step * STEP_US
    if paused_since[way] < 0:
        held[way] += rate[way] * BYTES_PER_GBPS_US * STEP_US
    over = held[way] - threshold
    if over > 0:
        tally.headroom[way] = max(tally.headroom[way], min(over, nature.headroom_bytes))
        if pfc:
            # The pause takes effect within the headroom: that is what it was computed for.
            held[way] = min(held[way], threshold + 0.7 * nature.headroom_bytes)
            if paused_since[way] < 0 or now - paused_since[way] >= REFRESH_US:
                paused_since[way] = now
                tally.pauses[way] += 1
        elif over > nature.headroom_bytes:
            tally.drops[way] += (over - nature.headroom_bytes) / PACKET_BYTES
            held[way] = threshold + nature.headroom_bytes
    elif paused_since[way] >= 0 and held[way] < 0.85 * threshold:
        # XON is a PFC frame too.
        paused_since[way] = -1.0
        tally.pauses[way] += 1
