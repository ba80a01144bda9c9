"""Drops in lossless queues and priority groups, and PFC frames: which port does not pause, which buffer is too small.

A port with PFC pauses its neighbor before it drops. A drop at a port that sent no PFC frame says that PFC is off
there, a drop at a port that sent some that its neighbor does not obey, and drops at several ports of a switch that
paused all their neighbors say that its buffer or headroom is too small.
"""

from collections import Counter, defaultdict
from collections.abc import Iterator, Mapping
from typing import NamedTuple

from railweave.acceptance.counter_names import CounterMeaning
from railweave.acceptance.judge.case import Case
from railweave.acceptance.judge.elements import (
    CONGESTED,
    Culprit,
    Element,
    ElementKind,
    Symptom,
    end_text,
    port_element,
    setting_element,
)
from railweave.acceptance.judge.tally import Counts
from railweave.acceptance.model import PortEnd
from railweave.diagnostics import Severity

_LEAST_FRAMES = 10
"""PFC frames below which a difference between both ends may lie between their readings."""


class Drop(NamedTuple):
    """Packets of a lossless class that a switch dropped in a round, at an ingress or an egress port."""

    round: str
    end: PortEnd
    is_ingress: bool
    packets: int


class PauseFrames(NamedTuple):
    """PFC frames of one direction of a link, as counted at both ends."""

    sent: int
    received: int


def drop_symptoms(case: Case) -> Iterator[Symptom]:
    """Yield symptoms of switches and NICs that dropped lossless packets, and of links that lost PFC frames."""
    for device, drops in _switch_drops(case).items():
        packets = sum(drop.packets for drop in drops)
        message = f"{device} dropped {packets:,} packets of lossless classes"
        culprit = _dropping_culprit(case, device, drops)
        yield Symptom("A-3", Severity.ERROR, message, culprit.fix, culprit)
    if not case.is_lossy:
        yield from _nic_symptoms(case)
    yield from _frame_symptoms(case)


def _switch_drops(case: Case) -> Mapping[str, list[Drop]]:
    """Return the drops of each switch in lossless queues and priority groups."""
    drops: dict[str, list[Drop]] = defaultdict(list)
    lossless = case.lossless_queues
    for tally in case.rounds():
        for counts_of_ports, is_ingress in ((tally.groups, True), (tally.queues, False)):
            for end, counts_of_numbers in counts_of_ports.items():
                packets = sum(_dropped(counts) for number, counts in counts_of_numbers.items() if number in lossless)
                if packets:
                    drops[end.device].append(Drop(tally.round, end, is_ingress, packets))
    return drops


def _dropped(counts: Counts) -> int:
    """Return the packets that a queue or group dropped."""
    return max(counts.get(CounterMeaning.DROPS, 0), counts.get(CounterMeaning.WRED_DROPS, 0))


def _dropping_culprit(case: Case, device: str, drops: list[Drop]) -> Culprit:
    """Return what is to blame for the drops of a switch: a counter, the PFC of one port, or the buffer."""
    rounds = {drop.round for drop in drops}
    tests = [test for round_id in sorted(rounds) for test in case.index.tests_of[round_id]]
    ends = {drop.end for drop in drops}
    # Drops of a single port that no NIC noticed did not happen.
    if case.transport_noticed(tests) is False and len(ends) == 1:
        fix = "compare its counters with `show queue counters`: no NIC missed a packet"
        fault = "counts drops that did not happen"
        return Culprit((port_element(*ends),), fault, fix, devices=(device,), slows=frozenset())
    ingress = {drop.end for drop in drops if drop.is_ingress}
    # Ports that let packets come without a pause.
    if ingress:
        silent = {end for end in ingress if not _frames_sent(case, end, rounds)}
    else:
        silent = _silent_feeders(case, device, rounds)
    if len(silent) == 1:
        (silent_end,) = silent
        return _pfc_off(case, silent_end)
    if len(ingress) == 1 and not silent:
        # The port paused its neighbor, which did not obey.
        (ingress_end,) = ingress
        return _pfc_off(case, _far_end(case, ingress_end))
    return _small_buffer(device)


def _silent_feeders(case: Case, device: str, rounds: set[str]) -> set[PortEnd]:
    """Return the ports of a switch that received load in each of ``rounds`` and never paused, while other ports did."""
    silent_in_rounds = []
    has_paused = False
    for round_id in rounds:
        tally = case.tallies[round_id]
        feeders = {end for end in case.receivers(round_id) if end.device == device}
        pausing = {end for end in feeders if tally.count(end, CounterMeaning.PFC_SENT)}
        has_paused = has_paused or bool(pausing)
        silent_in_rounds.append(feeders - pausing)
    if not has_paused:
        return set()
    return set.intersection(*silent_in_rounds)


def _frames_sent(case: Case, end: PortEnd, rounds: set[str]) -> int:
    """Return the PFC frames that a port sent in ``rounds``."""
    return sum(case.tallies[name].counted(end, CounterMeaning.PFC_SENT) for name in rounds)


def _far_end(case: Case, end: PortEnd) -> PortEnd:
    """Return the port at the other end of a link, or the port itself if the plan has no link there."""
    link = case.index.link_at.get(end)
    if link is None:
        return end
    return link.far_end(end)


def _pfc_off(case: Case, end: PortEnd) -> Culprit:
    """Return the PFC of a port as the culprit."""
    fix = "turn PFC on for the lossless priorities at this port (`show pfc priority`; on nodes `mlnx_qos`)"
    element = setting_element(f"PFC of {end_text(end)}")
    return Culprit((element,), "does not pause", fix, *case.places_of(end), slows=CONGESTED)


def _small_buffer(device: str) -> Culprit:
    fix = "compare its buffer profiles and pools with the rendered ones (`railweave drift`, `mmuconfig -l`)"
    element = Element(ElementKind.DEVICE, device)
    return Culprit((element,), "has too little buffer", fix, devices=(device,), slows=CONGESTED)


def _nic_symptoms(case: Case) -> Iterator[Symptom]:
    """Yield a symptom for each NIC that dropped what arrived.

    A NIC that sends pauses has a switch port that does not obey; otherwise its own PFC is to blame.
    """
    drops: Counter[PortEnd] = Counter()
    for reading in case.nic_counts(CounterMeaning.DROPS):
        drops[reading.link.lower] += reading.value
    if not drops:
        return
    pausing = {reading.link.lower for reading in case.nic_counts(CounterMeaning.PFC_SENT)}
    for port, link in case.index.host_link.items():
        dropped = drops[link.lower]
        if dropped and case.transport_noticed(case.crossings[port]) is not False:
            end_at_fault = link.upper if link.lower in pausing else link.lower
            culprit = _pfc_off(case, end_at_fault)
            message = f"{end_text(link.lower)} dropped {dropped:,} packets that arrived"
            yield Symptom("A-3", Severity.ERROR, message, culprit.fix, culprit)


def _frame_symptoms(case: Case) -> Iterator[Symptom]:
    """Yield a symptom for each port that received less than half of the PFC frames that its neighbor sent."""
    frames_of = _pause_frames(case)
    for link in case.index.plan.links:
        for sender, receiver in ((link.lower, link.upper), (link.upper, link.lower)):
            frames = frames_of.get(sender)
            if frames is None or frames.sent < _LEAST_FRAMES or sender in case.exchanged_ports:
                continue
            # Frames of the moments between the readings of both ends may be missing, but not half of all.
            if 2 * frames.received <= frames.sent:
                culprit = _pfc_off(case, receiver)
                ends = f"{end_text(sender)} sent {frames.sent:,} PFC frames, {end_text(receiver)} received"
                yield Symptom("A-3", Severity.ERROR, f"{ends} {frames.received:,}", culprit.fix, culprit)


def _pause_frames(case: Case) -> Mapping[PortEnd, PauseFrames]:
    """Return the PFC frames of each direction of links over all rounds, by sender; ports without any are left out."""
    frames_of: dict[PortEnd, PauseFrames] = {}
    lower_places = case.index.lower_places
    upper_places = case.index.upper_places
    lower_ends = [link.lower for link in case.index.plan.links]
    upper_ends = [link.upper for link in case.index.plan.links]
    for tally in case.rounds():
        for senders, sender_places, receiver_places in (
            (lower_ends, lower_places, upper_places),
            (upper_ends, upper_places, lower_places),
        ):
            sent_column = tally.column(sender_places, CounterMeaning.PFC_SENT)
            received_column = tally.column(receiver_places, CounterMeaning.PFC_RECEIVED)
            for sender, sent, received in zip(senders, sent_column, received_column, strict=True):
                # Most ports of a large fabric never pause.
                if sent is None or received is None or not (sent or received):
                    continue
                frames = frames_of.get(sender, PauseFrames(0, 0))
                frames_of[sender] = PauseFrames(frames.sent + sent, frames.received + received)
    return frames_of
