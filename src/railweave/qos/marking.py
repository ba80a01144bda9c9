"""ECN marking thresholds of a lossless queue by port speed and round trip.

No value is right everywhere. What the intent states for a class counts, then its preset. Else the thresholds follow
the scaling that the HPCC simulations use for DCQCN: 100 KB for each 25 Gb/s to start marking, four times that for full
marking, at most 20 % in between; lowered where the chip would pause before that, but never below one bandwidth-delay
product of a fabric's 8 us (400G: 400 KB), under which a single flow at line rate would be slowed. At 100G and 400G the
rule lies between the published presets of SONiC (1 MiB), Dell (0.5 MB) and Onyx (150 KB) that mark earlier and the
Jericho platforms (2 MB) that mark later.
"""

from dataclasses import dataclass

from railweave.fabric.policy import Marking, MarkingPreset, TrafficClass
from railweave.qos.mmu.pause import PauseLimits

ROUND_TRIP_US = 8
"""A round trip through two tiers of a loaded fabric, in microseconds."""

_START_BYTES_PER_GBPS = 4_000
_FULL_TO_START = 4
_PROBABILITY_PERCENT = 20
_KB = 1000


@dataclass(frozen=True, slots=True)
class EcnThresholds:
    """Queue depths in bytes at which marking starts and reaches ``probability_percent``; all beyond is marked."""

    minimum_bytes: int
    maximum_bytes: int
    probability_percent: int


@dataclass(frozen=True, slots=True)
class ChosenMarking:
    """The thresholds of one queue, and where they come from in words."""

    thresholds: EcnThresholds
    reason: str


def bandwidth_delay_bytes(speed_gbps: int, round_trip_us: int = ROUND_TRIP_US) -> int:
    """Return what one flow at line rate has on its way (400G over 8 us: 400 KB)."""
    return speed_gbps * 1000 * round_trip_us // 8


def ecn_thresholds(speed_gbps: int, limits: PauseLimits | None = None) -> EcnThresholds:
    """Return the rule's thresholds for a port of ``speed_gbps`` (100G: 400 KB and 1.6 MB) on a chip with ``limits``."""
    start_bytes = speed_gbps * _START_BYTES_PER_GBPS
    full_bytes = start_bytes * _FULL_TO_START
    if limits is not None:
        before_pause = min(limits.all_bytes - 1, limits.single_bytes // _FULL_TO_START) // _KB * _KB
        start_bytes = max(min(start_bytes, before_pause), bandwidth_delay_bytes(speed_gbps))
        full_bytes = start_bytes * _FULL_TO_START
    return EcnThresholds(start_bytes, full_bytes, _PROBABILITY_PERCENT)


def choose_marking(
    one: TrafficClass, speed_gbps: int, preset: MarkingPreset | None, limits: PauseLimits | None
) -> ChosenMarking:
    """Return the thresholds of class ``one`` on ports of a speed: the intent's, the preset's, or the rule's."""
    if one.ecn is not None:
        return ChosenMarking(_filled(one.ecn), f"thresholds as the intent states (traffic_classes[{one.name}].ecn)")
    if preset is not None:
        return ChosenMarking(_filled(preset.at(speed_gbps)), f"preset {preset.name} ({preset.source})")
    found = ecn_thresholds(speed_gbps, limits)
    rule = f"100 KB for each 25 Gb/s of a {speed_gbps}G port, four times that for full marking (HPCC scaling of DCQCN)"
    if limits is not None and found != ecn_thresholds(speed_gbps):
        rule += (
            f", lowered to {found.minimum_bytes // _KB} KB because {limits.ports * limits.lossless_classes} congested"
            f" priority groups pause at {limits.all_bytes} bytes each (alpha {limits.alpha:g}, shared buffer"
            f" {limits.shared_bytes} bytes: {limits.shared})"
        )
    return ChosenMarking(found, rule)


def _filled(marking: Marking) -> EcnThresholds:
    probability = marking.probability_percent
    return EcnThresholds(
        marking.minimum_bytes, marking.maximum_bytes, _PROBABILITY_PERCENT if probability is None else probability
    )
