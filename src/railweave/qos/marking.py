"""ECN marking thresholds of a lossless queue by port speed.

No value is right everywhere. The rule follows the scaling that the HPCC simulations use for DCQCN: 100 KB for each
25 Gb/s to start marking, four times that for full marking, at most 20 % in between. The start stays above one
bandwidth-delay product of a fabric's 8 us (400G: 400 KB), else a single flow at line rate would be slowed. At 100G
and 400G it lies between the published presets of SONiC (1 MiB), Dell (0.5 MB) and Onyx (150 KB) that mark earlier
and the Jericho platforms (2 MB) that mark later.
"""

from dataclasses import dataclass

_START_BYTES_PER_GBPS = 4_000
_FULL_TO_START = 4
_PROBABILITY_PERCENT = 20


@dataclass(frozen=True, slots=True)
class EcnThresholds:
    """Queue depths in bytes at which marking starts and reaches ``probability_percent``; all beyond is marked."""

    minimum_bytes: int
    maximum_bytes: int
    probability_percent: int


def ecn_thresholds(speed_gbps: int) -> EcnThresholds:
    """Return the thresholds for a port of ``speed_gbps`` (100G: 400 KB and 1.6 MB)."""
    start_bytes = speed_gbps * _START_BYTES_PER_GBPS
    return EcnThresholds(start_bytes, start_bytes * _FULL_TO_START, _PROBABILITY_PERCENT)
