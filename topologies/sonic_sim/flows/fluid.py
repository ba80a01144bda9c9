"""Queues over time: traffic as a fluid that enters ports, waits in their queues, is marked, paused and dropped.

A step moves what each sender may send through the stations of its way. A station is an egress queue. A priority group
counts what came by its port and waits anywhere in its switch; above its limit it pauses the neighbor, and what comes
until the neighbor stops fills its headroom. Senders adapt as DCQCN does (Zhu et al., SIGCOMM 2015): a CNP cuts the rate
by half of alpha, without CNPs it comes back half of the way, and its target rises.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from math import exp

from sonic_sim.flows.rows import GroupRows, Limit, QueueRows

STEP_US = 2.0
# A priority stays paused for 65,535 quanta of 512 bit times: switches repeat the frame after half of that.
_QUANTA_BITS = 65535 * 512
_ALPHA_GAIN = 1 / 16
# Of the line rate, by which the target of a sender rises each time.
_INCREASE = 0.004
_LEAST_SHARE = 1e-3
# The cost of a window grows with its steps and with what waits in queues.
_MOST_STEPS = 1500
_LEAST_STEPS = 400
_STEPS_TIMES_PARTS = 450_000
BYTES_PER_GBPS_US = 125.0


@dataclass(slots=True)
class PoolState:
    """The use of the memory that groups or queues of one switch share."""

    used: float = 0.0


@dataclass(slots=True)
class Tally:
    """Counts of the first half of the window, and of the second, which stands for the traffic from then on."""

    start: float = 0.0
    steady: float = 0.0


@dataclass(slots=True, eq=False)
class Pauses:
    """Whether the priority of a sender is stopped by its neighbor."""

    stops_at: float = float("inf")
    goes_at: float = 0.0

    def stopped(self, now: float) -> bool:
        """Tell whether it may not send now."""
        return now >= self.stops_at and (self.goes_at < self.stops_at or now < self.goes_at)


@dataclass(slots=True, eq=False)
class Source:
    """A NIC that sends: its queue pairs share its rate."""

    gbps: float
    bundles: list["Bundle"] = field(default_factory=list)


@dataclass(slots=True, eq=False)
class Bundle:
    """Flows of one sender, class and way."""

    source: Source
    count: int
    frame_bytes: int
    can_be_marked: bool
    pauses: Pauses
    # TCP slows down for drops.
    heeds_drops: bool = False
    parts: list["Part"] = field(default_factory=list)
    rate: float = 0.0
    target: float = 0.0
    alpha: float = 1.0
    signals: float = 0.0
    marks: Tally = field(default_factory=Tally)
    # Bytes.
    sent: Tally = field(default_factory=Tally)
    notifications: Tally = field(default_factory=Tally)


@dataclass(slots=True, eq=False)
class Part:
    """What of a bundle is in one station: ``held`` waits, ``coming`` arrived in this step."""

    bundle: Bundle
    station: "Station"
    group: "Group | None"
    following: "Part | None" = None
    held: float = 0.0
    coming: float = 0.0
    # Packets.
    drops: Tally = field(default_factory=Tally)


@dataclass(slots=True, eq=False)
class Station:
    """An egress queue; ``order`` is its latest place on any way."""

    gbps: float
    rows: QueueRows
    pool: PoolState
    order: int = 0
    parts: list[Part] = field(default_factory=list)
    pauses: Pauses = field(default_factory=Pauses)
    queued: float = 0.0
    marks: Tally = field(default_factory=Tally)
    drops: Tally = field(default_factory=Tally)
    early_drops: Tally = field(default_factory=Tally)
    peak: float = 0.0
    # Bytes that wait in it on average.
    waits: float = 0.0


@dataclass(slots=True, eq=False)
class Group:
    """A priority group; ``pauses`` is what it stops, None where it sends no PFC frames or nobody honors them."""

    rows: GroupRows
    gbps: float
    pool: PoolState
    # Whether it sends PFC frames at all.
    sends: bool
    pauses: Pauses | None
    parts: list[Part] = field(default_factory=list)
    is_over: bool = False
    repeats_at: float = 0.0
    frames: Tally = field(default_factory=Tally)
    drops: Tally = field(default_factory=Tally)
    # What it holds of the pool, beside its headroom.
    shared: float = 0.0
    peak: float = 0.0
    headroom_peak: float = 0.0


class Fluid:
    """The stations, groups and senders of one moment; `run` lets a window of time pass."""

    def __init__(
        self, sources: Sequence[Source], stations: Sequence[Station], groups: Sequence[Group],
        *, reaction_us: float, pause_us: float,
    ) -> None:  # fmt: skip
        self.sources = sources
        self.stations = sorted(stations, key=lambda station: station.order)
        self.groups = groups
        self.reaction_us = reaction_us
        self.pause_us = pause_us
        self.now = 0.0
        self.is_steady = False
        parts = sum(len(station.parts) for station in stations)
        self.steps = max(_LEAST_STEPS, min(_MOST_STEPS, _STEPS_TIMES_PARTS // max(1, parts)))
        for source in sources:
            whole = sum(bundle.count for bundle in source.bundles)
            for bundle in source.bundles:
                bundle.rate = bundle.target = source.gbps * bundle.count / whole

    @property
    def steady_s(self) -> float:
        """Return the seconds of the second half."""
        return (self.steps - self.steps // 2) * STEP_US / 1e6

    def run(self, watch: Callable[[], None] | None = None, *, until_pause: bool = False) -> bool:
        """Let the window pass; return whether it came to its end.

        ``watch`` is called after each step. With ``until_pause`` the window ends early at the first pause.
        """
        steps_per_reaction = max(1, round(self.reaction_us / STEP_US))
        for step in range(self.steps):
            self.is_steady = step >= self.steps // 2
            self._send()
            for station in self.stations:
                self._serve(station)
            for group in self.groups:
                self._control(group)
            if step % steps_per_reaction == steps_per_reaction - 1:
                self._adapt()
            self.now += STEP_US
            if watch is not None:
                watch()
            if until_pause and any(group.is_over for group in self.groups):
                return False
        return True

    def _count(self, tally: Tally, amount: float) -> None:
        """Add to the half of a tally that the present half of the window belongs to."""
        if self.is_steady:
            tally.steady += amount
        else:
            tally.start += amount

    def _send(self) -> None:
        """Let each NIC send what its bundles may, at most its line rate, into their first stations."""
        for source in self.sources:
            sending = [bundle for bundle in source.bundles if not bundle.pauses.stopped(self.now)]
            total_gbps = sum(bundle.rate for bundle in sending)
            bytes_per_gbps = STEP_US * BYTES_PER_GBPS_US
            if total_gbps > source.gbps:
                bytes_per_gbps *= source.gbps / total_gbps
            for bundle in sending:
                sent_bytes = bundle.rate * bytes_per_gbps
                bundle.parts[0].coming += sent_bytes
                self._count(bundle.sent, sent_bytes)

    def _serve(self, station: Station) -> None:
        """Let a queue take what arrives and send what it may; more is marked the more waits in it already."""
        rows = station.rows
        probability = 0.0
        if rows.marks or rows.drops_early:
            probability = rows.mark_probability(station.queued)
        total = 0.0
        for part in station.parts:
            if probability and part.coming:
                self._mark(station, part, probability)
            part.held += part.coming
            part.coming = 0.0
            total += part.held
        if total <= 0:
            station.queued = 0.0
            return
        sent = 0.0
        if not station.pauses.stopped(self.now):
            sent = min(total, station.gbps * BYTES_PER_GBPS_US * STEP_US)
        share = sent / total
        for part in station.parts:
            moved = part.held * share
            part.held -= moved
            if part.following is not None:
                part.following.coming += moved
        station.pool.used += total - sent - station.queued
        station.queued = total - sent
        if not rows.is_lossless:
            self._drop_excess(station)
        station.peak = max(station.peak, station.queued)
        if self.is_steady:
            station.waits += station.queued / (self.steps - self.steps // 2)

    def _mark(self, station: Station, part: Part, probability: float) -> None:
        """Mark the share ``probability`` of the packets that arrive, or drop it if they cannot be marked."""
        bundle = part.bundle
        packets = probability * part.coming / bundle.frame_bytes
        if station.rows.marks and bundle.can_be_marked:
            bundle.signals += packets
            self._count(bundle.marks, packets)
            self._count(station.marks, packets)
        elif station.rows.drops_early:
            part.coming *= 1 - probability
            self._count(station.early_drops, packets)
            self._lose(part, packets)

    def _lose(self, part: Part, packets: float) -> None:
        """Count packets of a bundle that were dropped; TCP slows down for them."""
        self._count(part.drops, packets)
        if part.bundle.heeds_drops:
            part.bundle.signals += packets

    def _drop_excess(self, station: Station) -> None:
        """Drop what a queue without flow control holds above its limit, the same share of each part."""
        limit = _limit(station.rows.limit, station.pool)
        if station.queued <= limit:
            return
        keep = limit / station.queued
        for part in station.parts:
            packets = part.held * (1 - keep) / part.bundle.frame_bytes
            part.held *= keep
            self._count(station.drops, packets)
            self._lose(part, packets)
        station.pool.used -= station.queued - limit
        station.queued = limit

    def _control(self, group: Group) -> None:
        """Compare what a group holds with its limit, and pause its neighbor, let it go on, or drop packets."""
        usage = sum(part.held for part in group.parts)
        threshold = _limit(group.rows.limit, group.pool)
        shared = min(usage, threshold)
        group.pool.used += shared - group.shared
        group.shared = shared
        over = usage - threshold
        if over > group.rows.headroom:
            excess = over - group.rows.headroom
            self._overflow(group, usage, excess)
            usage -= excess
            over = group.rows.headroom
        group.peak = max(group.peak, shared)
        if group.rows.headroom:
            group.headroom_peak = max(group.headroom_peak, over)
        if not group.sends:
            return
        if over > 0:
            self._pause(group)
        elif group.is_over and usage < threshold - group.rows.xon_offset:
            group.is_over = False
            # XON is a PFC frame, too.
            self._count(group.frames, 1)
            if group.pauses is not None:
                group.pauses.goes_at = self.now + self.pause_us

    def _pause(self, group: Group) -> None:
        """Send the first PFC frame of a pause, or another one in time before the last one runs out."""
        if group.is_over and self.now < group.repeats_at:
            return
        if not group.is_over and group.pauses is not None:
            group.pauses.stops_at = self.now + self.pause_us
        group.is_over = True
        group.repeats_at = self.now + _QUANTA_BITS / (group.gbps * 1000) / 2
        self._count(group.frames, 1)

    def _overflow(self, group: Group, usage: float, excess: float) -> None:
        """Drop ``excess`` bytes of the ``usage`` of a group, the same share of each part."""
        keep = 1 - excess / usage
        for part in group.parts:
            lost_bytes = part.held * (1 - keep)
            part.held -= lost_bytes
            part.station.queued -= lost_bytes
            part.station.pool.used -= lost_bytes
            packets = lost_bytes / part.bundle.frame_bytes
            self._count(group.drops, packets)
            self._lose(part, packets)

    def _adapt(self) -> None:
        """Adapt the rates of all senders to the marks since the last time, as DCQCN does."""
        for source in self.sources:
            line_gbps = source.gbps
            for bundle in source.bundles:
                # The share of the bundle's flows that had at least one mark, and so get a CNP.
                notified = 1.0 - exp(-bundle.signals / bundle.count)
                self._count(bundle.notifications, notified * bundle.count)
                bundle.signals = 0.0
                bundle.alpha += _ALPHA_GAIN * (notified - bundle.alpha)
                # Notified flows cut their rate and take the one before as their target; the others raise both.
                reduced = bundle.rate * (1 - bundle.alpha / 2 * notified)
                bundle.target += notified * (bundle.rate - bundle.target)
                bundle.target = min(line_gbps, bundle.target + _INCREASE * line_gbps * (1 - notified))
                recovered = reduced + (1 - notified) * (bundle.target - reduced) / 2
                bundle.rate = max(_LEAST_SHARE * line_gbps, recovered)


def _limit(limit: Limit, pool: PoolState) -> float:
    return limit.bytes_of(pool.used)
