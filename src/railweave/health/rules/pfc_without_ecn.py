"""Switches that pause their senders without having marked a packet: ECN is to act first, PFC is the last resort."""

from collections.abc import Iterator

from railweave.acceptance.counter_names import CounterMeaning
from railweave.diagnostics import Severity
from railweave.health.case import HealthCase, WatchedPort
from railweave.health.codes import PFC_WITHOUT_ECN
from railweave.health.limits import START_FRAMES
from railweave.health.model import HealthFinding, HealthRule
from railweave.health.needs import ECN_MARKS, PFC_FRAMES
from railweave.health.reading import CountedSwitch
from railweave.wording import command_line, first_few

_MOST_NAMED = 4


def _judge(case: HealthCase) -> Iterator[HealthFinding]:
    """Yield a finding for each switch and lossless priority that it paused without marking packets."""
    for switch in case.switches.values():
        for priority in sorted(case.lossless):
            yield from _unmarked_pauses(case, switch, priority)


def _unmarked_pauses(case: HealthCase, switch: CountedSwitch, priority: int) -> Iterator[HealthFinding]:
    """Yield a finding if a switch paused a priority without marks, and pauses that it received do not explain it."""
    ports = case.ports[switch.device]
    marks = [switch.queue(port.port, priority).growth(CounterMeaning.MARKS) for port in ports]
    # A queue without a counter may have marked packets.
    if not marks or None in marks or any(marks):
        return
    sent_by = {port.port: _frames(switch, port, priority, CounterMeaning.PFC_SENT) for port in ports}
    sent = sum(sent_by.values())
    received = sum(_frames(switch, port, priority, CounterMeaning.PFC_RECEIVED) for port in ports)
    pausing = [port for port in ports if sent_by[port.port]]
    # A switch that is paused at one port may pass the pause on at all others: then the cause is further down.
    unexplained = sent - received * len(ports)
    if unexplained <= START_FRAMES * max(len(pausing), 1):
        return
    pausing.sort(key=lambda port: -sent_by[port.port])
    names = first_few([f"{port.port} to {port.peer}" for port in pausing], _MOST_NAMED)
    message = f"{switch.device} sent {sent:,} PFC frames of priority {priority} ({names}) and marked no packet"
    fix = f"let ECN act first: compare WRED_PROFILE and QUEUE with the design (`{command_line('drift')}`)"
    yield HealthFinding(
        PFC_WITHOUT_ECN,
        Severity.ERROR,
        message,
        devices=(switch.device,),
        ports=tuple(port.name for port in pausing),
        cables=tuple(dict.fromkeys(port.cable for port in pausing)),
        fix=fix,
    )


def _frames(switch: CountedSwitch, port: WatchedPort, priority: int, meaning: CounterMeaning) -> int:
    """Return the growth of a counter of PFC frames; 0 if it is not known."""
    return switch.port(port.port).growth(meaning, priority) or 0


RULE = HealthRule(PFC_WITHOUT_ECN, "ECN marks packets before PFC pauses", _judge, (ECN_MARKS, PFC_FRAMES))
