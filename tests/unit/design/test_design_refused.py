"""Wrong intents, each with the exact report of the design in the file beside it.

``RAILWEAVE_UPDATE_GOLDEN=1`` writes the reports anew; review the difference.
"""

import os
from pathlib import Path

import pytest

from railweave.catalog.load import load_catalog
from railweave.checks.intent import check_intent
from railweave.checks.registry import all_rules
from railweave.design.build import design
from railweave.diagnostics import Diagnostic, Severity, has_errors, in_order
from railweave.intent.load import load_intent_text

CASES = sorted((Path(__file__).resolve().parents[2] / "refused" / "design").glob("*.yml"))


def report(diagnostics: tuple[Diagnostic, ...]) -> str:
    return "".join(
        f"{one.severity} {one.code} {one.where} {one.where.path}".rstrip()
        + f"\n  {one.message}\n  way out: {one.fix}\n"
        for one in diagnostics
        if one.severity is not Severity.INFO
    )


@pytest.mark.parametrize("case", CASES, ids=lambda case: case.stem)
def test_a_wrong_intent_is_refused_at_its_place_with_a_way_out(case: Path) -> None:
    intent = load_intent_text(case.read_text(encoding="utf-8"), case.name)
    catalog = load_catalog()
    outcome = design(intent, catalog)
    found = in_order((*check_intent(intent), *outcome.diagnostics))
    expected = case.with_suffix(".txt")
    if os.environ.get("RAILWEAVE_UPDATE_GOLDEN"):
        expected.write_text(report(found), encoding="utf-8")
    assert report(found) == expected.read_text(encoding="utf-8")
    assert outcome.fabric is None
    assert has_errors(outcome.diagnostics)
    assert all(one.code in all_rules() for one in found)
    assert all(one.fix for one in found if one.severity is not Severity.INFO)


def test_there_are_wrong_intents_to_refuse() -> None:
    assert len(CASES) > 20
