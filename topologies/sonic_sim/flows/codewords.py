"""Codewords of forward error correction: how many of their symbols are wrong, by the bit error rate of each lane.

Symbols are dealt to the lanes in turn, so each lane carries the same number of a codeword's symbols (IEEE 802.3,
91.5.2.8 and 119.2.4.8). With independent bit errors the wrong symbols of each lane are binomial, and a codeword has
their sum.
"""

from collections import Counter
from collections.abc import Sequence
from functools import lru_cache
from math import comb, expm1, log, log1p
from random import Random
from typing import NamedTuple

PAM4_LANE_GBPS = 50
# Terms behind the last correctable one; with fewer wrong symbols on average than `_FEW_WRONG` the rest adds nothing.
_TAIL_TERMS = 40
_FEW_WRONG = 0.5
# From so many expected events on a normal distribution draws them: its skew is below a tenth of its deviation.
_MANY = 100.0
# The finest step of `Random.random`: what is rarer never comes.
_NEVER = 2.0**-53


class Code(NamedTuple):
    """A code: ``symbols`` of ``symbol_bits`` a codeword, of which it corrects ``correctable``."""

    symbols: int
    symbol_bits: int
    correctable: int

    @property
    def bits(self) -> int:
        """The bits of a codeword on the wire."""
        return self.symbols * self.symbol_bits

    def symbol_error_rate(self, bit_error_rate: float) -> float:
        """Return the share of symbols that have a wrong bit."""
        return -expm1(self.symbol_bits * log1p(-min(bit_error_rate, 0.5)))


RS544 = Code(544, 10, 15)
"""RS(544,514), IEEE 802.3 clauses 91 and 119."""
RS528 = Code(528, 10, 7)
"""RS(528,514), clause 91."""
BASE_R = Code(192, 11, 1)
"""Clause 74: 2,112 bits, of which it corrects one burst of up to 11, counted here as one symbol."""


def code_of(fec: str, lane_gbps: float) -> Code | None:
    """Return the code of a port by the ``fec`` of its row and the speed of its lanes; None without FEC."""
    if fec == "fc":
        return BASE_R
    # PAM4 lanes do not run without RS-FEC.
    if lane_gbps >= PAM4_LANE_GBPS:
        return RS544
    if fec in ("rs", "auto"):
        return RS528
    return None


@lru_cache(maxsize=4096)
def codeword_shares(code: Code, lanes: tuple[float, ...]) -> tuple[float, ...]:
    """Return the shares of codewords by how many of their symbols are wrong, with ``lanes`` of these bit error rates.

    The shares are of codewords with 0, 1 … ``correctable`` wrong symbols; the last one is of those with more, which are
    lost.
    """
    terms = code.correctable + 1 + _TAIL_TERMS
    shares = [1.0]
    mean = 0.0
    for rate, count in Counter(lanes).items():
        symbols = round(code.symbols * count / len(lanes))
        probability = code.symbol_error_rate(rate)
        mean += symbols * probability
        shares = _sums(shares, _binomial(symbols, probability, terms), terms)
    kept = shares[: code.correctable + 1]
    if mean > code.correctable * _FEW_WRONG:
        # Losses are common: they have too many terms to add, and the difference is precise.
        lost = max(0.0, 1.0 - sum(kept))
    else:
        # Losses are rare: in the difference from 1 they would be lost to rounding.
        lost = sum(shares[code.correctable + 1 :])
    return (*kept, lost)


def _binomial(trials: int, probability: float, terms: int) -> list[float]:
    """Return the probabilities of 0, 1 … events, at most ``terms`` of them."""
    last = min(trials, terms - 1)
    return [
        comb(trials, count) * probability**count * (1 - probability) ** (trials - count) for count in range(last + 1)
    ]


def _sums(first: Sequence[float], second: Sequence[float], terms: int) -> list[float]:
    """Return the probabilities of the sum of two independent counts."""
    total = [0.0] * min(terms, len(first) + len(second) - 1)
    for first_count, share in enumerate(first):
        for second_count in range(min(len(second), len(total) - first_count)):
            total[first_count + second_count] += share * second[second_count]
    return total


def draw(random: Random, trials: int, probability: float) -> int:
    """Draw how many of ``trials`` are events, each with ``probability``: a binomial number."""
    mean = trials * probability
    if mean < _NEVER:
        return 0
    if probability >= 1:
        return trials
    if mean >= _MANY:
        if probability > 0.5:
            # Draw the rarer of the two outcomes.
            return trials - draw(random, trials, 1 - probability)
        deviation = (mean * (1 - probability)) ** 0.5
        return min(trials, max(0, round(random.gauss(mean, deviation))))
    # The distances between events are geometric: exact, however rare an event is.
    log_failure = log1p(-probability)
    events = 0
    trial = 0
    while True:
        trial += int(log(1.0 - random.random()) / log_failure) + 1
        if trial > trials:
            return events
        events += 1


def draw_codewords(random: Random, codewords: int, shares: Sequence[float]) -> list[int]:
    """Draw how many of ``codewords`` have 0, 1 … wrong symbols; the last number is that of lost ones.

    ``shares`` are those of ``codeword_shares``.
    """
    counts = [0] * len(shares)
    remaining = codewords
    remaining_share = 1.0
    # The rarest first: the last one, the most common, is what remains.
    for number in range(len(shares) - 1, 0, -1):
        if remaining_share <= 0 or not remaining:
            break
        counts[number] = draw(random, remaining, min(1.0, shares[number] / remaining_share))
        remaining -= counts[number]
        remaining_share -= shares[number]
    counts[0] = remaining
    return counts
