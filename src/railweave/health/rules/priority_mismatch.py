"""Ends of a link that pause different priorities, or a NIC that pauses the whole port or does not stop at all.

PFC acts only where both ends have it on for the same priority (IEEE 802.1Qbb). mlx5 falls back to 802.3x pause frames,
which stop all priorities, where PFC is off.
"""

from collections.abc import Iterator

from railweave.acceptance.counter_names import CounterMeaning
from railweave.diagnostics import Severity
from railweave.health.case import HealthCase, WatchedPort
from railweave.health.codes import PRIORITY_MISMATCH
from railweave.health.limits import START_FRAMES
from railweave.health.model import HealthFinding, HealthRule, port_finding
from railweave.health.reading import CountedSwitch
from railweave.wording import command_line, listed

_PRIORITIES = range(8)
_GLOBAL_PAUSE = "SAI_PORT_STAT_PAUSE_RX_PKTS"


def _judge(case: HealthCase) -> Iterator[HealthFinding]:
    """Yield findings of PFC on other priorities, of pauses of a whole port, and of nodes that do not stop."""
    for port, switch in case.counted():
        yield from _other_priorities(case, port, switch)
        frames = switch.port(port.port).grown(_GLOBAL_PAUSE) or 0
        if frames > START_FRAMES and case.lossless:
            message = f"received {frames:,} pause frames of the whole port: {port.peer} has PFC off"
            yield port_finding(PRIORITY_MISMATCH, Severity.ERROR, port, message, _fix(case, port))
        yield from _nodes_not_stopping(case, port, switch)


def _other_priorities(case: HealthCase, port: WatchedPort, switch: CountedSwitch) -> Iterator[HealthFinding]:
    """Yield a finding for each priority that is not lossless, but has PFC frames: one if received, one if sent."""
    row = switch.port(port.port)
    for priority in _PRIORITIES:
        if priority in case.lossless:
            continue
        received = row.growth(CounterMeaning.PFC_RECEIVED, priority) or 0
        sent = row.growth(CounterMeaning.PFC_SENT, priority) or 0
        if received > START_FRAMES:
            message = f"received {received:,} PFC frames of priority {priority}, which is not lossless here"
            yield port_finding(PRIORITY_MISMATCH, Severity.ERROR, port, message, _fix(case, port))
        if sent > START_FRAMES:
            message = f"sent {sent:,} PFC frames of priority {priority}, which is not lossless in the design"
            fix = f"`{command_line('drift')}` shows the row of PORT_QOS_MAP, `{command_line('deploy')}` restores it"
            yield port_finding(PRIORITY_MISMATCH, Severity.ERROR, port, message, fix)


def _nodes_not_stopping(case: HealthCase, port: WatchedPort, switch: CountedSwitch) -> Iterator[HealthFinding]:
    """Yield a finding for each lossless priority that the switch pauses at a node, and drops because it sends on."""
    if not port.to_node:
        return
    for priority in sorted(case.lossless):
        sent = switch.port(port.port).growth(CounterMeaning.PFC_SENT, priority) or 0
        dropped = switch.group(port.port, priority).growth(CounterMeaning.DROPS) or 0
        if sent > START_FRAMES and dropped:
            message = (
                f"sent {sent:,} PFC frames of priority {priority} and still dropped {dropped:,} packets:"
                f" {port.peer} does not stop"
            )
            yield port_finding(PRIORITY_MISMATCH, Severity.ERROR, port, message, _fix(case, port))


def _fix(case: HealthCase, port: WatchedPort) -> str:
    """Return how to set PFC at the far end of a port."""
    where = f"`{command_line('drift')}` shows its PORT_QOS_MAP"
    if port.to_node:
        where = f"`{command_line('hosts', 'plan')}` shows its settings"
    if not case.lossless:
        return f"turn PFC off at {port.peer} ({where})"
    return f"turn PFC on at {port.peer} for priority {listed(sorted(case.lossless))} alone ({where})"


RULE = HealthRule(PRIORITY_MISMATCH, "both ends of every link pause the same priorities", _judge)
