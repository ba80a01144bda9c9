"""Queues over time: marks, pauses, headroom and drops, by hand and by what must not vanish."""

import pytest

from sonic_sim.flows.fluid import Bundle, Fluid, Group, Part, Pauses, PoolState, Source, Station, Tally
from sonic_sim.flows.rows import GroupRows, Limit, Pool, QueueRows

GBPS = 400.0
FRAME = 4158
LOSSLESS = QueueRows(is_lossless=True, marks=True, kmin=252e3, kmax=1008e3, probability=0.2)
DEEP = Limit(Pool("ingress", 64e6), 1.0)


class Incast:
    """Senders of 400 Gb/s, one bundle each, to one port of 400 Gb/s."""

    def __init__(
        self,
        senders: int,
        queue: QueueRows = LOSSLESS,
        group: GroupRows | None = None,
        *,
        sends: bool = True,
        honors: bool = True,
    ) -> None:
        group = group or GroupRows(DEEP, 330_200.0, 2288.0)
        self.station = Station(GBPS, queue, PoolState())
        pool = PoolState()
        self.groups = []
        self.sources = []
        for _ in range(senders):
            source = Source(GBPS)
            bundle = Bundle(source, 4, FRAME, can_be_marked=True, pauses=Pauses())
            source.bundles.append(bundle)
            self.sources.append(source)
            pauses = bundle.pauses if honors else None
            entry = Group(group, GBPS, pool, sends, pauses)
            part = Part(bundle, self.station, entry)
            bundle.parts.append(part)
            self.station.parts.append(part)
            entry.parts.append(part)
            self.groups.append(entry)
        self.fluid = Fluid(self.sources, [self.station], self.groups, reaction_us=25.0, pause_us=1.0)

    def total(self, name: str) -> float:
        """Return the sum of a tally of all groups."""
        tallies: list[Tally] = [getattr(group, name) for group in self.groups]
        return sum(tally.start + tally.steady for tally in tallies)


def test_a_queue_between_the_thresholds_marks_the_integral_of_its_probability() -> None:
    # 420 Gb/s to 400 Gb/s fill a queue by 2.5 KB in a microsecond; nobody reacts.
    incast = Incast(1)
    incast.sources[0].gbps = 420.0
    incast.fluid.reaction_us = 1e9
    queued: list[float] = []
    expected = 0.0

    def watch() -> None:
        nonlocal expected
        # The share of a step's packets follows from what waited before it.
        before = queued[-1] if queued else 0.0
        if 252e3 < before < 1008e3:
            expected += 420 * 125 * 2 / FRAME * 0.2 * (before - 252e3) / (1008e3 - 252e3)
        queued.append(incast.station.queued)
        if before >= 1008e3:
            raise StopIteration

    for bundle in incast.sources[0].bundles:
        bundle.rate = bundle.target = 420.0
    with pytest.raises(StopIteration):
        incast.fluid.run(watch)
    marks = incast.station.marks.start + incast.station.marks.steady
    last = 420 * 125 * 2 / FRAME
    assert queued[0] == pytest.approx(20 * 125 * 2)
    # The step in which the watch ended marked all of its packets.
    assert marks == pytest.approx(expected + last)


def test_an_incast_into_deep_buffers_marks_and_pauses_nobody() -> None:
    incast = Incast(3)
    incast.fluid.run()
    assert incast.station.marks.start > 0
    assert incast.station.marks.steady > 0
    assert incast.total("frames") == 0
    assert incast.total("drops") == 0


def test_a_group_that_pauses_early_keeps_the_queue_below_the_marks() -> None:
    small = GroupRows(Limit(Pool("ingress", 64e6), 1.0, static=40e3), 330_200.0, 2288.0)
    incast = Incast(3, group=small)
    incast.fluid.run()
    # Frames go on for as long as the traffic does.
    assert incast.total("frames") > 100
    assert incast.station.marks.steady == 0
    assert incast.total("drops") == 0


@pytest.mark.parametrize("senders", [2, 3, 7, 15])
def test_the_headroom_of_a_profile_holds_what_comes_until_the_neighbor_stops(senders: int) -> None:
    shallow = GroupRows(Limit(Pool("ingress", 2e6), 0.5), 330_200.0, 2288.0)
    incast = Incast(senders, group=shallow)
    incast.fluid.run()
    assert incast.total("frames") > 0
    assert incast.total("drops") == 0
    assert 0 < max(group.headroom_peak for group in incast.groups) < 330_200


@pytest.mark.parametrize(("sends", "honors"), [(False, True), (True, False)])
def test_without_pfc_at_either_end_a_shallow_group_drops(sends: bool, honors: bool) -> None:
    shallow = GroupRows(Limit(Pool("ingress", 2e6), 0.5), 330_200.0, 2288.0)
    incast = Incast(3, group=shallow, sends=sends, honors=honors)
    incast.fluid.run()
    assert incast.total("drops") > 0
    assert (incast.total("frames") > 0) is sends


def test_a_lossy_queue_drops_above_its_limit_and_is_never_longer() -> None:
    lossy = QueueRows(limit=Limit(Pool("egress", 56e6), 1.0, static=1e6))
    incast = Incast(3, queue=lossy, group=GroupRows(DEEP), sends=False)
    incast.fluid.run()
    assert incast.station.drops.steady > 0
    assert incast.station.peak <= 1e6
    assert incast.station.marks.start == 0


@pytest.mark.parametrize("senders", [2, 3, 7])
@pytest.mark.parametrize("queue", [LOSSLESS, QueueRows(limit=Limit(Pool("egress", 56e6), 1.0, static=1e6))])
def test_every_byte_is_sent_on_dropped_or_waits(senders: int, queue: QueueRows) -> None:
    incast = Incast(senders, queue=queue)
    served = 0.0
    most = GBPS * 125 * 2
    before = 0.0

    def watch() -> None:
        nonlocal served, before
        came = sum(bundle.sent.start + bundle.sent.steady for source in incast.sources for bundle in source.bundles)
        left = came - incast.station.queued - _dropped(incast) * FRAME
        assert left - before <= most * (1 + 1e-9)
        assert left >= before - 1e-3
        before = left
        served = left

    incast.fluid.run(watch)
    # DCQCN cuts deep at the start and needs milliseconds to come back; no sender starves.
    assert served > 0.75 * most * incast.fluid.steps
    parts = [source.bundles[0].sent.steady for source in incast.sources]
    assert min(parts) > 0.5 * max(parts)


def _dropped(incast: Incast) -> float:
    tallies = [incast.station.drops, *(group.drops for group in incast.groups)]
    return sum(tally.start + tally.steady for tally in tallies)
