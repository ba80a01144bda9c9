"""Faults that no configuration shows are named through the whole chain: SSH, Ansible, tools, counters, judge.

``RAILWEAVE_FAULT_FABRICS=all``, as in `make e2e-weekly`, tries all six shapes of fabrics, each with two of the kinds;
``RAILWEAVE_FAULT_KINDS=lossy,ber`` chooses kinds, and ``RAILWEAVE_FAULT_SEED`` other places. The same faults without
sessions: `test_acceptance_flows`.
"""

import hashlib
import json
import os
import shutil
from collections.abc import Callable
from random import Random
from typing import Any

import pytest
from acceptance_fabrics import FABRICS
from acceptance_faults.fabric import Plan
from acceptance_rig import planned_acceptance
from acceptance_trials import Trial, judged
from flow_faults import KINDS, FlowFault, draw, shapes

from railweave.acceptance.document import PLAN_FILE

CANNOT = os.geteuid() != 0 or shutil.which("ip") is None
pytestmark = [pytest.mark.e2e, pytest.mark.skipif(CANNOT, reason="simulated nodes need root and ip")]

SEED = os.environ.get("RAILWEAVE_FAULT_SEED", "0")
NODES = "hosts: {manage: true, frontend: eno1}\nacceptance: {seconds: 2, collectives: none}\n"
# A slow GPU shows in nothing else.
COLLECTIVES = "hosts: {manage: true, frontend: eno1}\nacceptance: {seconds: 2}\n"
# Turns on the counters of marks, without which a small buffer shows in no verdict.
COUNTING_MARKS = "telemetry: {}\n"
_RESUMED = 3
# A run takes a tenth of this on an idle machine; its rounds last longer on a busy one.
_PATIENCE_S = 1800


class Accepted:
    """A simulated fabric that runs its intent, and the plan of its acceptance."""

    def __init__(self, project: Any, kinds: tuple[str, ...]) -> None:
        self.project = project
        project.command_seconds = _PATIENCE_S
        keys = NODES
        if "slow-gpu" in kinds:
            keys = COLLECTIVES
        if "small-buffer" in kinds:
            keys += COUNTING_MARKS
        self.folder = planned_acceptance(project, keys)
        text = (self.folder / PLAN_FILE).read_bytes()
        self.plan = Plan(json.loads(text), hashlib.sha256(text).hexdigest())

    def wrong(self, *faults: FlowFault) -> str:
        """Carry the plan out with faults, and return what the judge has wrong."""
        for fault in faults:
            self.project.run("sim", "fault", *fault.words)
        (self.folder / "journal.jsonl").unlink(missing_ok=True)
        words = ("acceptance", "run", str(self.folder), "--target", "sim")
        result = self.project.json(*words, status=None)
        for _ in range(_RESUMED):
            # A machine that is busy has left out some.
            if result["not_run"]:
                result = self.project.json(*words, "--resume", status=None)
        for fault in faults:
            self.project.run("sim", "fault", fault.name, "clear")
        return Trial(tuple(fault.truth for fault in faults), judged(self.folder)).wrong


def kinds_of(fabric: str) -> tuple[str, ...]:
    """Return the kinds that are tried on a fabric."""
    chosen = os.environ.get("RAILWEAVE_FAULT_KINDS", "")
    if chosen:
        return tuple(chosen.split(","))
    place = list(FABRICS).index(fabric)
    return KINDS[2 * place % len(KINDS)], KINDS[(2 * place + 1) % len(KINDS)]


def broken(accepted: Accepted, kinds: tuple[str, ...]) -> dict[str, str]:
    """Return the kinds that the judge has wrong, and what."""
    said = {}
    for kind in kinds:
        fault = draw(kind, accepted.plan, Random(f"{kind} {SEED}"))
        if fault is not None:
            said[f"{kind} {' '.join(fault.words)}"] = accepted.wrong(fault)
    assert said, f"the plan has no place for {' or '.join(kinds)}"
    return {name: wrong for name, wrong in said.items() if wrong}


@pytest.mark.nightly
def test_faults_of_three_kinds_are_named(new_project: Callable[[str], Any]) -> None:
    # A fourth, a lossy cable, is that of `test_e2e_acceptance_run`.
    kinds = ("ber", "slow-nic", "wrong-dscp")
    assert broken(Accepted(new_project("lab-4.yml"), kinds), kinds) == {}


@pytest.mark.weekly
@pytest.mark.parametrize("fabric", shapes())
def test_faults_are_named_on_shapes_of_fabrics(new_project: Callable[[str], Any], fabric: str) -> None:
    project = new_project("lab-4.yml")
    project.intent.write_text(FABRICS[fabric], encoding="utf-8")
    kinds = kinds_of(fabric)
    accepted = Accepted(project, kinds)
    assert accepted.wrong() == ""
    assert broken(accepted, kinds) == {}
