"""The metrics of a switch as lines of Prometheus' text format, from its last two readings."""

from collections.abc import Callable, Iterable, Iterator
from typing import NamedTuple

from railweave.exporter.counters import CounterLines, ReadCounters
from railweave.exporter.gauges import ModuleSampler, error_rate_samples, link_samples, watermark_samples
from railweave.exporter.lines import LineWriter, PortSample
from railweave.exporter.maintenance import maintenance_states
from railweave.exporter.model import MonitoredReading, Samples, SwitchSamples
from railweave.fabric.link_limits import LimitsOf
from railweave.fabric.model import Fabric
from railweave.links.cages import Cages
from railweave.plan.expectation import WHOLE_FABRIC, VerificationScope, expect


def served_queues(fabric: Fabric) -> list[int]:
    """Return the queues whose counters are served: of the classes that mark or lose nothing."""
    classes = fabric.policies.classes
    return sorted(traffic_class.priority for traffic_class in classes if traffic_class.marks or traffic_class.lossless)


class WrittenPart(NamedTuple):
    """A part of a reading: its state, and the lines that were written for it."""

    state: object
    lines: Samples


class SwitchSampler:
    """Turns the readings of one switch into samples; it keeps the counters of the last reading."""

    def __init__(
        self, fabric: Fabric, device: str, cages: Cages, limits: LimitsOf, scope: VerificationScope = WHOLE_FABRIC
    ) -> None:
        """Prepare for ``device``; ``scope`` is what the target's checks leave out."""
        self._device = device
        self._expectation = expect(fabric, fabric.switch_of[device], scope)
        links = fabric.links_of[device]
        self._modules = ModuleSampler(device, [link.port_of(device) for link in links], cages)
        self._limits = {cages.port(device, link.port_of(device)): limits.of(link) for link in links}
        classes = fabric.policies.classes
        self._marking = sorted(traffic_class.priority for traffic_class in classes if traffic_class.marks)
        self._lossless = frozenset(traffic_class.priority for traffic_class in classes if traffic_class.lossless)
        self._writer = LineWriter(device)
        self._counters = CounterLines(self._writer, self._limits, served_queues(fabric), self._lossless)
        self._last_counters: ReadCounters | None = None
        # The parts of a reading that seldom change, as they were written last.
        self._written: dict[str, WrittenPart] = {}

    def __call__(self, reading: MonitoredReading) -> SwitchSamples:
        """Return the samples of every part that a reading has, and keep its counters for the next reading."""
        missing = list(self._missing(reading))
        modules = reading.part("link_state", "ports")
        samples = {
            **self._unless_same("links", reading.observation, lambda: link_samples(self._expectation, reading)),
            **self._unless_same("modules", modules, lambda: self._modules.samples(modules)),
        }
        counters = self._read(reading)
        if isinstance(counters, str):
            missing.append(counters)
        else:
            samples |= self._counters.lines(counters, self._last_counters)
            watermarks = watermark_samples(reading, self._limits, self._marking, self._lossless)
            error_rates = error_rate_samples(reading, counters, self._last_counters, self._limits)
            samples |= self._writer.lines((*watermarks, *error_rates))
            self._last_counters = counters
        return SwitchSamples(
            samples=samples,
            maintenance=maintenance_states(self._device, reading),
            missing=tuple(missing),
            other_program=bool(reading.telemetry.get("other_program")),
            timer_s=reading.status.remaining_s or 0.0,
        )

    def _unless_same(self, part: str, state: object, samples: Callable[[], Iterable[PortSample]]) -> Samples:
        """Return the lines of a part of a reading; those of the last reading if its state is the same."""
        written = self._written.get(part)
        if written is None or written.state != state:
            written = WrittenPart(state, self._writer.lines(samples()))
            self._written[part] = written
        return written.lines

    def _read(self, reading: MonitoredReading) -> ReadCounters | str:
        """Return the counters of a reading, or a sentence why it has none."""
        if not reading.part("counters"):
            return str(reading.telemetry.get("error") or "its answer has no counters")
        return self._counters.read(reading.part("counters"))

    def _missing(self, reading: MonitoredReading) -> Iterator[str]:
        """Yield which parts of a reading are missing beside its counters."""
        if reading.telemetry.get("other_program"):
            yield str(reading.telemetry["other_program"])
        elif not reading.part("link_state"):
            yield "its answer has neither flaps nor modules"
