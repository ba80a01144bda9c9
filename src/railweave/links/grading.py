"""All cables of a fabric graded by two readings of its switches."""

from calendar import timegm
from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass
from math import isfinite, isnan, nan
from time import strptime
from types import MappingProxyType
from typing import Any, NamedTuple

from railweave.acceptance.deltas import integers_of
from railweave.cabling.modules import Modules
from railweave.fabric.link_limits import LimitsOf, LinkLimits
from railweave.fabric.links import Link
from railweave.fabric.model import Fabric
from railweave.failures.cost import Cost
from railweave.links.cages import Cages
from railweave.links.errors import LinkErrors, port_errors
from railweave.links.grades import EndReading, Grade, Reason, grade_of, not_measured, reasons_of
from railweave.links.harm import costs_of_cables, links_of_cables
from railweave.links.history import HistoryLine, Memory, Offender, PortMemory, flaps_within
from railweave.links.optics import breaches_of, optics_reasons
from railweave.links.parts import part_reasons
from railweave.links.suspects import SuspectEnd, suspect_of
from railweave.links.trend import Sample

# A link below this share of its watch level has no trend worth remembering.
_REMEMBERED_SHARE = 0.1
# ``last_down_time`` of orchagent: UTC, without a zone.
_DOWN_TIME = "%a %b %d %H:%M:%S %Y"


class SwitchLinks(NamedTuple):
    """What a switch reported: two readings of its counters, and ``ports`` of its ``link_state``."""

    before: Mapping[str, Any]
    after: Mapping[str, Any]
    ports: Mapping[str, Any]


class GradedEnd(NamedTuple):
    """A port at the end of a cable, as SONiC or the node names it."""

    device: str
    port: str


@dataclass(frozen=True, slots=True)
class GradedCable:
    """A cable with its grade, and what its loss would cost."""

    cable: str
    a: GradedEnd
    b: GradedEnd
    grade: Grade
    reasons: tuple[Reason, ...]
    cost: Cost
    # The bit error rate before correction by end (``DEVICE:PORT``), where it is measured.
    rates: Mapping[str, float]
    uncorrectable: int
    # Serial numbers of its modules, those that report one.
    serials: tuple[str, ...]
    # The part to look at first; empty if nothing points to one.
    suspect: str = ""
    # Why ends of it were not measured, a sentence each.
    unmeasured: tuple[str, ...] = ()

    @property
    def bit_error_rate(self) -> float | None:
        """Return the worst bit error rate of its ends before correction; None if none is measured."""
        return max(self.rates.values(), default=None)

    def line(self, day: str) -> HistoryLine:
        """Return the line of the history for ``day``."""
        return HistoryLine(day, self.cable, self.grade, tuple(reason.text for reason in self.reasons), self.serials)


class Soaked(NamedTuple):
    """How often a soak judged its cables, and by cable why it was not measured all the time."""

    readings: int
    unmeasured: Mapping[str, str]


@dataclass(frozen=True, slots=True)
class LinksReport:
    """The cables of a fabric, those whose loss harms most first; what could not be read, by switch."""

    fabric: str
    target: str
    seconds: float
    cables: tuple[GradedCable, ...]
    unread: Mapping[str, str]
    # Switches that were graded by counters alone, with the reason.
    without_optics: Mapping[str, str]
    offenders: tuple[Offender, ...] = ()
    # Of a soak alone.
    soaked: Soaked | None = None

    @property
    def poor(self) -> tuple[GradedCable, ...]:
        """Return the cables with another grade than A."""
        return tuple(cable for cable in self.cables if cable.grade is not Grade.A)

    @property
    def to_drain(self) -> tuple[GradedCable, ...]:
        """Return the cables of grade D."""
        return tuple(cable for cable in self.cables if cable.grade is Grade.D)

    @property
    def may_return(self) -> tuple[str, ...]:
        """Return the cables that a soak measured all the time, and found good enough to carry traffic again."""
        if self.soaked is None:
            return ()
        unmeasured = self.soaked.unmeasured
        return tuple(cable.cable for cable in self.cables if cable.grade <= Grade.B and cable.cable not in unmeasured)


class _PortReading(NamedTuple):
    """An end as it grades the link, and as it points to the part at fault."""

    end: EndReading
    suspect: SuspectEnd
    # The serial number of its module; empty if that is unknown.
    serial: str = ""


class LinkGrader:
    """Grades the cables of a fabric; ``memory`` is brought up to date with what is read."""

    def __init__(
        self, fabric: Fabric, cable_names: Sequence[str], memory: Memory, modules: Modules = MappingProxyType({})
    ) -> None:
        """Prepare to grade all cables; ``cable_names`` are the cables of the fabric's links, in their order.

        ``modules`` are those of the bill of materials. Without them modules are not compared with it.
        """
        self._fabric = fabric
        self._policy = fabric.policies.links
        self._limits = LimitsOf(fabric)
        self._memory = memory
        self._modules = modules
        self.cables = links_of_cables(fabric, cable_names)
        self._cages = Cages(fabric)
        self._costs: dict[str, Cost] = {}

    def ends(self, cable: str) -> list[GradedEnd]:
        """Return both ends of every link of a cable. Raises KeyError for an unknown one."""
        ends = []
        for link in self.cables[cable]:
            ends.append(self._end(link.lower, link.lower_port))
            ends.append(self._end(link.upper, link.upper_port))
        return ends

    def grade(self, readings: Mapping[str, SwitchLinks], only: Collection[str] | None = None) -> list[GradedCable]:
        """Return all cables, or only those named in ``only``, with their grades.

        Those whose loss harms most come first, then those with the worst grade. A switch that is not among ``readings``
        could not be read: its ends are not measured.
        """
        chosen_links: Mapping[str, Sequence[Link]] = self.cables
        if only is not None:
            chosen_links = {name: self.cables[name] for name in only}
        if not self._costs.keys() >= chosen_links.keys():
            self._costs = costs_of_cables(self._fabric, chosen_links)
        cables = [self._graded(name, links, self._costs[name], readings) for name, links in chosen_links.items()]
        index_of = {name: index for index, name in enumerate(self.cables)}
        worst_first = "DCBA"
        return sorted(
            cables, key=lambda cable: (cable.cost.severity, worst_first.index(cable.grade), index_of[cable.cable])
        )

    def _graded(self, name: str, links: Sequence[Link], cost: Cost, readings: Mapping[str, SwitchLinks]) -> GradedCable:
        """Return a cable with the grade of all of its links; ``cost`` is that of its loss."""
        reasons: list[Reason] = []
        ports: list[_PortReading] = []
        for link in links:
            limits = self._limits.of(link)
            link_ports = list(self._ends(link, limits, readings))
            reasons += reasons_of([port.end for port in link_ports], limits, self._policy)
            ports += link_ports
        # Each reason once, the worst first.
        ordered = sorted(dict.fromkeys(reasons), key=lambda reason: reason.grade, reverse=True)
        grade = grade_of(ordered)
        ends = [port.end for port in ports]
        rates = {end.name: end.errors.bit_error_rate for end in ends if end.errors.bit_error_rate is not None}
        first_link = links[0]
        return GradedCable(
            cable=name,
            a=self._end(first_link.lower, first_link.lower_port),
            b=self._end(first_link.upper, first_link.upper_port),
            grade=grade,
            reasons=tuple(ordered),
            cost=cost,
            rates=rates,
            uncorrectable=sum(end.errors.uncorrectable for end in ends),
            serials=tuple(dict.fromkeys(port.serial for port in ports if port.serial)),
            suspect=suspect_of(grade, [port.suspect for port in ports]),
            unmeasured=tuple(not_measured(end) for end in ends if end.errors.unmeasured),
        )

    def _end(self, device: str, index: int) -> GradedEnd:
        """Return a port of a switch or node by its index there."""
        return GradedEnd(device, self._fabric.ports_of[device][index].name)

    def _ends(self, link: Link, limits: LinkLimits, readings: Mapping[str, SwitchLinks]) -> Iterator[_PortReading]:
        """Yield the readings of the ends of a link at switches; the counters of nodes are not read."""
        for device, index in ((link.lower, link.lower_port), (link.upper, link.upper_port)):
            if device not in self._fabric.switch_of:
                continue
            name = ":".join(self._end(device, index))
            if device not in readings:
                unread = EndReading(name, LinkErrors("its switch could not be read"))
                yield _PortReading(unread, SuspectEnd(name, (), errors=False, copper=None))
                continue
            yield self._end_reading(name, device, index, limits, readings[device])

    def _end_reading(
        self, name: str, device: str, index: int, limits: LinkLimits, reading: SwitchLinks
    ) -> _PortReading:
        """Return the reading of an end: its errors, and its flaps and module if the switch reported them.

        ``name`` is ``DEVICE:PORT``. The reading is added to the memory of the port.
        """
        port = self._fabric.switch_of[device].panel.ports[index]
        at = time_of(reading.after)
        errors = port_errors(
            counters_of(reading.before, port.name),
            counters_of(reading.after, port.name),
            at - time_of(reading.before),
            limits,
            rebooted=reading.before.get("boot") != reading.after.get("boot"),
        )
        memory = self._memory.setdefault(name, PortMemory())
        samples = _remembered_samples(memory, errors, at, limits)
        has_errors = bool(errors.uncorrectable) or (errors.bit_error_rate or 0.0) >= limits.watch
        state = reading.ports.get(port.name)
        if not isinstance(state, Mapping):
            unknown = SuspectEnd(name, (), errors=has_errors, copper=None)
            return _PortReading(EndReading(name, errors, samples), unknown)
        module, lanes = self._cages.module(device, index, reading.ports)
        optics: list[Reason] = []
        if self._policy.optics:
            optics = optics_reasons(name, module, lanes)
        planned = self._modules.get((device, index))
        if planned is not None:
            optics += part_reasons(name, module, planned)
        end = EndReading(
            name=name,
            errors=errors,
            samples=samples,
            flaps=_flaps(memory, state, at, self._policy.flap_hours),
            down=state.get("oper_status") == "down",
            optics=optics,
        )
        suspect = SuspectEnd(name, breaches_of(module, lanes), errors=has_errors, copper=module.is_copper)
        return _PortReading(end, suspect, module.serial)


def counters_of(reading: Mapping[str, Any], port: str) -> dict[str, int] | None:
    """Return the counters of a port in a reading; None if the switch did not report any."""
    ports = reading.get("ports")
    if not isinstance(ports, Mapping):
        return None
    return integers_of(ports.get(port))


def time_of(reading: Mapping[str, Any]) -> float:
    """Return when a switch was read, in Unix seconds; NaN if it did not say that."""
    at = reading.get("at")
    if not isinstance(at, int | float) or isinstance(at, bool) or not isfinite(at):
        return nan
    return float(at)


def _remembered_samples(memory: PortMemory, errors: LinkErrors, at: float, limits: LinkLimits) -> list[Sample]:
    """Add an error rate to the samples of a port, and return them; none if the rate is not measured.

    The memory of a link with a good rate is cleared afterwards.
    """
    rate = errors.bit_error_rate
    if rate is None:
        return []
    memory.samples.append(Sample(at, rate))
    samples = memory.samples
    if rate < limits.watch * _REMEMBERED_SHARE:
        memory.samples = []
    return samples


def _flaps(memory: PortMemory, state: Mapping[str, Any], at: float, hours: int) -> int:
    """Return how often a link went down within ``hours`` before ``at``, but not before its repair.

    Notes the switch's count of transitions in ``memory``.
    """
    # A reading without a time says nothing of when a link went down.
    if isnan(at):
        return 0
    flaps = 0
    transitions = str(state.get("flap_count", ""))
    if transitions.isdecimal():
        flaps = flaps_within(memory, at, int(transitions), hours)
    # Of flaps before the first reading only the time of the last one is known.
    try:
        down_at = timegm(strptime(str(state.get("last_down_time", "")), _DOWN_TIME))
    except ValueError:
        return flaps
    start = max(int(memory.since), at - hours * 3600)
    if start <= down_at <= at:
        return max(flaps, 1)
    return flaps
