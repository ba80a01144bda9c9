"""Gauges of the ports of a switch: links, sessions, neighbors, watermarks, error rates and modules."""

from collections.abc import Iterable, Iterator, Mapping
from math import isfinite, isnan
from typing import Any, NamedTuple

from railweave.exporter.counters import PORTS, ReadCounters
from railweave.exporter.lines import PortSample
from railweave.exporter.model import MonitoredReading
from railweave.fabric.link_limits import LinkLimits
from railweave.fabric.node_metrics import ScrapedMetric
from railweave.links.cages import Cages
from railweave.links.errors import port_errors
from railweave.links.optics import Module, number_in
from railweave.plan.expectation import Expectation
from railweave.plan.outcome import CheckKind
from railweave.plan.verification import check_peers
from railweave.telemetry import metrics

_ABOVE_32_BITS = 2**63


def link_samples(expectation: Expectation, reading: MonitoredReading) -> Iterator[PortSample]:
    """Yield a sample for each link, session and neighbor: whether it is up or as planned, by the checks of `verify`.

    A port on which LLDP shows no neighbor has no sample: whether the cable is right is unknown.
    """
    observation = reading.observation
    for port in expectation.ports:
        state = observation.ports.get(port.port)
        if state is not None:
            yield PortSample(metrics.PORT_UP, port.port, _flag(state.up))
    port_of_peer = {session.peer: session.port for session in expectation.sessions}
    for check in check_peers(expectation, observation):
        if check.skipped:
            continue
        if check.kind is CheckKind.BGP and check.subject in port_of_peer:
            yield PortSample(metrics.BGP_UP, port_of_peer[check.subject], _flag(check.ok))
        elif check.kind is CheckKind.LLDP and observation.lldp.get(check.subject):
            yield PortSample(metrics.NEIGHBOR_MATCHES, check.subject, _flag(check.ok))


def _flag(value: bool) -> str:
    return "1" if value else "0"


def watermark_samples(
    reading: MonitoredReading, ports: Iterable[str], marking: Iterable[int], lossless: frozenset[int]
) -> Iterator[PortSample]:
    """Yield the last interval's watermarks: of the queues ``marking``, and of the headroom of ``lossless`` groups."""
    queues = reading.part("watermarks", "queues")
    groups = reading.part("watermarks", "groups")
    numbers = tuple(marking)
    for port in ports:
        for number in numbers:
            name = f"{port}|{number}"
            yield from _watermark(metrics.QUEUE_WATERMARK, port, number, queues.get(name))
            if number in lossless:
                yield from _watermark(metrics.HEADROOM_WATERMARK, port, number, groups.get(name))


def _watermark(metric: ScrapedMetric, port: str, number: int, row: object) -> Iterator[PortSample]:
    if not isinstance(row, Mapping):
        return
    value = row.get(metric.source.partition(" ")[2])
    # A bad read of 2^64 - 1 stays in a watermark.
    if type(value) is int and 0 <= value < _ABOVE_32_BITS:
        yield PortSample(metric, port, str(value), number)


def error_rate_samples(
    reading: MonitoredReading, read: ReadCounters, earlier: ReadCounters | None, limits: Mapping[str, LinkLimits]
) -> Iterator[PortSample]:
    """Yield the bit error rate before FEC of each port that has one.

    It is as the switch computes it, else computed from the codewords of two readings as `links` does.
    """
    switch_rates = reading.part("error_rates")
    for port, limit in limits.items():
        rate = None
        if port in switch_rates:
            rate = _rate_in(switch_rates[port])
        elif earlier is not None:
            errors = port_errors(
                earlier.tables[PORTS].get(port),
                read.tables[PORTS].get(port),
                read.at - earlier.at,
                limit,
                rebooted=earlier.boot != read.boot,
            )
            rate = errors.bit_error_rate
        if rate is not None:
            yield PortSample(metrics.PRE_FEC_BER, port, f"{rate:.6g}")


def _rate_in(text: object) -> float | None:
    """Return a ratio of errors; None for ``N/A``, ``nan`` and anything else that is not a number from 0 to 1."""
    if not isinstance(text, str):
        return None
    try:
        rate = float(text)
    except ValueError:
        return None
    if isfinite(rate) and 0 <= rate <= 1:
        return rate
    return None


class CagedPort(NamedTuple):
    """A port, and the port of its cage that has the readings of the module."""

    # The place in the panel of the switch.
    place: int
    name: str
    holder: str


class ModuleSamples(NamedTuple):
    """The samples of a module, and the state that they were made from."""

    state: object
    samples: tuple[PortSample, ...]


class ModuleSampler:
    """Flaps, and the power and temperature of modules beside the limits that the modules themselves have.

    xcvrd reads modules every 60 seconds: a module whose state is that of the last reading has the same samples.
    """

    def __init__(self, device: str, indices: Iterable[int], cages: Cages) -> None:
        """Prepare for the ports of ``device`` by their places in its panel."""
        self._device = device
        self._cages = cages
        self._ports = [CagedPort(index, cages.port(device, index), cages.holder(device, index)) for index in indices]
        self._last_samples: dict[str, ModuleSamples] = {}

    def samples(self, states: Mapping[str, Any]) -> Iterator[PortSample]:
        """Yield the samples of the ports that the switch reports."""
        for port in self._ports:
            state = states.get(port.name)
            if isinstance(state, Mapping):
                yield from _flap_samples(port.name, state)
                yield from self._module_samples(port, states)

    def _module_samples(self, port: CagedPort, states: Mapping[str, Any]) -> tuple[PortSample, ...]:
        """Return the samples of the module of a port; those of the last reading if its state is the same."""
        module_state = states.get(port.holder)
        last = self._last_samples.get(port.name)
        if last is None or last.state != module_state:
            module, lanes = self._cages.module(self._device, port.place, states)
            last = ModuleSamples(module_state, tuple(_optic_samples(port.name, module, lanes)))
            self._last_samples[port.name] = last
        return last.samples


def _flap_samples(port: str, state: Mapping[str, Any]) -> Iterator[PortSample]:
    """Yield the flaps of a port, if its state has them: not before the first flap, and not on older releases."""
    transitions = str(state.get("flap_count", ""))
    if transitions.isdecimal():
        # orchagent counts down and up.
        yield PortSample(metrics.FLAPS, port, str(int(transitions) // 2))


def _optic_samples(port: str, module: Module, lanes: range | None) -> Iterator[PortSample]:
    """Yield the received power of the weakest lane and the temperature, each with the module's own limit.

    ``lanes`` are those of the port, None for all lanes of the module.
    """
    powers = []
    for field, text in module.readings.items():
        # Not a regular expression, for speed: modules have dozens of readings.
        if not field.startswith("rx") or not field.endswith("power"):
            continue
        lane = field.removeprefix("rx").removesuffix("power")
        is_of_port = lanes is None or (lane.isdecimal() and int(lane) in lanes)
        power = _reading(text)
        if is_of_port and power is not None:
            powers.append(power)
    if powers:
        yield PortSample(metrics.OPTIC_POWER, port, _number(min(powers)))
        yield from _limit(metrics.OPTIC_POWER_LOW, port, module.thresholds, "rxpowerlowwarning", "rxpowerhighwarning")
    temperature = _reading(module.readings.get("temperature"))
    if temperature is not None:
        yield PortSample(metrics.OPTIC_TEMPERATURE, port, _number(temperature))
        yield from _limit(metrics.OPTIC_TEMPERATURE_HIGH, port, module.thresholds, "temphighwarning", "templowwarning")


def _reading(text: object) -> float | None:
    """Return the number of a reading; None for ``N/A``."""
    try:
        value = float(str(text))
    except ValueError:
        # Older releases add a unit.
        return number_in(str(text))
    if isnan(value):
        return None
    return value


def _limit(
    metric: ScrapedMetric, port: str, thresholds: Mapping[str, Any], name: str, opposite: str
) -> Iterator[PortSample]:
    """Yield the threshold ``name`` of a module if it sets its thresholds; ``opposite`` is the one of the other side."""
    limit = _reading(thresholds.get(name))
    # Both are 0 if the module does not set them (SFF-8636, CMIS).
    is_set = limit != _reading(thresholds.get(opposite))
    if limit is not None and is_set and isfinite(limit):
        yield PortSample(metric, port, _number(limit))


def _number(value: float) -> str:
    """Return a value as Prometheus reads it: a lane without light has ``-Inf`` dBm."""
    if isfinite(value):
        return f"{value:g}"
    return "+Inf" if value > 0 else "-Inf"
