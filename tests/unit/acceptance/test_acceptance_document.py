"""`plan.json`: written and read alike, and refused with its place where it is wrong."""

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from railweave.acceptance.document import parse_plan, plan_blocks, read_plan
from railweave.acceptance.model import (
    AcceptancePlan,
    AcceptanceRound,
    CoveredLink,
    JudgeSettings,
    Level,
    Metric,
    MetricLimit,
    NicPort,
    PlannedClass,
    PlannedDevice,
    PlannedNode,
    PlannedTest,
    PortEnd,
    RoundKind,
    Tool,
)
from railweave.errors import RefusedError, UsageError

LIMITS = (
    MetricLimit(
        Metric.BANDWIDTH, "Gb/s", 392.0, 352.8, 376.3, "line_gbps * payload", {"line_gbps": 400, "payload": 0.98}
    ),
)
A, B = NicPort("gpu1", 0, 0), NicPort("gpu2", 0, 0)
PAIR = PlannedTest(
    *("r000-0000", "r000", RoundKind.ISOLATED, Tool.PERFTEST, A, B, (), 4, 65536),
    {"gpu1": ("ib_write_bw", "10.0.0.3"), "gpu2": ("ib_write_bw",)},
    LIMITS,
)
GROUP = PlannedTest(
    *("r001-0000", "r001", RoundKind.COLLECTIVE, Tool.NCCL, A, None, (A, B), 1, 1 << 30), {"gpu1": ("mpirun",)}, LIMITS
)
LEAF, SPINE = PortEnd("pod1-leaf1", "Ethernet8"), PortEnd("pod1-spine1", "Ethernet0")
HOST_LINK = CoveredLink(
    "gpu1 rail0",
    PortEnd("gpu1", "rail0"),
    PortEnd("pod1-leaf1", "Ethernet0"),
    1.0,
    ("r000",),
    "host_leaf",
    400,
    0,
    0,
    A,
)
FABRIC_LINK = CoveredLink("pod1-leaf1 Ethernet8", LEAF, SPINE, 0.9995, (), "leaf_spine", 400, 0, None, None)
PLAN = AcceptancePlan(
    fabric="pod1",
    intent_sha256="0" * 64,
    level=Level.SMOKE,
    seed=7,
    duration_s=60,
    rounds=(
        AcceptanceRound("r000", RoundKind.ISOLATED, 10, ("r000-0000",)),
        AcceptanceRound("r001", RoundKind.COLLECTIVE, 20, ("r001-0000",), LIMITS),
    ),
    tests=(PAIR, GROUP),
    links=(HOST_LINK, FABRIC_LINK),
    devices=(
        PlannedDevice("pod1-leaf1", "leaf", 0, 0, 0, None),
        PlannedDevice("pod1-spine1", "spine", 0, None, None, None),
    ),
    nodes=(PlannedNode("gpu1", "gpu", 0), PlannedNode("gpu2", "gpu", 0)),
    classes=(PlannedClass("roce", "rdma", 3, 3, lossless=True, ecn=True, dscp=(26,)),),
    settings=JudgeSettings(0.05, 0.02, 0.9, 0.05),
)


def written(plan: AcceptancePlan = PLAN) -> bytes:
    return b"".join(plan_blocks(plan))


def test_a_plan_is_read_as_it_was_written() -> None:
    assert parse_plan(written(), "plan.json") == PLAN


def test_the_keys_are_those_of_the_contract() -> None:
    document = json.loads(written())
    pair, group = document["tests"]
    assert list(pair) == ["id", "round", "kind", "tool", "from", "to", "queue_pairs", "bytes", "argv", "limits"]
    assert group["group"] == [{"node": "gpu1", "nic": 0, "port": 0}, {"node": "gpu2", "nic": 0, "port": 0}]
    assert "to" not in group
    assert document["links"][0]["a"] == {"device": "gpu1", "port": "rail0"}


def test_the_hash_of_a_plan_is_that_of_its_file(tmp_path: Path) -> None:
    (tmp_path / "plan.json").write_bytes(written())
    read = read_plan(tmp_path)
    assert read.plan == PLAN
    assert len(read.sha256) == 64


def test_a_directory_without_a_plan_is_wrong_usage(tmp_path: Path) -> None:
    with pytest.raises(
        UsageError, match=r"No such file or directory; `railweave acceptance plan --out .*` writes a plan"
    ):
        read_plan(tmp_path)


def changed(change: Callable[[dict[str, Any]], object]) -> bytes:
    document = json.loads(written())
    change(document)
    return json.dumps(document).encode()


WRONG = {
    "cut": (written()[:-40], "this is not JSON: Unterminated string"),
    "other": (b"[]", "this is not an acceptance plan"),
    "version": (changed(lambda plan: plan.update(version=2)), "has version 2, and this program reads version 1"),
    "kind": (changed(lambda plan: plan["tests"][1].update(kind="x")), r"incomplete: tests\[1\].kind: Input should be"),
    "from": (changed(lambda plan: plan["tests"][1].pop("from")), r"incomplete: tests\[1\].from: Field required"),
    "text": (
        changed(lambda plan: plan["tests"][0].update(bytes="8")),
        r"tests\[0\].bytes: Input should be",
    ),
    "both": (changed(lambda plan: plan["tests"][0].update(group=[])), r"tests\[0\]: expected either `to` or `group`"),
    "end": (changed(lambda plan: plan["links"][1]["b"].pop("port")), r"links\[1\].b.port: Field required"),
    "limit": (changed(lambda plan: plan["tests"][0]["limits"][0].pop("fail")), r"tests\[0\].limits\[0\].fail: "),
    "words": (
        changed(lambda plan: plan["tests"][0]["argv"].update(gpu1=[1])),
        r"tests\[0\].argv.gpu1: expected a list",
    ),
    "list": (changed(lambda plan: plan.pop("links")), "incomplete: links: expected a list"),
    "round": (changed(lambda plan: plan["tests"].pop()), "round 'r001' has test 'r001-0000', which the plan"),
    "test": (changed(lambda plan: plan["rounds"].pop()), "round 'r001' does not have test 'r001-0000'"),
    "twice": (changed(lambda plan: plan["rounds"].append(plan["rounds"][0])), "round 'r000' is in the plan twice"),
    "node": (changed(lambda plan: plan["nodes"].pop()), "test 'r000-0000' names a node that the plan does not have"),
    "unknown": (changed(lambda plan: plan["links"][1].update(rounds=["r9"])), "names an unknown round"),
}


@pytest.mark.parametrize("name", WRONG)
def test_a_wrong_plan_is_refused_with_its_place(name: str) -> None:
    content, message = WRONG[name]
    with pytest.raises(RefusedError, match=message) as refused:
        parse_plan(content, "plan.json")
    (diagnostic,) = refused.value.diagnostics
    assert diagnostic.code == "RW901"
    assert diagnostic.where.line >= 1
    assert diagnostic.fix == "make the plan again with `railweave acceptance plan --out DIR`"
