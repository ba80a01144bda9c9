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


@pytest.mark.parametrize("case", CASES)
def test_every_error_names_its_place_and_a_way_out(case: str) -> None:
    for one in findings_of(HERE / case):
        assert one.where.file == str(HERE / case)
        if one.severity == "error":
            assert one.fix
            assert one.where.line > 0 or one.code == "RW007"
