"""Links that carried nothing or far less than their peers, although the plan gives them traffic.

A hash spreads flows at random, so that an unused link may be chance: each test counts as one flow here, whatever its
queue pairs, because a switch may hash all of them alike.
"""

from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from math import comb, sqrt
from statistics import NormalDist

from railweave.acceptance.counter_names import CounterMeaning
from railweave.acceptance.judge.case import Case
from railweave.acceptance.judge.elements import (
    Culprit,
    Element,
    ElementKind,
    Symptom,
    cable_element,
    end_text,
    setting_element,
)
from railweave.acceptance.judge.statistics import FALSE_FINDING_ODDS
from railweave.acceptance.model import CoveredLink, PortEnd, RoundKind
from railweave.diagnostics import Severity

_REPLUG = "check that it is plugged as its label says, and that both ports are up"


def unloaded_links(case: Case) -> tuple[CoveredLink, ...]:
    """Return the links that both ends counted and that no round loaded."""
    loaded = {flow.link.lower for flow in case.flows}
    return tuple(link for link in case.index.plan.links if link.lower not in loaded and _was_read(case, link))


def _was_read(case: Case, link: CoveredLink) -> bool:
    tallies = [case.tallies[name] for name in link.rounds if name in case.tallies]
    for counts in tallies:
        for end in (link.lower, link.upper):
            if CounterMeaning.SENT_BYTES not in counts.port(end):
                return False
    return bool(tallies)


def dead_symptoms(case: Case) -> Iterator[Symptom]:
    """Yield planes, switches and cables that carried nothing where chance does not explain it."""
    unloaded = unloaded_links(case)
    dead = [link for link in unloaded if _is_dead(case, link, unloaded)]
    planes = _dead_planes(case, dead)
    for plane in planes:
        devices = tuple(device.name for device in case.index.plan.devices if device.plane == plane)
        fix = "find out why nothing of this plane forwards: power, cabling, BGP (`railweave verify`)"
        culprit = Culprit((setting_element(f"plane {plane}"),), "carries nothing", fix, devices=devices)
        yield Symptom("A-7", Severity.ERROR, f"no link of plane {plane} carried traffic in any round", fix, culprit)
    dead = [link for link in dead if link.plane not in planes]
    for device, links in _dead_devices(case, dead).items():
        fix = "find out why it does not forward: power, BGP, maintenance mode (`railweave verify`)"
        culprit = Culprit((Element(ElementKind.DEVICE, device),), "carries nothing", fix, devices=(device,))
        yield Symptom(
            "A-6", Severity.ERROR, f"none of the {len(links)} links of {device} carried traffic", fix, culprit
        )
        dead = [link for link in dead if link not in links]
    yield from _dead_cables(case, dead)


def _is_dead(case: Case, link: CoveredLink, unloaded: Sequence[CoveredLink]) -> bool:
    """Tell whether a link without load had to carry some."""
    if link.nic_port is not None:
        return any(test.round in case.tallies for test in case.crossings[link.nic_port])
    device = link.lower.device
    choices = sum(peer.lower.device == device for peer in case.index.links_of[device])
    unused = sum(peer.lower.device == device for peer in unloaded)
    flows = 0
    for counts in case.rounds():
        flows += sum(case.index.may_cross(test, link) for test in case.index.tests_of[counts.round])
    # That all flows miss these links, whichever of the device's links they are.
    odds = (1 - unused / choices) ** flows * comb(choices, unused)
    return odds * len(case.index.plan.devices) < FALSE_FINDING_ODDS


def _dead_planes(case: Case, dead: list[CoveredLink]) -> tuple[int, ...]:
    planned = {link.plane for link in case.index.plan.links}
    alive = {flow.link.plane for flow in case.flows}
    return tuple(sorted({link.plane for link in dead} - alive)) if len(planned) > 1 and alive else ()


def _dead_devices(case: Case, dead: list[CoveredLink]) -> Mapping[str, list[CoveredLink]]:
    links: dict[str, list[CoveredLink]] = defaultdict(list)
    for link in dead:
        for end in {link.lower.device, link.upper.device} & case.index.devices.keys():
            links[end].append(link)
    return {device: silent for device, silent in links.items() if 1 < len(silent) == len(case.index.links_of[device])}


def _dead_cables(case: Case, dead: list[CoveredLink]) -> Iterator[Symptom]:
    """Yield cables without traffic; two that start at one device are swapped more probably than both are broken."""
    lower: dict[str, list[CoveredLink]] = defaultdict(list)
    for link in dead:
        lower[link.lower.device].append(link)
    for links in lower.values():
        cables = tuple(dict.fromkeys(link.cable for link in links))
        if len(cables) == 2:
            elements = tuple(dict.fromkeys(map(cable_element, links)))
            culprit = Culprit(elements, "carry nothing, as swapped cables do", _REPLUG, cables=cables)
            yield Symptom("A-6", Severity.ERROR, f"{' and '.join(cables)} carried no traffic", _REPLUG, culprit)
            continue
        for link in links:
            elements = (cable_element(link),)
            if link.nic_port is not None:
                elements += (case.index.nic(link.nic_port),)
            culprit = Culprit(elements, "carries nothing", _REPLUG, cables=(link.cable,))
            yield Symptom("A-6", Severity.ERROR, f"{link.cable} carried no traffic in any round", _REPLUG, culprit)


def uneven_symptoms(case: Case) -> Iterator[Symptom]:
    """Yield uplinks that carried less in the loaded rounds than a random choice of links explains."""
    carried: dict[PortEnd, int] = defaultdict(int)
    for flow in case.flows:
        if case.index.rounds[flow.round].kind is RoundKind.LOADED:
            carried[flow.sender] += flow.sent
    flows: dict[str, int] = defaultdict(int)
    for counts in case.rounds(RoundKind.LOADED):
        for test in case.index.tests_of[counts.round]:
            leaves = list(case.index.access_switches(test))
            if len(set(leaves)) > 1:
                flows[leaves[0].name] += 1
    for device, count in flows.items():
        uplinks = [link for link in case.index.links_of[device] if link.lower.device == device]
        yield from _uneven(case, uplinks, carried, count)


def _uneven(case: Case, uplinks: list[CoveredLink], carried: Mapping[PortEnd, int], flows: int) -> Iterator[Symptom]:
    total = sum(carried[link.lower] for link in uplinks)
    rate = sum(link.speed_gbps for link in uplinks)
    deviations = NormalDist().inv_cdf(1 - FALSE_FINDING_ODDS / len(case.index.plan.links))
    for link in uplinks:
        share = link.speed_gbps / rate
        scatter = sqrt(flows * share * (1 - share)) * total / flows
        if 0 < carried[link.lower] < share * total - deviations * scatter:
            culprit = Culprit((cable_element(link),), "carries too little", _REPLUG, cables=(link.cable,))
            message = (
                f"{end_text(link.lower)} carried {carried[link.lower] / total:.1%} of what its switch"
                f" sent up, {share:.1%} are its share"
            )
            yield Symptom("A-6", Severity.ERROR, message, _REPLUG, culprit)
