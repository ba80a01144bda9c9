"""PFC storms: a neighbor pauses a queue for longer than the detection time of the PFC watchdog."""

from collections.abc import Iterator

from railweave.acceptance.counter_names import CounterMeaning
from railweave.diagnostics import Severity
from railweave.health.case import HealthCase, WatchedPort
from railweave.health.codes import PFC_STORM
from railweave.health.model import HealthFinding, HealthRule, port_finding
from railweave.health.needs import STORMS
from railweave.health.reading import CountedRow
from railweave.wording import counted

_QUEUES = range(8)
_DETECTED = "PFC_WD_QUEUE_STATS_DEADLOCK_DETECTED"
_RESTORED = "PFC_WD_QUEUE_STATS_DEADLOCK_RESTORED"


def _judge(case: HealthCase) -> Iterator[HealthFinding]:
    """Yield a finding for each queue that is in a PFC storm, or had one between the readings."""
    for port, switch in case.counted():
        for queue in _QUEUES:
            row = switch.queue(port.port, queue)
            storms = row.growth(CounterMeaning.STORMS)
            if lasts(row):
                yield _finding(port, f"is in a PFC storm: {port.peer} pauses queue {queue} without end")
            elif storms:
                yield _finding(port, f"had {counted(storms, 'PFC storm')} in queue {queue}, caused by {port.peer}")


def lasts(row: CountedRow) -> bool:
    """Tell whether the watchdog has detected a storm in a queue that it has not restored since."""
    # Without both counters, or if one went backwards, nobody can tell.
    if row.grown(_DETECTED) is None or row.grown(_RESTORED) is None:
        return False
    return row.after[_DETECTED] > row.after[_RESTORED]


def _finding(port: WatchedPort, message: str) -> HealthFinding:
    """Return the finding of a storm at a port; ``message`` continues the name of the port."""
    fix = f"look at {port.peer} first: a NIC or switch that pauses without end is stuck; take its link out of service"
    return port_finding(PFC_STORM, Severity.ERROR, port, message, fix)


RULE = HealthRule(PFC_STORM, "the PFC watchdog detects no storm", _judge, (STORMS,))
