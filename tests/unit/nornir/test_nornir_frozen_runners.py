"""Runners that sleep past the timers of their switches lose nothing of what others confirmed meanwhile.

Two or three runners deploy to the same switches, each frozen at any step (``frozen_runners``); ``.ci/nightly`` tries a
thousand seeds.
"""

import os
from functools import partial

import pytest
from by_check import sampled
from frozen_runners import LostWorkError, run_seed

from nornir_railweave.device.device import Attempt
from railweave_switch import answers, transaction

SEEDS = int(os.environ.get("RAILWEAVE_RUNNER_SEEDS", "10"))
BLOCK = 5
"""How many of the seeds `make test` tries."""
KEPT = (332,)
"""Somebody else's commit, which went back later, was taken for the end of one that was confirmed before it."""


@pytest.mark.parametrize("block", sampled(range(0, SEEDS, BLOCK), every=SEEDS))
def test_whoever_sleeps_undoes_nothing_that_another_runner_confirmed(
    block: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    for seed in range(block, min(block + BLOCK, SEEDS)):
        run_seed(seed, monkeypatch)


@pytest.mark.parametrize("seed", KEPT)
def test_what_was_lost_once_is_not_lost_again(seed: int, monkeypatch: pytest.MonkeyPatch) -> None:
    run_seed(seed, monkeypatch)


@pytest.mark.slow
def test_without_the_refusal_of_runners_and_switches_confirmed_work_is_lost(monkeypatch: pytest.MonkeyPatch) -> None:
    """What the seeds show hangs on both: a runner that asks who came after it, and a switch that is told on whom."""
    monkeypatch.setattr(Attempt, "refuse_forestalled", lambda attempt, last: None)
    for module in (answers, transaction):
        monkeypatch.setattr(module, "refuse_unless_last", lambda state, named: None)
    with pytest.raises(LostWorkError, match="undid what"):
        list(map(partial(run_seed, patched=monkeypatch), range(40)))
