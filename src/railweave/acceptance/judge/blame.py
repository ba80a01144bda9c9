"""The smallest set of elements that explains which tests failed, by the ends of all tests (Boolean tomography).

An element can be to blame if every test through it that had its path for itself failed, and no other test through it
reached what those failed to reach. Of such elements the fewest that cover all failures are named; those with the same
tests are named together, unless counters of both ends clear one of them.
"""

from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping
from enum import StrEnum
from typing import NamedTuple

from railweave.acceptance.judge.case import Case
from railweave.acceptance.judge.elements import (
    Culprit,
    Element,
    ElementKind,
    cable_element,
    port_element,
    setting_element,
)
from railweave.acceptance.judge.paths import ends_of
from railweave.acceptance.model import NicPort, PlannedTest

# An element of which only one direction is at fault needs more than one test that shows it.
_LEAST_TESTS_OF_A_DIRECTION = 2


class EndRole(StrEnum):
    """In which role an element takes part in the tests that fail."""

    ANY = "in both directions"
    SENDER = "as sender"
    RECEIVER = "as receiver"


class Candidate(NamedTuple):
    """An element in a role, with the tests through it that failed."""

    element: Element
    role: EndRole
    tests: frozenset[str]
    # How many tests it has in all: the more specific of two candidates has fewer.
    size: int


class Blame(NamedTuple):
    """What is to blame for some tests; without elements nothing explains them."""

    elements: tuple[Element, ...]
    role: EndRole
    tests: frozenset[str]


def one_element(element: Element) -> Blame:
    """Return an explanation that a comparison gives, without tests."""
    return Blame((element,), EndRole.ANY, frozenset())


def explain(
    case: Case, failed: frozenset[str], passed: frozenset[str], beside: frozenset[str] = frozenset()
) -> tuple[Blame, ...]:
    """Return who is to blame for the tests in ``failed``, given those that did what is expected of them.

    Of two that explain as many, the one that explains more of the slow tests ``beside`` these is named.
    """
    candidates = _candidates(case, failed | beside, passed)
    waiting = set(failed)
    blames: list[Blame] = []
    while waiting:
        best = max(candidates, key=lambda candidate: _rank(candidate, waiting), default=None)
        if best is None or not best.tests & waiting:
            blames.append(Blame((), EndRole.ANY, frozenset(waiting)))
            break
        alike = [other for other in candidates if other.tests == best.tests and other.role is best.role]
        blames.append(Blame(_together(case, alike), best.role, best.tests))
        waiting -= best.tests
    return tuple(blames)


def _rank(candidate: Candidate, waiting: set[str]) -> tuple[int, int, bool, int]:
    covered = len(candidate.tests & waiting)
    return covered, len(candidate.tests), candidate.role is EndRole.ANY, -candidate.size


def _candidates(case: Case, failed: frozenset[str], passed: frozenset[str]) -> list[Candidate]:
    tests: dict[tuple[Element, EndRole], set[str]] = defaultdict(set)
    for name in sorted(failed | passed):
        for element, role in _parts(case, case.index.tests[name]):
            tests[element, role].add(name)
    candidates: list[Candidate] = []
    for (element, role), names in tests.items():
        if names & passed:
            continue
        if role is not EndRole.ANY and len(names) < _LEAST_TESTS_OF_A_DIRECTION:
            continue
        candidates.append(Candidate(element, role, frozenset(names & failed), len(names)))
    return candidates


def _parts(case: Case, test: PlannedTest) -> Iterator[tuple[Element, EndRole]]:
    """Yield every element that a test certainly uses, in both of its roles."""
    if test.receiver is None:
        for node in dict.fromkeys(port.node for port in test.group):
            yield Element(ElementKind.NODE, node), EndRole.ANY
        return
    for port in ends_of(test):
        role = EndRole.SENDER if port == test.sender else EndRole.RECEIVER
        for element in _elements_of(case, port):
            yield element, EndRole.ANY
            yield element, role


def _elements_of(case: Case, port: NicPort) -> Iterator[Element]:
    yield case.index.nic(port)
    yield Element(ElementKind.NODE, port.node)
    link = case.index.host_link.get(port)
    if link is None:
        return
    yield cable_element(link)
    yield port_element(link.lower)
    yield Element(ElementKind.DEVICE, link.upper.device)
    # A part of the design that holds every test explains nothing.
    if len(case.rails) > 1:
        yield setting_element(f"rail {link.rail}")
    if len(case.planes) > 1:
        yield setting_element(f"plane {link.plane}")


def _together(case: Case, candidates: Iterable[Candidate]) -> tuple[Element, ...]:
    """Return elements that took part in the same tests, without those that the others contain or counters clear."""
    elements = [candidate.element for candidate in candidates]
    by_kind: dict[ElementKind, list[Element]] = defaultdict(list)
    for element in elements:
        by_kind[element.kind].append(element)
    # A node with one NIC, or a rail with one leaf, is no smaller fault than its part.
    for part, whole in _PARTS:
        if by_kind.get(part):
            by_kind.pop(whole, None)
    cleared = set(_cleared(case, by_kind.get(ElementKind.CABLE, [])))
    kept = [element for element in elements if element.kind in by_kind and element not in cleared]
    return tuple(sorted(dict.fromkeys(kept or elements)))


_PARTS = (
    (ElementKind.NIC, ElementKind.PORT),
    (ElementKind.NIC, ElementKind.NODE),
    (ElementKind.NIC, ElementKind.DEVICE),
    (ElementKind.NIC, ElementKind.SETTING),
    (ElementKind.PORT, ElementKind.NODE),
    (ElementKind.PORT, ElementKind.DEVICE),
    (ElementKind.NODE, ElementKind.DEVICE),
    (ElementKind.NODE, ElementKind.SETTING),
    (ElementKind.SETTING, ElementKind.DEVICE),
)


def _cleared(case: Case, cables: list[Element]) -> Iterator[Element]:
    """Yield cables of which both ends counted the same in every round, so that nothing was lost on them."""
    compared = {link.cable for link in case.loaded_links()}
    unequal = {flows[0].link.cable for flows in case.unequal.values()}
    for cable in cables:
        if cable.name in compared - unequal:
            yield cable


def culprit_of(case: Case, explanation: Blame, fault: str) -> Culprit:
    """Return what an explanation blames, with the places that people look for."""
    names = {element.name for element in explanation.elements}
    nodes: dict[str, None] = {}
    devices: dict[str, None] = {}
    cables: dict[str, None] = {}
    for link in case.index.plan.links:
        port = link.nic_port
        if port is None:
            continue
        if {case.index.nic(port).name, port.node, port_element(link.lower).name} & names:
            nodes[port.node] = None
        if link.cable in names and cable_element(link) in explanation.elements:
            cables[link.cable] = None
        stripe = f"stripe {case.index.nodes[port.node].stripe}"
        if {link.upper.device, f"rail {link.rail}", f"plane {link.plane}", stripe} & names:
            devices[link.upper.device] = None
    fix = _fix(explanation.elements)
    fault = f"{fault} {explanation.role}" if explanation.role is not EndRole.ANY else fault
    return Culprit(explanation.elements, fault, fix, tuple(nodes), tuple(devices), tuple(cables))


def _fix(elements: Iterable[Element]) -> str:
    fixes: Mapping[ElementKind, str] = {
        ElementKind.NIC: "check the PCIe width and speed of the NIC (`lspci -vv`, LnkSta) and its host",
        ElementKind.NODE: "check the clocks, power limits, PCIe and NVLink of the node (`nvidia-smi -q`, `rocm-smi`)",
        ElementKind.SETTING: "compare the speed of its ports and its settings with those of its peers",
        ElementKind.DEVICE: "compare it with its peers (`railweave drift`, `railweave verify`)",
        ElementKind.PORT: "check the speed of the port and its cable",
        ElementKind.CABLE: "clean or replace the cable and its optics at both ends",
    }
    return fixes[next(iter(elements)).kind]
