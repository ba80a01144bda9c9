"""Limits of tests that run while all NICs send."""

from collections.abc import Sequence
from typing import NamedTuple

from railweave.acceptance.limits.basis import LimitShares, NicPair
from railweave.acceptance.limits.paths import FabricPaths
from railweave.acceptance.model import MetricLimit


class LoadedLimits(NamedTuple):
    """The limits of a loaded (or soak) round: one of each pair in the order given, and those of the round."""

    tests: tuple[MetricLimit, ...]
    # ROUND_BANDWIDTH, and BELOW_LIMIT (tests below their own `warn`) where pairs share links.
    round: tuple[MetricLimit, ...]


def loaded_limits(paths: FabricPaths, pairs: Sequence[NicPair], shares: LimitShares, seed: int) -> LoadedLimits:
    """Return the limits of a round in which every NIC port sends at most once and receives at most once.

    A pair between ``fail`` and ``warn`` is no finding of its own: of healthy pairs up to 1 % lie there. The round's
    BELOW_LIMIT says how many of them are improbable.
    """
    raise NotImplementedError
