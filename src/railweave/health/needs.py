"""The counters that rules need, with what turns each on (`fabric.counter_groups`; defaults: init_cfg.json)."""

from railweave.acceptance.counter_names import CounterMeaning
from railweave.fabric.counter_groups import GROUP_OF
from railweave.health.model import CounterNeed
from railweave.health.reading import FLAPS


def _polled(table: str, meaning: CounterMeaning, group: str) -> CounterNeed:
    """Return the need of a counter in a table, which is missing if its group of counters is off."""
    fix = f"turn them on: `{GROUP_OF[group].enable}`"
    if not GROUP_OF[group].is_on_by_default:
        fix += ", off by default"
    return CounterNeed(table, meaning, fix, since=GROUP_OF[group].since)


ECN_MARKS = _polled("queues", CounterMeaning.MARKS, "wred_queue")
QUEUE_PACKETS = _polled("queues", CounterMeaning.SENT_PACKETS, "queue")
QUEUE_DROPS = _polled("queues", CounterMeaning.DROPS, "queue")
QUEUE_WATERMARK = _polled("queues", CounterMeaning.SHARED_WATERMARK, "watermark")
GROUP_DROPS = _polled("groups", CounterMeaning.DROPS, "pg_drop")
STORMS = CounterNeed(
    "queues",
    CounterMeaning.STORMS,
    f"the PFC watchdog counts them: see `show pfcwd config`, `{GROUP_OF['pfcwd'].enable}`",
)
PFC_FRAMES = _polled("ports", CounterMeaning.PFC_SENT, "port")
SENT_BYTES = _polled("ports", CounterMeaning.SENT_BYTES, "port")
RECEIVED_BYTES = _polled("ports", CounterMeaning.RECEIVED_BYTES, "port")
PORT_ERRORS = _polled("ports", CounterMeaning.ERRORS, "port")
FEC_CODEWORDS = CounterNeed("ports", CounterMeaning.FEC_UNCORRECTABLE, "ports without FEC do not count them")
LINK_CHANGES = CounterNeed("ports", FLAPS, "the driver has to read it: capability `link-state`", since="202311")
