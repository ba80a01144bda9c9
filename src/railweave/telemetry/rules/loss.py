"""Loss where nothing may be lost, and pauses that spread."""

from railweave.telemetry import metrics
from railweave.telemetry.rules.model import (
    WINDOW,
    AlertRule,
    AlertScope,
    AlertSeverity,
    ExampleSeries,
    RuleLimit,
    as_queue,
    rate_by,
)

_QUEUE = "device, port, queue"
_LOSSLESS = f"and on ({_QUEUE}) {metrics.HEADROOM}"
_HEADROOM = ExampleSeries(metrics.HEADROOM, 300_000, 300_000)
_MARKED_BY_SWITCH = f"sum by (device, queue) (rate({metrics.ECN_MARKS}{WINDOW}))"

QUEUE_DROPS = AlertRule(
    code="AL-1",
    name="LosslessQueueDrops",
    severity=AlertSeverity.CRITICAL,
    scope=AlertScope.QUEUE,
    observed=rate_by(_QUEUE, metrics.QUEUE_DROPS),
    comparison=">",
    limit=RuleLimit(0),
    scrapes=0,
    summary="lossless queue {queue} of {device} {port} drops packets",
    needs=(metrics.QUEUE_DROPS, metrics.HEADROOM),
    example=(ExampleSeries(metrics.QUEUE_DROPS, 0, 7), _HEADROOM),
    condition=_LOSSLESS,
)
GROUP_DROPS = AlertRule(
    code="AL-2",
    name="LosslessGroupDrops",
    severity=AlertSeverity.CRITICAL,
    scope=AlertScope.QUEUE,
    observed=as_queue(metrics.GROUP_DROPS, "pg", "increase"),
    comparison=">",
    limit=RuleLimit(0),
    scrapes=0,
    summary="lossless priority group {queue} of {device} {port} drops what {peer} sends: headroom was too small",
    needs=(metrics.GROUP_DROPS, metrics.HEADROOM),
    example=(ExampleSeries(metrics.GROUP_DROPS, 0, 7), _HEADROOM),
    condition=_LOSSLESS,
)
STORM = AlertRule(
    code="AL-3",
    name="PfcStorm",
    severity=AlertSeverity.CRITICAL,
    scope=AlertScope.QUEUE,
    # A storm that lasts counts once: it is over when the watchdog has restored the queue.
    observed=f"max by ({_QUEUE}) (increase({metrics.STORMS}{WINDOW}) > 0 or {metrics.STORMS} - {metrics.STORMS_ENDED})",
    comparison=">",
    limit=RuleLimit(0),
    scrapes=0,
    summary="{peer} pauses queue {queue} of {device} {port} without end: the PFC watchdog detected a storm",
    needs=(metrics.STORMS,),
    example=(ExampleSeries(metrics.STORMS, 0, 1),),
)
PFC_WITHOUT_ECN = AlertRule(
    code="AL-4",
    name="PfcWithoutEcn",
    severity=AlertSeverity.CRITICAL,
    scope=AlertScope.QUEUE,
    observed=as_queue(metrics.PFC_SENT, "priority", "rate"),
    comparison=">",
    limit=RuleLimit(0),
    scrapes=8,
    summary="{device} pauses {peer} on {port} (priority {queue}) and marks nothing: ECN does not act before PFC",
    needs=(metrics.PFC_SENT, metrics.ECN_MARKS),
    example=(ExampleSeries(metrics.PFC_SENT, 0, 40), ExampleSeries(metrics.ECN_MARKS, 0, 0)),
    # Without a counter of marks (before 202505, or turned off) there is no sample, and no alert.
    condition=f"and on (device, queue) ({_MARKED_BY_SWITCH} == 0)",
)
HEADROOM_USED = AlertRule(
    code="AL-5",
    name="HeadroomUsed",
    severity=AlertSeverity.WARNING,
    scope=AlertScope.QUEUE,
    observed=as_queue(metrics.HEADROOM_WATERMARK, "pg"),
    comparison=">",
    limit=RuleLimit(0.5, metrics.HEADROOM),
    scrapes=0,
    summary="more than half of the headroom of priority group {queue} of {device} {port} was used",
    needs=(metrics.HEADROOM_WATERMARK, metrics.HEADROOM),
    example=(ExampleSeries(metrics.HEADROOM_WATERMARK, 0, 160_000), _HEADROOM),
)
PAUSED = AlertRule(
    code="AL-6",
    name="PausedTooLong",
    severity=AlertSeverity.WARNING,
    scope=AlertScope.QUEUE,
    observed=as_queue(metrics.PAUSE_SECONDS, "priority", "rate"),
    comparison=">",
    limit=RuleLimit(0.01),
    scrapes=20,
    summary="{peer} pauses queue {queue} of {device} {port} for more than 1 % of the time",
    needs=(metrics.PAUSE_SECONDS,),
    example=(ExampleSeries(metrics.PAUSE_SECONDS, 0, 1),),
)
