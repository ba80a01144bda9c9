"""Links that carried nothing or far less than their peers, although the plan gives them traffic.

A hash spreads flows at random, so that an unused link may be chance: a link is at fault where the flows of its bundle
make that improbable.
"""

from collections import defaultdict
from collections.abc import Iterator, Mapping
from math import sqrt
from statistics import NormalDist

from railweave.acceptance.counter_names import CounterMeaning
from railweave.acceptance.judge.bundles import LinkBundle, link_bundles
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
from railweave.acceptance.judge.outcomes import OutcomeStatus
from railweave.acceptance.judge.statistics import FALSE_FINDING_ODDS
from railweave.acceptance.model import CoveredLink, NicPort, PortEnd, RoundKind
from railweave.diagnostics import Severity

_REPLUG = "check that it is plugged as its label says, and that both ports are up"
# A flow may get less than the share that covers a link; what is below a 50th of it is control traffic.
_UNUSED_SHARE = 1 / 50
# Flows of one test get as much as they find: the squared coefficient of variation of their bytes is below 1.
_UNEQUAL_FLOWS = 2.0


def loaded_links(case: Case) -> frozenset[PortEnd]:
    """Return the lower ends of the links that rounds loaded, in both directions where the plan has flows in both."""
    both = case.loaded_up & case.loaded_down
    loaded: set[PortEnd] = set()
    for place in case.loaded_up | case.loaded_down:
        link = case.index.plan.links[place]
        if place in both or not link.probability:
            loaded.add(link.lower)
    return frozenset(loaded)


def unloaded_links(case: Case) -> tuple[CoveredLink, ...]:
    """Return the links that both ends counted and that no round loaded."""
    loaded = loaded_links(case)
    return tuple(link for link in case.index.plan.links if link.lower not in loaded and _was_read(case, link))


def _was_read(case: Case, link: CoveredLink) -> bool:
    tallies = [case.tallies[name] for name in link.rounds if name in case.tallies]
    for counts in tallies:
        for end in (link.lower, link.upper):
            if counts.count(end, CounterMeaning.SENT_BYTES) is None:
                return False
    return bool(tallies)


def _unused_ends(case: Case) -> frozenset[PortEnd]:
    """Return the ends from which a link that both ends counted carried nothing but control traffic in all rounds."""
    waiting = {end: (case.index.places[end], link) for end, link in case.index.link_at.items()}
    for counts in case.rounds():
        seconds = case.index.rounds[counts.round].seconds
        least_per_gbps = seconds * 1e9 / 8 * case.index.plan.settings.covered_share * _UNUSED_SHARE
        sent = counts.columns.get(CounterMeaning.SENT_BYTES)
        if sent is None:
            continue
        for end, (place, link) in tuple(waiting.items()):
            if (sent[place] or 0) > least_per_gbps * link.speed_gbps:
                del waiting[end]
    return frozenset(end for end, (_, link) in waiting.items() if _was_read(case, link))


def dead_symptoms(case: Case) -> Iterator[Symptom]:
    """Yield planes, switches and cables that carried nothing where chance does not explain it."""
    unused = _unused_ends(case)
    dead = _dead_links(case, unused)
    planes = _dead_planes(case, dead)
    for plane in planes:
        devices = tuple(device.name for device in case.index.plan.devices if device.plane == plane)
        fix = "find out why nothing of this plane forwards: power, cabling, BGP (`railweave verify`)"
        culprit = Culprit((setting_element(f"plane {plane}"),), "carries nothing", fix, devices=devices)
        yield Symptom("A-7", Severity.ERROR, f"no link of plane {plane} carried traffic in any round", fix, culprit)
    rest = [link for link in dead if link.plane not in planes]
    for device, links in _dead_devices(case, rest).items():
        fix = "find out why it does not forward: power, BGP, maintenance mode (`railweave verify`)"
        culprit = Culprit((Element(ElementKind.DEVICE, device),), "carries nothing", fix, devices=(device,))
        yield Symptom(
            "A-6", Severity.ERROR, f"none of the {len(links)} links of {device} carried traffic", fix, culprit
        )
        rest = [link for link in rest if link not in links]
    yield from _dead_cables(case, rest)
    yield from _one_way_symptoms(case, unused, dead)


def _dead_links(case: Case, unused: frozenset[PortEnd]) -> list[CoveredLink]:
    """Return the links without traffic that had to carry some, in the order of the plan."""
    dead: set[PortEnd] = set()
    for port, link in case.index.host_link.items():
        if _had_to_carry(case, port) and {link.lower, link.upper} <= unused:
            dead.add(link.lower)
    bundles = link_bundles(case, ran=False)
    for bundle in bundles:
        silent = [link for link in bundle.links if {link.lower, link.upper} <= unused]
        if _is_improbable(bundle, silent, bundles):
            dead |= {link.lower for link in silent}
    return [link for link in case.index.plan.links if link.lower in dead]


def _had_to_carry(case: Case, port: NicPort) -> bool:
    """Tell whether tools started that fill the link of a NIC port, and no latency test was answered over it.

    Latency tests send too little to count.
    """
    tests = [test for test in case.crossings[port] if test.round in case.tallies]
    outcomes = [case.outcomes[test.id] for test in tests if test.kind is RoundKind.LATENCY]
    if any(outcome.status is not OutcomeStatus.NOT_RUN for outcome in outcomes):
        return False
    return any(case.outcomes[test.id].tried for test in tests if test.kind is not RoundKind.LATENCY)


def _is_improbable(bundle: LinkBundle, unused: list[CoveredLink], bundles: list[LinkBundle]) -> bool:
    return bool(unused) and bundle.odds_unused(unused) * len(bundles) < FALSE_FINDING_ODDS


def _one_way_symptoms(case: Case, unused: frozenset[PortEnd], dead: list[CoveredLink]) -> Iterator[Symptom]:
    """Yield links that carried traffic in one direction alone."""
    bundles = link_bundles(case, ran=True)
    for bundle in bundles:
        silent = [link for link in bundle.links if bundle.sender(link) in unused and link not in dead]
        if not _is_improbable(bundle, silent, bundles):
            continue
        for link in silent:
            end = bundle.sender(link)
            fix = f"find out why {end.device} does not use it: its routes and next hops (`show ip route`), and the port"
            culprit = Culprit(
                (cable_element(link),), "carries traffic in one direction alone", fix, (), (), (link.cable,)
            )
            message = f"{end_text(end)} sent nothing, {bundle.share(link):.1%} of {bundle.flows:,} flows are its share"
            yield Symptom("A-6", Severity.ERROR, message, fix, culprit)


def _dead_planes(case: Case, dead: list[CoveredLink]) -> tuple[int, ...]:
    planned = {link.plane for link in case.index.plan.links}
    alive = {link.plane for link in case.loaded_links()}
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
    """Yield links that carried less in the loaded rounds than a random choice of links explains."""
    carried: dict[PortEnd, int] = defaultdict(int)
    for flows in case.flows:
        if case.index.rounds[flows.round].kind is not RoundKind.LOADED:
            continue
        for place, sent in zip(flows.places, flows.sent, strict=True):
            sender, _ = flows.ends(case.index.plan.links[place])
            carried[sender] += sent
    for bundle in link_bundles(case, RoundKind.LOADED, ran=True):
        if bundle.flows:
            yield from _uneven(case, bundle, carried)


def _uneven(case: Case, bundle: LinkBundle, carried: Mapping[PortEnd, int]) -> Iterator[Symptom]:
    total = sum(carried[bundle.sender(link)] for link in bundle.links)
    deviations = NormalDist().inv_cdf(1 - FALSE_FINDING_ODDS / (2 * len(case.index.plan.links)))
    for link in bundle.links:
        end = bundle.sender(link)
        share = bundle.share(link)
        scatter = sqrt(_UNEQUAL_FLOWS * bundle.flows * share * (1 - share)) * total / bundle.flows
        if 0 < carried[end] < share * total - deviations * scatter:
            culprit = Culprit((cable_element(link),), "carries too little", _REPLUG, cables=(link.cable,))
            message = f"{end_text(end)} sent {carried[end] / total:.1%} of its bundle, {share:.1%} are its share"
            yield Symptom("A-6", Severity.ERROR, message, _REPLUG, culprit)
