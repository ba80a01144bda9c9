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
    "AL-1",
    "LosslessQueueDrops",
    AlertSeverity.CRITICAL,
    AlertScope.QUEUE,
    rate_by(_QUEUE, metrics.QUEUE_DROPS),
    ">",
    RuleLimit(0),
    0,
    "lossless queue {queue} of {device} {port} drops packets",
    (metrics.QUEUE_DROPS, metrics.HEADROOM),
    (ExampleSeries(metrics.QUEUE_DROPS, 0, 7), _HEADROOM),
    condition=_LOSSLESS,
)
GROUP_DROPS = AlertRule(
    "AL-2",
    "LosslessGroupDrops",
    AlertSeverity.CRITICAL,
    AlertScope.QUEUE,
    as_queue(metrics.GROUP_DROPS, "pg", "increase"),
    ">",
    RuleLimit(0),
    0,
    "lossless priority group {queue} of {device} {port} drops what {peer} sends: headroom was too small",
    (metrics.GROUP_DROPS, metrics.HEADROOM),
    (ExampleSeries(metrics.GROUP_DROPS, 0, 7), _HEADROOM),
    condition=_LOSSLESS,
)
STORM = AlertRule(
    "AL-3",
    "PfcStorm",
    AlertSeverity.CRITICAL,
    AlertScope.QUEUE,
    # A storm that lasts counts once: it is over when the watchdog has restored the queue.
    f"max by ({_QUEUE}) (increase({metrics.STORMS}{WINDOW}) > 0 or {metrics.STORMS} - {metrics.STORMS_ENDED})",
    ">",
    RuleLimit(0),
    0,
    "{peer} pauses queue {queue} of {device} {port} without end: the PFC watchdog detected a storm",
    (metrics.STORMS,),
    (ExampleSeries(metrics.STORMS, 0, 1),),
)
PFC_WITHOUT_ECN = AlertRule(
    "AL-4",
    "PfcWithoutEcn",
    AlertSeverity.CRITICAL,
    AlertScope.QUEUE,
    as_queue(metrics.PFC_SENT, "priority", "rate"),
    ">",
    RuleLimit(0),
    8,
    "{device} pauses {peer} on {port} (priority {queue}) and marks nothing: ECN does not act before PFC",
    (metrics.PFC_SENT, metrics.ECN_MARKS),
    (ExampleSeries(metrics.PFC_SENT, 0, 40), ExampleSeries(metrics.ECN_MARKS, 0, 0)),
    # Without a counter of marks (before 202505, or turned off) there is no sample, and no alert.
    condition=f"and on (device, queue) ({_MARKED_BY_SWITCH} == 0)",
)
HEADROOM_USED = AlertRule(
    "AL-5",
    "HeadroomUsed",
    AlertSeverity.WARNING,
    AlertScope.QUEUE,
    as_queue(metrics.HEADROOM_WATERMARK, "pg"),
    ">",
    RuleLimit(0.5, metrics.HEADROOM),
    0,
    "more than half of the headroom of priority group {queue} of {device} {port} was used",
    (metrics.HEADROOM_WATERMARK, metrics.HEADROOM),
    (ExampleSeries(metrics.HEADROOM_WATERMARK, 0, 160_000), _HEADROOM),
)
PAUSED = AlertRule(
    "AL-6",
    "PausedTooLong",
    AlertSeverity.WARNING,
    AlertScope.QUEUE,
    as_queue(metrics.PAUSE_SECONDS, "priority", "rate"),
    ">",
    RuleLimit(0.01),
    20,
    "{peer} pauses queue {queue} of {device} {port} for more than 1 % of the time",
    (metrics.PAUSE_SECONDS,),
    (ExampleSeries(metrics.PAUSE_SECONDS, 0, 1),),
)
