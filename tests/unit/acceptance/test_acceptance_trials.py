"""The judge on a modelled fabric: healthy ones pass, each fault is named, and spoiled results never pass."""

from itertools import islice
from pathlib import Path
from random import Random

import pytest
from acceptance_fabrics import FABRICS
from acceptance_faults.carry_out import carry_out
from acceptance_faults.faults import FAULTS
from acceptance_faults.nature import Conditions, Constants
from acceptance_faults.spoil import SPOILERS
from acceptance_trials import judged, prepared, try_faults

from railweave.acceptance.model import Level

SMALLEST = "rail-only"
QUICK = ("", "half-nic")
"""What `make test` tries, on the smallest fabric."""
PAIRS = ("lossy+half-nic", "dscp+slow-node", "lossy-counted+dscp", "ber+slow-node", "half-nic+dscp")
ONLY_RULE = {"A-2": "tail", "A-3": "dscp", "A-4": "small-buffer", "A-5": "storms", "A-9": "slow-gpu"}
"""A fault for each rule that no other rule sees."""
TWICE = [(name, factor) for name in Constants.__dataclass_fields__ for factor in (0.5, 2.0)]


def wrong(folder: Path, fabric: str, kinds: str, seed: int, level: Level = Level.QUICK) -> str:
    """Return what the judge has wrong; a fabric without a place for a fault has nothing wrong."""
    trial = try_faults(folder / "trial", fabric, [kind for kind in kinds.split("+") if kind], seed, level=level)
    return "" if trial is None else trial.wrong


@pytest.mark.parametrize("kind", QUICK)
def test_a_small_fabric_is_judged_right(tmp_path: Path, kind: str) -> None:
    assert wrong(tmp_path, SMALLEST, kind, 1, Level.SMOKE) == ""


def test_a_culprit_takes_no_slow_test_that_it_does_not_touch(tmp_path: Path) -> None:
    # Both have slow tests in the same loaded round, and level smoke has no isolated test of the NIC.
    assert wrong(tmp_path, SMALLEST, "lossy+half-nic", 0, Level.SMOKE) == ""


@pytest.mark.parametrize("name", ["truncated"])
def test_spoiled_results_are_incomplete(tmp_path: Path, name: str) -> None:
    check_spoiled(tmp_path, name, 1)


@pytest.mark.slow
@pytest.mark.parametrize("name", SPOILERS)
def test_results_spoiled_in_any_way_never_pass(tmp_path: Path, name: str) -> None:
    for seed in range(3):
        check_spoiled(tmp_path, name, seed)


def check_spoiled(folder: Path, name: str, seed: int) -> None:
    plan = prepared(folder / "plan", SMALLEST)
    carry_out(plan, Conditions(), seed)
    SPOILERS[name](plan, Random(seed))
    verdict = judged(plan)
    assert (verdict.verdict, verdict.findings) == ("incomplete", ())
    assert verdict.diagnostics


@pytest.mark.slow
@pytest.mark.parametrize("fabric", FABRICS)
def test_healthy_fabrics_pass(tmp_path: Path, fabric: str) -> None:
    assert [wrong(tmp_path, fabric, "", seed, Level.SMOKE) for seed in range(17)] == [""] * 17


@pytest.mark.slow
@pytest.mark.parametrize("kind", FAULTS)
@pytest.mark.parametrize("fabric", FABRICS)
def test_a_fault_alone_is_named(tmp_path: Path, fabric: str, kind: str) -> None:
    assert wrong(tmp_path, fabric, kind, 0) == ""


@pytest.mark.slow
@pytest.mark.parametrize("kinds", PAIRS)
@pytest.mark.parametrize("fabric", [SMALLEST, "two-planes"])
def test_two_faults_that_share_no_test_are_both_named(tmp_path: Path, fabric: str, kinds: str) -> None:
    # Level quick has a test of nearly every two nodes. Draws at nodes that meet are no trials.
    tried = (try_faults(tmp_path / "trial", fabric, kinds.split("+"), seed) for seed in range(40))
    trials = list(islice(filter(None, tried), 2))
    assert [trial.wrong for trial in trials] == ["", ""]


@pytest.mark.slow
@pytest.mark.parametrize(("rule", "kind"), ONLY_RULE.items())
def test_a_rule_that_is_switched_off_lets_its_fault_pass(tmp_path: Path, rule: str, kind: str) -> None:
    trial = try_faults(tmp_path / "trial", SMALLEST, [kind], 0)
    assert trial is not None
    assert trial.verdict.verdict == "failed"
    assert judged(tmp_path / "trial", [rule]).verdict == "passed"


@pytest.mark.slow
@pytest.mark.parametrize(("name", "factor"), TWICE)
def test_a_constant_of_the_model_is_no_constant_of_the_judge(tmp_path: Path, name: str, factor: float) -> None:
    for fabric in (SMALLEST, "mixed"):
        trial = try_faults(tmp_path / "trial", fabric, [], 0, constants=Constants().scaled(name, factor))
        assert trial is not None
        assert trial.wrong == ""
