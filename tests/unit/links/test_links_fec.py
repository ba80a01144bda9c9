"""The arithmetic of FEC against exact fractions, and the limits that IEEE 802.3 and vendors publish."""

from fractions import Fraction
from math import comb, isclose

import pytest

from railweave.fabric.fec import (
    BASE_R,
    NO_FEC,
    RS528,
    RS544,
    Fec,
    binomial_tail,
    error_rate_limit,
    error_rate_of,
    fec_of,
    loss_by_bins,
)
from railweave.fabric.link_limits import link_limits
from railweave.fabric.link_policy import LinkPolicy


@pytest.mark.parametrize("fec", [RS544, RS528, BASE_R])
@pytest.mark.parametrize("rate", ["1e-7", "1e-4", "3e-3", "5e-2"])
def test_the_lost_share_is_the_binomial_tail(fec: Fec, rate: str) -> None:
    wrong = Fraction(rate)
    terms = (
        comb(fec.symbols, count) * wrong**count * (1 - wrong) ** (fec.symbols - count)
        for count in range(fec.correctable + 1)
    )
    exact = float(1 - sum(terms))
    assert isclose(binomial_tail(fec.symbols, fec.correctable, float(wrong)), exact, rel_tol=1e-8)


@pytest.mark.parametrize(
    ("fec", "published"), [(RS544, 2.4e-4), (RS528, 2.3e-5), (NO_FEC, 1e-12)], ids=["rs544", "rs528", "none"]
)
def test_limits_of_error_rates_are_the_published_ones(fec: Fec, published: float) -> None:
    assert isclose(error_rate_limit(fec), published, rel_tol=0.03)


def test_an_error_rate_is_the_inverse_of_a_loss() -> None:
    assert isclose(RS544.loss(error_rate_of(RS544, 1e-15)), 1e-15, rel_tol=1e-6)


def test_lanes_of_50_gigabit_have_rs544_whatever_the_row_says() -> None:
    assert [fec_of("none", 50), fec_of("rs", 100), fec_of("rs", 25), fec_of("fc", 25), fec_of("none", 10)] == [
        RS544,
        RS544,
        RS528,
        BASE_R,
        NO_FEC,
    ]


def _binomial_bins(wrong: float, codewords: float) -> list[int]:
    shares = (comb(544, count) * wrong**count * (1 - wrong) ** (544 - count) for count in range(16))
    return [round(codewords * share) for share in shares]


def test_bins_of_independent_errors_give_the_binomial_loss() -> None:
    estimate = loss_by_bins(RS544, _binomial_bins(1e-3, 4.4e9))
    # Bins of a hundred codewords are exact to a tenth, and the estimate is a product of eight of their ratios.
    assert binomial_tail(544, 15, 1e-3) / 3 < estimate < 3 * binomial_tail(544, 15, 1e-3)


def test_bursts_give_a_higher_loss_than_the_same_errors_alone() -> None:
    bins = _binomial_bins(1e-5, 4.4e9)
    for count in range(2, 12):
        bins[count] += 40_000 >> count
    wrong = sum(count * number for count, number in enumerate(bins)) / (544 * sum(bins))
    assert loss_by_bins(RS544, bins) > 1e6 * binomial_tail(544, 15, wrong)


def test_few_codewords_give_no_estimate() -> None:
    assert loss_by_bins(RS544, [10**9, 90, 50, 20, *[0] * 12]) == 0


def test_a_larger_job_drains_at_a_lower_rate_and_never_below_a_decade_from_the_limit() -> None:
    small, large, huge = (link_limits(RS544, 400, LinkPolicy(), links) for links in (4, 1024, 10**12))
    assert error_rate_limit(RS544) > small.drain > large.drain > huge.drain >= error_rate_limit(RS544) / 10
    assert small.watch < small.repair <= huge.drain


def test_the_intent_sets_both_limits() -> None:
    limits = link_limits(RS544, 400, LinkPolicy(warn_ber=1e-7, drain_ber=1e-5), 1024)
    assert (limits.watch, limits.repair, limits.drain) == (1e-7, 1e-5, 1e-5)
