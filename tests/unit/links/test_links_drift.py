"""Drifts are found an hour before the first lost codeword, and stable links are never drained."""

import random
from collections.abc import Callable
from math import log10

import pytest
from link_drift import DAY_MINUTES, FORMS, LIMITS, Rate, daily, drift, watch

from railweave.fabric.link_policy import LinkPolicy
from railweave.links.grades import Grade, rate_reason
from railweave.links.trend import Sample, hours_until

DAY_H = 24
# (seed, hours for a decade, noise in decades, its correlation from minute to minute)
DRIFTS = [(1, 6.0, 0.01, 0.0), (2, 6.0, 0.05, 0.97)]


@pytest.mark.parametrize(("seed", "hours", "noise", "correlation"), DRIFTS)
def test_a_drift_is_found_an_hour_before_the_first_lost_codeword(
    seed: int, hours: float, noise: float, correlation: float
) -> None:
    chance = random.Random(seed)
    watched = watch(drift(5e-5, hours), int(hours * 90), chance, noise, correlation)
    assert watched.lost is not None
    assert watched.lead >= 60


@pytest.mark.slow
@pytest.mark.parametrize("form", FORMS)
def test_95_percent_of_drifts_are_found_in_time(form: Callable[[float, float], Rate]) -> None:
    leads = []
    for seed in range(100, 120):
        chance = random.Random(seed)
        hours = 10 ** chance.uniform(log10(6), log10(168))
        noise = chance.choice([0.01, 0.05, 0.1])
        # A slow drift leaves time enough to grade each fifth poll.
        judged_every = 5 if hours > DAY_H else 1
        rate = form(5e-5, hours)
        watched = watch(rate, int(hours * 240), chance, noise, chance.choice([0, 0.9]), judged_every=judged_every)
        assert watched.lost is not None
        leads.append(watched.lead)
    assert sum(lead >= 60 for lead in leads) >= 0.95 * len(leads)


@pytest.mark.slow
def test_links_that_are_poor_for_good_are_never_drained() -> None:
    """Healthy links are graded A whatever the trend: of 10,000 days, those of poor links alone could drain falsely."""
    drained = []
    for seed in range(100):
        chance = random.Random(seed)
        rate = daily(10 ** chance.uniform(log10(3e-6), log10(6e-5)), chance.choice([0, 0.05, 0.1, 0.15]))
        noise = chance.choice([0.01, 0.03, 0.05])
        watched = watch(rate, DAY_MINUTES, chance, noise, chance.choice([0, 0.9, 0.99]), judged_every=10)
        if watched.drained is not None:
            drained.append(seed)
    assert drained == []


# A healthy link, one with temperature and wander, and a link that is poor for good.
@pytest.mark.parametrize(("rate", "noise"), [(1e-9, 0.2), (1e-6, 0.1), (3e-5, 0.05)])
def test_a_stable_link_is_not_drained(rate: float, noise: float) -> None:
    assert watch(daily(rate, 0.05), 300, random.Random(7), noise, 0.9).drained is None


def test_a_step_is_no_trend() -> None:
    samples = [Sample(minute * 60.0, 3e-5 if minute < 90 else 6e-5) for minute in range(150)]
    assert hours_until(samples, LIMITS.first_loss) is None


def test_a_steady_rise_predicts_when_it_reaches_a_rate() -> None:
    samples = [Sample(minute * 60.0, 1e-5 * 10 ** (minute / 600)) for minute in range(121)]
    hours = hours_until(samples, 1e-4)
    assert hours is not None
    assert abs(hours - 8.0) < 0.2


def test_a_rate_above_the_limit_for_minutes_is_repaired_and_for_half_an_hour_drained() -> None:
    samples = [Sample(minute * 60.0, 5e-5) for minute in range(30)]
    samples += [Sample(minute * 60.0, 1.5e-4) for minute in range(30, 60)]
    for polls, grade in ((30, Grade.C), (36, Grade.C), (60, Grade.D)):
        reason = rate_reason(samples[:polls], LIMITS, LinkPolicy())
        assert reason is not None
        assert reason.grade is grade


def test_a_single_peak_grades_nothing() -> None:
    samples = [Sample(minute * 60.0, 1e-9) for minute in range(5)]
    peaked = [*samples[:4], Sample(240.0, 1e-3)]
    assert rate_reason(peaked, LIMITS, LinkPolicy()) is None


@pytest.mark.parametrize(
    ("rate", "grade"), [(1e-6, None), (1e-5, Grade.B), (5e-5, Grade.C), (2e-4, Grade.D)], ids=["A", "B", "C", "D"]
)
def test_one_reading_is_graded_by_its_distance_from_the_limit(rate: float, grade: Grade | None) -> None:
    reason = rate_reason([Sample(0.0, rate)], LIMITS, LinkPolicy())
    assert (reason and reason.grade) == grade
