"""A change in phases, killed at every step and started again, and deployed by two at once.

Every device call, line of a journal and change of a node is a step. What nodes send is served at each of them, no
phase begins or counts as done while a commit awaits its confirmation, and the next run ends with an empty plan.
``make check`` tries one with armed timers, and a run that has read what another one then changes.
``.ci/nightly`` tries a quarter of all steps, and ``RAILWEAVE_EVERY_RACE=whole`` each of them, which takes an hour.
"""

import os
from collections.abc import Callable
from pathlib import Path

import pytest
from phased_runs import CHANGES, Site

EVERY = bool(os.environ.get("RAILWEAVE_EVERY_RACE"))
PARTS = 16
"""In how many tests the steps are tried, so that they run beside each other."""
TRIED = range(0, PARTS, 1 if os.environ.get("RAILWEAVE_EVERY_RACE") == "whole" else 4)
BEFORE_LAST_CONFIRM = 123
FIRST_READ = 3
FIRST_STEPS = 32
"""More than a run takes to find out how far switches and nodes are."""
KILLED = [(change, part) for change in ("marking", "spines") for part in TRIED] if EVERY else [("marking", -1)]
PAIRS = [("marking", 1, ""), ("marking", 2, ""), ("marking", 3, ""), ("marking", 5, ""), ("spines", 1, "elsewhere")]


@pytest.fixture
def site_of(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Callable[..., Site]:
    return lambda change, name="site": Site(tmp_path / name, monkeypatch, CHANGES[change])


@pytest.mark.slow
@pytest.mark.parametrize(("change", "part"), KILLED)
def test_a_change_that_is_killed_at_any_step_ends_by_the_next_run(
    site_of: Callable[..., Site], change: str, part: int
) -> None:
    site = site_of(change)
    if EVERY:
        moments = site.moments(lambda step: step % PARTS == part)
    else:
        moments = site.moments(lambda step: step == BEFORE_LAST_CONFIRM, BEFORE_LAST_CONFIRM)
        assert [one.where.partition(", ")[2] for one in moments] == ["before confirm of weave-leaf2"]
    for number, moment in enumerate(moments):
        site.restore(moment)
        site.finish(resume=number % 2 == 1)
        site.require_done()


@pytest.mark.slow
@pytest.mark.parametrize("part", TRIED if EVERY else [FIRST_READ])
@pytest.mark.parametrize(("change", "begins", "journals"), PAIRS if EVERY else PAIRS[:1])
def test_of_two_who_deploy_at_once_neither_undoes_the_other(
    site_of: Callable[..., Site], change: str, begins: int, journals: str, part: int
) -> None:
    asleep_at = last = part + (part == 0) * PARTS
    while asleep_at <= last:
        site = site_of(change, f"site{asleep_at}")
        site.begin(begins)
        steps, is_ended = site.beside(asleep_at, journals)
        if not is_ended:
            site.finish()
        site.require_done()
        asleep_at += PARTS
        last = steps if EVERY and begins == 1 else FIRST_STEPS * EVERY
