"""Errors of links: codewords that FEC could not correct, frames with errors, and too many that it had to correct.

IEEE 802.3 (400GBASE-R, clause 116.4) allows a frame loss ratio of 6.2e-11. RS(544,514) corrects bit error rates up to
2.4e-4; a decade below it the margin for aging and temperature is used up.
"""

from collections import defaultdict
from collections.abc import Iterable, Iterator
from itertools import compress, count
from statistics import median
from typing import NamedTuple

from railweave.acceptance.counter_names import CounterMeaning
from railweave.acceptance.judge.case import Case
from railweave.acceptance.judge.elements import Culprit, Symptom, cable_element, end_text, port_element
from railweave.acceptance.judge.statistics import most_by_chance
from railweave.acceptance.judge.tally import RoundTally
from railweave.acceptance.model import CoveredLink, PortEnd
from railweave.diagnostics import Severity

_FRAME_LOSS_RATIO = 6.2e-11
_CODEWORD_BITS = 5440
_FEC_LIMIT = 2.4e-4
_DRAIN_BER = _FEC_LIMIT / 10
_WARN_BER = _FEC_LIMIT / 100
# Two decades above its peers a cable is no healthy one of its kind.
_OUTLIER = 100
_FIX = "clean or replace the cable and its optics; compare lanes with `show interfaces counters fec-histogram`"


class PortErrors(NamedTuple):
    """What a port counted over all rounds."""

    end: PortEnd
    link: CoveredLink
    seconds: float
    uncorrected: int
    corrected: int
    flaps: int

    @property
    def bits(self) -> float:
        """Return the bits that arrived, idle ones included."""
        return self.link.speed_gbps * 1e9 * self.seconds

    @property
    def bit_error_rate(self) -> float:
        """Return the errors before FEC; a corrected codeword has at least one wrong bit."""
        return self.corrected / max(self.bits, 1.0)


def error_symptoms(case: Case) -> Iterator[Symptom]:
    """Yield the ports with more errors than the standard or their peers explain."""
    ports = _port_errors(case)
    kinds: dict[str, list[PortErrors]] = defaultdict(list)
    for port in ports:
        kinds[port.link.kind].append(port)
    for alike in kinds.values():
        usual = median(port.uncorrected for port in alike)
        outlier_rate = max(_WARN_BER, _OUTLIER * median(port.bit_error_rate for port in alike))
        for port in alike:
            allowed = max(usual, port.bits / _CODEWORD_BITS * _FRAME_LOSS_RATIO)
            # Chance explains the mean at least; its tail takes long to compute.
            if port.uncorrected > allowed and port.uncorrected > most_by_chance(allowed, len(ports)):
                yield _uncorrected(case, port)
            elif port.flaps:
                yield _cable_symptom(port, f"went down {port.flaps} times while tests ran")
            elif port.bit_error_rate > min(_DRAIN_BER, outlier_rate):
                yield _cable_symptom(port, f"has a bit error rate of {port.bit_error_rate:.1e} before FEC")
            elif port.bit_error_rate > _WARN_BER:
                message = f"has a bit error rate of {port.bit_error_rate:.1e} before FEC"
                yield _cable_symptom(port, message, Severity.WARNING)


def _port_errors(case: Case) -> list[PortErrors]:
    """Return the errors of every end of a link."""
    places = case.index.places
    sums: dict[CounterMeaning, list[int]] = {meaning: [0] * len(places) for meaning in _MEANINGS}
    seconds: dict[str, float] = defaultdict(float)
    gaps: dict[int, set[str]] = defaultdict(set)
    for counts in case.rounds():
        for meaning, total in sums.items():
            column = counts.columns.get(meaning, [])
            for place in compress(count(), column):
                total[place] += column[place] or 0
        for device, duration in counts.seconds.items():
            seconds[device] += duration
        for place in _unread(counts, len(places)):
            gaps[place].add(counts.round)
    ports = []
    for end, link in case.index.link_at.items():
        place = places[end]
        uncorrected = max(sums[CounterMeaning.FEC_UNCORRECTABLE][place], sums[CounterMeaning.ERRORS][place])
        corrected = max(sums[CounterMeaning.FEC_CORRECTED_BITS][place], sums[CounterMeaning.FEC_CORRECTED][place])
        flaps = sums[CounterMeaning.LINK_DOWN][place]
        duration = seconds[end.device]
        if place in gaps:
            read = (counts for counts in case.rounds() if counts.round not in gaps[place])
            duration = sum(counts.seconds.get(end.device, 0.0) for counts in read)
        ports.append(PortErrors(end, link, duration, uncorrected, corrected, flaps))
    return ports


def _unread(counts: RoundTally, size: int) -> Iterable[int]:
    """Return the places whose errors were not read."""
    columns = [counts.columns[meaning] for meaning in _MEANINGS if meaning in counts.columns]
    if any(None not in column for column in columns):
        return ()
    if not columns:
        return range(size)
    return [place for place, errors in enumerate(zip(*columns, strict=True)) if errors.count(None) == len(errors)]


_MEANINGS = (
    CounterMeaning.FEC_UNCORRECTABLE,
    CounterMeaning.ERRORS,
    CounterMeaning.FEC_CORRECTED,
    CounterMeaning.FEC_CORRECTED_BITS,
    CounterMeaning.LINK_DOWN,
)


def _uncorrected(case: Case, port: PortErrors) -> Symptom:
    message = f"counted {port.uncorrected:,} codewords or frames with errors"
    crossing = [test for test in case.index.plan.tests if case.index.may_cross(test, port.link)]
    far = port.link.far_end(port.end)
    if case.transport_noticed(crossing) is False and (far, port.end) not in case.unequal:
        fix = "compare its counters with `show interfaces counters fec-stats`: all bytes arrived"
        devices = (port.end.device,) if port.end.device in case.index.devices else ()
        culprit = Culprit((port_element(port.end),), "counts errors that did not happen", fix, devices=devices)
        text = f"{end_text(port.end)} {message}, and no NIC missed a packet"
        return Symptom("A-8", Severity.ERROR, text, fix, culprit._replace(slows=frozenset()))
    return _cable_symptom(port, message)


def _cable_symptom(port: PortErrors, message: str, severity: Severity = Severity.ERROR) -> Symptom:
    culprit = Culprit((cable_element(port.link),), "has errors", _FIX, cables=(port.link.cable,))
    return Symptom("A-8", severity, f"{end_text(port.end)} {message}", _FIX, culprit)
