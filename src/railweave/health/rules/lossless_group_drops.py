"""Drops of lossless priority groups at ingress: the headroom did not hold what was on its way when PFC paused."""

from collections.abc import Iterator

from railweave.acceptance.counter_names import CounterMeaning
from railweave.diagnostics import Severity
from railweave.health.case import HealthCase
from railweave.health.codes import LOSSLESS_GROUP_DROPS
from railweave.health.model import HealthFinding, HealthRule, port_finding
from railweave.health.needs import GROUP_DROPS
from railweave.wording import command_line


def _judge(case: HealthCase) -> Iterator[HealthFinding]:
    """Yield a finding for each lossless priority group of a port that dropped packets."""
    for port, switch in case.counted():
        for group in sorted(case.lossless):
            dropped = switch.group(port.port, group).growth(CounterMeaning.DROPS)
            if not dropped:
                continue
            headroom = ""
            limits = port.queues.get(group)
            if limits is not None and limits.headroom_bytes is not None:
                headroom = f" of {limits.headroom_bytes:,} bytes"
            message = (
                f"dropped {dropped:,} packets of lossless priority group {group}: its headroom{headroom} overflowed"
            )
            fix = (
                "compare the length of the cable with the intent, the BUFFER_PG row with the design"
                f" (`{command_line('drift')}`), and PFC at {port.peer}"
            )
            yield port_finding(LOSSLESS_GROUP_DROPS, Severity.ERROR, port, message, fix)


RULE = HealthRule(LOSSLESS_GROUP_DROPS, "lossless priority groups drop nothing", _judge, (GROUP_DROPS,))
