"""Plans of the lab in all their forms, whole; ``RAILWEAVE_UPDATE_GOLDEN=1`` writes them anew."""

import os
import re
from functools import cache
from io import StringIO
from pathlib import Path

import orjson
import pytest
from rich.console import Console

from railweave.catalog.load import load_catalog
from railweave.design.build import design
from railweave.fabric.model import Fabric
from railweave.intent.load import load_intent_text
from railweave.plan.document import plan_json
from railweave.plan.model import Plan
from railweave.plan.offline import plan_offline
from railweave.report.plan import plan_markdown, plan_view
from railweave.templates import find_templates

_DIGEST = re.compile(r'"[0-9a-f]{64}"')
HERE = Path(__file__).parent
LAB = (HERE.parents[2] / "intent" / "lab-4.yml").read_text(encoding="utf-8")

CASES = {
    "second-stripe": (("count: 4\n", "count: 8\n"), ("count: 2, downlink", "count: 4, downlink")),
    "two-more-spines": (("spine: {model: sonic-vs, count: 2", "spine: {model: sonic-vs, count: 4"),),
    "mtu-and-timers": (("workload:", "mtu: {fabric: 9000, hosts: 8900}\nbgp: {keepalive: 2, hold: 6}\nworkload:"),),
    "roce-code-point": (
        (
            "workload:",
            "traffic_classes:\n"
            "  - {name: roce, role: rdma, dscp: [24], lossless: true, priority: 3, share: 90}\n"
            "  - {name: cnp, role: cnp, dscp: [48], priority: 6, strict: true}\n"
            "  - {name: best-effort, role: bulk, dscp: default, priority: 0, share: 10}\n"
            "workload:",
        ),
    ),
    "nothing": (),
}


@cache
def designed(text: str) -> Fabric:
    outcome = design(load_intent_text(text, "lab-4.yml"), load_catalog())
    assert outcome.fabric is not None, outcome.diagnostics
    return outcome.fabric


@cache
def plan_of(case: str) -> Plan:
    text = LAB
    for old, new in CASES[case]:
        assert old in text
        text = text.replace(old, new, 1)
    return plan_offline(designed(LAB), designed(text), find_templates())


def terminal(plan: Plan) -> str:
    out = StringIO()
    Console(file=out, width=140).print(plan_view(plan))
    return "\n".join(line.rstrip() for line in out.getvalue().splitlines()) + "\n"


def document(plan: Plan) -> str:
    """The JSON without its digests: they cover everything that is rendered, which other golden files hold."""
    return _DIGEST.sub('"…"', orjson.dumps(plan_json(plan), option=orjson.OPT_INDENT_2).decode()) + "\n"


FORMS = {"json": document, "md": plan_markdown, "txt": terminal}
FILES = (
    "mtu-and-timers.txt",
    "nothing.json",
    "nothing.md",
    "nothing.txt",
    "roce-code-point.json",
    "roce-code-point.md",
    "roce-code-point.txt",
    "second-stripe.txt",
    "two-more-spines.md",
    "two-more-spines.txt",
)


@pytest.mark.parametrize("name", FILES)
def test_a_plan_reads_as_reviewed(name: str) -> None:
    case, _, form = name.partition(".")
    text = FORMS[form](plan_of(case))
    file = HERE / name
    if os.environ.get("RAILWEAVE_UPDATE_GOLDEN"):
        file.write_text(text, encoding="utf-8")
    assert text == file.read_text(encoding="utf-8")
