"""Links that a hash chooses among: those up from a leaf, down to a leaf, out of a pod and into it, with their flows.

A test counts as one flow, because a switch may hash all of its queue pairs alike. Where most leaves sent a test that
they had for themselves over several uplinks, the hash sees the source port, and each queue pair is a flow.
"""

from collections import Counter, defaultdict
from collections.abc import Callable, Iterator, Mapping
from math import comb
from typing import NamedTuple

from railweave.acceptance.counter_names import CounterMeaning
from railweave.acceptance.judge.case import Case
from railweave.acceptance.judge.outcomes import OutcomeStatus
from railweave.acceptance.judge.tally import RoundTally
from railweave.acceptance.model import CoveredLink, PlannedDevice, PlannedTest, PortEnd, RoundKind

_PAIRS = frozenset({RoundKind.ISOLATED, RoundKind.LOADED, RoundKind.INCAST, RoundKind.SOAK})

Place = tuple[int, int | None, str]
"""Plane, pod and leaf of a bundle; the leaf is empty for the links between pods."""


class LinkBundle(NamedTuple):
    """Links in one direction among which a hash chooses."""

    links: tuple[CoveredLink, ...]
    is_up: bool
    # Over all rounds that were read.
    flows: int

    def share(self, *links: CoveredLink) -> float:
        """Return the share of all flows that these links carry at least: ECMP weighs links alike or by their speed."""
        by_speed = sum(link.speed_gbps for link in links) / sum(link.speed_gbps for link in self.links)
        return min(by_speed, len(links) / len(self.links))

    def odds_unused(self, unused: list[CoveredLink]) -> float:
        """Return how probable it is that all flows miss as many links by chance, whichever these are."""
        return (1 - self.share(*unused)) ** self.flows * comb(len(self.links), len(unused))

    def sender(self, link: CoveredLink) -> PortEnd:
        """Return the end of a link from which the bundle sends."""
        return link.lower if self.is_up else link.upper


def link_bundles(case: Case, *kinds: RoundKind, ran: bool) -> list[LinkBundle]:
    """Return the bundles with the flows of rounds of these kinds, of all without.

    With ``ran`` only tests with a value count; otherwise all whose tools started.
    """
    places: dict[Place, list[CoveredLink]] = defaultdict(list)
    for link in case.index.plan.links:
        if link.nic_port is None:
            places[_place(case, link)].append(link)
    sees_ports = _hash_sees_ports(case)
    uppers = {
        leaf: {link.upper.device for link in case.index.links_of[leaf] if link.lower.device == leaf}
        for leaf in case.index.node_switches
    }
    up: Counter[Place] = Counter()
    down: Counter[Place] = Counter()
    for test in _tests(case, kinds, ran=ran):
        count = test.queue_pairs if sees_ports else 1
        source, target = case.index.access_switches[test.id]
        # While a fabric grows, leaves with other spines reach each other by some of their links alone.
        if source.pod == target.pod and uppers[source.name] != uppers[target.name]:
            continue
        for kind in (_leaf, _pod):
            if kind(source) != kind(target):
                up[kind(source)] += count
                down[kind(target)] += count
    bundles: list[LinkBundle] = []
    for place, links in places.items():
        bundles.append(LinkBundle(tuple(links), is_up=True, flows=up[place]))
        bundles.append(LinkBundle(tuple(links), is_up=False, flows=down[place]))
    return bundles


def _place(case: Case, link: CoveredLink) -> Place:
    lower = case.index.devices[link.lower.device]
    kind: Callable[[PlannedDevice], Place] = _leaf
    if case.index.is_between_pods(link):
        kind = _pod
    return kind(lower)


def _leaf(device: PlannedDevice) -> Place:
    return device.plane, device.pod, device.name


def _pod(device: PlannedDevice) -> Place:
    return device.plane, device.pod, ""


def _tests(case: Case, kinds: tuple[RoundKind, ...], *, ran: bool) -> Iterator[PlannedTest]:
    for counts in case.rounds(*kinds):
        for test in case.index.tests_of[counts.round]:
            if test.receiver is None or test.kind not in _PAIRS:
                continue
            if len(case.index.access_switches[test.id]) != 2:
                continue
            outcome = case.outcomes[test.id]
            if outcome.status is not OutcomeStatus.NOT_RUN or (outcome.tried and not ran):
                yield test


def _hash_sees_ports(case: Case) -> bool:
    """Tell whether most leaves have sent a test that was alone there over more than one of their uplinks."""
    several: set[str] = set()
    alone: set[str] = set()
    for counts in case.rounds(RoundKind.ISOLATED):
        senders: dict[str, list[PlannedTest]] = defaultdict(list)
        for test in case.index.tests_of[counts.round]:
            leaves = [device.name for device in case.index.access_switches[test.id]]
            if len(set(leaves)) > 1:
                senders[leaves[0]].append(test)
        for leaf, tests in senders.items():
            used = _used_uplinks(case, counts, leaf, tests[0].queue_pairs)
            if len(tests) == 1 and tests[0].queue_pairs > 1 and used:
                alone.add(leaf)
                if len(used) > 1:
                    several.add(leaf)
    return 2 * len(several) > len(alone)


def _used_uplinks(case: Case, counts: RoundTally, leaf: str, queue_pairs: int) -> list[PortEnd]:
    """Return the uplinks that carried at least half of a queue pair's part of what a leaf sent up."""
    sent: Mapping[PortEnd, int] = {
        link.lower: counts.counted(link.lower, CounterMeaning.SENT_BYTES)
        for link in case.index.links_of[leaf]
        if link.lower.device == leaf
    }
    total = sum(sent.values())
    return [end for end, size in sent.items() if size * 2 * queue_pairs > total]
