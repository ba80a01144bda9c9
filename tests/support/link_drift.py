"""Links whose error rate drifts, minute by minute: counts are drawn from the rate by an arithmetic of its own.

Nothing here comes from railweave.links but its verdict: a Poisson count of wrong symbols, and a codeword that is lost
when more of its 544 symbols are wrong than the code corrects (exact binomial in rational steps).
"""

import random
from collections.abc import Callable
from dataclasses import dataclass
from math import comb, exp, sin, tau

from railweave.fabric.fec import RS544
from railweave.fabric.link_limits import LinkLimits, link_limits
from railweave.fabric.link_policy import LinkPolicy
from railweave.links.grades import Grade, rate_reason
from railweave.links.trend import Sample, kept

MINUTE_S = 60.0
DAY_MINUTES = 1440
GBPS = 400
LINKS = 1024
CODEWORDS_PER_MINUTE = GBPS * 1e9 * MINUTE_S / 5440
LIMITS: LinkLimits = link_limits(RS544, GBPS, LinkPolicy(), LINKS)
# The command thins its samples each time; the test now and then, which leaves the same ones.
_THINNED_EVERY = 30

_CHOICES = [comb(544, count) for count in range(25)]

Rate = Callable[[float], float]
"""The bit error rate by minutes since the start."""


def lost_share(bit_error_rate: float) -> float:
    """Return the share of codewords with more than 15 of 544 wrong symbols; the terms beyond 24 add nothing here."""
    wrong = 1 - (1 - bit_error_rate) ** 10
    return sum(_CHOICES[count] * wrong**count * (1 - wrong) ** (544 - count) for count in range(16, 25))


@dataclass
class Watched:
    """When a link was first graded D, and when it lost its first codeword; minutes, None is never."""

    drained: int | None = None
    lost: int | None = None

    @property
    def lead(self) -> float:
        """Return the minutes from the drain to the loss; -1 without a drain."""
        if self.drained is None or self.lost is None:
            return -1
        return self.lost - self.drained


def watch(
    rate: Rate, minutes: int, chance: random.Random, noise: float, correlation: float = 0.0, *, judged_every: int = 1
) -> Watched:
    """Poll a link each minute until it loses a codeword; ``noise`` is in decades (one standard deviation).

    ``judged_every`` so many minutes it is graded: more than 1 is as if the command ran less often, and saves time.
    """
    watched = Watched()
    samples: list[Sample] = []
    wander = 0.0
    for minute in range(minutes):
        wander = correlation * wander + (1 - correlation**2) ** 0.5 * chance.gauss(0, noise)
        true_rate = rate(minute) * 10**wander
        mean = true_rate * GBPS * 1e9 * MINUTE_S
        errors = max(0.0, chance.gauss(mean, mean**0.5))
        samples.append(Sample(minute * MINUTE_S, errors / (GBPS * 1e9 * MINUTE_S)))
        if minute % _THINNED_EVERY == 0:
            samples = kept(samples)
        if watched.drained is None and minute % judged_every == 0:
            reason = rate_reason(samples, LIMITS, LinkPolicy())
            if reason is not None and reason.grade is Grade.D:
                watched.drained = minute
        # Below this rate the first lost codeword takes years.
        if true_rate > 5e-5 and chance.random() < 1 - exp(-lost_share(true_rate) * CODEWORDS_PER_MINUTE):
            watched.lost = minute
            break
    return watched


def drift(start: float, hours_per_decade: float) -> Rate:
    """Return a rate that rises one decade in so many hours."""
    return lambda minute: start * 10 ** (minute / 60 / hours_per_decade)


def accelerating(start: float, hours_per_decade: float) -> Rate:
    """Return a rate whose rise begins slowly: in the end it is one decade in so many hours."""

    def at(minute: float) -> float:
        hours = minute / 60
        # The logarithm is a parabola that reaches the slope after a decade.
        return float(start * 10 ** (hours**2 / (4 * hours_per_decade**2)))

    return at


def stepped(start: float, hours_per_decade: float) -> Rate:
    """Return a rate that rises in steps of a tenth of a decade."""
    return lambda minute: start * 10 ** (int(10 * minute / 60 / hours_per_decade) / 10)


def sawtooth(start: float, hours_per_decade: float) -> Rate:
    """Return a rate that rises, and falls by a fifth of a decade every 4 hours."""

    def at(minute: float) -> float:
        tooth = minute / 240 % 1
        return float(start * 10 ** (minute / 60 / hours_per_decade + 0.2 * tooth))

    return at


def swinging(start: float, hours_per_decade: float) -> Rate:
    """Return a rate that rises and follows the temperature of the day by a seventh of a decade."""
    return lambda minute: start * 10 ** (minute / 60 / hours_per_decade + 0.15 * sin(tau * minute / DAY_MINUTES))


FORMS = (drift, accelerating, stepped, sawtooth, swinging)
"""Forms of a drift, by the rate at the start and the hours for a decade."""


def daily(mean: float, decades: float) -> Rate:
    """Return a stable rate that follows the temperature of the day."""
    return lambda minute: mean * 10 ** (decades * sin(tau * minute / DAY_MINUTES))
