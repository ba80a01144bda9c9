"""Wrong intents with the exact report that their author sees, one case a file.

A case is NAME.yml and NAME.txt. `RAILWEAVE_UPDATE_GOLDEN=1` writes the reports anew; the difference is reviewed.
"""

import os
from collections.abc import Iterable
from pathlib import Path

import pytest

from railweave.checks.intent import check_intent
from railweave.diagnostics import Diagnostic, has_errors
from railweave.errors import RefusedError
from railweave.intent.load import load_intent

HERE = Path(__file__).parent
CASES = sorted(path.name for path in HERE.glob("*.yml"))


def report(diagnostics: Iterable[Diagnostic]) -> str:
    parts = []
    for one in diagnostics:
        place = str(one.where).replace(f"{HERE}/", "")
        parts.append(f"{one.code} {one.severity} {place}\n    {one.message}\n    way out: {one.fix or '-'}\n")
    return "".join(parts)


def findings_of(path: Path) -> tuple[Diagnostic, ...]:
    try:
        intent = load_intent(path)
    except RefusedError as refused:
        return refused.diagnostics
    return check_intent(intent)


@pytest.mark.parametrize("case", CASES)
def test_a_wrong_intent_is_refused_with_its_whole_report(case: str) -> None:
    findings = findings_of(HERE / case)
    expected = HERE / case.replace(".yml", ".txt")
    if os.environ.get("RAILWEAVE_UPDATE_GOLDEN"):
        expected.write_text(report(findings), encoding="utf-8")
    assert has_errors(findings)
    assert report(findings) == expected.read_text(encoding="utf-8")
    require_place_and_fix(case, findings)


def require_place_and_fix(case: str, findings: Iterable[Diagnostic]) -> None:
    """Raise AssertionError for an error that names no line or no fix."""
    for finding in findings:
        assert finding.where.file == str(HERE / case)
        if finding.severity == "error":
            assert finding.fix
            assert finding.where.line > 0 or finding.code == "RW007"
