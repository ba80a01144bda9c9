"""Trials of the judge: a plan, a modelled fabric with faults, and whether the verdict names them exactly.

``python tests/support/acceptance_trials.py FABRIC,… KIND,… SEEDS LEVEL`` prints the trials that are wrong, and sums;
``all`` stands for all, no kind for healthy fabrics, ``KIND+KIND`` for two faults.
"""

import hashlib
import json
import os
import shutil
import sys
import tempfile
from collections.abc import Collection, Sequence
from functools import cache
from pathlib import Path
from random import Random
from time import process_time
from typing import NamedTuple

from acceptance_fabrics import FABRICS, INTENTS
from acceptance_faults.carry_out import carry_out
from acceptance_faults.fabric import Plan
from acceptance_faults.faults import FAULTS, OTHER_FAULTS, RULE_FAULTS, Truth
from acceptance_faults.nature import Conditions, Constants

from railweave.acceptance.counters import read_counters
from railweave.acceptance.document import PLAN_FILE, plan_blocks, read_plan
from railweave.acceptance.folder import read_results
from railweave.acceptance.jobs import read_job
from railweave.acceptance.judge.findings import UNEXPLAINED
from railweave.acceptance.judge.verdict import AcceptanceVerdict, judge
from railweave.acceptance.model import Level
from railweave.acceptance.planner import PlanInput, plan_acceptance
from railweave.api.design.intent import gather_text
from railweave.diagnostics import Severity

MEMORY = "/dev/shm" if os.access("/dev/shm", os.W_OK) else None
"""Where folders of trials are made: to create their thousands of files costs most of the model's time on a disk."""


class Trial(NamedTuple):
    """What was wrong in a trial, and what the judge said."""

    truths: tuple[Truth, ...]
    verdict: AcceptanceVerdict
    # CPU that reading and judging took.
    judge_s: float = 0.0

    @property
    def errors(self) -> list[str]:
        """Return the messages of all findings that fail the fabric."""
        return [f.message for f in self.verdict.findings if f.severity is Severity.ERROR]

    @property
    def wrong(self) -> str:
        """Return in words what the judge missed or made up; empty if it is right."""
        allowed: frozenset[str] = frozenset().union(*(truth.allowed for truth in self.truths))
        named = {
            f"{element.kind} {element.name}"
            for finding in self.verdict.findings
            if finding.severity is Severity.ERROR and finding.code != UNEXPLAINED
            for element in finding.elements
        }
        parts = [f"{name} is named" for name in sorted(named - allowed)]
        for truth in self.truths:
            parts += [f"{truth.kind}: none of {sorted(group)}" for group in truth.required if not group & named]
        is_unexplained = any(finding.code == UNEXPLAINED for finding in self.verdict.findings)
        if is_unexplained != any(truth.unexplained for truth in self.truths):
            parts.append(f"unexplained: {is_unexplained}")
        expected = "failed" if self.truths else "passed"
        if self.verdict.verdict != expected:
            parts.append(f"{self.verdict.verdict} instead of {expected}")
        if not parts:
            return ""
        return "; ".join([*parts, *self.errors, *(remark.message for remark in self.verdict.diagnostics)])


@cache
def plan_text(fabric: str, level: Level = Level.SMOKE) -> bytes:
    """Return the plan of a fabric; it is the same for every seed of the model."""
    gathered = gather_text(INTENTS[fabric], fabric)
    designed = gathered.fabric
    assert designed is not None
    intent = gathered.intent
    gpus_of = {entry.name: entry.gpus or 0 for entry in intent.nodes}
    policy = designed.policies.acceptance
    given = PlanInput(designed, gathered.catalog, policy, intent.sha256, gpus_of, level)
    return b"".join(plan_blocks(plan_acceptance(given)))


@cache
def document(fabric: str, level: Level = Level.SMOKE) -> Plan:
    """Return the plan of a fabric as the model reads it."""
    text = plan_text(fabric, level)
    return Plan(json.loads(text), hashlib.sha256(text).hexdigest())


def prepared(folder: Path, fabric: str, level: Level = Level.SMOKE) -> Path:
    """Return the folder with the plan of a fabric and nothing else in it."""
    shutil.rmtree(folder, ignore_errors=True)
    folder.mkdir(parents=True)
    (folder / PLAN_FILE).write_bytes(plan_text(fabric, level))
    return folder


def try_faults(
    folder: Path,
    fabric: str,
    kinds: Sequence[str],
    seed: int,
    *,
    constants: Constants | None = None,
    without: Collection[str] = (),
    level: Level = Level.SMOKE,
) -> Trial | None:
    """Return a trial with faults of these kinds; None where the fabric has no place for one, or it had no effect."""
    rng = Random(f"{fabric}/{kinds}/{seed}")
    conditions = Conditions(constants or Constants())
    plan = document(fabric, level)
    truths: list[Truth] = []
    for kind in kinds:
        truth = {**FAULTS, **RULE_FAULTS, **OTHER_FAULTS}[kind](plan, conditions, rng)
        if truth is None or any(meet(plan, truth, other) for other in truths):
            return None
        truths.append(truth)
    prepared(folder, fabric, level)
    carry_out(folder, conditions, seed)
    if any(truth.port and truth.port not in conditions.missed_pauses for truth in truths):
        # Its queue never filled so far that a pause was due: no file shows the fault.
        return None
    began = process_time()
    verdict = judged(folder, without)
    return Trial(tuple(truths), verdict, process_time() - began)


def judged(folder: Path, without: Collection[str] = ()) -> AcceptanceVerdict:
    """Return the verdict on a folder."""
    plan = read_plan(folder).plan
    results, diagnostics = read_results(folder, plan)
    job, unsound = read_job(folder)
    counters = read_counters(folder, plan)
    return judge(plan, results, counters, (*diagnostics, *unsound), job=job, without=without)


def meet(plan: Plan, first: Truth, second: Truth) -> bool:
    """Tell whether two faults touch a test in common, or are not at nodes."""
    if not first.nodes or not second.nodes or first.nodes & second.nodes:
        return True
    for test in plan.document["tests"]:
        ends = {test["from"]["node"], *({test["to"]["node"]} if test.get("to") else ())}
        if ends & first.nodes and ends & second.nodes:
            return True
    return False


class Sums(NamedTuple):
    """How many trials of a fabric and a kind there were, how many the judge has wrong, and its seconds of CPU."""

    trials: int = 0
    wrong: int = 0
    judge_s: float = 0.0
    model_s: float = 0.0


def main(fabrics: str, kinds: str = "all", seeds: str = "1", level: str = "quick") -> None:
    """Print what the judge has wrong in trials, and sums by fabric and kind."""
    names = list(FABRICS) if fabrics == "all" else fabrics.split(",")
    chosen = ["", *FAULTS, *RULE_FAULTS, *OTHER_FAULTS] if kinds == "all" else kinds.split(",")
    sums: list[Sums] = []
    with tempfile.TemporaryDirectory(prefix="railweave-trials-", dir=MEMORY) as folder:
        for fabric in names:
            sums += [_series(Path(folder), fabric, kind, int(seeds), Level(level)) for kind in chosen]
    trials, wrong, judge_s, model_s = map(sum, zip(*sums, strict=True))
    print(f"{trials} trials, {wrong} wrong, {judge_s:.1f} s of CPU for the judge, {model_s:.1f} s for the model")


def _series(folder: Path, fabric: str, kind: str, seeds: int, level: Level) -> Sums:
    """Try a kind with several seeds; draws of faults that meet are no trials."""
    sums = Sums()
    document(fabric, level)
    for seed in range(seeds):
        faults = [name for name in kind.split("+") if name]
        began = process_time()
        trial = try_faults(folder / "trial", fabric, faults, seed, level=level)
        if trial is None:
            continue
        model_s = process_time() - began - trial.judge_s
        sums = Sums(
            sums.trials + 1, sums.wrong + bool(trial.wrong), sums.judge_s + trial.judge_s, sums.model_s + model_s
        )
        if trial.wrong:
            print("WRONG", fabric, kind, seed, [sorted(truth.allowed)[:4] for truth in trial.truths], trial.wrong)
    print(f"{fabric} {kind or 'healthy'}: {sums.trials} trials, {sums.wrong} wrong, {sums.judge_s:.1f} s", flush=True)
    return sums


if __name__ == "__main__":
    main(*sys.argv[1:])
