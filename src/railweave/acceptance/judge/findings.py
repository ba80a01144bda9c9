"""From symptoms to findings: one for each rule and culprit, and one for what nothing explains."""

from collections import Counter
from collections.abc import Iterable
from typing import NamedTuple

from railweave.acceptance.judge.attribution import Others, attributed
from railweave.acceptance.judge.case import Case
from railweave.acceptance.judge.elements import Culprit, Element, ElementKind, Symptom
from railweave.acceptance.judge.paths import ends_of
from railweave.acceptance.judge.symptoms import did_well
from railweave.acceptance.model import HIGHER_IS_WORSE, RoundKind
from railweave.diagnostics import Severity
from railweave.wording import counted, either, first_few, listed

UNEXPLAINED = "unexplained"
"""The code of a finding that nothing explains."""

_OF_PARTS = "A-7"

# As many as a person looks at one by one.
_MOST_SUSPECTS = 16


class AcceptanceFinding(NamedTuple):
    """A breach of a rule and what is to blame for it."""

    code: str
    severity: Severity
    message: str
    # The smallest set that explains it; of an unexplained finding the suspects.
    elements: tuple[Element, ...]
    nodes: tuple[str, ...]
    devices: tuple[str, ...]
    cables: tuple[str, ...]
    fix: str


def findings(case: Case, symptoms: Iterable[Symptom]) -> tuple[AcceptanceFinding, ...]:
    """Return the findings of symptoms, one for each rule and culprit, errors first."""
    blamed: list[tuple[Symptom, Culprit | None, str]] = []
    of_tests: list[Symptom] = []
    culprits: list[Culprit] = []
    given = tuple(symptoms)
    for symptom in given:
        if symptom.culprit is not None and not _is_of_its_switches(symptom, given):
            culprits.append(symptom.culprit)
            blamed.append((symptom, symptom.culprit, symptom.message))
        elif symptom.culprit is not None:
            continue
        elif symptom.tests:
            of_tests.append(symptom)
        else:
            blamed.append((symptom, None, symptom.message))
    well = did_well(case)
    for symptom in sorted(of_tests, key=lambda waiting: _order(case, waiting)):
        beside = _beside(symptom, of_tests)
        for culprit, tests in attributed(case, symptom, culprits, Others(well, beside)):
            text = _tests_text(case, symptom, tests)
            blamed.append((symptom._replace(suspects=_suspects(case, tests)), culprit, text))
            if culprit is not None and culprit not in culprits:
                culprits.append(culprit)
    return _merged(blamed)


def _is_of_its_switches(slow: Symptom, symptoms: Iterable[Symptom]) -> bool:
    """Tell whether a part of the design, such as a rail, is slow because all of its switches are at fault."""
    if slow.code != _OF_PARTS or slow.culprit is None or not slow.culprit.devices:
        return False
    at_fault: set[str] = set()
    for symptom in symptoms:
        other = symptom.culprit
        if other is not None and RoundKind.ISOLATED in other.slows:
            at_fault |= {element.name for element in other.elements if element.kind is ElementKind.DEVICE}
    return at_fault.issuperset(slow.culprit.devices)


def _order(case: Case, symptom: Symptom) -> tuple[bool, int]:
    kinds = list(RoundKind)
    return symptom.severity is not Severity.ERROR, min(
        kinds.index(case.index.tests[name].kind) for name in symptom.tests
    )


def _beside(symptom: Symptom, of_tests: list[Symptom]) -> frozenset[str]:
    """Return the tests of other symptoms that break the same rule as badly."""
    tests: set[str] = set()
    for other in of_tests:
        if other is not symptom and (other.code, other.severity) == (symptom.code, symptom.severity):
            tests |= other.tests
    return frozenset(tests)


def _suspects(case: Case, tests: frozenset[str]) -> tuple[Element, ...]:
    """Return the NICs of tests that nothing explains, those of most tests first."""
    nics: Counter[Element] = Counter()
    for name in sorted(tests):
        nics.update(case.index.nic(port) for port in ends_of(case.index.tests[name]))
    return tuple(element for element, _ in nics.most_common(_MOST_SUSPECTS))


def _tests_text(case: Case, symptom: Symptom, tests: frozenset[str]) -> str:
    """Return how many tests are beyond their limits, and the worst of them."""
    worst = ""
    worst_share = 0.0
    for name in sorted(tests):
        for measure in case.outcomes[name].measures:
            share = measure.limit.fail / max(measure.value, 1e-9)
            if measure.limit.metric in HIGHER_IS_WORSE:
                share = 1 / share
            if share > worst_share:
                worst_share = share
                worst = f", worst {name} with {measure.value:,.5g} of {measure.limit.fail:,.5g} {measure.limit.unit}"
    return f"{symptom.message}: {counted(len(tests), 'test')}{worst}"


def _merged(blamed: Iterable[tuple[Symptom, Culprit | None, str]]) -> tuple[AcceptanceFinding, ...]:
    merged: dict[tuple[str, tuple[Element, ...]], list[tuple[Symptom, Culprit | None, str]]] = {}
    for symptom, culprit, text in blamed:
        elements = symptom.suspects if culprit is None else culprit.elements
        code = symptom.code
        if culprit is None and symptom.severity is Severity.ERROR:
            code = UNEXPLAINED
        merged.setdefault((code, elements), []).append((symptom, culprit, text))
    result = [_finding(code, elements, group) for (code, elements), group in merged.items()]
    return tuple(sorted(result, key=lambda finding: (finding.severity is not Severity.ERROR, finding.code)))


def _finding(
    code: str, elements: tuple[Element, ...], group: list[tuple[Symptom, Culprit | None, str]]
) -> AcceptanceFinding:
    texts = first_few(dict.fromkeys(text for _, _, text in group), 3, "; ")
    severity = min((symptom.severity for symptom, _, _ in group), key=list(Severity).index)
    symptom, culprit, _ = group[0]
    if culprit is None:
        fix = symptom.fix or "repeat these tests one by one, and with other peers"
        return AcceptanceFinding(code, severity, texts, elements, (), (), (), fix)
    names = _names(culprit)
    message = f"{names} {culprit.fault}: {texts}"
    return AcceptanceFinding(
        code, severity, message, elements, culprit.nodes, culprit.devices, culprit.cables, culprit.fix
    )


_WORDS = {ElementKind.NIC: "NIC"}


def _names(culprit: Culprit) -> str:
    names = [element.name for element in culprit.elements]
    # Swapped cables are both at fault, and a setting says more than where it is.
    if "swapped" in culprit.fault:
        return listed(names)
    if culprit.elements[0].kind is ElementKind.SETTING:
        return names[0]
    if len(set(names)) < len(names):
        # A cable has the name of its NIC.
        names = [f"{_WORDS.get(element.kind, element.kind)} {element.name}" for element in culprit.elements]
    return either(names)
