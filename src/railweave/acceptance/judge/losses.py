"""Bytes that vanish or appear between the two ends of a link: a lossy cable, swapped cables, or a wrong counter."""

from collections import Counter
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

_ERROR_MEANINGS = (CounterMeaning.FEC_UNCORRECTABLE, CounterMeaning.ERRORS)


def loss_symptoms(case: Case) -> Iterator[Symptom]:
    """Yield symptoms of swapped cables, of links with unequal ends, and of switches that lose packets uncounted."""
    for first, second in case.swapped:
        yield _swap_symptom(first, second)
    for flows in case.unequal.values():
        if flows[0].link.lower not in case.exchanged_ports:
            yield _loss_symptom(case, flows)
    yield from _leak_symptoms(case)


def _leak_symptoms(case: Case) -> Iterator[Symptom]:
    """Yield a symptom for each switch that received more than it sent without a drop, while NICs missed packets."""
    # The round with the largest surplus of each switch.
    worst_round: dict[str, str] = {}
    largest: Counter[str] = Counter()
    for (round_id, device), surplus in case.surpluses.items():
        if surplus > largest[device]:
            worst_round[device] = round_id
            largest[device] = surplus
    for device, round_id in worst_round.items():
        if not case.transport_noticed(case.index.tests_of[round_id]):
            continue
        fix = "look for drops that no queue counts: `show dropcounters counts`, errors of the ASIC in its syslog"
        received = f"{device} received {largest[device]:,} bytes in round {round_id}"
        message = f"{received} that it did not send on, and counted no drop"
        culprit = Culprit((Element(ElementKind.DEVICE, device),), "loses packets", fix, devices=(device,))
        yield Symptom("A-3", Severity.ERROR, message, fix, culprit)


def _swap_symptom(first: CoveredLink, second: CoveredLink) -> Symptom:
    """Return the symptom of two links whose cables are swapped."""
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


def _loss_symptom(case: Case, flows: Sequence[Flow]) -> Symptom:
    """Return the symptom of the unequal ``flows`` of one direction of a link: a wrong counter, or a lossy cable."""
    worst = max(flows, key=lambda flow: abs(flow.lost))
    message = (
        f"{end_text(worst.sender)} sent {worst.sent:,} bytes in round {worst.round},"
        f" {end_text(worst.receiver)} received {worst.received:,}"
    )
    wrong_end = _wrong_counter(case, worst)
    if wrong_end is not None:
        fix = (
            "compare its counters with `show interfaces counters` or `ethtool -S`; update the software that reads them"
        )
        nodes, devices = case.places_of(wrong_end)
        culprit = Culprit((port_element(wrong_end),), "counts wrong", fix, nodes, devices, slows=frozenset())
        return Symptom("A-3", Severity.ERROR, message, fix, culprit)
    if worst.lost < 0:
        suspects = (port_element(worst.sender), port_element(worst.receiver))
        return Symptom("A-3", Severity.ERROR, message, "find where these bytes come from", suspects=suspects)
    culprit = lossy_cable(worst.link)
    error_counts = (
        case.tallies[flow.round].count(flow.receiver, meaning) for flow in flows for meaning in _ERROR_MEANINGS
    )
    if any(error_counts):
        message += ", with errors counted"
    return Symptom("A-3", Severity.ERROR, message, culprit.fix, culprit)


def lossy_cable(link: CoveredLink) -> Culprit:
    """Return the cable of a link as the one that loses packets."""
    fix = "clean or replace the cable and its optics at both ends"
    return Culprit((cable_element(link),), "loses packets", fix, cables=(link.cable,))


def _wrong_counter(case: Case, flow: Flow) -> PortEnd | None:
    """Return the end whose counter is wrong; None if packets were lost on the link."""
    tally = case.tallies[flow.round]
    for end in (flow.sender, flow.receiver):
        surplus = device_surplus(case.index, tally, end.device)
        # If the counter of a switch port is wrong, the sums of the switch are off by the same number of bytes.
        if surplus is not None and 2 * abs(surplus + flow.lost) < abs(flow.lost):
            return end
    if flow.link.nic_port is None:
        return None
    nic_end = flow.link.lower
    if flow.lost < 0:
        return nic_end
    tests = [test for test in case.crossings[flow.link.nic_port] if test.round == flow.round]
    packets_are_missing = case.transport_noticed(tests)
    # If NICs do not count missing packets, the bandwidth of the tests decides.
    if packets_are_missing is None:
        packets_are_missing = not _limits_rule_out_loss(case, tests, flow.share)
    if packets_are_missing:
        return None
    return nic_end


def _limits_rule_out_loss(case: Case, tests: Sequence[PlannedTest], share: float) -> bool:
    """Tell whether all tests passed limits that they could not have reached with this ``share`` of packets lost."""
    limits = []
    for test in tests:
        outcome = case.outcomes[test.id]
        if outcome.status is not OutcomeStatus.PASSED:
            return False
        limits += [measure.limit for measure in outcome.measures]
    return bool(limits) and all(share > 1 - limit.fail / limit.expect for limit in limits)
