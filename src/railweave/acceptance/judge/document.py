"""The document of a verdict: what ``acceptance judge --json`` prints and ``verdict.json`` stores."""

from typing import Any

from railweave.acceptance.judge.findings import AcceptanceFinding
from railweave.acceptance.judge.verdict import AcceptanceVerdict
from railweave.acceptance.model import PlannedTest
from railweave.codec import as_json
from railweave.diagnostics import in_order

VERDICT_FILE = "verdict.json"
"""The name of the file within the directory of a plan and its results."""


def verdict_json(verdict: AcceptanceVerdict) -> dict[str, Any]:
    """Return the document of a verdict, without its version."""
    return {
        "verdict": verdict.verdict.value,
        "level": verdict.plan.level.value,
        "tests": [_test_json(verdict, test) for test in verdict.plan.tests],
        "findings": [_finding_json(finding) for finding in verdict.findings],
        "coverage": {
            "pairs": {"planned": verdict.pairs.planned, "measured": verdict.pairs.done},
            "links": {"planned": verdict.links.planned, "loaded": verdict.links.done},
        },
        "rules": as_json(verdict.rules),
        "diagnostics": as_json(in_order(verdict.diagnostics)),
    }


def _test_json(verdict: AcceptanceVerdict, test: PlannedTest) -> dict[str, Any]:
    """Return the row of a test with its decisive value and limit.

    They are those of the first metric that failed, or else of the first metric. A test that measured nothing has no
    value.
    """
    outcome = verdict.outcomes[test.id]
    row: dict[str, Any] = {"id": test.id, "kind": test.kind.value, "status": outcome.status.value}
    failed = [measure for measure in outcome.measures if measure.failed]
    measures = failed or outcome.measures
    if measures:
        return row | {"value": measures[0].value, "limit": measures[0].limit.fail, "unit": measures[0].limit.unit}
    if test.limits:
        return row | {"value": None, "limit": test.limits[0].fail, "unit": test.limits[0].unit}
    return row | {"value": None, "limit": None, "unit": ""}


def _finding_json(finding: AcceptanceFinding) -> dict[str, Any]:
    elements = [element._asdict() for element in finding.elements]
    row: dict[str, Any] = as_json(finding._asdict() | {"elements": elements})
    return row
