"""The counters that rules need, with what turns each on (SONiC ``counterpoll``; defaults: init_cfg.json)."""

from railweave.acceptance.counter_names import CounterMeaning
from railweave.health.model import CounterNeed
from railweave.health.reading import FLAPS

ECN_MARKS = CounterNeed(
    "queues", CounterMeaning.MARKS, "turn them on: `counterpoll wredqueue enable`, off by default", since="202505"
)
QUEUE_PACKETS = CounterNeed("queues", CounterMeaning.SENT_PACKETS, "turn them on: `counterpoll queue enable`")
QUEUE_DROPS = CounterNeed("queues", CounterMeaning.DROPS, "turn them on: `counterpoll queue enable`")
QUEUE_WATERMARK = CounterNeed("queues", CounterMeaning.SHARED_WATERMARK, "turn them on: `counterpoll watermark enable`")
GROUP_DROPS = CounterNeed("groups", CounterMeaning.DROPS, "turn them on: `counterpoll pg-drop enable`")
STORMS = CounterNeed(
    "queues", CounterMeaning.STORMS, "the PFC watchdog counts them: see `show pfcwd config`, `counterpoll pfcwd`"
)
PFC_FRAMES = CounterNeed("ports", CounterMeaning.PFC_SENT, "turn them on: `counterpoll port enable`")
SENT_BYTES = CounterNeed("ports", CounterMeaning.SENT_BYTES, "turn them on: `counterpoll port enable`")
RECEIVED_BYTES = CounterNeed("ports", CounterMeaning.RECEIVED_BYTES, "turn them on: `counterpoll port enable`")
PORT_ERRORS = CounterNeed("ports", CounterMeaning.ERRORS, "turn them on: `counterpoll port enable`")
FEC_CODEWORDS = CounterNeed("ports", CounterMeaning.FEC_UNCORRECTABLE, "ports without FEC do not count them")
LINK_CHANGES = CounterNeed("ports", FLAPS, "it counts changes of links", since="202311")
