"""Rollout policies that can never be met, with the exact report that an operator sees, one case a target file.

The change sets other BGP timers on a fabric of four spines and one stripe of two rails, so every switch is disturbed.
``RAILWEAVE_UPDATE_GOLDEN=1`` writes the reports anew.
"""

import os
from collections.abc import Iterable
from functools import cache
from pathlib import Path

import pytest

from nornir_railweave.target.target_file import load_target
from railweave.catalog.load import load_catalog
from railweave.design.build import design
from railweave.diagnostics import Diagnostic
from railweave.errors import RefusedError
from railweave.fabric.model import Fabric
from railweave.intent.load import load_intent_text
from railweave.plan.consent import conflicts
from railweave.plan.offline import plan_offline
from railweave.templates import find_templates

HERE = Path(__file__).parent
CASES = sorted(path.name for path in HERE.glob("*.yml"))
LAB = (HERE.parents[2] / "intent" / "lab-4.yml").read_text(encoding="utf-8")
WIDE = LAB.replace("spine: {model: sonic-vs, count: 2", "spine: {model: sonic-vs, count: 4")


@cache
def designed(text: str) -> Fabric:
    outcome = design(load_intent_text(text, "lab-4.yml"), load_catalog())
    assert outcome.fabric is not None, outcome.diagnostics
    return outcome.fabric


def findings_of(case: str) -> tuple[Diagnostic, ...]:
    try:
        policy = load_target(HERE / case).rollout.policy
    except RefusedError as refused:
        return refused.diagnostics
    changed = WIDE.replace("workload:", "bgp: {keepalive: 2, hold: 6}\nworkload:", 1)
    return conflicts(plan_offline(designed(WIDE), designed(changed), find_templates(), policy=policy))


def report(diagnostics: Iterable[Diagnostic]) -> str:
    return "".join(
        f"{one.code} {one.severity} {str(one.where).replace(f'{HERE}/', '')}\n    {one.message}\n"
        f"    devices: {', '.join(one.devices) or '-'}\n    way out: {one.fix}\n"
        for one in diagnostics
    )


@pytest.mark.parametrize("case", CASES)
def test_a_policy_that_cannot_be_met_is_refused_with_its_whole_report(case: str) -> None:
    findings = findings_of(case)
    expected = HERE / case.replace(".yml", ".txt")
    if os.environ.get("RAILWEAVE_UPDATE_GOLDEN"):
        expected.write_text(report(findings), encoding="utf-8")
    assert report(findings) == expected.read_text(encoding="utf-8")


@pytest.mark.parametrize("case", CASES)
def test_every_report_names_the_line_of_the_target_file(case: str) -> None:
    findings = findings_of(case)
    assert findings
    for one in findings:
        assert one.where.file == str(HERE / case)
        assert one.where.line > 1
        assert one.fix
