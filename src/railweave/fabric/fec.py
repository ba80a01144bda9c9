"""Forward error correction of Ethernet links: which share of codewords is lost at an error rate, and its inverse.

A Reed-Solomon codeword is lost if more of its symbols are wrong than the code corrects. With independent symbol errors
their number is binomial. Codes: IEEE 802.3 clause 91 (RS(528,514), RS(544,514)), clause 74 (BASE-R).
"""

from collections.abc import Sequence
from functools import cache
from math import exp, lgamma, log, log1p
from typing import NamedTuple

PAM4_LANE_GBPS = 50
"""From this lane rate on RS-FEC is RS(544,514), below it RS(528,514) (IEEE 802.3 clauses 134 and 108)."""
LOSS_LIMIT = 1e-12
"""The largest share of lost codewords that IEEE 802.3 links allow. It gives the published limits of error rates:
2.4e-4 with RS(544,514), 2.3e-5 with RS(528,514), and 1e-12 without FEC."""
FRAME_LOSS_RATIO = 6.2e-11
"""The largest share of 64-byte frames that 400GBASE-R may lose (IEEE 802.3, clause 116.4); a counter that grew by
more than chance explains at this share of codewords is a finding."""

_BISECTIONS = 60
# Bins with fewer codewords than this vary too much to extrapolate (10 % at 100).
_ENOUGH_CODEWORDS = 100


class Fec(NamedTuple):
    """A code: ``symbols`` of ``symbol_bits`` in each codeword, of which it corrects ``correctable``."""

    name: str
    symbols: int
    symbol_bits: int
    correctable: int

    @property
    def codeword_bits(self) -> int:
        """Return the bits of a codeword on the line."""
        return self.symbols * self.symbol_bits

    def symbol_error_rate(self, bit_error_rate: float) -> float:
        """Return the share of symbols with at least one wrong bit."""
        if bit_error_rate >= 1:
            return 1.0
        return 1 - exp(self.symbol_bits * log1p(-bit_error_rate))

    def loss(self, bit_error_rate: float) -> float:
        """Return the share of codewords that is lost at a bit error rate before correction."""
        return binomial_tail(self.symbols, self.correctable, self.symbol_error_rate(bit_error_rate))


RS544 = Fec("RS(544,514)", 544, 10, 15)
RS528 = Fec("RS(528,514)", 528, 10, 7)
# Corrects one burst of up to 11 bits in 2112 (clause 74.7.1), counted here as a symbol of that size.
BASE_R = Fec("BASE-R", 192, 11, 1)
NO_FEC = Fec("no FEC", 1, 1, 0)


def fec_of(setting: str, lane_gbps: float) -> Fec:
    """Return the code of a port with a ``setting`` of ``PORT.fec`` and lanes of a rate."""
    if setting == "fc":
        return BASE_R
    # From 50 Gb/s a lane no port runs without RS-FEC, whatever the row says.
    if lane_gbps >= PAM4_LANE_GBPS:
        return RS544
    if setting == "rs":
        return RS528
    return NO_FEC


def binomial_tail(trials: int, most: int, probability: float) -> float:
    """Return the probability that more than ``most`` of independent ``trials`` occur."""
    if probability <= 0 or most >= trials:
        return 0.0
    if probability >= 1:
        return 1.0
    if trials * probability > most:
        return 1 - sum(_binomial(trials, count, probability) for count in range(most + 1))
    # Beyond the mean each term is smaller than the one before: 1 - sum would lose the small ones.
    total = 0.0
    for count in range(most + 1, trials + 1):
        term = _binomial(trials, count, probability)
        total += term
        if term < total * 1e-16:
            break
    return total


def _binomial(trials: int, count: int, probability: float) -> float:
    choices = lgamma(trials + 1) - lgamma(count + 1) - lgamma(trials - count + 1)
    return exp(choices + count * log(probability) + (trials - count) * log1p(-probability))


@cache
def error_rate_of(fec: Fec, loss: float) -> float:
    """Return the bit error rate at which the share ``loss`` of codewords is lost."""
    # Bisected in logarithms: a rate may be of any order of magnitude.
    lowest_log = log(1e-30)
    highest_log = log(0.1)
    for _ in range(_BISECTIONS):
        middle_log = (lowest_log + highest_log) / 2
        if fec.loss(exp(middle_log)) < loss:
            lowest_log = middle_log
        else:
            highest_log = middle_log
    return exp(highest_log)


def error_rate_limit(fec: Fec) -> float:
    """Return the highest bit error rate at which a link meets IEEE 802.3."""
    return error_rate_of(fec, LOSS_LIMIT)


def loss_by_bins(fec: Fec, bins: Sequence[int], uncorrectable: int = 0) -> float:
    """Return the expected share of lost codewords, extrapolated from ``bins``; 0 if too few bins have enough codewords.

    ``bins`` are numbers of codewords by how many of their symbols were wrong, from 0; ``uncorrectable`` were lost.
    Independent errors fill bins with ``bins[k] / bins[k - 1] = mean / k``. Errors in bursts fill the upper bins more;
    the mean of the last two bins with enough codewords then gives a higher, more likely estimate.
    """
    total = sum(bins) + uncorrectable
    last = max((count for count, codewords in enumerate(bins) if codewords >= _ENOUGH_CODEWORDS), default=0)
    if last < 2 or last > fec.correctable or bins[last - 1] < _ENOUGH_CODEWORDS:
        return 0.0
    mean = last * bins[last] / bins[last - 1]
    expected = float(bins[last])
    for count in range(last + 1, fec.correctable + 2):
        expected *= mean / count
    return min(1.0, expected / total)
