"""ECN marking thresholds of a lossless queue by port speed and chip.

No value is right everywhere. What the intent states for a class counts, then its preset, then what the HWSKU's own
template states for the port's speed. Else the thresholds follow the scaling that the HPCC simulations use for DCQCN:
100 KB for each 25 Gb/s to start marking, four times that for full marking, at most 20 % in between; lowered so that
PFC has a margin on the chip: marking starts at no more than half of the depth at which a group pauses with all ports
congested, also with one lossy queue full where lossy groups share that buffer, and below the conservative bound; it is
complete at no more than half of the depth at which a single group pauses, which an incast to one port exceeds.
The margin counts before one bandwidth-delay product of a fabric's 8 us (400G: 400 KB): a lone flow that is marked
early slows down for a moment, a pause spreads.
"""

from typing import NamedTuple

from railweave.fabric.policy import Marking, MarkingPreset, TrafficClass
from railweave.qos.buffering import BufferPlan
from railweave.qos.mmu.pause import PauseLimits

ROUND_TRIP_US = 8
"""A round trip through two tiers of a loaded fabric, in microseconds."""

_START_BYTES_PER_GBPS = 4_000
_FULL_TO_START = 4
_PROBABILITY_PERCENT = 20
_KB = 1000


class ChosenMarking(NamedTuple):
    """The thresholds of one queue, and where they come from in words."""

    thresholds: Marking
    reason: str


def bandwidth_delay_bytes(speed_gbps: int, round_trip_us: int = ROUND_TRIP_US) -> int:
    """Return what one flow at line rate has on its way (400G over 8 us: 400 KB)."""
    return speed_gbps * 1000 * round_trip_us // 8


def ecn_thresholds(speed_gbps: int, limits: PauseLimits | None = None) -> Marking:
    """Return the rule's thresholds for a port of ``speed_gbps`` (100G: 400 KB and 1.6 MB) on a chip with ``limits``."""
    start_bytes = speed_gbps * _START_BYTES_PER_GBPS
    if limits is not None:
        bounds = [limits.all_bytes // 2, limits.lossy_all_bytes // 2, limits.single_bytes // (2 * _FULL_TO_START)]
        bounds.append(limits.conservative_bytes - 1)
        # A lossy queue that may take the whole buffer leaves nothing to mark in (check E-6).
        start_bytes = max(_KB, min([start_bytes, *(one for one in bounds if one >= _KB)]) // _KB * _KB)
    return Marking(start_bytes, start_bytes * _FULL_TO_START, _PROBABILITY_PERCENT)


def choose_marking(
    one: TrafficClass, speed_gbps: int, preset: MarkingPreset | None, plan: BufferPlan | None
) -> ChosenMarking:
    """Return the thresholds of class ``one`` on ports of a speed: the intent's, the preset's, the HWSKU's own, or the
    rule's."""
    if one.ecn is not None:
        return ChosenMarking(_filled(one.ecn), f"thresholds as the intent states (traffic_classes[{one.name}].ecn)")
    if preset is not None:
        return ChosenMarking(_filled(preset.at(speed_gbps)), f"preset {preset.name} ({preset.source})")
    if plan is not None and (shipped := plan.buffers.marking.get(speed_gbps)):
        return ChosenMarking(
            _filled(shipped),
            f"from {shipped.minimum_bytes} to {shipped.maximum_bytes} bytes as {plan.buffers.hwsku} ships it for"
            f" {speed_gbps}G ({plan.buffers.source}, qos.json.j2)",
        )
    limits = plan.limits if plan else None
    found = ecn_thresholds(speed_gbps, limits)
    rule = f"100 KB for each 25 Gb/s of a {speed_gbps}G port, four times that for full marking (HPCC scaling of DCQCN)"
    if limits is not None and found != ecn_thresholds(speed_gbps):
        start_kb, bound = found.minimum_bytes // _KB, limits.conservative_bytes
        below = f"below {bound} bytes, at which PFC may pause one ingress port that feeds all egress ports"
        half = (
            f"at no more than half of the {limits.all_bytes} bytes at which {limits.groups} congested priority groups"
        )
        rule += (
            f", lowered to {start_kb} KB so that marking starts"
            f" {below if start_kb == (bound - 1) // _KB else f'{half} pause'} (alpha {limits.alpha:g}, shared buffer"
            f" {limits.shared_bytes} bytes{limits.slices}: {limits.shared})"
        )
    return ChosenMarking(found, rule)


def _filled(marking: Marking) -> Marking:
    return (
        marking
        if marking.probability_percent is not None
        else marking._replace(probability_percent=_PROBABILITY_PERCENT)
    )
