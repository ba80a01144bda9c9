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
    """Return who is to blame for the ``failed`` tests; no element of a test in ``passed`` is.

    The element that explains most of them is named first, then the one that explains most of the rest. If two explain
    as many, the one that also explains more of the slow tests in ``beside`` is named. A last explanation without
    elements has the tests that nothing explains.
    """
    candidates = _candidates(case, failed | beside, passed)
    unexplained = set(failed)
    blames: list[Blame] = []
    while unexplained:
        best = max(candidates, key=lambda candidate: _rank(candidate, unexplained), default=None)
        if best is None or not best.tests & unexplained:
            blames.append(Blame((), EndRole.ANY, frozenset(unexplained)))
            break
        # No test tells the elements apart that explain the same tests.
        equals = [candidate for candidate in candidates if (candidate.tests, candidate.role) == (best.tests, best.role)]
        blames.append(Blame(_named_together(case, equals), best.role, best.tests))
        unexplained -= best.tests
    return tuple(blames)


def _rank(candidate: Candidate, unexplained: set[str]) -> tuple[int, int, bool, int]:
    """Return the key by which the best candidate is the largest: it explains most, then it is the simplest one."""
    explained = len(candidate.tests & unexplained)
    return explained, len(candidate.tests), candidate.role is EndRole.ANY, -candidate.size


def _candidates(case: Case, failed: frozenset[str], passed: frozenset[str]) -> list[Candidate]:
    """Return the elements, each in a role, that no test in ``passed`` used, with the ``failed`` tests that did."""
    tests_through: dict[tuple[Element, EndRole], set[str]] = defaultdict(set)
    for name in sorted(failed | passed):
        for element, role in _elements_in_roles(case, case.index.tests[name]):
            tests_through[element, role].add(name)
    candidates: list[Candidate] = []
    for (element, role), tests in tests_through.items():
        has_enough_tests = role is EndRole.ANY or len(tests) >= _LEAST_TESTS_OF_A_DIRECTION
        if has_enough_tests and not tests & passed:
            candidates.append(Candidate(element, role, frozenset(tests & failed), len(tests)))
    return candidates


def _elements_in_roles(case: Case, test: PlannedTest) -> Iterator[tuple[Element, EndRole]]:
    """Yield every element that a test certainly uses: once for both directions, and once in its own role."""
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
    """Yield every element that traffic of a NIC port certainly uses."""
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


def _named_together(case: Case, candidates: Iterable[Candidate]) -> tuple[Element, ...]:
    """Return the elements of candidates with the same tests, sorted.

    Elements that contain another one of them (`_PARTS`) are left out, and so are cables that counters clear.
    """
    elements = {candidate.element for candidate in candidates}
    kinds = {element.kind for element in elements}
    for part, whole in _PARTS:
        if part in kinds:
            kinds.discard(whole)
    smallest = {element for element in elements if element.kind in kinds}
    suspects = smallest - set(_cleared(case, smallest))
    return tuple(sorted(suspects or elements))


# The smaller element is named: a node with one NIC, or a rail with one leaf, takes part in the same tests.
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


def _cleared(case: Case, elements: Iterable[Element]) -> Iterator[Element]:
    """Yield the cables whose two ends counted the same in every round, so that nothing was lost on them."""
    compared_cables = {link.cable for link in case.loaded_links()}
    unequal_cables = {flows[0].link.cable for flows in case.unequal.values()}
    equal_cables = compared_cables - unequal_cables
    for element in elements:
        if element.kind is ElementKind.CABLE and element.name in equal_cables:
            yield element


def culprit_of(case: Case, explanation: Blame, fault: str) -> Culprit:
    """Return the culprit of an explanation, with the nodes, switches and cables where people look for it.

    ``fault`` is what its elements do, as the end of a sentence.
    """
    names = {element.name for element in explanation.elements}
    # Without duplicates, in the order of the links of the plan.
    nodes: dict[str, None] = {}
    devices: dict[str, None] = {}
    cables: dict[str, None] = {}
    for port, link in case.index.host_link.items():
        names_of_node = {case.index.nic(port).name, port.node, port_element(link.lower).name}
        if names_of_node & names:
            nodes[port.node] = None
        if cable_element(link) in explanation.elements:
            cables[link.cable] = None
        stripe = f"stripe {case.index.nodes[port.node].stripe}"
        names_of_leaf = {link.upper.device, f"rail {link.rail}", f"plane {link.plane}", stripe}
        if names_of_leaf & names:
            devices[link.upper.device] = None
    if explanation.role is not EndRole.ANY:
        fault = f"{fault} {explanation.role}"
    fix = _fix_of(explanation.elements)
    return Culprit(
        elements=explanation.elements,
        fault=fault,
        fix=fix,
        nodes=tuple(nodes),
        devices=tuple(devices),
        cables=tuple(cables),
    )


def _fix_of(elements: Iterable[Element]) -> str:
    """Return what to do about the first of ``elements``."""
    fixes: Mapping[ElementKind, str] = {
        ElementKind.NIC: "check the PCIe width and speed of the NIC (`lspci -vv`, LnkSta) and its host",
        ElementKind.NODE: "check the clocks, power limits, PCIe and NVLink of the node (`nvidia-smi -q`, `rocm-smi`)",
        ElementKind.SETTING: "compare the speed of its ports and its settings with those of its peers",
        ElementKind.DEVICE: "compare it with its peers (`railweave drift`, `railweave verify`)",
        ElementKind.PORT: "check the speed of the port and its cable",
        ElementKind.CABLE: "clean or replace the cable and its optics at both ends",
    }
    return fixes[next(iter(elements)).kind]
