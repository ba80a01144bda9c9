"""Phases in all their forms, whole; ``RAILWEAVE_UPDATE_GOLDEN=1`` writes them anew."""

import os
from io import StringIO
from pathlib import Path

import orjson
import pytest
from rich.console import Console

from railweave.catalog.load import load_catalog
from railweave.design.build import design
from railweave.fabric.model import Fabric
from railweave.intent.load import load_intent_text
from railweave.plan.lifecycle import Proof
from railweave.plan.phases.planning import Phase, phases
from railweave.plan.phases.progress import Waiting
from railweave.report.phases import cables_view, nodes_text, phases_json, phases_view, work_order

HERE = Path(__file__).parent
POD = (HERE.parents[2] / "intent" / "pod-32.yml").read_text(encoding="utf-8")
LAB = (HERE.parents[2] / "intent" / "lab-4.yml").read_text(encoding="utf-8")
WEAVE = (
    LAB.replace("  links_per_pair: 1 ", "# links_per_pair: 1 ")
    .replace('"2:1"', '"7:1"')
    .replace("  stripe: 4", "# stripe: 4")
)
WEAVE = WEAVE.replace("  reserve: {leaves: 4, spines: 4}\n", "")

CASES = {
    "two-spines-into-full-uplinks": (
        WEAVE,
        (("spine: {model: sonic-vs, count: 2", "spine: {model: sonic-vs, count: 4"),),
    ),
    "a-smaller-mtu": (POD, (("workload:", "mtu: {fabric: 1500, hosts: 1500}\nworkload:"),)),
    "a-larger-mtu": (
        POD.replace("workload:", "mtu: {fabric: 4300, hosts: 4200}\nworkload:", 1),
        (("mtu: {fabric: 4300, hosts: 4200}", "mtu: {fabric: 9216, hosts: 9000}"),),
    ),
    "four-nodes-leave": (POD, (("count: 32", "count: 28"), ("gpus: 256", "gpus: 224"))),
    "a-stripe-leaves": (
        LAB.replace("count: 4\n", "count: 8\n").replace("count: 2, downlink", "count: 4, downlink"),
        (("count: 8\n", "count: 4\n"), ("count: 4, downlink", "count: 2, downlink")),
    ),
    "another-marking": (
        POD,
        (
            (
                "workload:",
                "traffic_classes:\n"
                "  - {name: roce, role: rdma, dscp: [24], lossless: true, priority: 4, share: 90}\n"
                "  - {name: cnp, role: cnp, dscp: [48], priority: 6, strict: true}\n"
                "  - {name: best-effort, role: bulk, dscp: default, priority: 0, share: 10}\n"
                "workload:",
            ),
        ),
    ),
}


def designed(text: str) -> Fabric:
    outcome = design(load_intent_text(text, "fabric.yml"), load_catalog())
    assert outcome.fabric is not None, outcome.diagnostics
    return outcome.fabric


def phases_of(case: str) -> tuple[Phase, ...]:
    base, replacements = CASES[case]
    head = base
    for old, new in replacements:
        assert old in head
        head = head.replace(old, new, 1)
    return phases(designed(base), designed(head))


def shown(found: tuple[Phase, ...]) -> str:
    console = Console(file=StringIO(), width=120, color_system=None, highlight=False)
    console.print(phases_view(found, "main"))
    for phase in found:
        if phase.cables:
            console.print(cables_view(phase, "main"))
    nodes = tuple(phase for phase in found if phase.is_of_nodes)
    if nodes:
        following = next(iter(found[nodes[-1].number :]), None)
        console.print(nodes_text(Waiting(nodes[0], nodes=nodes, following=following), "main"))
    for phase in found:
        if phase.is_drain:
            of_nodes = phase.leaving[0] in phase.fabric.host_of
            words = (
                ("links", "down", "up at leaf3:Ethernet0") if of_nodes else ("out of traffic", "drained", "not drained")
            )
            proofs = tuple(Proof(name, *words) for name in phase.leaving)
            console.print(nodes_text(Waiting(phase, following=phase, proofs=proofs), "main"))
        if phase.drops:
            console.print(nodes_text(Waiting(phase, following=phase), "main"))
    file = console.file
    assert isinstance(file, StringIO)
    return "".join(f"{line.rstrip()}\n" for line in file.getvalue().splitlines())


@pytest.mark.parametrize("case", CASES)
@pytest.mark.parametrize("form", ["txt", "md", "json"])
def test_phases_read_as_recorded(case: str, form: str) -> None:
    found = phases_of(case)
    text = {
        "txt": lambda: shown(found),
        "md": lambda: work_order(found, "main"),
        "json": lambda: orjson.dumps(
            phases_json(found), option=orjson.OPT_INDENT_2 | orjson.OPT_APPEND_NEWLINE
        ).decode(),
    }[form]()
    file = HERE / f"{case}.{form}"
    if os.environ.get("RAILWEAVE_UPDATE_GOLDEN"):
        file.write_text(text, encoding="utf-8")
    assert text == file.read_text(encoding="utf-8")
