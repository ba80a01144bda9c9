"""Bytes that vanish or appear between the two ends of a link: a lossy cable, swapped cables, or a wrong counter."""

from collections.abc import Iterator, Sequence

from railweave.acceptance.counter_names import CounterMeaning
from railweave.acceptance.judge.accounting import Flow, device_surplus
from railweave.acceptance.judge.case import Case
from railweave.acceptance.judge.elements import (
    Culprit,
    Element,
    ElementKind,
    Symptom,
    cable_element,
    end_text,
    port_element,
)
from railweave.acceptance.judge.outcomes import OutcomeStatus
from railweave.acceptance.model import CoveredLink, PlannedTest, PortEnd
from railweave.diagnostics import Severity

_COUNTED = (CounterMeaning.FEC_UNCORRECTABLE, CounterMeaning.ERRORS)


def loss_symptoms(case: Case) -> Iterator[Symptom]:
    """Yield what the unequal ends of links show."""
    for first, second in case.swapped:
        yield _swap_symptom(first, second)
    for flows in case.unequal.values():
        if flows[0].link.lower not in case.exchanged_ports:
            yield _located(case, flows)
    yield from _leak_symptoms(case)


def _leak_symptoms(case: Case) -> Iterator[Symptom]:
    """Yield switches that received more than they sent, while NICs missed packets and nothing counted a drop."""
    worst: dict[str, str] = {}
    for (name, device), surplus in case.surpluses.items():
        if surplus > case.surpluses.get((worst.get(device, ""), device), 0):
            worst[device] = name
    for device, name in worst.items():
        if not case.transport_noticed(case.index.tests_of[name]):
            continue
        fix = "look for drops that no queue counts: `show dropcounters counts`, errors of the ASIC in its syslog"
        size = case.surpluses[name, device]
        message = f"{device} received {size:,} bytes in round {name} that it did not send on, and counted no drop"
        culprit = Culprit((Element(ElementKind.DEVICE, device),), "loses packets", fix, devices=(device,))
        yield Symptom("A-3", Severity.ERROR, message, fix, culprit)


def _swap_symptom(first: CoveredLink, second: CoveredLink) -> Symptom:
    cables = tuple(dict.fromkeys((first.cable, second.cable)))
    message = f"what {end_text(first.lower)} sent arrived at {end_text(second.upper)}"
    culprit = Culprit(
        tuple(dict.fromkeys((cable_element(first), cable_element(second)))),
        "are swapped",
        "plug both cables as their labels say",
        cables=cables,
        devices=tuple(dict.fromkeys((first.upper.device, second.upper.device))),
    )
    return Symptom("A-3", Severity.ERROR, message, culprit.fix, culprit)


def _located(case: Case, flows: Sequence[Flow]) -> Symptom:
    """Return the loss of flows in the same direction of a link, with its culprit."""
    worst = max(flows, key=lambda flow: abs(flow.lost))
    message = (
        f"{end_text(worst.sender)} sent {worst.sent:,} bytes in round {worst.round},"
        f" {end_text(worst.receiver)} received {worst.received:,}"
    )
    liar = _wrong_counter(case, worst)
    if liar is not None:
        fix = (
            "compare its counters with `show interfaces counters` or `ethtool -S`; update the software that reads them"
        )
        culprit = Culprit((port_element(liar),), "counts wrong", fix, *case.places_of(liar), slows=frozenset())
        return Symptom("A-3", Severity.ERROR, message, fix, culprit)
    if worst.lost < 0:
        suspects = (port_element(worst.sender), port_element(worst.receiver))
        return Symptom("A-3", Severity.ERROR, message, "find where these bytes come from", suspects=suspects)
    culprit = lossy_cable(worst.link)
    if any(case.tallies[flow.round].count(flow.receiver, meaning) for flow in flows for meaning in _COUNTED):
        message += ", with errors counted"
    return Symptom("A-3", Severity.ERROR, message, culprit.fix, culprit)


def lossy_cable(link: CoveredLink) -> Culprit:
    """Return the cable of a link as the one that loses packets."""
    fix = "clean or replace the cable and its optics at both ends"
    return Culprit((cable_element(link),), "loses packets", fix, cables=(link.cable,))


def _wrong_counter(case: Case, flow: Flow) -> PortEnd | None:
    """Return the end whose counter is wrong, None if packets were lost on the link."""
    counts = case.tallies[flow.round]
    for end in (flow.sender, flow.receiver):
        surplus = device_surplus(case.index, counts, end.device)
        # A counter that is off by what vanished leaves the sums of its switch off by as much.
        if surplus is not None and 2 * abs(surplus + flow.lost) < abs(flow.lost):
            return end
    nic = flow.link.lower
    if flow.link.nic_port is None:
        return None
    if flow.lost < 0:
        return nic
    tests = [test for test in case.crossings[flow.link.nic_port] if test.round == flow.round]
    noticed = case.transport_noticed(tests)
    if noticed is None:
        noticed = not _too_good(case, tests, flow.share)
    if noticed:
        return None
    return nic


def _too_good(case: Case, tests: Sequence[PlannedTest], share: float) -> bool:
    """Tell whether tests passed that could not have passed had this share of their packets been lost."""
    passed = [test for test in tests if case.outcomes[test.id].status is OutcomeStatus.PASSED]
    limits = [measure.limit for test in passed for measure in case.outcomes[test.id].measures]
    return bool(limits) and len(passed) == len(tests) and all(share > 1 - limit.fail / limit.expect for limit in limits)
