"""Codewords of simulated links: their shares are the exact binomial ones, and counts are drawn from them."""

from fractions import Fraction
from math import comb, exp, factorial
from random import Random
from statistics import fmean, pvariance

import pytest

from sonic_sim.flows.codewords import RS528, RS544, Code, code_of, codeword_shares, draw, draw_codewords


def sum_share(first: list[Fraction], second: list[Fraction], count: int) -> Fraction:
    """Return the probability that two independent counts add up to ``count``."""
    return sum((first[a] * second[count - a] for a in range(min(count, len(first) - 1) + 1)), Fraction(0))


def exact_shares(code: Code, lanes: tuple[float, ...]) -> list[Fraction]:
    """Return the shares of codewords by their wrong symbols up to 60, in rational arithmetic."""
    shares = [Fraction(1)]
    for rate in lanes:
        wrong = 1 - (1 - Fraction(rate).limit_denominator(10**15)) ** code.symbol_bits
        # Rounded to 60 digits: the numbers of digits of exact powers would explode.
        wrong = Fraction(round(wrong * 10**60), 10**60)
        symbols = code.symbols // len(lanes)
        lane = [comb(symbols, count) * wrong**count * (1 - wrong) ** (symbols - count) for count in range(61)]
        lane = [Fraction(round(share * 10**90), 10**90) for share in lane]
        shares = [
            sum((shares[a] * lane[n - a] for a in range(min(n, len(shares) - 1) + 1)), Fraction(0)) for n in range(61)
        ]
    return shares


# The lost share goes from 1e-60 over 1e-13 and 1e-5 to a quarter.
@pytest.mark.parametrize("rate", [1e-7, 1e-5, 2.3e-4, 5e-4, 2.3e-3])
def test_shares_are_the_exact_binomial_ones_far_into_the_tail(rate: float) -> None:
    exact = exact_shares(RS544, (rate,))
    shares = codeword_shares(RS544, (rate,) * 4)
    for count in range(16):
        assert shares[count] == pytest.approx(float(exact[count]), rel=1e-9, abs=1e-85)
    assert shares[16] == pytest.approx(float(sum(exact[16:])), rel=1e-9, abs=1e-85)


def test_lanes_that_differ_are_added_symbol_by_symbol() -> None:
    lanes = (1e-8, 1e-3, 1e-8, 1e-8)
    exact = exact_shares(RS544, lanes)
    assert codeword_shares(RS544, lanes)[16] == pytest.approx(float(sum(exact[16:])), rel=1e-9)
    # The 136 symbols of one lane vary less than 544 with the same mean.
    assert codeword_shares(RS544, lanes)[16] < codeword_shares(RS544, (2.5e-4,) * 4)[16]


def test_the_tail_is_not_that_of_a_poisson_count() -> None:
    shares = codeword_shares(RS544, (2.3e-4,))
    mean = 544 * RS544.symbol_error_rate(2.3e-4)
    poisson = sum(exp(-mean) * mean**count / factorial(count) for count in range(16, 60))
    assert 1e-13 < shares[16] < 1e-12
    assert shares[16] < 0.85 * poisson


def test_the_code_is_that_of_the_port() -> None:
    assert code_of("rs", 100) is RS544
    assert code_of("none", 50) is RS544
    assert code_of("rs", 25) is RS528
    assert code_of("none", 25) is None
    assert len(codeword_shares(RS528, (1e-6,))) == 9


@pytest.mark.parametrize(("trials", "probability"), [(10**13, 1e-12), (10**6, 2e-5), (10**9, 1e-3), (300, 0.9)])
def test_draws_have_the_mean_and_the_variance_of_a_binomial_count(trials: int, probability: float) -> None:
    random = Random(5)
    drawn = [draw(random, trials, probability) for _ in range(4000)]
    mean = trials * probability
    variance = mean * (1 - probability)
    assert abs(fmean(drawn) - mean) < 5 * (variance / 4000) ** 0.5
    assert pvariance(drawn) == pytest.approx(variance, rel=0.15)


def test_every_codeword_is_counted_once() -> None:
    counts = draw_codewords(Random(1), 10**9, codeword_shares(RS544, (1e-4,) * 4))
    assert sum(counts) == 10**9
    assert len(counts) == 17
    assert counts[0] > counts[1] > counts[2] > counts[3] > 0
