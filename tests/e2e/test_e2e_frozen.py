"""A runner that is stopped by a signal for longer than the timers of the switches undoes nothing of its successor.

Real commands on the simulator, with journals in the project and in Git; ``RAILWEAVE_FROZEN_TRIALS=60`` (`make frozen`)
also tries object storage and the workers of a site.
"""

import os
from collections.abc import Iterator
from pathlib import Path

import pytest
from chaos import SMALL
from chaos_trial import KINDS, ChaosBench, ChaosTrial
from frozen_command import STORES, store_of

pytestmark = pytest.mark.e2e

TRIALS = int(os.environ.get("RAILWEAVE_FROZEN_TRIALS", "1"))
FROZEN = KINDS.index("frozen runner")


@pytest.fixture(scope="module")
def bench(tmp_path_factory: pytest.TempPathFactory) -> Iterator[ChaosBench]:
    made = ChaosBench(tmp_path_factory.mktemp("frozen"), SMALL[0])
    yield made
    made.close()


@pytest.mark.parametrize("number", range(TRIALS))
def test_whoever_was_stopped_undoes_nothing_of_the_runner_that_came_after_it(
    number: int, bench: ChaosBench, tmp_path: Path
) -> None:
    with store_of(STORES[number % len(STORES)], tmp_path, number) as store:
        trial = ChaosTrial(bench, FROZEN + number * len(KINDS), store=store)
        trial.run()
    assert trial.overtaken is not None
