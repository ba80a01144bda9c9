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
from railweave.fabric.fec import FRAME_LOSS_RATIO, RS544

_FEC_LIMIT = 2.4e-4
_DRAIN_BER = _FEC_LIMIT / 10
_WARN_BER = _FEC_LIMIT / 100
# Healthy cables of a kind differ by less than two decades.
_OUTLIER = 100
_FIX = "clean or replace the cable and its optics; compare lanes with `show interfaces counters fec-histogram`"


class PortErrors(NamedTuple):
    """The errors of a port over all rounds."""

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
        """Return the bit error rate before FEC; a corrected codeword has at least one wrong bit."""
        return self.corrected / max(self.bits, 1.0)


def error_symptoms(case: Case) -> Iterator[Symptom]:
    """Yield a symptom for each port with more errors than the standard or its peers explain."""
    ports = _port_errors(case)
    ports_of_kind: dict[str, list[PortErrors]] = defaultdict(list)
    for port in ports:
        ports_of_kind[port.link.kind].append(port)
    for peers in ports_of_kind.values():
        usual_uncorrected = median(port.uncorrected for port in peers)
        outlier_rate = max(_WARN_BER, _OUTLIER * median(port.bit_error_rate for port in peers))
        for port in peers:
            allowed = max(usual_uncorrected, port.bits / RS544.codeword_bits * FRAME_LOSS_RATIO)
            # The first comparison saves time: the tail of the distribution takes long to compute.
            if port.uncorrected > allowed and port.uncorrected > most_by_chance(allowed, len(ports)):
                yield _uncorrected_symptom(case, port)
            elif port.flaps:
                yield _cable_symptom(port, f"went down {port.flaps} times while tests ran")
            elif port.bit_error_rate > min(_DRAIN_BER, outlier_rate):
                yield _cable_symptom(port, f"has a bit error rate of {port.bit_error_rate:.1e} before FEC")
            elif port.bit_error_rate > _WARN_BER:
                message = f"has a bit error rate of {port.bit_error_rate:.1e} before FEC"
                yield _cable_symptom(port, message, Severity.WARNING)


def _port_errors(case: Case) -> list[PortErrors]:
    """Return the errors of both ends of every link, with the seconds of the rounds in which they were read."""
    places = case.index.places
    sums = _summed_errors(case)
    seconds: dict[str, float] = defaultdict(float)
    unread_rounds: dict[int, set[str]] = defaultdict(set)
    for tally in case.rounds():
        for device, duration in tally.seconds.items():
            seconds[device] += duration
        for place in _unread_places(tally, len(places)):
            unread_rounds[place].add(tally.round)
    ports = []
    for end, link in case.index.link_at.items():
        place = places[end]
        if place in unread_rounds:
            end_seconds = _seconds_without(case, end.device, unread_rounds[place])
        else:
            end_seconds = seconds[end.device]
        # Each pair of counters counts the same errors, and most switches have one of them.
        uncorrected = max(sums[CounterMeaning.FEC_UNCORRECTABLE][place], sums[CounterMeaning.ERRORS][place])
        corrected = max(sums[CounterMeaning.FEC_CORRECTED_BITS][place], sums[CounterMeaning.FEC_CORRECTED][place])
        port = PortErrors(
            end=end,
            link=link,
            seconds=end_seconds,
            uncorrected=uncorrected,
            corrected=corrected,
            flaps=sums[CounterMeaning.LINK_DOWN][place],
        )
        ports.append(port)
    return ports


def _seconds_without(case: Case, device: str, left_out: set[str]) -> float:
    """Return the seconds of a device in all rounds but those in ``left_out``."""
    read_rounds = [tally for tally in case.rounds() if tally.round not in left_out]
    return sum(tally.seconds.get(device, 0.0) for tally in read_rounds)


def _summed_errors(case: Case) -> dict[CounterMeaning, list[int]]:
    """Return the sum of each counter of errors over all rounds, a list by the places of ports; unread ones add 0."""
    sums = {meaning: [0] * len(case.index.places) for meaning in _ERROR_MEANINGS}
    for tally in case.rounds():
        for meaning, totals in sums.items():
            column = tally.columns.get(meaning, [])
            # Almost all are 0 or None: `compress` skips them without a step of Python for each.
            for place in compress(count(), column):
                totals[place] += column[place] or 0
    return sums


def _unread_places(tally: RoundTally, size: int) -> Iterable[int]:
    """Return the places of the ports of which no counter of errors was read in a round; ``size`` is that of columns."""
    columns = [tally.columns[meaning] for meaning in _ERROR_MEANINGS if meaning in tally.columns]
    if not columns:
        return range(size)
    if any(None not in column for column in columns):
        return ()
    return [place for place, values in enumerate(zip(*columns, strict=True)) if values.count(None) == len(values)]


_ERROR_MEANINGS = (
    CounterMeaning.FEC_UNCORRECTABLE,
    CounterMeaning.ERRORS,
    CounterMeaning.FEC_CORRECTED,
    CounterMeaning.FEC_CORRECTED_BITS,
    CounterMeaning.LINK_DOWN,
)


def _uncorrected_symptom(case: Case, port: PortErrors) -> Symptom:
    """Return the symptom of uncorrected errors; the counter is to blame if all packets and bytes arrived."""
    message = f"counted {port.uncorrected:,} codewords or frames with errors"
    crossing_tests = [test for test in case.index.plan.tests if case.index.may_cross(test, port.link)]
    bytes_are_missing = (port.link.far_end(port.end), port.end) in case.unequal
    if bytes_are_missing or case.transport_noticed(crossing_tests) is not False:
        return _cable_symptom(port, message)
    fix = "compare its counters with `show interfaces counters fec-stats`: all bytes arrived"
    devices = (port.end.device,) if port.end.device in case.index.devices else ()
    culprit = Culprit(
        (port_element(port.end),), "counts errors that did not happen", fix, devices=devices, slows=frozenset()
    )
    full_message = f"{end_text(port.end)} {message}, and no NIC missed a packet"
    return Symptom("A-8", Severity.ERROR, full_message, fix, culprit)


def _cable_symptom(port: PortErrors, message: str, severity: Severity = Severity.ERROR) -> Symptom:
    """Return a symptom of the cable of a port; ``message`` is what the port has or did."""
    culprit = Culprit((cable_element(port.link),), "has errors", _FIX, cables=(port.link.cable,))
    return Symptom("A-8", severity, f"{end_text(port.end)} {message}", _FIX, culprit)
