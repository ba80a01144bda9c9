"""Links that a hash chooses among: those up from a leaf, down to a leaf, out of a pod and into it, with their flows.

A test counts as one flow, because a switch may hash all of its queue pairs alike. Where most leaves sent a test that
they had for themselves over several uplinks, the hash sees the source port, and each queue pair is a flow.
"""

from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator, Mapping
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


class PlaceFlows(NamedTuple):
    """The flows out of each place, and into it."""

    up: Counter[Place]
    down: Counter[Place]


class LinkBundle(NamedTuple):
    """Links in one direction among which a hash chooses."""

    links: tuple[CoveredLink, ...]
    is_up: bool
    # Over all rounds that were read.
    flows: int

    def share(self, *links: CoveredLink) -> float:
        """Return the least share of all flows that these links carry."""
        # ECMP weighs links equally, or by their speed.
        by_speed = sum(link.speed_gbps for link in links) / sum(link.speed_gbps for link in self.links)
        return min(by_speed, len(links) / len(self.links))

    def odds_unused(self, unused: list[CoveredLink]) -> float:
        """Return the probability that chance leaves as many links of the bundle unused, whichever these are."""
        odds_of_these = (1 - self.share(*unused)) ** self.flows
        return odds_of_these * comb(len(self.links), len(unused))

    def sender(self, link: CoveredLink) -> PortEnd:
        """Return the end of a link from which the bundle sends."""
        return link.lower if self.is_up else link.upper


def link_bundles(case: Case, *kinds: RoundKind, ran: bool) -> list[LinkBundle]:
    """Return every bundle in both directions, with the flows of rounds of ``kinds``, or of all rounds if there is none.

    With ``ran`` only tests with a value count, otherwise all tests whose tools started.
    """
    links_of: dict[Place, list[CoveredLink]] = defaultdict(list)
    for link in case.index.plan.links:
        if link.nic_port is None:
            links_of[_place(case, link)].append(link)
    flows = _place_flows(case, _pair_tests(case, kinds, ran=ran))
    bundles: list[LinkBundle] = []
    for place, links in links_of.items():
        bundles.append(LinkBundle(tuple(links), is_up=True, flows=flows.up[place]))
        bundles.append(LinkBundle(tuple(links), is_up=False, flows=flows.down[place]))
    return bundles


def _place(case: Case, link: CoveredLink) -> Place:
    """Return the bundle that a link between switches belongs to: that of its leaf, or that of its pod."""
    lower = case.index.devices[link.lower.device]
    if case.index.is_between_pods(link):
        return _pod_place(lower)
    return _leaf_place(lower)


def _leaf_place(leaf: PlannedDevice) -> Place:
    return leaf.plane, leaf.pod, leaf.name


def _pod_place(device: PlannedDevice) -> Place:
    return device.plane, device.pod, ""


def _pair_tests(case: Case, kinds: tuple[RoundKind, ...], *, ran: bool) -> Iterator[PlannedTest]:
    """Yield the tests between two NIC ports with known leaves that have a value.

    Without ``ran`` those whose tools started are yielded, too.
    """
    for tally in case.rounds(*kinds):
        for test in case.index.tests_of[tally.round]:
            is_pair = test.receiver is not None and test.kind in _PAIRS
            if not is_pair or len(case.index.access_switches[test.id]) != 2:
                continue
            outcome = case.outcomes[test.id]
            has_run = outcome.status is not OutcomeStatus.NOT_RUN
            if has_run or (outcome.tried and not ran):
                yield test


def _place_flows(case: Case, tests: Iterable[PlannedTest]) -> PlaceFlows:
    """Return how many flows of ``tests`` leave each leaf and pod, and how many enter it."""
    hash_sees_ports = _hash_sees_ports(case)
    spines_of = {
        leaf: {link.upper.device for link in case.index.links_of[leaf] if link.lower.device == leaf}
        for leaf in case.index.node_switches
    }
    flows = PlaceFlows(Counter(), Counter())
    for test in tests:
        count = test.queue_pairs if hash_sees_ports else 1
        sender_leaf, receiver_leaf = case.index.access_switches[test.id]
        # While a fabric grows, leaves of a pod with different spines use only some of their uplinks for each other.
        if sender_leaf.pod == receiver_leaf.pod and spines_of[sender_leaf.name] != spines_of[receiver_leaf.name]:
            continue
        leaves = _leaf_place(sender_leaf), _leaf_place(receiver_leaf)
        pods = _pod_place(sender_leaf), _pod_place(receiver_leaf)
        for source, target in (leaves, pods):
            if source != target:
                flows.up[source] += count
                flows.down[target] += count
    return flows


def _hash_sees_ports(case: Case) -> bool:
    """Tell whether most leaves that sent a single test used more than one of their uplinks for its queue pairs."""
    leaves_alone: set[str] = set()
    leaves_with_several_uplinks: set[str] = set()
    for tally in case.rounds(RoundKind.ISOLATED):
        for leaf, tests in _tests_leaving(case, tally.round).items():
            if len(tests) > 1 or tests[0].queue_pairs < 2:
                continue
            uplinks = _used_uplinks(case, tally, leaf, tests[0].queue_pairs)
            if uplinks:
                leaves_alone.add(leaf)
            if len(uplinks) > 1:
                leaves_with_several_uplinks.add(leaf)
    return 2 * len(leaves_with_several_uplinks) > len(leaves_alone)


def _tests_leaving(case: Case, round_id: str) -> Mapping[str, list[PlannedTest]]:
    """Return the tests that go from each leaf to another one in a round."""
    tests_of_leaf: dict[str, list[PlannedTest]] = defaultdict(list)
    for test in case.index.tests_of[round_id]:
        leaves = [device.name for device in case.index.access_switches[test.id]]
        if len(set(leaves)) > 1:
            tests_of_leaf[leaves[0]].append(test)
    return tests_of_leaf


def _used_uplinks(case: Case, tally: RoundTally, leaf: str, queue_pairs: int) -> list[PortEnd]:
    """Return the uplinks of a leaf that sent more than half of what one of its ``queue_pairs`` sends on average."""
    sent_bytes = {
        link.lower: tally.counted(link.lower, CounterMeaning.SENT_BYTES)
        for link in case.index.links_of[leaf]
        if link.lower.device == leaf
    }
    total_bytes = sum(sent_bytes.values())
    return [end for end, size in sent_bytes.items() if 2 * size * queue_pairs > total_bytes]
