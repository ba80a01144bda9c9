"""Counts of slow tests: how many of them chance explains.

A test of a loaded round is below its limit with a probability of 1 %, or a little more, because the quantile is taken
from a sample. So of n tests k are below it with the binomial probability; a count is a finding if chance exceeds it
once in 1e8 rounds. Tests that share links do not vary independently: the variance of their count over the binomial one
is the dispersion d, and n / d groups of d tests are judged.
"""

from functools import lru_cache
from math import ceil, exp, lgamma, log, log1p

IMPROBABLE = 1e-8
"""A count of tests, such as those of a round below their limit, that healthy fabrics exceed with this probability."""

RARE_FLOWS = 1e-12
"""The probability that a link gets more flows than `most_flows`: a pair crosses up to 100 links, and fabrics have
millions of pairs."""


@lru_cache(maxsize=4096)
def most_flows(mean: float, probability: float = RARE_FLOWS) -> int:
    """Return the number of flows on a link that chance exceeds with at most ``probability``, if the mean is ``mean``.

    Hashed flows are independent, so their sum has a smaller tail than the Poisson distribution (Hoeffding 1956, On the
    distribution of the number of successes in independent trials).
    """
    if not mean:
        return 0
    count = ceil(mean)
    while True:
        # P(X > count) is below the next term times the geometric series of the ratio of terms.
        term = exp((count + 1) * log(mean) - mean - lgamma(count + 2))
        if term / (1 - mean / (count + 2)) <= probability:
            return count
        count += 1


@lru_cache(maxsize=4096)
def most_below(tests: int, probability: float, dispersion: float = 1.0, improbable: float = IMPROBABLE) -> int:
    """Return the largest number of ``tests`` that chance leaves below a limit, each with ``probability``.

    ``improbable`` is the probability with which chance may exceed the number. Tests that share links are not
    independent: ``dispersion`` is the variance of their count over the binomial one, and they count as groups of this
    size that are below the limit together.
    """
    groups = ceil(tests / dispersion)
    # P(X > count), from the top down so that small terms are not lost in 1 - P(X <= count).
    tail = 0.0
    # Terms beyond three times the mean and 60 add nothing.
    most_count = min(groups, ceil(3 * groups * probability) + 60)
    for count in range(most_count, 0, -1):
        # The logarithm of the binomial coefficient.
        log_choices = lgamma(groups + 1) - lgamma(count + 1) - lgamma(groups - count + 1)
        tail += exp(log_choices + count * log(probability) + (groups - count) * log1p(-probability))
        if tail > improbable:
            return min(tests, ceil(count * dispersion))
    return 0
