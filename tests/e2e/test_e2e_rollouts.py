"""Seeded rollouts with faults at random: whatever happens, the fabric stands old or new, whole, and nothing is lost.

Each seed makes one rollout on a small simulated fabric: a change, a policy, a fault that strikes somewhere. After it

- every switch is wholly old or wholly new, by its own memory, or the result names it as unreachable;
- the policy's floor was never crossed, and no link was disturbed that nobody said so of;
- rows that are nobody's, and those that somebody else wrote meanwhile, are still there;
- a resume, another deploy or a rollback brings all switches to one state, running and saved, that the next plan agrees
  with.

``RAILWEAVE_ROLLOUT_SEEDS=2000`` makes a longer run of it (`make soak`), ``RAILWEAVE_ROLLOUT_FIRST`` another one.
"""

import os
from collections.abc import Callable, Iterator
from dataclasses import asdict, replace
from pathlib import Path

import pytest
from rollout_bench import Operator, Pace
from rollout_counts import PROPERTY
from rollout_oracle import Floors
from rollout_shapes import SHAPES, Shape
from rollout_trial import Bench, BrokenError, Trial

from railweave.plan.policy import RolloutPolicy, Share

pytestmark = pytest.mark.e2e

SEEDS = int(os.environ.get("RAILWEAVE_ROLLOUT_SEEDS", "200"))
FIRST = int(os.environ.get("RAILWEAVE_ROLLOUT_FIRST", "0"))
BATCH = 5


def batches() -> list[tuple[Shape, range]]:
    """Return the seeds in batches; a batch is of one fabric, and small fabrics take most of them."""
    taking = [shape for shape in SHAPES for _ in range(shape.weight)]
    starts = range(FIRST, FIRST + SEEDS, BATCH)
    return [
        (taking[number % len(taking)], range(start, min(start + BATCH, FIRST + SEEDS)))
        for number, start in enumerate(starts)
    ]


def named(one: Shape | range) -> str:
    return one.name if isinstance(one, Shape) else f"{one.start}-{one.stop - 1}"


@pytest.fixture(scope="session")
def bench_of(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Callable[[Shape], Bench]]:
    """Return what gives the bench of a shape, deployed once a process."""
    made: dict[str, Bench] = {}

    def give(shape: Shape) -> Bench:
        if shape.name not in made:
            folder: Path = tmp_path_factory.mktemp(shape.name)
            made[shape.name] = Bench(folder, shape)
        return made[shape.name]

    yield give
    for bench in made.values():
        bench.close()


@pytest.mark.parametrize(("shape", "seeds"), batches(), ids=named)
def test_a_rollout_struck_by_faults_leaves_the_fabric_old_or_new_and_whole(
    shape: Shape, seeds: range, bench_of: Callable[[Shape], Bench], record_property: Callable[[str, object], None]
) -> None:
    bench = bench_of(shape)
    broken = []
    for seed in seeds:
        trial = Trial(bench, seed)
        try:
            record_property(PROPERTY, asdict(trial.run()))
        except BrokenError as fault:
            broken.append(f"seed {seed}: {fault}")
    assert not broken, "\n\n".join(broken)


def test_a_rollout_of_more_switches_at_once_than_the_policy_allows_is_caught(
    bench_of: Callable[[Shape], Bench],
) -> None:
    bench = bench_of(SHAPES[0])
    bench.go_back()
    pace = Pace({"max_unavailable": {"spines": 2, "leaves": 1}, "verify_timeout": 5})
    operator = Operator(bench.folder, bench.shape, replace(bench.shape.base, mtu=(9216, 9000)), pace)
    stricter = RolloutPolicy(Share(count=1), Share(count=1))
    names = frozenset(operator.fabric.switch_of)
    floors = Floors(operator.fabric, stricter, in_service=names, disturbed=names)
    ended = operator.deploy()
    assert ended is not None
    assert ended.ok
    floors.follow(bench.fabric.ask("record")["record"])
    assert any("2 of 3 of" in wrong for wrong in floors.crossed), floors.crossed
    assert floors.worked == names
