"""An alert rule as a value: the observation, its limit, and the text of the alert.

Rules know no device: limits are metrics of thresholds.prom, to which observations are joined by their labels. So their
number is the same for every fabric.
"""

from collections.abc import Mapping
from enum import StrEnum
from typing import NamedTuple

from railweave.fabric.node_metrics import ScrapedMetric
from railweave.telemetry import metrics

WINDOW = "[window]"
"""Stands in expressions for the window of rates, which follows from the interval of scrapes."""
WINDOW_SCRAPES = 20
"""Rates are over 20 scrapes (5 minutes at 15 seconds): counters of SONiC change every 1 to 60 seconds."""


class AlertSeverity(StrEnum):
    """How urgent an alert is; ``none`` marks alerts that only inhibit others and reach no one."""

    CRITICAL = "critical"
    WARNING = "warning"
    NONE = "none"


class AlertScope(StrEnum):
    """What an alert is about, which gives its labels."""

    QUEUE = "queue"
    PORT = "port"
    NIC = "nic"
    CABLE = "cable"
    DEVICE = "device"
    PLANE = "plane"


_KEYS: Mapping[AlertScope, str] = {
    AlertScope.QUEUE: "device, port, queue",
    AlertScope.PORT: "device, port",
    AlertScope.NIC: "peer, peer_port",
    AlertScope.CABLE: "device, port, cable, peer",
    AlertScope.DEVICE: "device",
    AlertScope.PLANE: "plane, rail",
}


class RuleLimit(NamedTuple):
    """A limit: a factor of a threshold metric, or a number where there is no metric."""

    factor: float
    metric: ScrapedMetric | None = None

    @property
    def promql(self) -> str:
        """Return the limit as an expression."""
        if self.metric is None:
            return f"{self.factor:g}"
        value = self.metric.name
        if not self.metric.labels:
            # A value of the whole fabric.
            value = f"scalar(min({value}))"
        if self.factor == 1:
            return value
        return f"{self.factor:g} * {value}"


class ExampleSeries(NamedTuple):
    """A series of a rule's unit test: what each scrape adds to a counter, or the value of a gauge."""

    # The labels beside those of the example.
    metric: ScrapedMetric
    good: float
    bad: float
    labels: Mapping[str, str] = {}


class AlertRule(NamedTuple):
    """One alert."""

    # In the label `rule`, and the name of the runbook page.
    code: str
    name: str
    severity: AlertSeverity
    scope: AlertScope
    # An expression whose samples have the labels of the scope.
    observed: str
    # `>`, `<`, `>=` or `==`.
    comparison: str
    limit: RuleLimit
    # The condition has to last that many scrapes.
    scrapes: int
    # One sentence; `{device}` and other labels stand in braces.
    summary: str
    # Exactly the metrics without which it cannot fire.
    needs: tuple[ScrapedMetric, ...]
    example: tuple[ExampleSeries, ...]
    # Further conditions: `and …`, `unless …`.
    condition: str = ""
    # The window of its rates in seconds where it is not the common one.
    window_s: int = 0

    @property
    def keys(self) -> str:
        """Return the labels of the scope, as expressions list them."""
        return _KEYS[self.scope]

    @property
    def labels(self) -> tuple[str, ...]:
        """Return the labels of its alerts beside `rule` and `severity`."""
        if self.scope is AlertScope.QUEUE:
            return ("device", "port", "queue", "cable", "peer")
        if self.scope in (AlertScope.PORT, AlertScope.NIC):
            return ("device", "port", "cable", "peer")
        return tuple(self.keys.split(", "))

    def window(self, scrape_s: int) -> int:
        """Return the seconds of the window of its rates."""
        return self.window_s or WINDOW_SCRAPES * scrape_s

    def promql(self, scrape_s: int) -> str:
        """Return the whole expression: the samples that exceed the limit, with the cable and the peer of a port.

        ``scrape_s`` is the interval of scrapes, on which the window of rates depends.
        """
        limit = self.limit.promql
        if self.limit.metric is not None and self.limit.metric.labels:
            # The threshold's cable is left out of the match: the observation has none.
            limit = f"on ({self.keys}) ({limit})"
        expression = f"{self.observed} {self.comparison} {limit}"
        if self.condition:
            expression = f"({expression}) {self.condition}"
        if self.scope in (AlertScope.QUEUE, AlertScope.PORT):
            expression = f"({expression}) * on (device, port) group_left (cable, peer) {metrics.LINK}"
        elif self.scope is AlertScope.NIC:
            joined = f"({expression}) * on (peer, peer_port) group_right () {metrics.LINK}"
            expression = f"max by (device, port, cable, peer) ({joined})"
        return expression.replace(WINDOW, f"[{self.window(scrape_s)}s]")


class RecordingRule(NamedTuple):
    """A recorded expression, which several alerts use."""

    name: str
    expression: str


def rate_by(keys: str, metric: ScrapedMetric, function: str = "increase") -> str:
    """Return the increase or rate of a counter with the labels ``keys`` alone."""
    return f"max by ({keys}) ({function}({metric}{WINDOW}))"


def as_queue(metric: ScrapedMetric, label: str, function: str = "") -> str:
    """Return a metric of priorities or priority groups by queue; a lossless class has one number for all of them.

    ``label`` is the label of that number. ``function``, such as ``rate``, is applied over the window; empty for none.
    """
    inner = f"{function}({metric}{WINDOW})" if function else metric.name
    return f'max by (device, port, queue) (label_replace({inner}, "queue", "$1", "{label}", "(.+)"))'
