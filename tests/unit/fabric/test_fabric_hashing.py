"""The busiest of several links onto which a hash puts flows, against flows that are thrown."""

import random
from statistics import mean

import pytest

from railweave.fabric.hashing import spread


@pytest.mark.parametrize(
    ("ports", "pairs", "links"),
    [(32, 1, 32), (32, 4, 32), (4, 1, 2), pytest.param(64, 16, 32, marks=pytest.mark.slow), (8, 2, 16)],
)
def test_the_busiest_link_is_about_as_busy_as_in_trials(ports: int, pairs: int, links: int) -> None:
    dice = random.Random(ports * pairs * links)
    thrown = (dice.choices(range(links), k=ports * pairs) for _ in range(400))
    found = spread(ports, pairs, links)
    assert found.busiest == pytest.approx(mean(max(map(one.count, set(one))) for one in thrown), rel=0.09)
    assert found.load == pytest.approx(found.busiest * links / (ports * pairs))


def test_one_link_carries_everything_and_more_flows_are_more_even() -> None:
    assert spread(8, 4, 1).load == 1
    loads = [spread(32, pairs, 32).load for pairs in (1, 2, 4, 8, 16, 32, 128)]
    assert loads == sorted(loads, reverse=True)
    assert 1.1 < loads[-1] < 1.3


def test_many_flows_need_no_large_numbers() -> None:
    assert 1 < spread(1024, 128, 8).load < 1.02
