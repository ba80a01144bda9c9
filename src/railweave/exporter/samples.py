"""The metrics of a switch as lines of Prometheus' text format, from its last two readings."""

from collections.abc import Iterable, Iterator

from railweave.exporter.counters import CounterSample, ReadCounters, counter_samples, read_counters
from railweave.exporter.gauges import ModuleSampler, error_rate_samples, link_samples, watermark_samples
from railweave.exporter.maintenance import maintenance_states
from railweave.exporter.model import MonitoredReading, Samples, SwitchSamples
from railweave.fabric.link_limits import LimitsOf
from railweave.fabric.model import Fabric
from railweave.fabric.node_metrics import ScrapedMetric
from railweave.links.cages import Cages
from railweave.plan.expectation import WHOLE_FABRIC, VerificationScope, expect
from railweave.plan.observation import Observation


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
        self._earlier: ReadCounters | None = None
        # The last observation, and the lines of its links.
        self._links: tuple[Observation | None, Samples] = (None, {})

    def __call__(self, reading: MonitoredReading) -> SwitchSamples:
        """Return the samples of a reading: every part that it has."""
        missing = [*self._missing(reading)]
        counted: list[CounterSample] = []
        read = self._counters(reading)
        if isinstance(read, str):
            missing.append(read)
        else:
            counted += counter_samples(read, self._earlier, self._lossless)
            counted += watermark_samples(reading, self._limits, self._marking, self._lossless)
            counted += error_rate_samples(reading, read, self._earlier, self._limits)
            self._earlier = read
        lines = {
            **self._link_lines(reading),
            **sample_lines(self._device, self._modules.samples(reading)),
            **sample_lines(self._device, counted),
        }
        return SwitchSamples(
            lines,
            maintenance_states(self._device, reading),
            tuple(missing),
            bool(reading.telemetry.get("other_program")),
            reading.status.remaining_s or 0.0,
        )

    def _link_lines(self, reading: MonitoredReading) -> Samples:
        # Links and neighbors seldom change, and then the observation is another one.
        observation, lines = self._links
        if observation is not reading.observation:
            lines = sample_lines(self._device, link_samples(self._expectation, reading))
            self._links = reading.observation, lines
        return lines

    def _counters(self, reading: MonitoredReading) -> ReadCounters | str:
        if not reading.part("counters"):
            return str(reading.telemetry.get("error") or "its answer has no counters")
        return read_counters(reading.part("counters"), self._limits, sorted({*self._marking, *self._lossless}))

    def _missing(self, reading: MonitoredReading) -> Iterator[str]:
        """Yield which parts of a reading are missing beside its counters."""
        if reading.telemetry.get("other_program"):
            yield str(reading.telemetry["other_program"])
        elif not reading.part("link_state"):
            yield "its answer has neither flaps nor modules"


def sample_lines(device: str, samples: Iterable[CounterSample]) -> Samples:
    """Return the lines of the samples by metric."""
    # By name: the hash of a metric is that of all its texts, and a switch has thousands of samples.
    lines: dict[str, list[str]] = {}
    metric_of: dict[str, ScrapedMetric] = {}
    for metric, port, value, number in samples:
        name = metric.name
        if name not in lines:
            lines[name] = []
            metric_of[name] = metric
        labels = f'device="{device}",port="{port}"'
        if number is not None:
            labels = f'{labels},{metric.labels[1]}="{number}"'
        lines[name].append(f"{name}{{{labels}}} {value}\n")
    return {metric: "".join(lines[name]) for name, metric in metric_of.items()}


def exposition(samples: Iterable[tuple[ScrapedMetric, str]]) -> str:
    """Return a text of format 0.0.4, with the lines of each metric under its help and type."""
    parts: list[str] = []
    for metric, lines in samples:
        if lines:
            parts += (f"# HELP {metric} {metric.help}\n", f"# TYPE {metric} {metric.kind}\n", lines)
    return "".join(parts)
