"""From symptoms to findings: one for each rule and culprit, and one for what nothing explains."""

from collections import Counter
from collections.abc import Iterable, Sequence
from typing import NamedTuple

from railweave.acceptance.judge.attribution import OtherTests, attributed
from railweave.acceptance.judge.case import Case
from railweave.acceptance.judge.elements import Culprit, Element, ElementKind, Symptom
from railweave.acceptance.judge.paths import ends_of
from railweave.acceptance.judge.symptoms import did_well
from railweave.acceptance.model import HIGHER_IS_WORSE, RoundKind
from railweave.diagnostics import Severity
from railweave.wording import counted, either, first_few, listed

UNEXPLAINED = "unexplained"
"""The code of a finding that nothing explains."""

_PARTS_RULE = "A-7"

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


class _BlamedSymptom(NamedTuple):
    """A part of a symptom that one culprit explains, in words; without a culprit nothing explains it."""

    symptom: Symptom
    culprit: Culprit | None
    text: str


def findings(case: Case, symptoms: Iterable[Symptom]) -> tuple[AcceptanceFinding, ...]:
    """Return the findings of symptoms, one for each rule and culprit, errors first.

    Symptoms whose culprit is known come first: their culprits may explain the tests of the others.
    """
    all_symptoms = tuple(symptoms)
    breaches: list[_BlamedSymptom] = []
    culprits: list[Culprit] = []
    test_symptoms: list[Symptom] = []
    for symptom in all_symptoms:
        if symptom.culprit is None and symptom.tests:
            test_symptoms.append(symptom)
            continue
        if symptom.culprit is not None:
            if _follows_from_switches(symptom, all_symptoms):
                continue
            culprits.append(symptom.culprit)
        breaches.append(_BlamedSymptom(symptom, symptom.culprit, symptom.message))
    well = did_well(case)
    for symptom in sorted(test_symptoms, key=lambda test_symptom: _order(case, test_symptom)):
        other_tests = OtherTests(well, _beside(symptom, test_symptoms))
        for culprit, tests in attributed(case, symptom, culprits, other_tests):
            with_suspects = symptom._replace(suspects=_suspects(case, tests))
            breaches.append(_BlamedSymptom(with_suspects, culprit, _tests_text(case, symptom, tests)))
            if culprit is not None and culprit not in culprits:
                culprits.append(culprit)
    return _merged(breaches)


def _follows_from_switches(part_symptom: Symptom, symptoms: Iterable[Symptom]) -> bool:
    """Tell whether a part of the design, such as a rail, is slow because all of its switches are at fault."""
    part = part_symptom.culprit
    if part_symptom.code != _PARTS_RULE or part is None or not part.devices:
        return False
    faulty_switches: set[str] = set()
    for symptom in symptoms:
        culprit = symptom.culprit
        if culprit is not None and RoundKind.ISOLATED in culprit.slows:
            faulty_switches |= {element.name for element in culprit.elements if element.kind is ElementKind.DEVICE}
    return faulty_switches.issuperset(part.devices)


def _order(case: Case, symptom: Symptom) -> tuple[bool, int]:
    """Return the key that sorts symptoms: errors first, then by the kinds of their rounds."""
    kinds = list(RoundKind)
    first_kind = min(kinds.index(case.index.tests[name].kind) for name in symptom.tests)
    return symptom.severity is not Severity.ERROR, first_kind


def _beside(symptom: Symptom, test_symptoms: list[Symptom]) -> frozenset[str]:
    """Return the tests of other symptoms of the same rule and severity."""
    tests: set[str] = set()
    for other in test_symptoms:
        if other is not symptom and (other.code, other.severity) == (symptom.code, symptom.severity):
            tests |= other.tests
    return frozenset(tests)


def _suspects(case: Case, tests: frozenset[str]) -> tuple[Element, ...]:
    """Return the NICs that take part in ``tests``, those in most tests first, at most `_MOST_SUSPECTS`."""
    nics: Counter[Element] = Counter()
    for name in sorted(tests):
        nics.update(case.index.nic(port) for port in ends_of(case.index.tests[name]))
    return tuple(element for element, _ in nics.most_common(_MOST_SUSPECTS))


def _tests_text(case: Case, symptom: Symptom, tests: frozenset[str]) -> str:
    """Return the message of a symptom with the number of its ``tests`` and the worst of them."""
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


def _merged(breaches: Iterable[_BlamedSymptom]) -> tuple[AcceptanceFinding, ...]:
    """Return one finding for all breaches of a rule by the same elements, errors first."""
    groups: dict[tuple[str, tuple[Element, ...]], list[_BlamedSymptom]] = {}
    for breach in breaches:
        code = breach.symptom.code
        if breach.culprit is not None:
            elements = breach.culprit.elements
        else:
            elements = breach.symptom.suspects
            if breach.symptom.severity is Severity.ERROR:
                code = UNEXPLAINED
        groups.setdefault((code, elements), []).append(breach)
    merged = [_finding(code, elements, group) for (code, elements), group in groups.items()]
    return tuple(sorted(merged, key=lambda finding: (finding.severity is not Severity.ERROR, finding.code)))


def _finding(code: str, elements: tuple[Element, ...], breaches: Sequence[_BlamedSymptom]) -> AcceptanceFinding:
    """Return the finding of breaches with the same elements; its fix and its devices are those of the first breach."""
    texts = first_few(dict.fromkeys(breach.text for breach in breaches), 3, "; ")
    severity = min((breach.symptom.severity for breach in breaches), key=list(Severity).index)
    culprit = breaches[0].culprit
    if culprit is None:
        fix = breaches[0].symptom.fix or "repeat these tests one by one, and with other peers"
        return AcceptanceFinding(
            code=code, severity=severity, message=texts, elements=elements, nodes=(), devices=(), cables=(), fix=fix
        )
    message = f"{_subject(culprit)} {culprit.fault}: {texts}"
    return AcceptanceFinding(
        code=code,
        severity=severity,
        message=message,
        elements=elements,
        nodes=culprit.nodes,
        devices=culprit.devices,
        cables=culprit.cables,
        fix=culprit.fix,
    )


_KIND_WORDS = {ElementKind.NIC: "NIC"}


def _subject(culprit: Culprit) -> str:
    """Return the elements of a culprit as the subject of a sentence."""
    names = [element.name for element in culprit.elements]
    if "swapped" in culprit.fault:
        # Both cables are at fault, not either of them.
        return listed(names)
    if culprit.elements[0].kind is ElementKind.SETTING:
        # The setting explains more than the elements that it belongs to.
        return names[0]
    if len(set(names)) < len(names):
        # A cable has the name of its NIC.
        names = [f"{_KIND_WORDS.get(element.kind, element.kind)} {element.name}" for element in culprit.elements]
    return either(names)
