"""The verdict of an acceptance as JUnit XML for CI systems: a suite of rules, and one for each kind of tests."""

from collections.abc import Iterator, Sequence
from xml.etree.ElementTree import Element, SubElement, indent, tostring

from railweave.acceptance.judge.findings import AcceptanceFinding
from railweave.acceptance.judge.outcomes import OutcomeStatus
from railweave.acceptance.judge.verdict import AcceptanceVerdict, RuleState, RuleStatus
from railweave.acceptance.model import PlannedTest
from railweave.diagnostics import Severity


def acceptance_junit(judged: AcceptanceVerdict) -> str:
    """Return the JUnit document of a verdict: a suite of the rules, then one for each kind of test.

    A test that did not run and a rule that could not be judged are skipped, never passed.
    """
    root = Element("testsuites", name=f"acceptance of {judged.plan.fabric}, level {judged.plan.level}")
    _add_suite(root, "rules", _rule_cases(judged))
    for kind in dict.fromkeys(test.kind for test in judged.plan.tests):
        tests = [test for test in judged.plan.tests if test.kind is kind]
        _add_suite(root, kind.value, (_test_case(judged, test) for test in tests))
    indent(root)
    return tostring(root, encoding="unicode", xml_declaration=True)


def _add_suite(root: Element, name: str, cases: Iterator[Element]) -> None:
    suite = SubElement(root, "testsuite", name=name)
    suite.extend(cases)
    suite.set("tests", str(len(suite)))
    suite.set("failures", str(len(suite.findall("testcase/failure"))))
    suite.set("skipped", str(len(suite.findall("testcase/skipped"))))


def _rule_cases(judged: AcceptanceVerdict) -> Iterator[Element]:
    errors = [finding for finding in judged.findings if finding.severity is Severity.ERROR]
    states = {status.code: status for status in judged.rules}
    for code in dict.fromkeys([*states, *(finding.code for finding in errors)]):
        rule_errors = [finding for finding in errors if finding.code == code]
        yield _rule_case(code, states.get(code), rule_errors)


def _rule_case(code: str, status: RuleStatus | None, errors: Sequence[AcceptanceFinding]) -> Element:
    """Return the test case of a rule. It fails with each of the ``errors``, and is skipped if it was not judged."""
    case = Element("testcase", classname="rules", name=code)
    for finding in errors:
        SubElement(case, "failure", message=finding.message).text = finding.fix
    if errors or status is None:
        return case
    if status.state is not RuleState.JUDGED:
        SubElement(case, "skipped", message=f"{status.state}: {status.reason}")
    return case


def _test_case(judged: AcceptanceVerdict, test: PlannedTest) -> Element:
    """Return the test case of a test: failed, skipped if it did not run, or passed."""
    outcome = judged.outcomes[test.id]
    case = Element("testcase", classname=test.kind.value, name=test.id)
    failed_measures = [measure for measure in outcome.measures if measure.failed]
    for measure in failed_measures:
        limit = measure.limit
        message = f"{limit.metric} {measure.value:,.5g} {limit.unit}, limit {limit.fail:,.5g}"
        SubElement(case, "failure", message=message)
    # Every failed test has a failure: without a measure beyond its limit the remark says why it failed.
    if outcome.status is OutcomeStatus.FAILED and not failed_measures:
        SubElement(case, "failure", message=outcome.remark)
    if outcome.status is OutcomeStatus.NOT_RUN:
        SubElement(case, "skipped", message=outcome.remark)
    return case
