"""Which culprit made which tests slow: known culprits first, then the smallest set of elements, then congestion.

A known culprit takes the tests whose ends or paths it touches. Of the rest of a round in which all send, PFC may hold
up some behind the flows of a culprit: a paused link serves its queue in order, so that no flow leaves it slower than
the slowest one it waits for. A test below that bound has a cause of its own.
"""

from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from typing import NamedTuple

from railweave.acceptance.judge.blame import Blame, culprit_of, explain
from railweave.acceptance.judge.case import Case
from railweave.acceptance.judge.elements import Culprit, ElementKind, RoundBound, Symptom
from railweave.acceptance.judge.outcomes import OutcomeStatus
from railweave.acceptance.judge.paths import ends_of
from railweave.acceptance.model import CoveredLink, Metric, PlannedDevice, PlannedTest, RoundKind

# Rounds in which flows of several tests share links.
_SHARED = frozenset({RoundKind.LOADED, RoundKind.INCAST, RoundKind.SOAK})
# A test that congestion may have held up says nothing alone: its peer of another round must be slow too.
_LEAST_TESTS = 2

Attribution = tuple[Culprit | None, frozenset[str]]
"""A culprit, None if nothing explains the tests, and the ids of the tests that it made slow."""


class OtherTests(NamedTuple):
    """The tests that do not belong to a symptom: which did well, and which break the same rule as badly."""

    well: frozenset[str]
    beside: frozenset[str]


def attributed(
    case: Case, symptom: Symptom, culprits: Sequence[Culprit], other_tests: OtherTests
) -> Iterator[Attribution]:
    """Yield each culprit with the tests of a symptom that it made slow; tests that nothing explains come with None.

    ``culprits`` are those that are known from other symptoms.
    """
    unexplained = set(symptom.tests)
    for culprit in culprits:
        tests = frozenset(name for name in unexplained if _slows(case, culprit, case.index.tests[name]))
        if tests:
            unexplained -= tests
            yield culprit, tests
    some_are_explained = len(unexplained) < len(symptom.tests)
    if some_are_explained and _is_chance(case, symptom.bound, unexplained):
        return
    # A node that is slow in collectives may pass every pair, and a pair of long latency may have its bandwidth.
    kinds = _compared_kinds(case.index.tests[min(symptom.tests)].kind)
    well = other_tests.well - symptom.tests - other_tests.beside
    passed = frozenset(name for name in well if case.index.tests[name].kind in kinds)
    named_culprits = list(culprits)
    held_up = _held_up(case, named_culprits, unexplained)
    failed = frozenset(unexplained - held_up.keys())
    for blame in explain(case, failed, passed, other_tests.beside | held_up.keys()):
        new_culprit = _blamed(case, blame)
        tests = blame.tests & unexplained
        if new_culprit is not None and tests:
            named_culprits.append(new_culprit)
            unexplained -= tests
            yield new_culprit, tests
    yield from _attributed_rest(case, named_culprits, frozenset(unexplained), passed)


def _is_chance(case: Case, bound: RoundBound | None, rest: Collection[str]) -> bool:
    """Tell whether the rest of a round, without the tests of culprits, is as slow as chance makes it."""
    if bound is None or not rest:
        return False
    if bound.tests:
        return len(rest) <= bound.tests
    return sum(_share(case, name) for name in rest) >= bound.share * len(rest)


def _attributed_rest(
    case: Case, culprits: Sequence[Culprit], unexplained: frozenset[str], well: frozenset[str]
) -> Iterator[Attribution]:
    """Yield each culprit of tests that congestion may have held up; tests that nothing explains come with None.

    An element that is slow in all of its tests comes first, then the congestion of a known culprit. An element of which
    another test of the same kind met its limit is not slow by itself.
    """
    held_up = _held_up(case, culprits, unexplained)
    kinds = {case.index.tests[name].kind for name in held_up}
    tests_of_kinds = [test.id for test in case.index.plan.tests if test.kind in kinds]
    passed = {name for name in tests_of_kinds if case.outcomes[name].status is OutcomeStatus.PASSED}
    did_well = well | (passed - held_up.keys())
    for blame in explain(case, frozenset(held_up), did_well):
        culprit = _blamed(case, blame)
        tests = blame.tests & unexplained
        if culprit is not None and len(tests) >= _LEAST_TESTS:
            unexplained -= tests
            yield culprit, tests
    for culprit in culprits:
        tests = frozenset(name for name in unexplained & held_up.keys() if held_up[name] is culprit)
        if tests:
            unexplained -= tests
            yield culprit, tests
    if unexplained:
        yield None, unexplained


def _blamed(case: Case, blame: Blame) -> Culprit | None:
    """Return the culprit that an explanation names; None if it names nothing, or several nodes of a collective."""
    if not blame.elements:
        return None
    # Nodes that only took part in the same collectives cannot be told apart.
    if len(blame.elements) > 1 and case.index.tests[min(blame.tests)].receiver is None:
        return None
    return culprit_of(case, blame, "is slow")


def _compared_kinds(kind: RoundKind) -> frozenset[RoundKind]:
    """Return the rounds whose tests can clear elements of a slow test of ``kind``."""
    if kind in (RoundKind.COLLECTIVE, RoundKind.LATENCY):
        return frozenset({kind})
    return _SHARED | {RoundKind.ISOLATED}


def _held_up(case: Case, culprits: Iterable[Culprit], names: Iterable[str]) -> Mapping[str, Culprit]:
    """Return the tests among ``names`` that flows of a culprit may have held up by PFC, each with the culprit."""
    names_of_round: dict[str, list[str]] = {}
    for name in sorted(names):
        test = case.index.tests[name]
        if test.kind in _SHARED and not _has_own_path(case, name):
            names_of_round.setdefault(test.round, []).append(name)
    held_up: dict[str, Culprit] = {}
    for round_id, round_names in names_of_round.items():
        for culprit in culprits:
            slowed_tests = [test for test in case.index.tests_of[round_id] if _slows(case, culprit, test)]
            slowest_share = min((_share(case, test.id) for test in slowed_tests), default=1.0)
            for name in round_names:
                if _share(case, name) >= slowest_share:
                    held_up.setdefault(name, culprit)
    return held_up


def _has_own_path(case: Case, name: str) -> bool:
    """Tell whether the flows of a test share no link with others, so that no pause of another flow holds them up."""
    measure = case.outcomes[name].measure(Metric.BANDWIDTH)
    if measure is None or case.index.tests[name].kind is RoundKind.INCAST:
        return False
    return "share" not in measure.limit.inputs


def _share(case: Case, name: str) -> float:
    """Return the share of the expected bandwidth that a test reached, 1 for a test without a bandwidth."""
    measure = case.outcomes[name].measure(Metric.BANDWIDTH)
    if measure is None:
        return 1.0
    return measure.value / measure.limit.expect


def _slows(case: Case, culprit: Culprit, test: PlannedTest) -> bool:
    """Tell whether a culprit slows a test by itself, without congestion between them."""
    return test.kind in culprit.slows and _touches(case, culprit, test)


def _touches(case: Case, culprit: Culprit, test: PlannedTest) -> bool:
    """Tell whether a test has an end at a culprit, or may have crossed one of its switches or cables."""
    leaves = case.index.access_switches[test.id]
    if _has_end_at(case, culprit, test) or any(leaf.name in culprit.devices for leaf in leaves):
        return True
    links: list[CoveredLink] = []
    for cable in culprit.cables:
        links += case.index.links_of_cable[cable]
    if test.kind is RoundKind.ISOLATED:
        # Nothing else left its leaf, so the links of a switch show whether the test passed it.
        for device in culprit.devices:
            links += case.index.links_of[device]
    elif _may_pass(case, culprit, leaves):
        return True
    return any(_carried(case, link, test) for link in links)


def _has_end_at(case: Case, culprit: Culprit, test: PlannedTest) -> bool:
    """Tell whether a test has an end at a NIC or node of a culprit."""
    # If only NICs are at fault, other NICs of their nodes are not.
    kinds = {element.kind for element in culprit.elements}
    if kinds == {ElementKind.NIC}:
        names = {element.name for element in culprit.elements}
        return any(case.index.nic(port).name in names for port in ends_of(test))
    return any(port.node in culprit.nodes for port in ends_of(test))


def _may_pass(case: Case, culprit: Culprit, leaves: Sequence[PlannedDevice]) -> bool:
    """Tell whether flows between leaves may pass a switch of a culprit that attaches no node."""
    if len(set(leaves)) < 2:
        return False
    planes = {leaf.plane for leaf in leaves}
    pods = {leaf.pod for leaf in leaves}
    for name in culprit.devices:
        device = case.index.devices[name]
        attaches_nodes = name in case.index.node_switches
        serves_pods = device.pod is None or device.pod in pods
        if not attaches_nodes and serves_pods and device.plane in planes:
            return True
    return False


def _carried(case: Case, link: CoveredLink, test: PlannedTest) -> bool:
    """Tell whether a test may have used a link, and the link carried something in its round."""
    if not case.index.may_cross(test, link):
        return False
    # The few packets of a latency test load no link.
    if link.nic_port is not None or test.kind is RoundKind.LATENCY:
        return True
    return case.carried_load(test.round, link)
