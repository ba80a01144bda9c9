"""Repaired cables read again and again: whether each was measured all the time, and how good it was at its worst.

Readings follow each other without a gap, so an error between any two of them counts. What was read before the soak says
nothing of a repaired cable: flaps count from the first reading on, and no trend is judged.
"""

from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import replace
from math import isnan
from types import MappingProxyType
from typing import Any, NamedTuple

from railweave.cabling.modules import Modules
from railweave.fabric.model import Fabric
from railweave.links.grades import Grade, Reason, grade_of
from railweave.links.grading import GradedCable, GradedEnd, LinkGrader, SwitchLinks, counters_of, time_of
from railweave.links.history import Memory, PortMemory, TransitionCount

# The rate after a repair is within a decade of the one before (sonic-mgmt issue 26555).
_SETTLED = 10
# Below this rate 30 seconds have too few errors to compare.
_MEASURABLE = 1e-10


class SoakReading(NamedTuple):
    """What the switches that answered reported: their counters, and ``ports`` of their ``link_state``."""

    counters: Mapping[str, Mapping[str, Any]]
    ports: Mapping[str, Mapping[str, Any]]


class Soak:
    """Judges ``cables`` by readings that follow each other."""

    def __init__(
        self,
        fabric: Fabric,
        cable_names: Sequence[str],
        cables: Collection[str],
        modules: Modules = MappingProxyType({}),
    ) -> None:
        """Prepare to judge ``cables``; ``cable_names`` are the cables of the fabric's links, in their order.

        ``modules`` are those of the bill of materials.
        """
        self._memory: Memory = {}
        self._grader = LinkGrader(fabric, cable_names, self._memory, modules)
        # The ends of each cable at switches.
        self._ends: dict[str, list[GradedEnd]] = {}
        for name in cables:
            self._ends[name] = [end for end in self._grader.ends(name) if end.device in fabric.switch_of]
        self._readings: list[SoakReading] = []
        self._graded: dict[str, list[GradedCable]] = {}
        # Why a cable was not measured all the time: the first reason.
        self._unmeasured: dict[str, str] = {}

    @property
    def switches(self) -> tuple[str, ...]:
        """Return the switches at the ends of the cables."""
        return tuple(dict.fromkeys(device for ends in self._ends.values() for device, _ in ends))

    def ports(self, cables: Collection[str]) -> list[str]:
        """Return the ports of switches at the ends of ``cables``, as ``DEVICE:PORT``."""
        return [f"{device}:{port}" for name in cables for device, port in self._ends[name]]

    @property
    def readings(self) -> int:
        """Return how often the cables were judged: once less than readings were added."""
        return max(0, len(self._readings) - 1)

    @property
    def unmeasured(self) -> Mapping[str, str]:
        """Return the cables that were not measured all the time, with the reason."""
        unmeasured = dict(self._unmeasured)
        for name in self._ends:
            reason = self._unchanged_counters(name)
            if reason:
                unmeasured.setdefault(name, reason)
        return unmeasured

    def add(self, reading: SoakReading) -> None:
        """Judge the cables by this reading and the one before; the first reading only begins the soak."""
        self._readings.append(reading)
        if self.readings == 0:
            self._begin(reading)
            return
        before = self._readings[-2]
        links = {}
        for device in self.switches:
            if device in before.counters and device in reading.counters:
                ports = reading.ports.get(device, {})
                links[device] = SwitchLinks(before.counters[device], reading.counters[device], ports)
        for port_memory in self._memory.values():
            # Each reading is judged by itself: a median would hide the worst.
            port_memory.samples.clear()
        for cable in self._grader.grade(links, self._ends):
            self._graded.setdefault(cable.cable, []).append(cable)
            if cable.unmeasured:
                reason = cable.unmeasured[0]
            else:
                reason = self._flaps_unseen(cable.cable, before, reading)
            if reason:
                self._unmeasured.setdefault(cable.cable, f"reading {self.readings}: {reason}")

    def worst(self) -> tuple[GradedCable, ...]:
        """Return each cable as its worst reading graded it; there is at least one reading."""
        return tuple(worst_reading(readings) for readings in self._graded.values())

    def _begin(self, reading: SoakReading) -> None:
        """Store what the ports counted before the soak, so that only later flaps count."""
        for ends in self._ends.values():
            for device, port in ends:
                if device not in reading.counters:
                    continue
                at = time_of(reading.counters[device])
                memory = PortMemory()
                if not isnan(at):
                    memory.since = at
                count = _transitions(reading, device, port)
                if count is not None:
                    memory.transitions.append(TransitionCount(at, count))
                self._memory[f"{device}:{port}"] = memory

    def _flaps_unseen(self, cable: str, before: SoakReading, after: SoakReading) -> str:
        """Return why a flap between two readings may have gone unseen; empty if it would have been seen."""
        for device, port in self._ends[cable]:
            end = f"{device}:{port}"
            count_before = _transitions(before, device, port)
            count_after = _transitions(after, device, port)
            if count_before is None or count_after is None:
                return f"{end} reports no flap_count (SONiC does from 202311 on)"
            if count_after < count_before:
                return f"{end} counts flaps anew: its switch restarted"
        return ""

    def _unchanged_counters(self, cable: str) -> str:
        """Return a sentence on an end whose counters did not change during the soak; empty if there is none."""
        if self.readings == 0:
            return ""
        first = self._readings[0].counters
        last = self._readings[-1].counters
        for device, port in self._ends[cable]:
            if device in first and device in last:
                row = counters_of(first[device], port)
                # They must change: LLDP sends and receives a frame every 30 seconds, drained or not.
                if row is not None and row == counters_of(last[device], port):
                    return f"{device}:{port} has the same counters in all readings"
        return ""


def _transitions(reading: SoakReading, device: str, port: str) -> int | None:
    """Return how often a port went up or down since its switch booted; None if the switch did not say."""
    state = reading.ports.get(device, {}).get(port)
    if not isinstance(state, Mapping):
        return None
    count = str(state.get("flap_count", ""))
    if not count.isdecimal():
        return None
    return int(count)


def worst_reading(readings: Sequence[GradedCable]) -> GradedCable:
    """Return the worst of the readings of a cable. If the error rate of an end varied by a decade, it is C at least."""
    worst = max(readings, key=lambda cable: (cable.grade, cable.bit_error_rate or 0))
    reasons = dict.fromkeys(worst.reasons)
    reasons.update(dict.fromkeys(_variation_reasons(readings)))
    ordered = sorted(reasons, key=lambda reason: reason.grade, reverse=True)
    return replace(worst, grade=grade_of(ordered), reasons=tuple(ordered))


def _variation_reasons(readings: Sequence[GradedCable]) -> Iterator[Reason]:
    """Yield a reason for each end whose error rate varied by more than a decade, apart from rates too small to measure.

    The worse rate of both ends would hide an end that gets better while the other one gets worse.
    """
    rates_of: dict[str, list[float]] = {}
    for cable in readings:
        for end, rate in cable.rates.items():
            rates_of.setdefault(end, []).append(rate)
    for end, rates in rates_of.items():
        if max(rates) > _SETTLED * max(min(rates), _MEASURABLE):
            yield Reason(Grade.C, f"{end} has a bit error rate that varied from {min(rates):.1e} to {max(rates):.1e}")
