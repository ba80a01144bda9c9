"""The judge on a modelled fabric: healthy ones pass, and each fault is named, alone and beside another."""

from pathlib import Path

import pytest
from acceptance_fabrics import FABRICS
from acceptance_faults.faults import FAULTS
from acceptance_trials import try_faults

QUICK = (("rail-only", ""), ("rail-only", "half-nic"), ("rail-only", "lossy"))
"""What `make test` tries: the smallest fabric."""
PAIRS = ("lossy+half-nic", "dscp+slow-node", "lossy-counted+dscp", "ber+slow-node", "half-nic+dscp")


def wrong(folder: Path, fabric: str, kind: str, seed: int) -> str:
    """Return what the judge has wrong; skips nothing: a fabric without a place for a fault is right."""
    trial = try_faults(folder / "trial", fabric, [name for name in kind.split("+") if name], seed)
    return "" if trial is None else trial.wrong


@pytest.mark.parametrize(("fabric", "kind"), QUICK)
def test_a_small_fabric_is_judged_right(tmp_path: Path, fabric: str, kind: str) -> None:
    assert wrong(tmp_path, fabric, kind, 1) == ""


@pytest.mark.slow
@pytest.mark.parametrize("kind", FAULTS)
@pytest.mark.parametrize("fabric", FABRICS)
def test_a_fault_alone_is_named(tmp_path: Path, fabric: str, kind: str) -> None:
    assert wrong(tmp_path, fabric, kind, 0) == ""


@pytest.mark.slow
@pytest.mark.parametrize("kinds", PAIRS)
@pytest.mark.parametrize("fabric", FABRICS)
def test_two_faults_that_share_no_test_are_both_named(tmp_path: Path, fabric: str, kinds: str) -> None:
    assert wrong(tmp_path, fabric, kinds, 0) == ""
