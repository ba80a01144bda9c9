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
# A flow may get less than the share that covers a link; less than a 50th of it is control traffic.
_UNUSED_SHARE = 1 / 50
# 1 plus the squared coefficient of variation of the bytes of flows, which is below 1.
_UNEQUAL_FLOWS = 2.0


def loaded_links(case: Case) -> frozenset[PortEnd]:
    """Return the lower ends of the links that rounds loaded: in both directions, if the plan has flows in both."""
    loaded_both_ways = case.loaded_up & case.loaded_down
    loaded: set[PortEnd] = set()
    for link_index in case.loaded_up | case.loaded_down:
        link = case.index.plan.links[link_index]
        # A probability of 0 says that the plan does not load the link in both directions.
        if link_index in loaded_both_ways or link.probability == 0:
            loaded.add(link.lower)
    return frozenset(loaded)


def unloaded_links(case: Case) -> tuple[CoveredLink, ...]:
    """Return the links that no round loaded, although they were read at both ends."""
    loaded = loaded_links(case)
    return tuple(link for link in case.index.plan.links if link.lower not in loaded and _was_read(case, link))


def _was_read(case: Case, link: CoveredLink) -> bool:
    """Tell whether both ends of a link were read in every round that may load it and has counters.

    There must be such a round.
    """
    tallies = [case.tallies[round_id] for round_id in link.rounds if round_id in case.tallies]
    for tally in tallies:
        for end in (link.lower, link.upper):
            if tally.count(end, CounterMeaning.SENT_BYTES) is None:
                return False
    return bool(tallies)


def _unused_ends(case: Case) -> frozenset[PortEnd]:
    """Return the ends that were read and sent nothing but control traffic in all rounds."""
    unused = dict(case.index.link_at)
    for tally in case.rounds():
        seconds = case.index.rounds[tally.round].seconds
        least_per_gbps = seconds * 1e9 / 8 * case.index.plan.settings.covered_share * _UNUSED_SHARE
        sent_bytes = tally.columns.get(CounterMeaning.SENT_BYTES)
        if sent_bytes is None:
            continue
        for end, link in tuple(unused.items()):
            if (sent_bytes[case.index.places[end]] or 0) > least_per_gbps * link.speed_gbps:
                del unused[end]
    return frozenset(end for end, link in unused.items() if _was_read(case, link))


def dead_symptoms(case: Case) -> Iterator[Symptom]:
    """Yield a symptom for each plane, switch and cable that carried nothing, if chance does not explain it.

    A link is part of one symptom only: that of its plane, else of its switch, else of its cable.
    """
    unused = _unused_ends(case)
    dead = _dead_links(case, unused)
    planes = _dead_planes(case, dead)
    for plane in planes:
        devices = tuple(device.name for device in case.index.plan.devices if device.plane == plane)
        fix = "find out why nothing of this plane forwards: power, cabling, BGP (`railweave verify`)"
        culprit = Culprit((setting_element(f"plane {plane}"),), "carries nothing", fix, devices=devices)
        yield Symptom("A-7", Severity.ERROR, f"no link of plane {plane} carried traffic in any round", fix, culprit)
    unexplained = [link for link in dead if link.plane not in planes]
    for device, links in _dead_devices(case, unexplained).items():
        fix = "find out why it does not forward: power, BGP, maintenance mode (`railweave verify`)"
        culprit = Culprit((Element(ElementKind.DEVICE, device),), "carries nothing", fix, devices=(device,))
        message = f"none of the {len(links)} links of {device} carried traffic"
        yield Symptom("A-6", Severity.ERROR, message, fix, culprit)
        unexplained = [link for link in unexplained if link not in links]
    yield from _dead_cables(case, unexplained)
    yield from _one_way_symptoms(case, unused, dead)


def _dead_links(case: Case, unused: frozenset[PortEnd]) -> list[CoveredLink]:
    """Return the links without traffic that had to carry some, in the order of the plan."""
    silent_both_ways = {link.lower for link in case.index.plan.links if {link.lower, link.upper} <= unused}
    dead: set[PortEnd] = set()
    for port, link in case.index.host_link.items():
        if link.lower in silent_both_ways and _had_to_carry(case, port):
            dead.add(link.lower)
    bundles = link_bundles(case, ran=False)
    for bundle in bundles:
        silent = [link for link in bundle.links if link.lower in silent_both_ways]
        if _is_improbable(bundle, silent, bundles):
            dead |= {link.lower for link in silent}
    return [link for link in case.index.plan.links if link.lower in dead]


def _had_to_carry(case: Case, port: NicPort) -> bool:
    """Tell whether tools started that fill the link of a NIC port, and no latency test shows that the link works.

    Latency tests send too little to show in the counters.
    """
    has_started = False
    for test in case.crossings[port]:
        if test.round not in case.tallies:
            continue
        outcome = case.outcomes[test.id]
        if test.kind is not RoundKind.LATENCY:
            has_started = has_started or outcome.tried
        elif outcome.status is not OutcomeStatus.NOT_RUN:
            return False
    return has_started


def _is_improbable(bundle: LinkBundle, unused: list[CoveredLink], bundles: list[LinkBundle]) -> bool:
    """Tell whether a bundle has ``unused`` links, and chance does not explain them."""
    return bool(unused) and bundle.odds_unused(unused) * len(bundles) < FALSE_FINDING_ODDS


def _one_way_symptoms(case: Case, unused: frozenset[PortEnd], dead: list[CoveredLink]) -> Iterator[Symptom]:
    """Yield a symptom for each link, other than those of ``dead``, that carried traffic in one direction only."""
    bundles = link_bundles(case, ran=True)
    for bundle in bundles:
        silent = [link for link in bundle.links if bundle.sender(link) in unused and link not in dead]
        # With few flows chance may leave a link unused.
        if not _is_improbable(bundle, silent, bundles):
            continue
        for link in silent:
            end = bundle.sender(link)
            fix = f"find out why {end.device} does not use it: its routes and next hops (`show ip route`), and the port"
            fault = "carries traffic in one direction alone"
            culprit = Culprit((cable_element(link),), fault, fix, cables=(link.cable,))
            message = f"{end_text(end)} sent nothing, {bundle.share(link):.1%} of {bundle.flows:,} flows are its share"
            yield Symptom("A-6", Severity.ERROR, message, fix, culprit)


def _dead_planes(case: Case, dead: list[CoveredLink]) -> tuple[int, ...]:
    """Return the planes without a loaded link, if another plane has one."""
    planes = {link.plane for link in case.index.plan.links}
    loaded_planes = {link.plane for link in case.loaded_links()}
    if len(planes) < 2 or not loaded_planes:
        return ()
    return tuple(sorted({link.plane for link in dead} - loaded_planes))


def _dead_devices(case: Case, dead: list[CoveredLink]) -> Mapping[str, list[CoveredLink]]:
    """Return the switches whose links are all dead, with these links; a switch with a single link is left out."""
    dead_links_of: dict[str, list[CoveredLink]] = defaultdict(list)
    for link in dead:
        for device in {link.lower.device, link.upper.device} & case.index.devices.keys():
            dead_links_of[device].append(link)
    return {
        device: links
        for device, links in dead_links_of.items()
        if len(links) > 1 and len(links) == len(case.index.links_of[device])
    }


def _dead_cables(case: Case, dead: list[CoveredLink]) -> Iterator[Symptom]:
    """Yield a symptom for each dead cable. Two that start at one device have one: they are more probably swapped."""
    links_of_lower: dict[str, list[CoveredLink]] = defaultdict(list)
    for link in dead:
        links_of_lower[link.lower.device].append(link)
    for links in links_of_lower.values():
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
    """Yield a symptom for each link that carried less in the loaded rounds than a random choice of links explains."""
    sent_bytes: dict[PortEnd, int] = defaultdict(int)
    for flows in case.flows:
        if case.index.rounds[flows.round].kind is not RoundKind.LOADED:
            continue
        for link_index, sent in zip(flows.link_indexes, flows.sent, strict=True):
            sender, _ = flows.ends(case.index.plan.links[link_index])
            sent_bytes[sender] += sent
    for bundle in link_bundles(case, RoundKind.LOADED, ran=True):
        if bundle.flows:
            yield from _uneven_in_bundle(case, bundle, sent_bytes)


def _uneven_in_bundle(case: Case, bundle: LinkBundle, sent_bytes: Mapping[PortEnd, int]) -> Iterator[Symptom]:
    """Yield a symptom for each link of a bundle that sent something, but less than chance explains.

    ``sent_bytes`` are those of all ends in the loaded rounds.
    """
    total_bytes = sum(sent_bytes[bundle.sender(link)] for link in bundle.links)
    deviations = NormalDist().inv_cdf(1 - FALSE_FINDING_ODDS / (2 * len(case.index.plan.links)))
    for link in bundle.links:
        end = bundle.sender(link)
        share = bundle.share(link)
        # The number of flows on the link is binomial.
        scatter_bytes = sqrt(_UNEQUAL_FLOWS * bundle.flows * share * (1 - share)) * total_bytes / bundle.flows
        if 0 < sent_bytes[end] < share * total_bytes - deviations * scatter_bytes:
            culprit = Culprit((cable_element(link),), "carries too little", _REPLUG, cables=(link.cable,))
            sent_share = sent_bytes[end] / total_bytes
            message = f"{end_text(end)} sent {sent_share:.1%} of its bundle, {share:.1%} are its share"
            yield Symptom("A-6", Severity.ERROR, message, _REPLUG, culprit)
