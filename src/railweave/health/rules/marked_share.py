"""Queues that mark more than ECN's probability below Kmax: they stay deeper than Kmax, and senders are slowed down."""

from collections.abc import Iterator

from railweave.acceptance.counter_names import CounterMeaning
from railweave.diagnostics import Severity
from railweave.health.case import HealthCase
from railweave.health.codes import MARKED_SHARE
from railweave.health.limits import LEAST_PACKETS
from railweave.health.model import HealthFinding, HealthRule, port_finding
from railweave.health.needs import ECN_MARKS
from railweave.wording import command_line


def _judge(case: HealthCase) -> Iterator[HealthFinding]:
    """Yield a finding for each queue that marked a larger share of its packets than below Kmax."""
    for port, switch in case.counted():
        for queue, limits in port.queues.items():
            row = switch.queue(port.port, queue)
            marks = row.growth(CounterMeaning.MARKS)
            packets = row.growth(CounterMeaning.SENT_PACKETS)
            if marks is None or packets is None or packets < LEAST_PACKETS:
                continue
            percent = 100 * marks / packets
            if percent > limits.pmax_percent:
                message = (
                    f"marked {min(percent, 100):.1f} % of {packets:,} packets of queue {queue};"
                    f" below Kmax it marks at most {limits.pmax_percent} %"
                )
                fix = (
                    f"check that the NICs at {port.peer} and its senders react to ECN (DCQCN on), and compare the WRED"
                    f" profile with the design (`{command_line('drift')}`)"
                )
                yield port_finding(MARKED_SHARE, Severity.WARNING, port, message, fix)


RULE = HealthRule(MARKED_SHARE, "ECN marks no more than its probability below Kmax", _judge, (ECN_MARKS,))
