"""Limits that a deployment refuses, with the exact report that an operator sees, one case a file.

A case edits the lab's intent, two leaves and two spines, and limits the deployment of the change.
``RAILWEAVE_UPDATE_GOLDEN=1`` writes the reports anew.
"""

import os
from functools import cache
from pathlib import Path

import pytest
import yaml

from railweave.api.targets.limit import selected_switches
from railweave.catalog.load import load_catalog
from railweave.design.build import design
from railweave.diagnostics import Diagnostic
from railweave.errors import RefusedError
from railweave.fabric.model import Fabric
from railweave.intent.load import load_intent_text
from railweave.plan.limit import limited
from railweave.plan.offline import plan_offline
from railweave.templates import find_templates

HERE = Path(__file__).parent
CASES = sorted(path.name for path in HERE.glob("*.yml"))
LAB = (HERE.parents[2] / "intent" / "lab-4.yml").read_text(encoding="utf-8")


@cache
def designed(text: str) -> Fabric:
    outcome = design(load_intent_text(text, "lab-4.yml"), load_catalog())
    assert outcome.fabric is not None, outcome.diagnostics
    return outcome.fabric


def refusal_of(case: str) -> tuple[Diagnostic, ...]:
    document = yaml.safe_load((HERE / case).read_text(encoding="utf-8"))
    text = LAB
    for old, new in document["edits"]:
        assert old in text
        text = text.replace(old, new, 1)
    head = designed(text)
    plan = plan_offline(designed(LAB), head, find_templates())
    with pytest.raises(RefusedError) as refused:
        limited(head, plan, selected_switches(head, document["limit"]))
    return refused.value.diagnostics


def report(diagnostics: tuple[Diagnostic, ...]) -> str:
    lines = []
    for diagnostic in diagnostics:
        lines.append(f"{diagnostic.code} {diagnostic.severity}\n    {diagnostic.message}\n")
        lines.append(f"    devices: {', '.join(diagnostic.devices) or '-'}\n    fix: {diagnostic.fix}\n")
    return "".join(lines)


@pytest.mark.parametrize("case", CASES)
def test_a_limit_that_separates_switches_is_refused_with_its_whole_report(case: str) -> None:
    diagnostics = refusal_of(case)
    expected = HERE / case.replace(".yml", ".txt")
    if os.environ.get("RAILWEAVE_UPDATE_GOLDEN"):
        expected.write_text(report(diagnostics), encoding="utf-8")
    assert report(diagnostics) == expected.read_text(encoding="utf-8")
