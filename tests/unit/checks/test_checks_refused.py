"""Intents of fabrics that would not be lossless, each with the exact report in the file beside it.

``RAILWEAVE_UPDATE_GOLDEN=1`` writes the reports anew; review the difference.
"""

import os
from pathlib import Path

import pytest

from railweave.api.design.intent import gather
from railweave.checks.registry import all_rules
from railweave.diagnostics import Diagnostic, Severity
from railweave.errors import RefusedError

CASES = sorted((Path(__file__).resolve().parents[2] / "refused" / "lossless").glob("*.yml"))


def diagnostics(case: Path, monkeypatch: pytest.MonkeyPatch) -> tuple[Diagnostic, ...]:
    monkeypatch.chdir(case.parent)
    try:
        return gather(Path(case.name)).diagnostics
    except RefusedError as refused:
        return tuple(refused.diagnostics)


def report(found: tuple[Diagnostic, ...]) -> str:
    return "".join(
        f"{' '.join((one.severity, one.code, str(one.where), one.where.path)).rstrip()}\n  {one.message}\n"
        f"  devices: {', '.join(one.devices) or '-'}\n  way out: {one.fix}\n"
        for one in found
        if one.severity is Severity.ERROR
    )


@pytest.mark.parametrize("case", CASES, ids=lambda case: case.stem)
def test_an_intent_that_would_not_be_lossless_is_refused_in_these_words(
    case: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    found = diagnostics(case, monkeypatch)
    expected = case.with_suffix(".txt")
    if os.environ.get("RAILWEAVE_UPDATE_GOLDEN"):
        expected.write_text(report(found), encoding="utf-8")
    assert report(found) == expected.read_text(encoding="utf-8")
    errors = [one for one in found if one.severity is Severity.ERROR]
    assert errors
    assert all(one.fix and one.code in all_rules() for one in errors)


def test_there_is_a_case_for_every_kind_of_bad_input() -> None:
    assert len(CASES) > 12
