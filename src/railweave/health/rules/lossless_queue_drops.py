"""Drops of lossless queues at egress: PFC should have stopped the senders before; the PFC watchdog drops as well."""

from collections.abc import Iterator

from railweave.acceptance.counter_names import CounterMeaning
from railweave.diagnostics import Severity
from railweave.health.case import HealthCase
from railweave.health.codes import LOSSLESS_QUEUE_DROPS
from railweave.health.model import HealthFinding, HealthRule, port_finding
from railweave.health.needs import QUEUE_DROPS
from railweave.health.rules import pfc_storm
from railweave.wording import command_line


def _judge(case: HealthCase) -> Iterator[HealthFinding]:
    """Yield a finding for each lossless queue of a port that dropped packets without a PFC storm."""
    for port, switch in case.counted():
        for queue in sorted(case.lossless):
            row = switch.queue(port.port, queue)
            dropped = row.growth(CounterMeaning.DROPS)
            if not dropped:
                continue
            # The watchdog drops what a stormed queue holds: the storm is the finding.
            if row.growth(CounterMeaning.STORMS) or pfc_storm.lasts(row):
                continue
            message = f"dropped {dropped:,} packets of lossless queue {queue}"
            fix = f"compare its buffer profiles and PORT_QOS_MAP with the design (`{command_line('drift')}`)"
            yield port_finding(LOSSLESS_QUEUE_DROPS, Severity.ERROR, port, message, fix)


RULE = HealthRule(LOSSLESS_QUEUE_DROPS, "lossless queues drop nothing", _judge, (QUEUE_DROPS,))
