"""Queues and marks beyond their thresholds, and load that does not spread."""

from railweave.telemetry import metrics
from railweave.telemetry.rules.model import (
    WINDOW,
    AlertRule,
    AlertScope,
    AlertSeverity,
    ExampleSeries,
    RuleLimit,
    rate_by,
)

_QUEUE = "device, port, queue"
_MARKS = rate_by(_QUEUE, metrics.ECN_MARKS, "rate")
_PACKETS = rate_by(_QUEUE, metrics.QUEUE_PACKETS, "rate")
_UPLINK = f'and on (device, port) {metrics.LINK}{{direction="up"}}'
_RATE = f"(max by (device, port) (rate({metrics.SENT_BYTES}{WINDOW})) {_UPLINK})"
# Jain's index of fairness of n loads: (sum x)^2 / (n sum x^2), 1 if all are equal, 1/n if one carries everything.
_JAIN = f"(sum by (device) ({_RATE})) ^ 2 / (count by (device) ({_RATE}) * sum by (device) ({_RATE} ^ 2))"
_SPEED = f"sum by (device) ({metrics.SPEED} {_UPLINK})"

QUEUE_ABOVE_KMAX = AlertRule(
    code="AL-7",
    name="QueueAboveKmax",
    severity=AlertSeverity.WARNING,
    scope=AlertScope.QUEUE,
    observed=f"max by ({_QUEUE}) ({metrics.QUEUE_WATERMARK})",
    comparison=">",
    limit=RuleLimit(1, metrics.KMAX),
    scrapes=4,
    summary="queue {queue} of {device} {port} stays above the depth from which ECN marks every packet",
    needs=(metrics.QUEUE_WATERMARK, metrics.KMAX),
    example=(
        ExampleSeries(metrics.QUEUE_WATERMARK, 900_000, 1_100_000),
        ExampleSeries(metrics.KMAX, 1_000_000, 1_000_000),
    ),
)
MARKED_SHARE = AlertRule(
    code="AL-8",
    name="EcnMarksTooMuch",
    severity=AlertSeverity.WARNING,
    scope=AlertScope.QUEUE,
    # In percent, as pmax is.
    observed=f"100 * {_MARKS} / {_PACKETS}",
    comparison=">",
    limit=RuleLimit(1, metrics.PMAX),
    scrapes=40,
    summary="queue {queue} of {device} {port} marks a larger share of packets than ECN's probability below kmax",
    needs=(metrics.ECN_MARKS, metrics.QUEUE_PACKETS, metrics.PMAX),
    example=(
        ExampleSeries(metrics.ECN_MARKS, 1, 30),
        ExampleSeries(metrics.QUEUE_PACKETS, 100, 100),
        ExampleSeries(metrics.PMAX, 20, 20),
    ),
)
IMBALANCE = AlertRule(
    code="AL-9",
    name="UplinkImbalance",
    severity=AlertSeverity.WARNING,
    scope=AlertScope.DEVICE,
    observed=_JAIN,
    comparison="<",
    limit=RuleLimit(0.8),
    scrapes=40,
    summary="the load of {device} is spread unevenly over its uplinks",
    needs=(metrics.SENT_BYTES, metrics.LINK, metrics.SPEED),
    example=(
        ExampleSeries(metrics.SENT_BYTES, 300e9, 0),
        ExampleSeries(metrics.SENT_BYTES, 300e9, 600e9, {"port": "Ethernet8"}),
        # At scrapes of a minute the load is still above a tenth of it.
        ExampleSeries(metrics.SPEED, 25e9, 25e9),
        ExampleSeries(metrics.SPEED, 25e9, 25e9, {"port": "Ethernet8"}),
        ExampleSeries(metrics.LINK, 1, 1, {"port": "Ethernet8", "cable": "leaf1 Ethernet8"}),
    ),
    # Few flows never spread evenly: judged above a tenth of the line rate.
    condition=f"and on (device) (sum by (device) ({_RATE}) > on (device) 0.1 * {_SPEED})",
)
