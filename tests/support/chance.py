"""The odds of counts by chance, computed to many digits, as an independent program would."""

from decimal import Decimal, localcontext


def odds_of_at_least(count: int, mean: float) -> float:
    """Return the probability that a Poisson number of this ``mean`` is ``count`` or more."""
    with localcontext() as context:
        context.prec = 100
        term = (-Decimal(mean)).exp()
        fewer = Decimal(0)
        for number in range(count):
            fewer += term
            term = term * Decimal(mean) / (number + 1)
        return float(1 - fewer)
