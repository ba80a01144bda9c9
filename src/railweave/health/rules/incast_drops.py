"""Drops at the ports of nodes outside lossless classes: more senders at once than the buffer of the port absorbs."""

from collections.abc import Iterator

from railweave.acceptance.counter_names import CounterMeaning
from railweave.diagnostics import Severity
from railweave.health.case import HealthCase, WatchedPort
from railweave.health.codes import INCAST_DROPS
from railweave.health.limits import ERRORS_PER_S
from railweave.health.model import HealthFinding, HealthRule, port_finding
from railweave.health.reading import CountedSwitch
from railweave.wording import listed

_QUEUES = range(8)
_DISCARDS = "SAI_PORT_STAT_IF_OUT_DISCARDS"


def _judge(case: HealthCase) -> Iterator[HealthFinding]:
    """Yield a finding for each port of a node that dropped packets outside lossless classes."""
    for port, switch in case.counted():
        if not port.to_node:
            continue
        drops_of_queues = _queue_drops(case, port, switch)
        if drops_of_queues:
            dropped = sum(drops_of_queues.values())
            where = f" from queue {listed(drops_of_queues)}"
        else:
            # Some chips count drops only for the whole port.
            discards = switch.port(port.port).grown(_DISCARDS) or 0
            dropped = discards - _lossless_drops(case, port, switch)
            where = ""
        if dropped > ERRORS_PER_S * switch.seconds:
            message = f"dropped {dropped:,} packets{where}: more was sent to {port.peer} at once than its port absorbs"
            fix = f"spread the traffic to {port.peer} over time or NICs; lower the ECN thresholds of classes that mark"
            yield port_finding(INCAST_DROPS, Severity.WARNING, port, message, fix)


def _queue_drops(case: HealthCase, port: WatchedPort, switch: CountedSwitch) -> dict[int, int]:
    """Return the drops of a port's queues that are not lossless, by queue; queues without drops are left out."""
    drops = {}
    for queue in _QUEUES:
        dropped = switch.queue(port.port, queue).growth(CounterMeaning.DROPS) or 0
        if dropped and queue not in case.lossless:
            drops[queue] = dropped
    return drops


def _lossless_drops(case: HealthCase, port: WatchedPort, switch: CountedSwitch) -> int:
    """Return the drops of all lossless queues of a port."""
    return sum(switch.queue(port.port, queue).growth(CounterMeaning.DROPS) or 0 for queue in case.lossless)


RULE = HealthRule(INCAST_DROPS, "the ports of nodes drop nothing", _judge)
