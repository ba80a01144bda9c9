"""When a deviation is more than chance: the odds of a false finding are divided among all that is compared."""

from collections.abc import Sequence
from math import exp, lgamma, log
from statistics import NormalDist, median

FALSE_FINDING_ODDS = 1e-6
"""One acceptance in a million of a healthy fabric has a finding by chance: more fabrics than anybody accepts."""

_MAD_TO_SIGMA = 1.4826  # The standard deviation of a normal distribution over its median absolute deviation.


# Of so many values the scatter is known to half a percent; to sort millions would take seconds.
_ENOUGH_VALUES = 65_536


class HealthySpread:
    """The middle of healthy values and how far they scatter, by order statistics, which few faults do not move."""

    def __init__(self, values: Sequence[float]) -> None:
        # An odd step, because links come in powers of two.
        step = len(values) // _ENOUGH_VALUES | 1
        sample = values[::step]
        self.middle = median(sample)
        self._sigma = _MAD_TO_SIGMA * median([abs(value - self.middle) for value in sample])
        self._deviations = NormalDist().inv_cdf(1 - FALSE_FINDING_ODDS / (2 * len(values)))

    @property
    def tolerance(self) -> float:
        """Return the largest deviation from the middle that chance explains."""
        return self._deviations * self._sigma


def most_by_chance(mean: float, comparisons: int) -> int:
    """Return the largest count that chance explains among ``comparisons`` Poisson numbers of this ``mean``."""
    odds = FALSE_FINDING_ODDS / max(comparisons, 1)
    count = int(mean)
    while _odds_of_at_least(mean, count + 1) > odds:
        count += 1
    return count


def _odds_of_at_least(mean: float, count: int) -> float:
    """Return the upper bound of the odds that a Poisson number is ``count``, which is above the mean, or more."""
    # Each term is at most this share of the one before.
    share = mean / (count + 1)
    return _poisson(mean, count) / (1 - share)


def _poisson(mean: float, count: int) -> float:
    if mean <= 0:
        return 0.0
    return exp(count * log(mean) - mean - lgamma(count + 1))
