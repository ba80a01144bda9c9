"""Acceptance runs that are killed: resumed without repeating what is done, nothing left running, no node left drained.

``RAILWEAVE_KILL_TRIALS=100`` makes more of them, ``RAILWEAVE_KILL_FIRST`` others.
"""

import os
import shutil
from typing import Any

import pytest
from acceptance_kills import KINDS, KillBench, KillTrial
from acceptance_rig import planned_acceptance

CANNOT = os.geteuid() != 0 or shutil.which("ip") is None
pytestmark = [
    pytest.mark.e2e,
    pytest.mark.nightly,
    pytest.mark.skipif(CANNOT, reason="simulated nodes need root and ip"),
]

TRIALS = int(os.environ.get("RAILWEAVE_KILL_TRIALS", str(len(KINDS))))
FIRST = int(os.environ.get("RAILWEAVE_KILL_FIRST", "0"))
TWO_NODES = ("count: 4\n", "count: 2\n")
KEYS = "hosts: {manage: true, frontend: eno1}\nacceptance: {seconds: 3, collectives: none}\n"


def test_a_run_that_is_killed_anywhere_comes_to_its_end(new_project: Any) -> None:
    project = new_project("lab-4.yml")
    project.edit(TWO_NODES)
    bench = KillBench(project, planned_acceptance(project, KEYS) / "plan.json")
    broken = []
    for seed in range(FIRST, FIRST + TRIALS):
        trial = KillTrial(bench, seed)
        try:
            trial.run()
        except AssertionError as fault:
            broken.append(f"seed {seed}, {trial.kind}: {fault}")
    assert not broken, "\n".join(broken)
