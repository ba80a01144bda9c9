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
    for switch in case.switches.values():
        for priority in sorted(case.lossless):
            yield from _at_switch(case, switch, priority)


def _at_switch(case: HealthCase, switch: CountedSwitch, priority: int) -> Iterator[HealthFinding]:
    ports = case.ports[switch.device]
    marks = [switch.queue(port.port, priority).growth(CounterMeaning.MARKS) for port in ports]
    # Without one queue's counter its marks may be those that are missing.
    if not marks or None in marks or any(marks):
        return
    received = sum(_frames(switch, ports, priority, CounterMeaning.PFC_RECEIVED))
    sent = _frames(switch, ports, priority, CounterMeaning.PFC_SENT)
    paused = [(frames, port) for frames, port in zip(sent, ports, strict=True) if frames]
    # A switch that is paused at one port may pass the pause on at all others: then the cause is further down.
    unexplained = sum(sent) - received * len(ports)
    if unexplained <= START_FRAMES * max(len(paused), 1):
        return
    paused.sort(key=_most_frames)
    names = first_few([f"{port.port} to {port.peer}" for _, port in paused], _MOST_NAMED)
    message = f"{switch.device} sent {sum(sent):,} PFC frames of priority {priority} ({names}) and marked no packet"
    fix = f"let ECN act first: compare WRED_PROFILE and QUEUE with the design (`{command_line('drift')}`)"
    yield HealthFinding(
        PFC_WITHOUT_ECN,
        Severity.ERROR,
        message,
        (switch.device,),
        tuple(port.name for _, port in paused),
        tuple(dict.fromkeys(port.cable for _, port in paused)),
        fix,
    )


def _most_frames(paused: tuple[int, WatchedPort]) -> int:
    return -paused[0]


def _frames(switch: CountedSwitch, ports: tuple[WatchedPort, ...], priority: int, meaning: CounterMeaning) -> list[int]:
    return [switch.port(port.port).growth(meaning, priority) or 0 for port in ports]


RULE = HealthRule(PFC_WITHOUT_ECN, "ECN marks packets before PFC pauses", _judge, (ECN_MARKS, PFC_FRAMES))
