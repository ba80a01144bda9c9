"""Samples as lines of Prometheus' text format, 0.0.4."""

from collections import defaultdict
from collections.abc import Iterable, Mapping
from typing import NamedTuple

from railweave.exporter.model import Samples
from railweave.fabric.node_metrics import ScrapedMetric


class PortSample(NamedTuple):
    """A sample of a port: its value as text, and the queue, group or priority."""

    metric: ScrapedMetric
    port: str
    value: str
    number: int | None = None


class LineWriter:
    """Writes the samples of one switch; names and labels, which are most of a line, are made once."""

    def __init__(self, device: str) -> None:
        self._device = device
        # By name: the hash of a metric is that of all its texts, and a switch has thousands of samples.
        self._starts: dict[tuple[str, str, int | None], str] = {}
        self._metrics: dict[str, ScrapedMetric] = {}

    def start(self, metric: ScrapedMetric, port: str, number: int | None = None) -> str:
        """Return the line of a sample up to its value."""
        key = metric.name, port, number
        if key not in self._starts:
            labels = f'device="{self._device}",port="{port}"'
            if number is not None:
                labels = f'{labels},{metric.labels[1]}="{number}"'
            self._starts[key] = f"{metric.name}{{{labels}}} "
            self._metrics[metric.name] = metric
        return self._starts[key]

    def lines(self, samples: Iterable[PortSample]) -> Samples:
        """Return the lines of samples by metric."""
        lines: defaultdict[str, list[str]] = defaultdict(list)
        for metric, port, value, number in samples:
            lines[metric.name].append(f"{self.start(metric, port, number)}{value}\n")
        return self.by_metric(lines)

    def by_metric(self, lines: Mapping[str, list[str]]) -> Samples:
        """Join the lines of each metric, which are given by its name, and return them by metric."""
        return {self._metrics[name]: "".join(texts) for name, texts in lines.items()}


def exposition(samples: Iterable[tuple[ScrapedMetric, str]]) -> str:
    """Return a text with the lines of each metric under its help and type."""
    parts: list[str] = []
    for metric, lines in samples:
        if lines:
            parts += (f"# HELP {metric} {metric.help}\n", f"# TYPE {metric} {metric.kind}\n", lines)
    return "".join(parts)
