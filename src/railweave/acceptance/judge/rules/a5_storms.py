"""A-5: no PFC storms, and no work for the PFC watchdog."""

from collections.abc import Iterator

from railweave.acceptance.counter_names import CounterMeaning
from railweave.acceptance.judge.case import Case
from railweave.acceptance.judge.elements import CONGESTED, Culprit, Symptom, end_text, port_element
from railweave.acceptance.judge.registry import judge_rule
from railweave.acceptance.model import PortEnd
from railweave.diagnostics import Severity

# IEEE 802.1Qbb: a PFC frame pauses for at most 65,535 quanta of 512 bit.
_LONGEST_PAUSE_BITS = 65_535 * 512
_FIX = "find out why it does not take its traffic: host, PCIe, driver; a NIC that hangs pauses for ever"


@judge_rule("A-5", "No PFC storms", needs=frozenset({CounterMeaning.PFC_SENT}))
def storms(case: Case) -> Iterator[Symptom]:
    """Yield ports whose neighbor stormed, and NICs that paused half of a round in which nobody sent to them."""
    stormed: dict[PortEnd, int] = {}
    for counts in case.rounds():
        for end, row in counts.ports.items():
            if row.get(CounterMeaning.STORMS):
                stormed[end] = stormed.get(end, 0) + row[CounterMeaning.STORMS]
        for end, queues in counts.queues.items():
            detected = sum(row.get(CounterMeaning.STORMS, 0) for row in queues.values())
            if detected:
                stormed[end] = stormed.get(end, 0) + detected
    for end, count in stormed.items():
        yield _symptom(case, end, f"{end_text(end)} counted {count} PFC storms")
    yield from _idle_pausers(case)


def _idle_pausers(case: Case) -> Iterator[Symptom]:
    for counts in case.rounds():
        busy = {test.receiver for test in case.index.tests_of[counts.round]}
        if None in busy:
            continue
        for port, link in case.index.host_link.items():
            frames = counts.port(link.lower).get(CounterMeaning.PFC_SENT, 0)
            seconds = case.index.rounds[counts.round].seconds
            if port not in busy and frames * _LONGEST_PAUSE_BITS > link.speed_gbps * 1e9 * seconds / 2:
                message = f"{end_text(link.lower)} sent {frames:,} PFC frames in round {counts.round}"
                yield _symptom(case, link.lower, f"{message}, in which nobody sent to it")


def _symptom(case: Case, end: PortEnd, message: str) -> Symptom:
    link = case.index.link_at.get(end)
    if link is not None and link.nic_port is not None:
        element = case.index.nic(link.nic_port)
        culprit = Culprit((element,), "storms", _FIX, nodes=(link.nic_port.node,), slows=CONGESTED)
    else:
        culprit = Culprit((port_element(end),), "is stormed", _FIX, devices=(end.device,), slows=CONGESTED)
    return Symptom("A-5", Severity.ERROR, message, _FIX, culprit)
