"""Queues that were deeper than Kmax and never marked: senders do not slow down, and PFC has to stop them."""

from collections.abc import Iterator

from railweave.acceptance.counter_names import CounterMeaning
from railweave.diagnostics import Severity
from railweave.health.case import HealthCase
from railweave.health.codes import MARKS_NEVER
from railweave.health.model import HealthFinding, HealthRule, port_finding
from railweave.health.needs import ECN_MARKS, QUEUE_WATERMARK
from railweave.health.reading import CountedRow
from railweave.wording import command_line


def _judge(case: HealthCase) -> Iterator[HealthFinding]:
    """Yield a finding for each queue that was deeper than Kmax and marked no packet."""
    for port, switch in case.counted():
        for queue, limits in port.queues.items():
            row = switch.queue(port.port, queue)
            depth = _unmarked_depth(row, limits.kmax_bytes)
            if depth:
                message = (
                    f"marked no packet of queue {queue}, which was {depth:,} bytes deep:"
                    f" above {limits.kmax_bytes:,} (Kmax) ECN marks every packet"
                )
                fix = (
                    f"compare its WRED profile with the design (`{command_line('drift')}`), and let {port.peer} get"
                    " packets that allow ECN (ECT in the IP header)"
                )
                yield port_finding(MARKS_NEVER, Severity.ERROR, port, message, fix)


def _unmarked_depth(row: CountedRow, kmax_bytes: int) -> int:
    """Return the depth in bytes of a queue that was deeper than Kmax and marked nothing in that time, else 0.

    The watermark is the largest depth since it was cleared. If it rose, the depth was reached between the readings.
    Otherwise nobody knows when, and the queue must not have marked anything since its counters began.
    """
    depth = row.value(CounterMeaning.SHARED_WATERMARK)
    earlier_depth = row.value_before(CounterMeaning.SHARED_WATERMARK)
    marks = row.growth(CounterMeaning.MARKS)
    packets = row.growth(CounterMeaning.SENT_PACKETS)
    if depth is None or earlier_depth is None or marks is None or not packets:
        return 0
    if depth <= kmax_bytes or marks:
        return 0
    if depth > earlier_depth or not row.value(CounterMeaning.MARKS):
        return depth
    return 0


RULE = HealthRule(MARKS_NEVER, "a queue deeper than Kmax marks packets", _judge, (ECN_MARKS, QUEUE_WATERMARK))
