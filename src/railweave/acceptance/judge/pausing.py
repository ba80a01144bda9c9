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
from railweave.acceptance.model import CoveredLink, PortEnd
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
    """Yield the drops of lossless classes of every switch and NIC, and links on which PFC frames are not obeyed."""
    for device, drops in _switch_drops(case).items():
        packets = sum(drop.packets for drop in drops)
        message = f"{device} dropped {packets:,} packets of lossless classes"
        culprit = _dropping_culprit(case, device, drops)
        yield Symptom("A-3", Severity.ERROR, message, culprit.fix, culprit)
    if not case.is_lossy:
        yield from _nic_symptoms(case)
    yield from _frame_symptoms(case)


def _switch_drops(case: Case) -> Mapping[str, list[Drop]]:
    drops: dict[str, list[Drop]] = defaultdict(list)
    lossless = case.lossless_queues
    for counts in case.rounds():
        for parts, is_ingress in ((counts.groups, True), (counts.queues, False)):
            for end, numbers in parts.items():
                packets = sum(_dropped(row) for number, row in numbers.items() if number in lossless)
                if packets:
                    drops[end.device].append(Drop(counts.round, end, is_ingress, packets))
    return drops


def _dropped(counts: Counts) -> int:
    return max(counts.get(CounterMeaning.DROPS, 0), counts.get(CounterMeaning.WRED_DROPS, 0))


def _dropping_culprit(case: Case, device: str, drops: list[Drop]) -> Culprit:
    rounds = {drop.round for drop in drops}
    tests = [test for name in sorted(rounds) for test in case.index.tests_of[name]]
    ends = {drop.end for drop in drops}
    if case.transport_noticed(tests) is False and len(ends) == 1:
        fix = "compare its counters with `show queue counters`: no NIC missed a packet"
        return Culprit(
            (port_element(*ends),), "counts drops that did not happen", fix, devices=(device,), slows=frozenset()
        )
    ingress = {drop.end for drop in drops if drop.is_ingress}
    if not ingress:
        silent = _silent_feeders(case, device, rounds)
        return _pfc_off(case, *silent) if len(silent) == 1 else _small_buffer(device)
    silent = {end for end in ingress if not _frames_sent(case, end, rounds)}
    if len(silent) == 1:
        return _pfc_off(case, *silent)
    if not silent and len(ingress) == 1:
        return _pfc_off(case, _far_end(case, *ingress))
    return _small_buffer(device)


def _silent_feeders(case: Case, device: str, rounds: set[str]) -> set[PortEnd]:
    """Return the ports that took part in every congestion of a switch and never paused, while others did."""
    silent: set[PortEnd] | None = None
    any_paused = False
    for name in rounds:
        counts = case.tallies[name]
        feeders = {end for end in case.receivers(name) if end.device == device}
        paused = {end for end in feeders if counts.count(end, CounterMeaning.PFC_SENT)}
        any_paused = any_paused or bool(paused)
        still = feeders - paused
        silent = still if silent is None else silent & still
    if not any_paused or silent is None:
        return set()
    return silent


def _frames_sent(case: Case, end: PortEnd, rounds: set[str]) -> int:
    return sum(case.tallies[name].counted(end, CounterMeaning.PFC_SENT) for name in rounds)


def _far_end(case: Case, end: PortEnd) -> PortEnd:
    link = case.index.link_at.get(end)
    if link is None:
        return end
    return link.far_end(end)


def _pfc_off(case: Case, end: PortEnd) -> Culprit:
    fix = "turn PFC on for the lossless priorities at this port (`show pfc priority`; on nodes `mlnx_qos`)"
    element = setting_element(f"PFC of {end_text(end)}")
    return Culprit((element,), "does not pause", fix, *case.places_of(end), slows=CONGESTED)


def _small_buffer(device: str) -> Culprit:
    fix = "compare its buffer profiles and pools with the rendered ones (`railweave drift`, `mmuconfig -l`)"
    element = Element(ElementKind.DEVICE, device)
    return Culprit((element,), "has too little buffer", fix, devices=(device,), slows=CONGESTED)


def _nic_symptoms(case: Case) -> Iterator[Symptom]:
    """Yield NICs that dropped what arrived: either they send no pauses, or their switch port does not obey."""
    drops: Counter[PortEnd] = Counter()
    for _, link, dropped in case.nic_counts(CounterMeaning.DROPS):
        drops[link.lower] += dropped
    if not drops:
        return
    pausing = {link.lower for _, link, _ in case.nic_counts(CounterMeaning.PFC_SENT)}
    for port, link in case.index.host_link.items():
        dropped = drops[link.lower]
        if dropped and case.transport_noticed(case.crossings[port]) is not False:
            end = link.upper if link.lower in pausing else link.lower
            culprit = _pfc_off(case, end)
            message = f"{end_text(link.lower)} dropped {dropped:,} packets that arrived"
            yield Symptom("A-3", Severity.ERROR, message, culprit.fix, culprit)


def _frame_symptoms(case: Case) -> Iterator[Symptom]:
    """Yield ports that did not receive the PFC frames that their neighbor sent."""
    frames_of: dict[tuple[PortEnd, PortEnd], PauseFrames] = defaultdict(lambda: PauseFrames(0, 0))
    lower = case.index.lower_places
    upper = case.index.upper_places
    for counts in case.rounds():
        for places, far_places in ((lower, upper), (upper, lower)):
            sent = counts.column(places, CounterMeaning.PFC_SENT)
            received = counts.column(far_places, CounterMeaning.PFC_RECEIVED)
            for link, frames, arrived in zip(case.index.plan.links, sent, received, strict=True):
                # Most ports of a large fabric never pause.
                if frames is None or arrived is None or not (frames or arrived):
                    continue
                ends = _directions(link)[places is upper]
                earlier = frames_of[ends]
                frames_of[ends] = PauseFrames(earlier.sent + frames, earlier.received + arrived)
    for link in case.index.plan.links:
        for end, far in _directions(link):
            frames, arrived = frames_of.get((end, far), PauseFrames(0, 0))
            if end in case.exchanged_ports or frames < _LEAST_FRAMES or 2 * arrived > frames:
                continue
            culprit = _pfc_off(case, far)
            message = f"{end_text(end)} sent {frames:,} PFC frames, {end_text(far)} received {arrived:,}"
            yield Symptom("A-3", Severity.ERROR, message, culprit.fix, culprit)


def _directions(link: CoveredLink) -> tuple[tuple[PortEnd, PortEnd], tuple[PortEnd, PortEnd]]:
    """Return the sender and the receiver of both directions."""
    return (link.lower, link.upper), (link.upper, link.lower)
