"""The judge on a modelled fabric: healthy ones pass, each fault is named, and spoiled results never pass."""

import json
import tempfile
from collections.abc import Iterator
from dataclasses import replace
from itertools import islice
from pathlib import Path
from random import Random
from typing import Any

import pytest
from acceptance_fabrics import FABRICS
from acceptance_faults.carry_out import carry_out
from acceptance_faults.faults import FAULTS, OTHER_FAULTS, wrong_dscp
from acceptance_faults.nature import Conditions, Constants, Loss
from acceptance_faults.spoil import SPOILERS
from acceptance_trials import MEMORY, document, judged, prepared, try_faults

from railweave.acceptance.document import read_plan
from railweave.acceptance.folder import read_results
from railweave.acceptance.judge.findings import UNEXPLAINED
from railweave.acceptance.judge.reading import case_in
from railweave.acceptance.model import Level

SMALLEST = "rail-only"
QUICK = ("", "half-nic")
"""What `make test` tries, on the smallest fabric."""
PAIRS = ("lossy+half-nic", "dscp+slow-node", "lossy-counted+dscp", "ber+slow-node", "half-nic+dscp")
ONLY_RULE = {
    "A-1": ("rail-only", "slow-host"),
    "A-2": ("rail-only", "tail"),
    "A-3": ("rail-only", "dscp"),
    "A-4": ("rail-only", "small-buffer"),
    "A-5": ("rail-only", "storms"),
    # Where a leaf has two uplinks, half of them missing make whole rounds slow, which A-1 sees as well.
    "A-6": ("mixed", "unused-uplink"),
    "A-7": ("rail-only", "slower-rail"),
    "A-8": ("rail-only", "aging"),
    "A-9": ("rail-only", "slow-gpu"),
    "A-10": ("rail-only", "job"),
}
"""A fault for each rule that no other rule sees, and a fabric that has it."""
TWICE = [(name, factor) for name in Constants.__dataclass_fields__ for factor in (0.5, 2.0)]


@pytest.fixture
def memory() -> Iterator[Path]:
    """Return a folder of one test, in memory where there is a file system for that."""
    with tempfile.TemporaryDirectory(prefix="railweave-trials-", dir=MEMORY) as folder:
        yield Path(folder)


def wrong(folder: Path, fabric: str, kinds: str, seed: int, level: Level = Level.QUICK) -> str:
    """Return what the judge has wrong; a fabric without a place for a fault has nothing wrong."""
    trial = try_faults(folder / "trial", fabric, [kind for kind in kinds.split("+") if kind], seed, level=level)
    return "" if trial is None else trial.wrong


@pytest.mark.parametrize("kind", QUICK)
def test_a_small_fabric_is_judged_right(memory: Path, kind: str) -> None:
    assert wrong(memory, SMALLEST, kind, 1, Level.SMOKE) == ""


def test_a_culprit_takes_no_slow_test_that_it_does_not_touch(memory: Path) -> None:
    # Both have slow tests in the same loaded round, and level smoke has no isolated test of the NIC.
    assert wrong(memory, SMALLEST, "lossy+half-nic", 0, Level.SMOKE) == ""


SPOILED = {
    "truncated": "error RW923 the result is incomplete: its file was cut short: r000-0034 of gpu11",
    "interleaved": "error RW923 the file ends within the table: rows are missing: r000-0034 of gpu11",
    "mixed": "error RW924 no known format in gpu11.json: r000-0034 of gpu11",
    "another plan": "error RW922 results of another plan (plan_sha256 ffffffffffff…): r000-0000 of gpu1,"
    " r000-0000 of gpu10, r000-0001 of gpu11, r000-0001 of gpu2, r000-0002 of gpu12, r000-0002 of gpu3 and 507 more",
    "missing node": "error RW925 tests without a result of the node that measures: r000-0010, r000-0022, r000-0034,"
    " r000-0046, r001-0010, r001-0022 and 14 more",
    "unknown version": "error RW924 the output of 'perftest 99.7' is unknown: r000-0034 of gpu11",
    "counters backwards": "error RW928 counters of rails-leaf1 went backwards in round r002:"
    " Ethernet8 SAI_PORT_STAT_IF_OUT_OCTETS",
    "counters cleared": "error RW928 counters of rails-leaf1 restarted in round r002"
    " (all: boot was '68270c7a', is 'restarted')",
    "clocks": "error RW926 the clocks of its nodes differ, or went backwards: no time is common to all of them:"
    " r000-0001, r000-0010, r000-0013, r000-0022, r000-0025, r000-0034 and 34 more",
    "another MTU": "warning RW943 1 test did not run: r000-0034 ran with path MTU 1024 instead of 4096:"
    " check the MTU of both NICs and the path",
    "another link": "warning RW943 1 test did not run: r000-0034 ran over InfiniBand, not over RoCE:"
    " name the RDMA device of the fabric (`rdma` in the intent)",
}
"""The first diagnostic of each spoiled folder."""


@pytest.mark.parametrize("name", ["truncated", "another MTU"])
def test_spoiled_results_are_incomplete_and_say_why(memory: Path, name: str) -> None:
    check_spoiled(memory, name, 1, SPOILED[name])


@pytest.mark.slow
@pytest.mark.parametrize("name", SPOILERS)
def test_results_spoiled_in_any_way_never_pass(memory: Path, name: str) -> None:
    check_spoiled(memory, name, 1, SPOILED[name])
    check_spoiled(memory, name, 2)


@pytest.mark.slow
@pytest.mark.trials
@pytest.mark.parametrize("seed", range(3))
def test_a_lossy_uplink_and_a_wrong_dscp_never_pass_without_counters(memory: Path, seed: int) -> None:
    plan, conditions, rng = document("two-planes"), Conditions(), Random(seed)
    uplinks = [place for place, link in enumerate(plan.links) if not link["nic_port"]]
    lossy = rng.choice(uplinks)
    conditions.loss[lossy, rng.random() < 0.5] = Loss(10 ** rng.uniform(-3, -1))
    truth = wrong_dscp(plan, conditions, rng)
    assert truth is not None
    allowed = truth.allowed | {f"cable {plan.links[lossy]['cable']}"}
    folder = prepared(memory / "plan", "two-planes")
    carry_out(folder, conditions, seed)
    switches = {device["name"] for device in plan.document["devices"]}
    nodes = {node["name"] for node in plan.document["nodes"]}
    for unread in (set(), {plan.links[lossy]["b"]["device"]}, switches, switches | nodes):
        for path in (folder / "counters").rglob("*.json"):
            if path.stem in unread:
                path.unlink()
        verdict = judged(folder)
        # Without counters slow tests have causes that nothing tells apart: findings without a cause, and warnings.
        errors = [finding for finding in verdict.findings if finding.severity == "error"]
        explained = [finding for finding in errors if finding.code != UNEXPLAINED]
        named = {f"{element.kind} {element.name}" for finding in explained for element in finding.elements}
        assert verdict.verdict in {"failed", "incomplete"}
        assert named <= allowed
        assert unread or named == allowed


def check_spoiled(folder: Path, name: str, seed: int, first: str = "") -> None:
    plan = prepared(folder / "plan", SMALLEST)
    carry_out(plan, Conditions(), seed)
    SPOILERS[name](plan, Random(seed))
    verdict = judged(plan)
    assert (verdict.verdict, verdict.findings) == ("incomplete", ())
    remark = verdict.diagnostics[0]
    assert remark.fix
    assert not first or f"{remark.severity} {remark.code} {remark.message}" == first


@pytest.mark.slow
@pytest.mark.parametrize("name", SPOILERS)
def test_several_processes_read_what_one_does(memory: Path, name: str) -> None:
    folder = prepared(memory / "plan", "two-planes")
    carry_out(folder, Conditions(loss={(0, True): Loss(0.01, True)}), 1)
    SPOILERS[name](folder, Random(1))
    (folder / "counters" / "r000" / "after" / "stranger.json").write_text("{}")
    plan = read_plan(folder).plan
    alone = read_results(folder, plan, processes=1)
    assert read_results(folder, plan, processes=3) == alone
    first, second = (case_in(folder, plan, alone[0], processes=processes) for processes in (1, 3))
    assert (second.tallies, second.index.places) == (first.tallies, first.index.places)


@pytest.mark.slow
@pytest.mark.trials
@pytest.mark.parametrize("fabric", FABRICS)
def test_healthy_fabrics_pass(memory: Path, fabric: str) -> None:
    assert [wrong(memory, fabric, "", seed, Level.SMOKE) for seed in range(17)] == [""] * 17


@pytest.mark.slow
@pytest.mark.trials
@pytest.mark.parametrize("kind", FAULTS)
@pytest.mark.parametrize("fabric", FABRICS)
def test_a_fault_alone_is_named(memory: Path, fabric: str, kind: str) -> None:
    assert wrong(memory, fabric, kind, 0) == ""


@pytest.mark.slow
@pytest.mark.trials
@pytest.mark.parametrize("kinds", PAIRS)
@pytest.mark.parametrize("fabric", [SMALLEST, "two-planes"])
def test_two_faults_that_share_no_test_are_both_named(memory: Path, fabric: str, kinds: str) -> None:
    # Level quick has a test of nearly every two nodes. Draws at nodes that meet are no trials.
    tried = (try_faults(memory / "trial", fabric, kinds.split("+"), seed) for seed in range(40))
    trials = list(islice(filter(None, tried), 2))
    assert [trial.wrong for trial in trials] == ["", ""]


@pytest.mark.slow
@pytest.mark.trials
@pytest.mark.parametrize("rule", ONLY_RULE)
def test_a_rule_that_is_switched_off_lets_its_fault_pass(memory: Path, rule: str) -> None:
    fabric, kind = ONLY_RULE[rule]
    # A draw without an effect is no trial.
    tried = (try_faults(memory / "trial", fabric, [kind], seed) for seed in range(40))
    trial = next(filter(None, tried))
    assert trial.verdict.verdict == "failed"
    assert all(finding.fix for finding in trial.verdict.findings)
    assert judged(memory / "trial", [rule]).verdict == "passed"


@pytest.mark.slow
@pytest.mark.trials
@pytest.mark.parametrize("kind", OTHER_FAULTS)
def test_a_fault_that_the_judge_was_not_made_for_is_named(memory: Path, kind: str) -> None:
    fabrics = {"storage-node": "mixed", "leaky-switch": "three-tiers"}
    assert wrong(memory, fabrics.get(kind, SMALLEST), kind, 0, Level.SMOKE) == ""


HARD = (
    # A leaf slows half of a round, whose other half is as fast as it must be.
    ("mixed", "leaky-switch", 0),
    # An isolated test lost packets in the spine that its leaf chose.
    ("two-planes", "leaky-switch", 2),
    # The leaf with the unused uplink sends all queue pairs of a test by the other one.
    ("mixed", "unused-uplink", 1),
    # Leaves of two speeds have buffers of two sizes.
    ("mixed", "no-pfc", 0),
    ("mixed", "other-priority", 0),
)


@pytest.mark.slow
@pytest.mark.trials
@pytest.mark.parametrize(("fabric", "kind", "seed"), HARD)
def test_a_fault_with_misleading_tests_is_named(memory: Path, fabric: str, kind: str, seed: int) -> None:
    assert wrong(memory, fabric, kind, seed, Level.SMOKE) == ""


@pytest.mark.parametrize(
    "nodes", [1, pytest.param(4, marks=pytest.mark.slow), pytest.param(12, marks=pytest.mark.slow)]
)
@pytest.mark.parametrize("lacking", ["without_tools", "without_bandwidth"])
def test_no_link_is_dead_because_tools_do_not_start(memory: Path, nodes: int, lacking: str) -> None:
    names = {f"gpu{number}" for number in range(1, nodes + 1)}
    lacks: dict[str, Any] = {lacking: names}
    conditions = replace(Conditions(), **lacks)
    folder = prepared(memory / "trial", SMALLEST)
    carry_out(folder, conditions, 1)
    verdict = judged(folder)
    assert (verdict.verdict, [finding.message for finding in verdict.findings]) == ("incomplete", [])


def test_an_uplink_that_its_leaf_never_chose_is_not_covered(memory: Path) -> None:
    # Level smoke has so few flows that chance is not excluded, and no finding follows.
    plan = prepared(memory / "plan", "two-planes")
    links = json.loads((plan / "plan.json").read_bytes())["links"]
    uplink = next(place for place, link in enumerate(links) if not link["nic_port"])
    carry_out(plan, Conditions(unpopular={(uplink, True): 0.0}), 1)
    verdict = judged(plan)
    assert verdict.findings == ()
    assert verdict.links == (len(links), len(links) - 1)
    (remark,) = [remark.message for remark in verdict.diagnostics if remark.code == "RW944"]
    assert remark.startswith("1 link carried less than `acceptance.covered_share` in every round")
    assert remark.endswith(f"at least in one direction: {links[uplink]['cable']}")


def test_traffic_by_ports_outside_the_plan_disturbs_a_round(memory: Path) -> None:
    plan = prepared(memory / "plan", "two-planes")
    links = json.loads((plan / "plan.json").read_bytes())["links"]
    uplink = next(place for place, link in enumerate(links) if not link["nic_port"])
    carry_out(plan, Conditions(strangers={("r002", uplink, True): 20.0}), 1)
    verdict = judged(plan)
    assert (verdict.verdict, verdict.findings) == ("incomplete", ())
    remark = verdict.diagnostics[0].message
    assert remark.startswith("round r002 is not judged, other traffic disturbed it: planes-leaf1 sent 25,")
    assert remark.endswith("bytes that it received by no port of the plan")


@pytest.mark.slow
@pytest.mark.trials
@pytest.mark.parametrize(("name", "factor"), TWICE)
def test_a_constant_of_the_model_is_no_constant_of_the_judge(memory: Path, name: str, factor: float) -> None:
    for fabric in (SMALLEST, "mixed"):
        trial = try_faults(memory / "trial", fabric, [], 0, constants=Constants().scaled(name, factor))
        assert trial is not None
        assert trial.wrong == ""
