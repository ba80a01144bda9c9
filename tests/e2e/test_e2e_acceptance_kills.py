"""Acceptance runs that are killed: resumed without repeating what is done, nothing left running, no node left drained.

``RAILWEAVE_KILL_TRIALS=100`` makes more of them, ``RAILWEAVE_KILL_FIRST`` others; ``-s`` shows what each struck.
With ``-n 2 --dist load`` two workers share them, each with a fabric of its own.
"""

import os
import shutil
from collections.abc import Callable
from typing import Any

import pytest
from acceptance_kills import KINDS, KillBench, KillTrial
from acceptance_rig import planned_acceptance

CANNOT = os.geteuid() != 0 or shutil.which("ip") is None
pytestmark = [
    pytest.mark.e2e,
    pytest.mark.weekly,
    pytest.mark.skipif(CANNOT, reason="simulated nodes need root and ip"),
]

TRIALS = int(os.environ.get("RAILWEAVE_KILL_TRIALS", str(len(KINDS))))
FIRST = int(os.environ.get("RAILWEAVE_KILL_FIRST", "0"))
TWO_NODES = ("count: 4\n", "count: 2\n")
KEYS = "hosts: {manage: true, frontend: eno1}\nacceptance: {seconds: 2}\n"


@pytest.fixture(scope="module")
def bench(shared_project: Callable[[str], Any]) -> KillBench:
    project = shared_project("lab-4.yml")
    project.edit(TWO_NODES)
    return KillBench(project, planned_acceptance(project, KEYS) / "plan.json")


@pytest.mark.parametrize("seed", range(FIRST, FIRST + TRIALS))
def test_a_run_that_is_killed_anywhere_comes_to_its_end(bench: KillBench, seed: int) -> None:
    print(KillTrial(bench, seed).run(), flush=True)
